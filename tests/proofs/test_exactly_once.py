"""What is told counts exactly once: told by several at once, after a restart, across a snapshot, too late."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import httpx
import pytest

import frugalbandits as fb
from caller_harness import SESSION
from frugalbandits.stores import open_store
from frugalbandits.stores.session import StoredSession
from proof_harness import BODY, COSTS, Cluster, Server, agreed, report
from store_harness import in_threads

pytestmark = pytest.mark.slow

WHERE = f"/v1/sessions/{SESSION}"


def asked(client: httpx.Client, count: int, session: str = SESSION) -> list[dict[str, Any]]:
    answer = client.post(f"/v1/sessions/{session}/decisions", json={"count": count})
    assert answer.status_code == 201, answer.text
    return answer.json()["decisions"]


def tell(url: str, id_: str, **told: float) -> int:
    return httpx.put(f"{url}/v1/decisions/{id_}/feedback", json=told, timeout=30).status_code


def rewards(log: list[dict[str, Any]]) -> list[float]:
    return [each["body"]["r"] for each in log if each["kind"] == "reward"]


@pytest.mark.parametrize(("servers", "workers"), [(2, 1), (1, 2)], ids=["two servers", "two workers"])
def test_told_at_once_by_many(store: str, servers: int, workers: int) -> None:
    """Each decision is told by 8 at once: the same is the same, and of others only the first counts."""
    with Cluster(store, servers, workers) as cluster:
        decisions = asked(cluster.servers[0].client, 12)
        for turn, decision in enumerate(decisions):
            differ = turn % 2
            heard = in_threads(
                8,
                lambda each, id_=decision["id"], differ=differ: tell(
                    cluster.urls[each % servers], id_, reward=each / 8 if differ else 0.5
                ),
            )
            assert sorted(heard) == ([204] + [409] * 7 if differ else [204] * 8)
        log, states = agreed(cluster, workers)
        assert len(rewards(log)) == 12
        assert all(sum(state["state"]["tally"]["pulls"]) == 12 for state in states)
        report(decisions=12, tells=96, replicas=len(states))


def test_told_again_after_a_kill_and_across_a_snapshot(store: str) -> None:
    with Cluster(store) as cluster:
        before, after = asked(cluster.servers[0].client, 20), asked(cluster.servers[0].client, 20)
        assert [tell(cluster.urls[0], each["id"], reward=0.25, cost=1.5) for each in before] == [204] * 20
        with (
            open_store(store) as opened,
            contextlib.closing(StoredSession.open(opened, SESSION)) as session,
        ):
            session.snapshot()
        assert [tell(cluster.urls[0], each["id"], reward=0.5) for each in after] == [204] * 20
        for _ in range(2):
            cluster.servers[0].kill_all()
            cluster.servers[0] = Server("--store", store)
            for decisions, reward in ((before, 0.25), (after, 0.5)):
                ids = [each["id"] for each in decisions]
                assert [tell(cluster.urls[0], id_, reward=reward) for id_ in ids] == [204] * 20
                assert [tell(cluster.urls[0], id_, reward=1.0) for id_ in ids[:3]] == [409] * 3
        log, states = agreed(cluster, 1)
        assert sorted(rewards(log)) == [0.25] * 20 + [0.5] * 20
        assert sum(states[0]["state"]["tally"]["pulls"]) == 40
        assert states[0]["decisions"] == 40
        report(tells=40, told_again=3 * 40, restarts=2)


def test_told_again_across_the_end_of_the_time_to_live(store: str) -> None:
    with Cluster(store, servers=2) as cluster:
        client = cluster.servers[0].client
        short = {**BODY, "time_to_live": 3.0}
        assert client.put("/v1/sessions/short", json=short).status_code == 201
        told, late = asked(client, 2, "short")
        assert [tell(url, told["id"], reward=0.75) for url in cluster.urls * 2] == [204] * 4
        time.sleep(max(late["expires"] - time.time(), 0.0) + 0.05)
        for url in cluster.urls:
            assert [tell(url, each["id"], reward=0.75) for each in (told, late)] == [410, 410]
        for server in cluster.servers:
            seen = server.client.get("/v1/sessions/short").json()
            assert sum(arm["pulls"] for arm in seen["arms"]) == 1


def test_what_went_from_the_log_is_not_counted_again(store: str) -> None:
    """A snapshot lets facts go that are older than any clock within a minute lets be told again."""
    ttl, start = 100.0, 1_800_000_000.0
    with contextlib.ExitStack() as stack:
        sessions = []
        for behind in (0.0, 50.0):
            opened = stack.enter_context(open_store(store))
            session, _ = StoredSession.create(opened, SESSION, fb.Session(COSTS, alpha=0.1, time_to_live=ttl))
            stack.callback(session.close)
            session._clock = lambda behind=behind: start - behind
            sessions.append(session)
        right, behind_ = sessions
        decision = behind_.ask()
        behind_.tell(decision.id, 0.5)
        for later in (ttl - 1.0, 2 * ttl + 120.0):
            right._clock = lambda later=later: start + later
            behind_._clock = lambda later=later: start + later - 50.0
            for session in sessions:  # old entries go by the clock of the store
                session.store.now = lambda later=later: start + later
            right.observe("small", 1.0)
            right.snapshot()
            for session in sessions:
                session.catch_up()
                if later < ttl and session is behind_:
                    session.tell(decision.id, 0.5)  # in time by its clock, and there is what was told
                else:
                    with pytest.raises(fb.Expired):
                        session.tell(decision.id, 0.5)
        kinds = [entry.fact.kind for entry in right.store.read(SESSION)]
        assert "reward" not in kinds
        opened = stack.enter_context(open_store(store))
        fresh = stack.enter_context(contextlib.closing(StoredSession.open(opened, SESSION)))
        for session in (*sessions, fresh):
            assert sum(arm.pulls for arm in session.explain().arms) == 3
