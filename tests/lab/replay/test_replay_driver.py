"""A replay is what a session would have done with the same requests; draws are of the option's rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import frugalbandits as fb
from frugalbandits.core.registry import resolve
from frugalbandits.lab.replay.data import Log, Table
from frugalbandits.lab.replay.driver import DRAWN, MATCHED, TABLED, WEIGHTED, Source, find
from frugalbandits.lab.replay.estimating import Batches, Effort, Job, run_replays
from frugalbandits.lab.replay.resampling import pool_of, source_of, weights_of

POLICIES = ["etc-cs", "pe-cs"]
FEW = Effort(runs=2, resamples=39, repeats=1)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    options, count = draw(st.integers(2, 5)), draw(st.integers(12, 150))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rewards = rng.random((options, count))
    if draw(st.booleans()):
        rewards = np.round(rewards)
    costs = rng.exponential(rng.uniform(0.1, 5, options)[:, None], (options, count))
    return Table(tuple(f"o{k}" for k in range(options)), np.stack([rewards, costs], axis=2))


def session_of(names: tuple[str, ...], means: np.ndarray, policy: str, horizon: int) -> fb.Session:
    costs = dict(zip(names, means[:, 1].tolist(), strict=True))
    return fb.Session(costs, 0.1, policy, horizon, memory=None)


def in_order(past: Table | Log, kind: int, policy: str, horizon: int) -> np.ndarray:
    job = Job(past, kind, None, fb.RelativeToBest(0.1), None, horizon)
    found = run_replays(job, [Batches(resolve(policy))], FEW, 0, 1, lambda done: None)
    assert found.in_order is not None
    return found.in_order[0, 0]


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=15)
@given(table=tables())
def test_a_full_table_in_order_is_what_a_session_does(policy: str, table: Table) -> None:
    session = session_of(table.names, table.pairs.mean(axis=1), policy, table.requests)
    seen = []
    for request in range(table.requests):
        decision = session.ask()
        reward, cost = table.pairs[table.names.index(decision.option), request]
        session.tell(decision.id, reward)
        seen.append((reward, cost))
    assert in_order(table, TABLED, policy, table.requests) == pytest.approx(np.mean(seen, axis=0), rel=1e-12)


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=15)
@given(table=tables(), seed=st.integers(0, 1000))
def test_rejection_in_order_is_a_session_that_skips_other_rows(policy: str, table: Table, seed: int) -> None:
    options = len(table.names)
    choice = np.random.default_rng(seed).permutation(np.arange(table.requests) % options)
    log = Log(table.names, choice, table.pairs[choice, np.arange(table.requests)])
    horizon = max(table.requests // options // 2, options + 1)
    means = np.array([log.pairs[choice == k].mean(axis=0) for k in range(options)])
    session = session_of(log.names, means, policy, horizon)
    decision, seen = session.ask(), []
    for which, (reward, cost) in zip(choice, log.pairs, strict=True):
        if log.names[which] == decision.option:
            session.tell(decision.id, reward)
            seen.append((reward, cost))
            if len(seen) == horizon:
                break
            decision = session.ask()
    assert in_order(log, MATCHED, policy, horizon) == pytest.approx(np.mean(seen, axis=0), rel=1e-12)


def find_in(source: Source, option: int, rng: np.random.Generator) -> int:
    kind, _, *parts = source
    return find(kind, *parts, option, rng)


@pytest.mark.parametrize("kind", [DRAWN, WEIGHTED])
def test_draws_follow_the_weights_of_the_rows(kind: int) -> None:
    """False alarms: one seed in 10,000 for each kind."""
    rng = np.random.default_rng(3)
    choice = np.array([0, 1, 0, 1, 1, 0, 0, 1])
    log = Log(("a", "b"), choice, rng.random((8, 2)), rng.uniform(0.1, 1, 8))
    weights = weights_of(log) if kind == WEIGHTED else None
    source = source_of(pool_of(log, kind, weights, None), None)
    for option in (0, 1):
        rows = np.bincount([find_in(source, option, rng) for _ in range(20_000)], minlength=8)
        own = choice == option
        assert rows[~own].sum() == 0
        expected = np.ones(8) if weights is None else weights
        share = expected[own] / expected[own].sum()
        assert chisquare(rows[own], 20_000 * share).pvalue > 1e-4


@given(table=tables(), seed=st.integers(0, 1000))
def test_an_order_has_every_request_of_the_pool_once(table: Table, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for pool in (pool_of(table, TABLED, None, None), pool_of(table, TABLED, None, rng)):
        rows = source_of(pool, rng).rows
        assert np.array_equal(np.sort(rows), np.sort(pool.rows))
        assert pool.means == pytest.approx(table.pairs[:, pool.rows].mean(axis=1), rel=1e-9)


@given(seed=st.integers(0, 1000))
def test_a_resampled_log_has_as_many_rows_of_each_option(seed: int) -> None:
    rng = np.random.default_rng(seed)
    log = Log(
        ("a", "b", "c"), rng.permutation(np.arange(60) % 3), rng.random((60, 2)), rng.uniform(0.1, 1, 60)
    )
    for kind in (DRAWN, WEIGHTED, MATCHED):
        weights = weights_of(log) if kind == WEIGHTED else np.ones(60)
        pool = pool_of(log, kind, weights if kind == WEIGHTED else None, rng)
        used = log.choice[pool.rows]
        assert np.array_equal(np.bincount(used, minlength=3), log.counts)
        for option in range(3):
            rows = pool.rows[used == option]
            mean = np.average(log.pairs[rows], axis=0, weights=weights[rows])
            assert pool.means[option] == pytest.approx(mean, rel=1e-9)
