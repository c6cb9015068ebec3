"""One application for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from service_harness import Api


@pytest.fixture
def api() -> Iterator[Api]:
    made = Api()
    yield made
    made.close()
