"""GLR-COF in the simulator: its proven threshold, what its settings do to regret, and its edges."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy.special import gammaln

import frugalbandits as fb
from frugalbandits.core.policies.glr_cof.evidence import penalty


def test_penalty_covers_the_mixture_at_every_sum():
    """The mixture over Beta(1/2, 1/2) is at least exp(n kl(m, mu) - penalty), also for fractional sums."""
    for n in [1, 2, 3, 7, 50, 1_000, 10**6]:
        s = np.linspace(0, n, 2_001)
        best = np.where(s > 0, s * np.log(np.maximum(s, 1e-300) / n), 0)
        best += np.where(s < n, (n - s) * np.log(np.maximum(n - s, 1e-300) / n), 0)
        mixture = gammaln(s + 0.5) + gammaln(n - s + 0.5) - gammaln(n + 1) - math.log(math.pi)
        assert (best - mixture <= penalty(n) + 1e-8).all()


NEAR = fb.Problem([0.3, 0.42, 0.5, 0.46], [1, 2, 3, 4], alpha=0.1)


def test_proven_threshold_keeps_its_word():
    """At delta = 0.2 at most 20% of runs may conclude wrongly; far fewer do. False alarm: below 1e-9."""
    policy = fb.GLRCOF(delta=0.2, threshold="proven", goal="conclusion")
    result = fb.simulate(NEAR, policy, 20_000, runs=400, seed=3)
    wrong = {int(event["run"]) for event in result.events if _is_wrong(event)}
    assert len(wrong) <= 80


def _is_wrong(event):
    feasible = bool(NEAR.feasible[event["arm"]])
    return feasible if event["event"] == "infeasible" else event["arm"] != NEAR.optimal_arm


def test_a_tolerance_ends_a_tie():
    """The second arm is exactly at the threshold: no test can tell, and a tolerance need not."""
    tie = fb.Problem([0.5, 0.72, 0.8], [1, 2, 9], alpha=0.1)
    for policy in (fb.GLRCOF(goal="conclusion"), fb.COF()):
        open_ = fb.simulate(tie, policy, 100_000, runs=10)
        closed = fb.simulate(tie, dataclasses.replace(policy, tolerance=0.05), 100_000, runs=10)
        settled = [event for event in closed.events if event["event"] == "optimal"]
        assert len(settled) == 10
        assert {int(event["arm"]) for event in settled} == {1}
        assert closed.summary().mean < open_.summary().mean / 3


def test_within_the_tolerance_the_cheaper_arm_may_be_taken():
    problem = fb.Problem([0.70, 0.72, 0.8], [1, 2, 9], alpha=0.1)  # the first misses 0.72 by 0.02
    for policy in (fb.GLRCOF(tolerance=0.1, goal="conclusion"), fb.COF(tolerance=0.1)):
        result = fb.simulate(problem, policy, 50_000, runs=20)
        assert (result.final_arm == 0).all()


def test_if_regret_is_the_goal_no_pull_is_made_for_a_conclusion():
    """The regret is less, and the proven threshold costs nothing: it has a part in conclusions only."""
    problem = fb.instance("goodreads", alpha=0.1)
    free, proven, asked = (
        fb.simulate(problem, policy, 1_000_000, runs=10).summary().mean
        for policy in (fb.GLRCOF(), fb.GLRCOF(threshold="proven"), fb.GLRCOF(goal="conclusion"))
    )
    assert free < 0.8 * asked
    assert proven == pytest.approx(free, rel=0.05)


EDGES = {
    "no reward at all": ([0.0, 0.0, 0.0], [1, 2, 3], 0.1),
    "nothing but reward": ([1.0, 1.0, 1.0], [1, 2, 3], 0.1),
    "zero against one": ([0.0, 1.0], [1, 2], 0.0),
    "one against zero": ([1.0, 0.0], [1, 2], 0.0),
    "no subsidy": ([0.4, 0.5, 0.6], [1, 2, 3], 0.0),
    "equal costs": ([0.4, 0.5, 0.6], [2, 2, 2], 0.1),
    "far costs": ([0.4, 0.5, 0.6], [-1.7e308, 0, 1.7e308], 0.1),
    "nearly all given up": ([0.1, 0.5, 0.9], [1, 2, 3], 0.99),
    "hundreds of arms": (np.linspace(0.1, 0.9, 300), np.linspace(0, 1, 300), 0.1),
}


@pytest.mark.parametrize("threshold", ["practical", "proven"])
@pytest.mark.parametrize("edge", EDGES)
def test_edges(edge, threshold):
    means, costs, alpha = EDGES[edge]
    horizon = 30_000 if len(means) > 100 else 300_000
    result = fb.simulate(fb.Problem(means, costs, alpha), fb.GLRCOF(threshold=threshold), horizon, runs=3)
    assert (result.pulls.sum(axis=2) == result.times).all()
    if edge != "hundreds of arms":
        assert result.found_optimal == 1.0


@pytest.mark.parametrize("instance", ["goodreads", "movielens"])
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3])
def test_regret_is_a_fraction_of_cof_s(instance, alpha):
    """The ratios are about 0.1 (benchmarks/regret.py); fixed seeds, so this cannot fail by chance."""
    problem = fb.instance(instance, alpha=alpha)
    ours, cof = (fb.simulate(problem, name, 1_000_000, runs=10).summary().mean for name in ("glr-cof", "cof"))
    assert ours < cof / 3
