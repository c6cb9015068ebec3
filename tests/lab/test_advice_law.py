"""Advice against simulation: its driver has the law of the driver of worlds, and so have spend and days.

Each test has a fixed seed and a false-alarm rate below 1e-4, over all its comparisons.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import frugalbandits as fb
from frugalbandits.lab.advice.case import case_of
from frugalbandits.lab.advice.trial import KNOWS, known_after, moments, run_trial, stretches, truths

COLUMNS = ("option", "reward", "cost")
FEW = 4.9  # standard errors: a false alarm in a million
PROBLEMS = [
    fb.Problem([0.55, 0.8, 0.85], [0.1, 0.4, 1.0], alpha=0.1, names=["tiny", "small", "large"]),
    fb.Problem([0.7, 0.72, 0.3, 0.9], [0.2, 0.5, 0.6, 1.0], alpha=0.2, names=list("abcd")),
]


def case_for(problem, volume, days, feedback):
    named = dict(zip(problem.names, problem.means.tolist(), strict=True))
    costs = dict(zip(problem.names, problem.costs.tolist(), strict=True))
    bar = str(problem.quality)
    return case_of(costs, volume, None, bar, named, None, COLUMNS, days, None, feedback, 0.0, None)


def both(problem, policy, volume, days, feedback, runs):
    """The same many runs by the driver of advice and by that of worlds."""
    case = case_for(problem, volume, days, feedback)
    trial = run_trial(case, policy, truths(case, runs, 11), 11)
    world = fb.World(problem, feedback=feedback)
    times = moments(case).tolist()
    return trial, fb.simulate(world, policy, case.horizon, runs, 12, checkpoints=times, progress=False)


def apart(one, other):
    """By how many standard errors two means differ."""
    error = math.sqrt(one.var() / len(one) + other.var() / len(other))
    return abs(one.mean() - other.mean()) / (error + 1e-12)


@pytest.mark.parametrize("feedback", [1.0, 0.3, 0.03, "wanted"])
@pytest.mark.parametrize("policy", ["voi-cs", "etc-cs"])
@pytest.mark.parametrize("problem", PROBLEMS, ids=["three", "four"])
def test_uses_and_judgements_have_the_law_of_worlds(problem, policy, feedback):
    """Silent options rest at 3% judged: what a session does where little is heard."""
    trial, result = both(problem, policy, 30, 10, feedback, 250)
    assert np.array_equal(trial.times, result.times)
    assert (trial.pulls.sum(axis=2) == trial.times).all()
    for time in (len(trial.times) // 3, len(trial.times) // 2, -1):
        for option in range(problem.arms):
            assert apart(trial.pulls[:, time, option], result.pulls[:, time, option]) < FEW
    assert apart(trial.judged, result.judged[:, -1]) < FEW


@pytest.mark.parametrize("feedback", [1.0, 0.1])
def test_spend_and_days_to_know_are_those_of_simulation(feedback):
    """What `benchmarks/advise.py` does on 50 problems: means of spend, and the whole law of days."""
    for problem in PROBLEMS:
        trial, result = both(problem, "voi-cs", 120, 20, feedback, 200)
        assert apart(trial.spend, result.spend[:, -1]) < FEW
        right = np.tile(problem.feasible & (problem.costs <= problem.costs[problem.optimal_arm]), (200, 1))
        ends = stretches(trial.case.horizon)
        known = known_after(ends, result.pulls[:, np.searchsorted(result.times, ends)], right)[0]
        capped = [np.minimum(each, 2.0 * trial.case.horizon) for each in (trial.known, known)]
        assert stats.ks_2samp(*capped).pvalue > 1e-5
        told, seen = (float(np.median(each)) for each in capped)
        assert abs(told - seen) <= max(0.35 * seen, 20)


def plainly_known(times, pulls, right):
    """The definition, word by word, for one run."""
    last_tenth = [k for k, time in enumerate(times) if time <= 0.9 * times[-1]]
    start = pulls[last_tenth[-1]] if last_tenth else [0] * len(pulls[0])
    if not last_tenth and len(times) > 1:
        start = pulls[0]
    late = [int(end - begin) for end, begin in zip(pulls[-1], start, strict=True)]
    if len(times) == 1:
        late = list(pulls[-1])
    end = late.index(max(late))
    same = [k for k in range(len(late)) if k == end or (right[end] and right[k])]
    since, before, used = 0.0, 0, 0
    for time, counts in zip(times, pulls, strict=True):
        now = sum(int(counts[k]) for k in same)
        if now - used < KNOWS * (time - before):
            since = float(time)
        before, used = time, now
    return math.inf if since == times[-1] else since


@given(st.data())
def test_days_to_know_are_as_defined(data):
    arms = data.draw(st.integers(2, 4))
    steps = data.draw(st.lists(st.integers(1, 40), min_size=1, max_size=12))
    right = data.draw(st.lists(st.booleans(), min_size=arms, max_size=arms))
    times, pulls = np.cumsum(steps), []
    for step in steps:
        left, row = step, []
        for _ in range(arms - 1):
            row.append(data.draw(st.one_of(st.sampled_from([0, left]), st.integers(0, left))))
            left -= row[-1]
        pulls.append([*row, left])
    counted = np.cumsum(pulls, axis=0)
    found, _ = known_after(times, counted[None], np.array([right]))
    assert found[0] == plainly_known(times.tolist(), counted.tolist(), right)
