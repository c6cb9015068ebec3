"""Fixtures of the client's tests: each kind of client in turn."""

from __future__ import annotations

import pytest

from client_harness import Clients, House


@pytest.fixture(params=["sync", "async"])
def kind(request):
    return request.param


@pytest.fixture
def house(kind):
    found = House(kind)
    yield found
    found.close()


@pytest.fixture
def connect(kind):
    found = Clients(kind)
    yield found
    found.close()


@pytest.fixture
def eager(monkeypatch):
    """Have a service that is away tried often, so that tests need not wait."""
    for module in ("breaker", "delivery"):
        monkeypatch.setattr(f"frugalbandits.client.{module}.FIRST", 0.02)
        monkeypatch.setattr(f"frugalbandits.client.{module}.LONGEST", 0.05)
    monkeypatch.setattr("frugalbandits.client.delivery._HURRY", 0.01)
    monkeypatch.setattr("frugalbandits.service.views._FRESH", 0.0)
