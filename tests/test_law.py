"""Property 4 of the design: what is random has the law of the plain algorithm.

Every test has a fixed seed and states the probability of a false alarm, should the seed be changed.
"""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import beta, binomtest, chi2_contingency, chisquare, ks_2samp

import frugalbandits as fb
from frugalbandits.driver import drive_of
from frugalbandits.policies import Setting, resolve
from frugalbandits.policies.base import observe
from frugalbandits.policies.ts_epoch import new_epoch, parameters, pick_arms, refresh, set_above, set_chance
from frugalbandits.policies.ts_stretch import draw_exception, draw_tails
from frugalbandits.policies.ts_tails import ABOVE, BELOW, log_norm, mass, tail_point
from frugalbandits.rewards import Bernoulli
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
        state = policy.start(Setting(problem.costs, alpha, None))
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


# Pulls and rewards seen, alpha, and how far in the tails the levels are put: none cheaper than c, cheaper
# arms with c as the witness, and an expensive witness.
STEPS = [
    ([60, 30, 9], [40, 20, 6], 0.3, 0.1),
    ([40, 60, 25], [18, 42, 13], 0.1, 0.1),
    ([50, 45, 80, 30], [18, 30, 60, 18], 0.35, 0.08),
]


@pytest.mark.parametrize(("pulls", "sums", "alpha", "tail"), STEPS)
def test_a_step_has_its_exact_law_whatever_the_levels(pulls, sums, alpha, tail):
    """Levels are put where exceptions are frequent, so that every kind of them matters. False alarm: 1e-5."""
    policy = resolve("ts-cs")
    arms = len(pulls)
    state = policy.start(Setting(np.arange(arms, dtype=float), alpha, None))
    for k in range(arms):
        observe(state, k, pulls[k], float(sums[k]))
    stretch = state.stretch
    stretch.end[0] = 0
    refresh(state)
    pick_arms(state)
    c, w = int(stretch.arm[0]), int(stretch.witness[0])
    for which, arm in enumerate((c, w)):
        stretch.levels[which] = beta.ppf(tail, *parameters(state, arm))
    set_above(state, c + 1, arms)
    set_above(state, 0, c)
    for which, arm, surplus in ((1, w, 1.0), (0, c, 1.5)):
        a, b = parameters(state, arm)
        x = stretch.levels[which]
        stretch.below[arm] = surplus * mass(a, b, log_norm(a, b), x, np.log(x), np.log1p(-x), BELOW)
    assert (stretch.above + stretch.below < 1).all() and (stretch.below[[c, w]] > 0.1).all()
    set_chance(state)
    rng = np.random.default_rng(12)
    steps = 30_000
    exceptional = rng.random(steps) >= np.exp(stretch.chance[0])
    chosen = np.full(steps, c)
    for i in np.flatnonzero(exceptional):
        if draw_tails(state, rng):
            chosen[i] = draw_exception(state, rng)
    s, n = np.array(sums), np.array(pulls)
    theta = rng.beta(1 + s, 1 + n - s, (1_000_000, arms))
    plain = np.argmax(theta >= (1 - alpha) * theta.max(axis=1, keepdims=True), axis=1)
    table = np.array([np.bincount(chosen, minlength=arms), np.bincount(plain, minlength=arms)])
    assert chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue > LEVEL


def check_epoch(state):
    """Every tail that could change the choice has an envelope at least as heavy as itself."""
    stretch = state.stretch
    c, w, keep = int(stretch.arm[0]), int(stretch.witness[0]), state.keep
    low, assured = stretch.levels
    slack = 1 - 1e-7
    # The worst posterior of c within the epoch: every reward to come is 0.
    a, b = parameters(state, c)
    left = int(stretch.end[0] - state.tally.pulls[c])
    for zeros in (0, left // 2, left):
        assert stretch.below[c] >= slack * beta.cdf(low, a, b + zeros)
    if c > 0:
        assert w == c or stretch.below[w] >= slack * beta.cdf(assured, *parameters(state, w))
    for k in range(len(stretch.above)):
        if k == c:
            continue
        # Above this, an arm lifts the bar past l_c; and a cheaper arm is feasible itself.
        level = min(low / keep, keep * assured) if k < c else low / keep
        assert stretch.above[k] >= slack * beta.sf(level, *parameters(state, k))
    assert np.isclose(stretch.chance[0], np.log1p(-(stretch.above + stretch.below)).sum())


@settings(max_examples=200)
@given(data=st.data())
def test_planned_exceptions_cover_every_tail_that_matters(data):
    arms = data.draw(st.integers(2, 5))
    pulls = data.draw(st.lists(st.integers(1, 3_000), min_size=arms, max_size=arms))
    means = data.draw(st.lists(st.floats(0, 1), min_size=arms, max_size=arms))
    state = resolve("ts-cs").start(Setting(np.arange(arms, dtype=float), data.draw(st.floats(0, 0.8)), None))
    for k in range(arms):
        observe(state, k, pulls[k], float(round(pulls[k] * means[k])))
    state.stretch.length[0] = data.draw(st.sampled_from([1, 16, 256]))
    refresh(state)
    if not new_epoch(state):
        return
    check_epoch(state)
    # Another arm is pulled in exceptions: its part is brought up to date, c's stays.
    c, w = int(state.stretch.arm[0]), int(state.stretch.witness[0])
    pulled = data.draw(st.sampled_from([k for k in {*range(arms), w} if k != c]))
    times = data.draw(st.integers(1, 40))
    observe(state, pulled, times, float(times * data.draw(st.integers(0, 1))))
    refresh(state)
    if (state.stretch.above + state.stretch.below < 1).all():
        check_epoch(state)


def test_the_witness_is_kept_up_to_date():
    """An expensive witness that disappoints, which random states seldom bring about."""
    state = resolve("ts-cs").start(Setting(np.arange(3.0), 0.35, None))
    for k, (pulls, total) in enumerate([(500, 150), (450, 320), (800, 600)]):
        observe(state, k, pulls, float(total))
    refresh(state)
    assert new_epoch(state)
    assert (state.stretch.arm[0], state.stretch.witness[0]) == (1, 2)
    for _ in range(4):
        check_epoch(state)
        observe(state, 2, 15, 0.0)
        refresh(state)


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
