"""Whoever has read the log knows the same, to the last bit: workers, servers, and the library by itself."""

from __future__ import annotations

import random
from typing import Any

import httpx
import pytest

from caller_harness import SESSION
from proof_harness import COSTS, Cluster, agreed, report, snapshots, told_in_process
from store_harness import in_threads

pytestmark = pytest.mark.slow

WHERE = f"/v1/sessions/{SESSION}"


def everything(url: str, dice: random.Random, changes: bool, turns: int = 60) -> dict[str, int]:
    """Do all that the service offers, in no order; only one caller changes options: others would undo it."""
    done: dict[str, int] = {}
    waiting: list[dict[str, Any]] = []
    with httpx.Client(base_url=url, timeout=30) as client:

        def call(what: str, method: str, path: str, body: Any = None) -> Any:
            answer = client.request(method, path, json=body)
            assert answer.status_code in (200, 201, 204), answer.text
            done[what] = done.get(what, 0) + 1
            return answer.json() if answer.content else None

        for turn in range(turns):
            waiting += call("asks", "POST", f"{WHERE}/decisions", {"count": dice.randrange(1, 5)})[
                "decisions"
            ]
            dice.shuffle(waiting)
            while len(waiting) > 4:
                id_ = waiting.pop()["id"]
                kind = dice.random()
                if kind < 0.15:
                    call("forgets", "DELETE", f"/v1/decisions/{id_}")
                elif kind < 0.5:
                    told = {"reward": dice.random(), "cost": 3 * dice.random()}
                    call("tells with costs", "PUT", f"/v1/decisions/{id_}/feedback", told)
                else:
                    call("tells", "PUT", f"/v1/decisions/{id_}/feedback", {"reward": dice.random()})
            if turn % 6 == 0:
                seen = {"option": "small", "reward": dice.random(), "cost": dice.random()}
                call("observations", "POST", f"{WHERE}/observations", seen)
            if changes and turn % 10 == 5:
                call("prices", "PATCH", f"{WHERE}/options/large", {"cost": 2 + dice.random()})
            if changes and turn == 20:
                call("additions", "PUT", f"{WHERE}/options/extra", {"cost": 0.7})
            if changes and turn in (30, 40):
                call("pauses", "PATCH", f"{WHERE}/options/middle", {"paused": turn == 30})
            if changes and turn == 50:
                call("retirements", "DELETE", f"{WHERE}/options/extra")
    return done


@pytest.mark.parametrize(("servers", "workers"), [(1, 2), (2, 1)], ids=["two workers", "two servers"])
def test_all_replicas_are_the_fold_of_the_log(store: str, servers: int, workers: int) -> None:
    with Cluster(store, servers, workers) as cluster:
        with snapshots(store) as taken:
            found = in_threads(
                4, lambda each: everything(cluster.urls[each % servers], random.Random(each), each == 0)
            )
        for each in found:
            assert isinstance(each, dict), repr(each)
        # One that begins with a snapshot knows what one knows that has read all.
        cluster.kill(random.Random(1))
        log, states = agreed(cluster, workers)
        tally, there = told_in_process(log), states[0]["state"]["tally"]
        names = ranked_names(states[0])
        for part in ("pulls", "sums", "carry"):
            assert dict(zip(names, there[part], strict=True)) == dict(zip(COSTS, tally[part], strict=True))
        totals = {what: sum(each.get(what, 0) for each in found) for each in found for what in each}
        report(replicas=len(states), entries=len(log), **totals, **taken)


def ranked_names(state: dict[str, Any]) -> list[str]:
    """Return active options in the order of a state, which is that of their prices."""
    prices = {
        name: cost
        for name, cost, standing in zip(
            state["names"], state["costs"], state["moved"]["standing"], strict=True
        )
        if standing != "retired"
    }
    return sorted(prices, key=lambda name: prices[name])
