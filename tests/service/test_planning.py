"""Sessions that take long to plan are asked in a thread, so that others do not wait; but not for ever."""

from __future__ import annotations

import time

import pytest

import frugalbandits as fb
from frugalbandits.core import planner
from frugalbandits.service import decisions
from service_harness import Api
from store_harness import eventually


def test_a_session_that_was_slow_once_is_not_slow_for_ever(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.session()
    api.ask()
    plain = decisions.decisions_of

    def slow(*given):
        until = time.thread_time() + 0.02
        while time.thread_time() < until:
            pass
        return plain(*given)

    monkeypatch.setattr(decisions, "decisions_of", slow)
    api.ask()
    assert "shop" in api.service.slow
    monkeypatch.setattr(decisions, "decisions_of", plain)
    for _ in range(120):
        api.ask()
    assert "shop" not in api.service.slow


def test_machine_code_on_disk_is_loaded_before_the_first_ask(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a session is made, and when it is opened: in the background, so nobody waits for it."""
    fb.warm_up("ucb-cs")  # leaves code on disk
    monkeypatch.setattr(planner, "_planners", {})  # as in a fresh process
    api.session(policy="ucb-cs", horizon=10_000)
    eventually(lambda: api.service.hub.sessions["shop"]._planner.compiled, 60)
    monkeypatch.setattr(planner, "_planners", {})
    api.service.hub.sessions.pop("shop").close()
    reopened = api.run(api.service.hub.session("shop"))
    eventually(lambda: reopened._planner.compiled, 60)
