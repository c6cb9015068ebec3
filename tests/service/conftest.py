"""One application for each test."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator

import pytest
import structlog

from frugalbandits.service.logs import configure
from service_harness import Api


@pytest.fixture
def api() -> Iterator[Api]:
    made = Api()
    yield made
    made.close()


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    kept = io.StringIO()
    monkeypatch.setattr(sys, "stderr", kept)
    root = logging.getLogger()
    before = root.handlers, root.level
    configure("info")
    # Whoever calls is in the same process here, and has a log of its own.
    monkeypatch.setattr(logging.getLogger("httpx"), "disabled", True)
    yield kept
    structlog.reset_defaults()
    root.handlers, root.level = before
