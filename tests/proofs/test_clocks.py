"""Clocks that jump, and clocks that differ: nothing is lost, and whoever reads the log agrees."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from frugalbandits.stores import open_store
from proof_harness import facts_in
from service_harness import Api, problem
from store_harness import eventually

NOW = time.time() + 30 * 86_400.0  # later than sessions are made: those have no clock of ours yet


@contextlib.contextmanager
def workers(folder: Path, *clocks: float, **settings: Any) -> Iterator[list[Api]]:
    """Open one store in several applications, whose sessions have clocks of their own."""
    with contextlib.ExitStack() as stack:
        found = []
        for clock in clocks:
            api = Api(open_store(f"sqlite:///{folder}/decisions.db"))
            stack.callback(api.close)
            api.session(**settings)
            set_clock(api, clock)
            api.store.now = lambda: NOW
            found.append(api)
        yield found


def set_clock(api: Api, now: float) -> None:
    api.service.hub.sessions["shop"]._clock = lambda: now


def state_of(api: Api) -> dict[str, Any]:
    return facts_in(json.loads(api("GET", "/v1/sessions/shop/export").text))


def agree(*apis: Api) -> dict[str, Any]:
    for api in apis:
        api.service.hub.sessions["shop"].flush()
    eventually(lambda: all(state_of(api) == state_of(apis[0]) for api in apis))
    return state_of(apis[0])


def test_a_clock_that_jumps_back(tmp_path: Path) -> None:
    with workers(tmp_path, NOW, NOW, time_to_live=600.0) as (one, other):
        first = one.ask()
        # A small step is waited out, a large one is followed.
        set_clock(one, NOW - 30.0)
        assert one.ask()["expires"] == first["expires"]
        set_clock(one, NOW - 3_600.0)
        second = one.ask()
        assert second["expires"] == first["expires"] - 3_600.0
        for decision in (first, second):
            assert one.tell(decision["id"], reward=0.5).status_code == 204
        assert other.tell(first["id"], reward=0.5).status_code == 204
        # By the right clock, what the wrong one hands out is an hour old.
        assert other.tell(second["id"], reward=0.5).status_code == 410
        one.service.hub.sessions["shop"].snapshot()
        set_clock(one, NOW + 1.0)
        assert one.tell(one.ask()["id"], reward=0.25).status_code == 204
        # Beyond the time to live they may differ in what is pending, but never in what was told.
        eventually(lambda: told_in(one) == told_in(other) and sum(told_in(one)["pulls"]) == 3)
        with workers(tmp_path, NOW + 1.0, time_to_live=600.0) as (fresh,):
            assert told_in(fresh) == told_in(one)


def test_a_clock_that_was_set_back_before_a_restart(tmp_path: Path) -> None:
    """Ids are told apart by more than their time: none comes twice, and what was told stays told."""
    with workers(tmp_path, NOW, time_to_live=600.0) as (before,):
        told = [before.ask()["id"] for _ in range(20)]
        assert {before.tell(id_, reward=1.0).status_code for id_ in told} == {204}
    with workers(tmp_path, NOW - 86_400.0, time_to_live=600.0) as (after,):
        again = [after.ask()["id"] for _ in range(20)]
        assert len({*told, *again}) == 40
        assert {after.tell(id_, reward=0.5).status_code for id_ in again} == {204}
        assert {after.tell(id_, reward=1.0).status_code for id_ in told} == {204}
        problem(after.tell(told[0], reward=0.0), 409)
        assert sum(state_of(after)["tally"]["pulls"]) == 40


@pytest.mark.parametrize("apart", [2.0, 40.0, 1_000.0])
def test_workers_whose_clocks_differ(tmp_path: Path, apart: float) -> None:
    """Within the time to live and within a minute nobody notices; beyond that, too late is said, not lost."""
    ttl = 100.0
    with workers(tmp_path, NOW + apart, NOW, time_to_live=ttl) as (ahead, behind):
        counted = 0
        for _ in range(10):
            for asked, telling in ((ahead, behind), (behind, ahead), (ahead, ahead), (behind, behind)):
                id_ = asked.ask()["id"]
                answer = telling.tell(id_, reward=0.5)
                late = asked is behind and telling is ahead and apart > ttl
                assert answer.status_code == (410 if late else 204), answer.text
                counted += not late
                if late:
                    # Whoever knows the right time may still take it.
                    assert behind.tell(id_, reward=0.5).status_code == 204
                    counted += 1
        assert counted == 40
        with workers(tmp_path, NOW + apart, time_to_live=ttl) as (fresh,):
            if apart <= ttl:
                assert agree(ahead, behind, fresh)["decisions"] == 40
            # Beyond the time to live they may differ in what they still wait for, but never in what was told.
            eventually(lambda: sum(told_in(behind)["pulls"]) == 40)
            eventually(lambda: all(told_in(api) == told_in(behind) for api in (ahead, fresh)))


def told_in(api: Api) -> dict[str, Any]:
    tally = state_of(api)["tally"]
    return {part: tally[part] for part in ("pulls", "sums", "carry")}
