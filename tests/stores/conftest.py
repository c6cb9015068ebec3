"""Places for stores: each test has its own file or database, each process of pytest its own PostgreSQL."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from frugalbandits.stores import Store
from postgres_harness import PostgresServer, postgres
from store_harness import Place

KINDS = ("memory", "sqlite", "postgres")
_numbers = itertools.count(1)


# All that tells the time to sessions in stores.
CLOCKS = (
    "core.contextual.desk",
    "core.session.handing",
    "stores.contextual_session",
    "stores.following",
    "stores.identity",
    "stores.session",
)


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/decisions.db"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that stands until it is moved."""
    hands = SimpleNamespace(now=1e9)
    fake = SimpleNamespace(time=lambda: hands.now, monotonic=time.monotonic)
    for module in CLOCKS:
        monkeypatch.setattr(f"frugalbandits.{module}.time", fake)
    return hands


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    with postgres() as running:
        yield running


def place_of(kind: str, folder: Path, request: pytest.FixtureRequest) -> Place:
    if kind == "memory":
        return Place(kind, "memory:")
    if kind == "sqlite":
        return Place(kind, f"sqlite:///{folder}/decisions-{next(_numbers)}.db")
    return Place(kind, request.getfixturevalue("server").new_database())


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    place = place_of(request.param, tmp_path, request)
    yield place.open()
    place.close()


@pytest.fixture(params=KINDS, scope="module")
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Return a store for many examples, each of which has sessions of its own."""
    place = place_of(request.param, tmp_path_factory.mktemp("store"), request)
    yield place.open()
    place.close()


@pytest.fixture(params=KINDS[1:])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Return where a store lasts, and more than one process can open it."""
    found = place_of(request.param, tmp_path, request)
    yield found
    found.close()
