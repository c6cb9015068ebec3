"""Property 4 of the design: what is random has the law of the plain algorithm.

Every test has a fixed seed and states the probability of a false alarm, should the seed be changed.
"""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import beta, binomtest, chi2_contingency, chisquare, ks_2samp

import frugalbandits as fb
from frugalbandits.core.policies.ts_cs.epoch import (
    favourite,
    new_epoch,
    refresh,
    set_arms,
    set_bounds,
    set_chance,
    set_norm,
)
from frugalbandits.core.policies.ts_cs.records import opened, opened_in_place
from frugalbandits.core.policies.ts_cs.stretch import UNKNOWN, draw_exception, settle
from frugalbandits.core.policies.ts_cs.tails import ABOVE, BELOW, log_norm, mass, tail_point
from frugalbandits.core.registry import resolve
from frugalbandits.core.tally import observe
from frugalbandits.lab.driver import drive_of
from frugalbandits.lab.rewards import Bernoulli
from harness import setting_of
from reference import REFERENCES

LEVEL = 1e-5


def same_law(one, other):
    """Two-sample Kolmogorov-Smirnov test; on counts it is conservative."""
    return ks_2samp(one, other, method="asymp")


def agrees(counts, expected):
    """Chi-square test of counts against probabilities, rare outcomes taken together."""
    keys = sorted(expected, key=expected.get)
    observed, wanted = [], []
    pool_observed = pool_wanted = 0.0
    total = sum(counts.values())
    assert set(counts) <= set(expected), "an outcome that has no probability"
    for key in keys:
        pool_observed += counts.get(key, 0)
        pool_wanted += expected[key] * total
        if pool_wanted >= 8:
            observed.append(pool_observed)
            wanted.append(pool_wanted)
            pool_observed = pool_wanted = 0.0
    observed[-1] += pool_observed
    wanted[-1] += pool_wanted
    assert len(observed) >= 3, "too few outcomes to test a law"
    return chisquare(observed, np.array(wanted) * sum(observed) / sum(wanted)).pvalue > LEVEL


@pytest.mark.parametrize("name", [name for name in REFERENCES if name.startswith("cof")])
def test_pull_counts_have_their_exact_law(name):
    """All tables of rewards of a short run are enumerated. False alarm: 1e-5 each.

    The tolerance is set high, because at the usual one a run this short draws no conclusions.
    """
    problem = fb.Problem([0.3, 0.6], [1, 2], alpha=0.4)
    horizon, delta = 11, 0.7
    expected = defaultdict(float)
    for tape in itertools.product([0.0, 1.0], repeat=horizon):
        # Rewards are read from one tape in the order of pulls, and weighed by the arm that reads them.
        reader = iter(tape)
        pulled, _ = REFERENCES[name](
            lambda arm, reader=reader: next(reader), problem.costs, problem.alpha, horizon, delta=delta
        )
        means = problem.means[pulled]
        chance = np.prod(np.where(np.array(tape) == 1.0, means, 1 - means))
        expected[tuple(np.bincount(pulled, minlength=2).tolist())] += chance
    assert abs(sum(expected.values()) - 1) < 1e-9
    settings = resolve(name)
    policy = fb.COF(delta, settings.combine, settings.exclusive, settings.sampling)
    result = fb.simulate(problem, policy, horizon, runs=8_000, seed=1, checkpoints=1)
    counts = defaultdict(int)
    for pulls in result.pulls[:, -1]:
        counts[tuple(pulls.tolist())] += 1
    assert agrees(counts, expected)


def chance_of_cheaper(a, b, c, d, keep):
    """P(X >= keep * Y) for X ~ Beta(a, b), Y ~ Beta(c, d)."""
    value, _ = quad(lambda y: beta.sf(keep * y, a, b) * beta.pdf(y, c, d), 0, 1, limit=200)
    return value


@pytest.mark.parametrize("alpha", [0.0, 0.4, 0.9])
def test_thompson_has_its_exact_law_on_two_arms(alpha):
    """Rewards and choices of a short run are enumerated. False alarm: 1e-5 each."""
    means, horizon = [0.8, 0.7], 8
    laws = {
        (1, 1, s0, s1): (means[0] if s0 else 0.2) * (means[1] if s1 else 0.3)
        for s0 in (0, 1)
        for s1 in (0, 1)
    }
    for _ in range(2, horizon):
        after = defaultdict(float)
        for (n0, n1, s0, s1), chance in laws.items():
            first = chance_of_cheaper(1 + s0, 1 + n0 - s0, 1 + s1, 1 + n1 - s1, 1 - alpha)
            after[n0 + 1, n1, s0 + 1, s1] += chance * first * means[0]
            after[n0 + 1, n1, s0, s1] += chance * first * (1 - means[0])
            after[n0, n1 + 1, s0, s1 + 1] += chance * (1 - first) * means[1]
            after[n0, n1 + 1, s0, s1] += chance * (1 - first) * (1 - means[1])
        laws = after
    expected = defaultdict(float)
    for (n0, n1, _, _), chance in laws.items():
        expected[n0, n1] += chance
    result = fb.simulate(
        fb.Problem(means, [1, 2], alpha), "ts-cs", horizon, runs=10_000, seed=2, checkpoints=1
    )
    counts = defaultdict(int)
    for pulls in result.pulls[:, -1]:
        counts[tuple(pulls.tolist())] += 1
    assert agrees(counts, expected)


def plain_thompson(means, keep, pulls, sums, steps, runs, seed):
    """Run TS-CS plainly, every posterior drawn at every step, many runs side by side."""
    rng = np.random.default_rng(seed)
    n = np.broadcast_to(np.asarray(pulls, float), (runs, len(means))).copy()
    s = np.broadcast_to(np.asarray(sums, float), (runs, len(means))).copy()
    rows = np.arange(runs)
    for _ in range(steps):
        theta = rng.beta(1 + s, 1 + n - s)
        arm = np.argmax(theta >= keep * theta.max(axis=1, keepdims=True), axis=1)
        n[rows, arm] += 1
        s[rows, arm] += rng.random(runs) < np.asarray(means)[arm]
    return n, s


# Means, alpha, and what was seen before: arms that are known well beside arms that are hardly known,
# a cheaper arm that is out, a near tie, no subsidy at all, an expensive witness, many unknown arms.
WARM = [
    ([0.65, 0.7, 0.8], 0.3, [400, 30, 6], [260, 21, 5]),
    ([0.3, 0.7, 0.8], 0.2, [60, 900, 200], [18, 630, 160]),
    ([0.6, 0.8, 0.75], 0.3, [500, 400, 40], [300, 320, 30]),
    ([0.5, 0.52, 0.9], 0.0, [50, 60, 900], [25, 31, 810]),
    ([0.45, 0.6, 0.62, 0.5], 0.1, [300, 2000, 150, 20], [135, 1200, 93, 10]),
    ([0.69, 0.73] + [0.7] * 6, 0.3, [3000, 300, 1, 1, 3, 1, 1, 2], [2070, 219, 1, 0, 3, 1, 1, 1]),
    ([0.2, 0.55, 0.95], 0.5, [900, 900, 30], [180, 495, 28]),
]


@pytest.mark.parametrize(("means", "alpha", "pulls", "sums"), WARM)
def test_thompson_stretches_equal_plain_draws_from_a_warm_start(means, alpha, pulls, sums):
    """Two-sample tests of each arm's pulls and rewards. False alarm: 2 K 1e-5 each."""
    steps, runs = 400, 2_000
    policy = resolve("ts-cs")
    arms = len(means)
    problem = fb.Problem(means, np.arange(arms), alpha)
    drive, draws = drive_of(policy), Bernoulli().draws(problem)
    fast_pulls, fast_sums, plans = [], [], 0
    for run in range(runs):
        state = policy.start(setting_of(problem.costs, alpha, None))
        for k in range(arms):
            observe(state, k, pulls[k], float(sums[k]))
        rng, reward_rng = (np.random.default_rng([run, i]) for i in (0, 1))
        out, events, stop = np.zeros((1, arms), np.int64), np.zeros(arms + 1, np.int64), np.zeros(1, bool)
        plans += drive(state, draws, rng, reward_rng, np.array([steps]), out, events, stop)
        fast_pulls.append(state.tally.pulls.copy())
        fast_sums.append(state.tally.sums.copy())
    slow_pulls, slow_sums = plain_thompson(means, 1 - alpha, pulls, sums, steps, runs, seed=9)
    assert plans < 0.9 * steps * runs, "hardly a stretch was made, so nothing was tested"
    for k in range(arms):
        assert same_law(np.array(fast_pulls)[:, k], slow_pulls[:, k]).pvalue > LEVEL
        assert same_law(np.array(fast_sums)[:, k], slow_sums[:, k]).pvalue > LEVEL


def thompson(pulls, sums, alpha):
    """Return a TS-CS state in which this was seen, and the records of its draws ahead."""
    state = resolve("ts-cs").start(setting_of(np.arange(len(pulls), dtype=float), alpha, None))
    for k, (count, total) in enumerate(zip(pulls, sums, strict=True)):
        observe(state, k, count, float(total))
    opened_in_place(state)
    return state, state.stretch.arms, state.stretch.epoch


def envelope(arm, x, side):
    return mass(arm.a, arm.b, log_norm(arm.a, arm.b), x, np.log(x), np.log1p(-x), side)


# Pulls and rewards seen, alpha, and how far in the tails the bounds are put: none cheaper than c, cheaper
# arms with c as the witness, an expensive witness, arms with bounds of their own, one that is always drawn.
STEPS = [
    ([60, 30, 9], [40, 20, 6], 0.3, 0.1, ()),
    ([40, 60, 25], [18, 42, 13], 0.1, 0.1, ()),
    ([50, 45, 80, 30], [18, 30, 60, 18], 0.35, 0.08, ()),
    ([50, 45, 80, 30], [18, 30, 60, 18], 0.35, 0.05, (0, 2)),
    ([60, 30, 9, 20], [30, 20, 6, 18], 0.3, 0.1, (1,)),
]


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize(("pulls", "sums", "alpha", "tail", "own"), STEPS)
def test_a_step_has_its_exact_law_whatever_the_bounds(pulls, sums, alpha, tail, own, busy):
    """Bounds are put where exceptions are frequent, so that every kind of them matters. False alarm: 1e-5.

    Where arms are busy, their part in an exception has to wait; it must come out as if it had not.
    """
    state, arms, epoch = thompson(pulls, sums, alpha)
    set_arms(arms, epoch, favourite(arms, 1 - alpha))
    c, w = int(epoch[0].arm), int(epoch[0].witness)
    epoch[0].level, epoch[0].assured = (beta.ppf(tail, arms[k].a, arms[k].b) for k in (c, w))
    arms[c].end = 1
    for k in range(len(pulls)):
        set_norm(arms, k)
        if k in own:
            arms[k].span = 1
            arms[k].own_low = beta.ppf(tail, arms[k].a, arms[k].b)
            arms[k].own_high = beta.isf(tail, arms[k].a, arms[k].b)
            arms[k].own_below = 1.1 * envelope(arms[k], arms[k].own_low, BELOW)
            arms[k].own_above = 1.2 * envelope(arms[k], arms[k].own_high, ABOVE)
        if k != c:
            set_bounds(arms, epoch, k)
    arms[c].low, arms[c].high = epoch[0].level, beta.isf(tail, arms[c].a, arms[c].b)
    arms[c].below = 1.5 * envelope(arms[c], arms[c].low, BELOW)
    arms[c].above = 1.1 * envelope(arms[c], arms[c].high, ABOVE)
    assert ((arms.above + arms.below < 1) | (arms.above == 1)).all() and arms[c].below > 0.05
    set_chance(arms, epoch)
    rng = np.random.default_rng(12)
    steps = 10_000
    exceptional = rng.random(steps) >= np.exp(epoch[0].chance)
    chosen = np.full(steps, c)
    waited = 0
    arms, epoch = opened(state)  # what plain Python works on is faster
    for i in np.flatnonzero(exceptional):
        for k, arm in enumerate(arms):
            arm.taken = int(busy and (k == c or k in own))
        if draw_exception(arms, epoch, rng):
            chosen[i] = settle(arms, epoch, rng)
            if chosen[i] == UNKNOWN:
                for arm in arms:
                    arm.taken = 0
                chosen[i] = settle(arms, epoch, rng)
                waited += 1
    assert (waited > 300) == busy
    s, n = np.array(sums), np.array(pulls)
    theta = rng.beta(1 + s, 1 + n - s, (1_000_000, len(pulls)))
    plain = np.argmax(theta >= (1 - alpha) * theta.max(axis=1, keepdims=True), axis=1)
    counts = [np.bincount(each, minlength=len(pulls)) for each in (chosen, plain)]
    table = np.array(counts)
    assert chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue > LEVEL


def check_epoch(arms, epoch):
    """Within the bounds c is chosen, and what lies beyond has an envelope at least as heavy."""
    c, w, keep = int(epoch[0].arm), int(epoch[0].witness), epoch[0].keep
    slack = 1 - 1e-7
    drawn = arms.above == 1.0
    for k, arm in enumerate(arms):
        # The worst posteriors while the bounds hold: every reward to come is 0, or 1.
        left = max(0, int(arm.end - arm.pulls))
        for more in (0, left // 2, left):
            if not drawn[k]:
                assert arm.below >= slack * beta.cdf(arm.low, arm.a, arm.b + more)
                assert arm.above >= slack * beta.sf(arm.high, arm.a + more, arm.b)
        if k != c and not drawn[k]:
            assert arm.high * keep <= arms[c].low * (1 + 1e-12)
            # A cheaper arm is not good enough as long as the witness is within its bounds.
            assert k > c or arm.high <= keep * arms[w].low * (1 + 1e-12) or drawn[w]
    if not drawn.any():
        assert np.isclose(epoch[0].chance, np.log1p(-(arms.above + arms.below)).sum())
    assert arms[c].end > arms[c].pulls


@given(data=st.data())
def test_planned_exceptions_cover_every_tail_that_matters(data):
    count = data.draw(st.integers(2, 5))
    pulls = data.draw(st.lists(st.integers(1, 3_000), min_size=count, max_size=count))
    means = data.draw(st.lists(st.floats(0, 1), min_size=count, max_size=count))
    sums = [round(n * mean) for n, mean in zip(pulls, means, strict=True)]
    state, arms, epoch = thompson(pulls, sums, data.draw(st.floats(0, 0.8)))
    epoch[0].length = data.draw(st.sampled_from([1, 16, 256]))
    epoch[0].epochs = data.draw(st.integers(0, 8))
    epoch[0].arm = data.draw(st.integers(0, count - 1))
    if not new_epoch(arms, epoch, sum(pulls)):
        return
    check_epoch(arms, epoch)
    # Another arm is pulled in exceptions: its part is brought up to date, c's stays.
    c, w = int(epoch[0].arm), int(epoch[0].witness)
    pulled = data.draw(st.sampled_from([k for k in {*range(count), w} if k != c]))
    times = data.draw(st.integers(1, 40))
    if arms[pulled].end > 0:
        # A batch ends before bounds run out.
        times = min(times, int(arms[pulled].end - arms[pulled].pulls))
    observe(state, pulled, times, float(times * data.draw(st.integers(0, 1))))
    opened_in_place(state)
    refresh(arms, epoch)
    if arms[c].end > 0:
        check_epoch(arms, epoch)


def test_the_witness_is_kept_up_to_date():
    """An expensive witness that disappoints, which random states seldom bring about."""
    state, arms, epoch = thompson([500, 450, 800], [150, 320, 600], 0.35)
    assert new_epoch(arms, epoch, 1_750)
    assert (epoch[0].arm, epoch[0].witness) == (1, 2)
    before = arms[2].below
    for _ in range(4):
        check_epoch(arms, epoch)
        observe(state, 2, 10, 0.0)
        opened_in_place(state)
        refresh(arms, epoch)
    assert arms[2].below > before


@pytest.mark.parametrize(("instance", "alpha"), [("nu1", None), ("goodreads", 0.1), ("cost-biased", None)])
def test_thompson_from_the_start_equals_plain_draws(instance, alpha):
    """Two-sample tests of each arm's pulls after 500 steps. False alarm: K 1e-5 each."""
    problem = fb.instance(instance, alpha)
    runs, steps = 2_000, 500
    fast = fb.simulate(problem, "ts-cs", steps, runs=runs, seed=4, checkpoints=1).pulls[:, -1]
    rng = np.random.default_rng(8)
    arms = problem.arms
    first = rng.random((runs, arms)) < problem.means  # every arm once
    slow, _ = plain_thompson(
        problem.means, 1 - problem.alpha, np.ones(arms), first, steps - arms, runs, seed=88
    )
    for k in range(arms):
        assert same_law(fast[:, k], slow[:, k]).pvalue > LEVEL


@pytest.mark.parametrize(("a", "b"), [(2.0, 1.0), (1.0, 3.0), (4.5, 2.25), (40.0, 60.0), (3000.0, 1000.5)])
@pytest.mark.parametrize("side", [ABOVE, BELOW])
@pytest.mark.parametrize("tail", [0.2, 0.05, 0.001])
def test_tail_points_have_the_law_of_the_tail(a, b, side, tail):
    """Acceptance has the tail's probability, and accepted points its law. False alarm: 2e-5 each."""
    x = beta.isf(tail, a, b) if side == ABOVE else beta.ppf(tail, a, b)
    norm = log_norm(a, b)
    rate = mass(a, b, norm, x, np.log(x), np.log1p(-x), side)
    assert rate >= tail * (1 - 1e-9)
    assert rate < 0.8
    rate *= 1.25  # a surplus must be thinned out
    rng = np.random.default_rng(3)
    points = np.array([tail_point(a, b, norm, x, side, rate, rng) for _ in range(20_000)])
    taken = points[points >= 0]
    assert binomtest(taken.size, points.size, tail / rate).pvalue > LEVEL
    inside = beta.sf(taken, a, b) / tail if side == ABOVE else beta.cdf(taken, a, b) / tail
    assert same_law(inside, np.linspace(0, 1, 20_001)).pvalue > LEVEL


@pytest.mark.parametrize("name", ["cof", "cof-cost-biased", "pe-cs", "ucb-cs"])
def test_simulated_runs_equal_plain_runs_in_law(name):
    """Two-sample tests of each arm's pulls against the plain step loop. False alarm: 3e-5 each."""
    problem = fb.Problem([0.35, 0.6, 0.7], [1, 2, 3], alpha=0.3)
    horizon, runs = 600, 300
    options = {"delta": 0.05} if name.startswith("cof") else {}
    policy = fb.COF(0.05, sampling=resolve(name).sampling) if options else name
    fast = fb.simulate(problem, policy, horizon, runs=2_000, seed=6, checkpoints=1).pulls[:, -1]
    slow = []
    for run in range(runs):
        rng = np.random.default_rng([77, run])
        pulled, _ = REFERENCES[name](
            lambda arm, rng=rng: float(rng.random() < problem.means[arm]),
            problem.costs,
            problem.alpha,
            horizon,
            **options,
        )
        slow.append(np.bincount(pulled, minlength=3))
    assert len(np.unique(fast, axis=0)) >= 5
    for k in range(3):
        assert same_law(fast[:, k], np.array(slow)[:, k]).pvalue > LEVEL
