"""Failovers to a standby that lags, under load: every worker follows the log, and what is told counts."""

from __future__ import annotations

import random

import pytest

from caller_harness import SESSION, Callers
from postgres_harness import PostgresServer
from proof_harness import KILLS, Cluster, agreed, report, snapshots
from store_harness import eventually

pytestmark = pytest.mark.slow

_CUT = f"""DO $$
DECLARE
    here BIGINT := (SELECT id FROM frugal_sessions WHERE name = '{SESSION}');
    kept BIGINT;
BEGIN
    SELECT greatest(last - %d, 1) INTO kept FROM frugal_sessions WHERE id = here FOR UPDATE;
    DELETE FROM frugal_facts WHERE session = here AND seq > kept;
    DELETE FROM frugal_snapshots WHERE session = here AND upto > kept;
    UPDATE frugal_sessions SET last = kept WHERE id = here;
END $$"""
_DISCONNECT = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()"""


def test_failovers_at_random_moments_under_load(server: PostgresServer) -> None:
    """The log loses its newest entries and all connections are cut, again and again; snapshots are taken."""
    dice = random.Random(5)
    url = server.new_database()
    rounds = max(KILLS // 3, 1)
    with Cluster(url, servers=2) as cluster:
        with snapshots(url, every=0.3) as taken, Callers(cluster, seed=3) as callers:
            for _ in range(rounds):
                more(callers, 30)
                server.execute(_CUT % dice.randrange(1, 60), url)
                server.execute(_DISCONNECT, url)
                more(callers, 60)
            before = set(callers.book.acknowledged)
            more(callers, 30)
        log, states = agreed(cluster, 1)
        rewards = [each["body"]["m"] for each in log if each["kind"] == "reward"]
        assert len(set(rewards)) == len(rewards), "a decision was counted twice"
        # What was acknowledged long after the last failover is there.
        assert callers.book.acknowledged - before <= set(rewards)
        report(failovers=rounds, entries=len(log), replicas=len(states), **taken)


def more(callers: Callers, tells: int) -> None:
    before = len(callers.book.acknowledged)
    eventually(lambda: len(callers.book.acknowledged) > before + tells, 60)
