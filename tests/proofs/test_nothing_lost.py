"""Nothing acknowledged is lost, nothing is counted twice, and whoever is left agrees: under `kill -9`."""

from __future__ import annotations

import os
import random
import signal
import time

import pytest

from caller_harness import SESSION, Callers
from postgres_harness import PostgresServer
from proof_harness import KILLS, Cluster, Server, agreed, reckon, report, snapshots
from store_harness import eventually

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("servers", "workers"), [(1, 1), (1, 2), (2, 1)], ids=["one worker", "two workers", "two servers"]
)
def test_kills_at_random_moments_under_load(store: str, servers: int, workers: int) -> None:
    dice = random.Random(100 * servers + workers)
    killed = {"a worker": 0, "a server": 0}
    with Cluster(store, servers, workers) as cluster:
        # Snapshots are taken all the while, so that whoever comes back begins with one.
        with snapshots(store) as taken, Callers(cluster, seed=servers) as callers:
            for _ in range(KILLS):
                go_on(callers)
                time.sleep(dice.uniform(0.0, 0.3))
                killed[cluster.kill(dice)] += 1
            go_on(callers)
        eventually(cluster.all_up, 30)
        log, states = agreed(cluster, workers)
        counts = reckon(callers.book, log, states)
        report(
            kills=sum(killed.values()), **{f"of_{name}": n for name, n in killed.items()}, **counts, **taken
        )
    assert counts["acknowledged"] >= 10 * KILLS
    assert taken["snapshots"] > 0


def go_on(callers: Callers) -> None:
    """Wait until more was told than before: whoever is killed is killed at work."""
    before = len(callers.book.acknowledged)
    eventually(lambda: len(callers.book.acknowledged) > before + 20, 60)


def test_a_database_that_is_killed_and_comes_back(server: PostgresServer) -> None:
    """Two servers go on by themselves; meanwhile callers get a 503 that says when to come again."""
    with Cluster(server.new_database(), servers=2) as cluster:
        with Callers(cluster, seed=7) as callers:
            for _ in range(max(KILLS // 4, 1)):
                time.sleep(0.5)
                server.kill()
                failed = len(callers.book.acknowledged)
                eventually(lambda: callers.book.refused["503"] > 0)
                assert all(each.client.get("/healthz").status_code == 200 for each in cluster.servers)
                away = [each.client.get("/readyz") for each in cluster.servers]
                assert [(each.status_code, each.headers["retry-after"]) for each in away] == [(503, "1")] * 2
                # Asking writes nothing, so it goes on.
                asked = cluster.servers[0].client.post(f"/v1/sessions/{SESSION}/decisions", json={})
                assert asked.status_code == 201
                server.start()
                eventually(lambda failed=failed: len(callers.book.acknowledged) > failed + 20, 30)
        log, states = agreed(cluster, 1)
        report(kills_of_the_database=max(KILLS // 4, 1), **reckon(callers.book, log, states))


def test_workers_end_when_whoever_started_them_is_killed(tmp_path) -> None:
    with Server("--store", f"sqlite:///{tmp_path}/decisions.db", "--workers", "2") as server:
        eventually(lambda: len(server.workers()) == 2)
        workers = server.workers()
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()
        eventually(lambda: not any(_alive(pid) for pid in workers), 15)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
