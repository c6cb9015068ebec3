"""Stores for proofs: a file, or a database of a real PostgreSQL that a proof may kill."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from postgres_harness import PostgresServer, postgres


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    with postgres() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of a store that several processes can share."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/decisions.db"
    return request.getfixturevalue("server").new_database()
