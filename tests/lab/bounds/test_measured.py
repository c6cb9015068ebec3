"""Bounds against what COF does: below the upper bound, above the least regret, at a ratio that settles."""

from __future__ import annotations

import math

import numpy as np
import pytest

import frugalbandits as fb
from frugalbandits.lab import bounds

# The share of means above their bound that chance alone would give: 5 standard errors, one-sided, are
# 3e-7 for each of about 60 x 4 arms.
ERRORS = 5


@pytest.mark.parametrize("horizon", [3_000, 100_000])
def test_cof_stays_below_its_upper_bound(horizon: int) -> None:
    """60 random problems with wide gaps, so that the bound lies below the horizon for many arms."""
    rng = np.random.default_rng(20)
    told = 0
    for number in range(60):
        arms = int(rng.integers(2, 7))
        means, costs = rng.uniform(0, 1, arms), rng.permutation(arms) + 1.0
        problem = fb.Problem(means, costs, float(rng.uniform(0, 0.6)))
        upper = bounds.cof_upper(problem, horizon)
        policy = fb.COF(delta=float(horizon) ** -2)
        result = fb.simulate(problem, policy, horizon, runs=12, seed=number, checkpoints=1, workers=2)
        pulls = result.pulls[:, -1]
        error = ERRORS * pulls.std(axis=0, ddof=1) / math.sqrt(result.runs)
        others = np.arange(arms) != problem.optimal_arm
        assert (pulls.mean(axis=0) <= upper.pulls + error)[others].all()
        told += int((upper.pulls[others] < horizon).sum())
        for regret, bound in (
            (result.cost_regret[:, -1], upper.cost_regret),
            (result.quality_regret[:, -1], upper.quality_regret),
        ):
            assert regret.mean() <= bound + ERRORS * regret.std(ddof=1) / math.sqrt(result.runs)
    assert told > 40


@pytest.mark.parametrize(("name", "settled"), [("goodreads", 8.9), ("movielens", 8.1)])
def test_measured_regret_over_the_least_settles_above_one(name: str, settled: float) -> None:
    """COF's summed regret over the least, at alpha = 0.05: a constant from 10^7 pulls on.

    A run's regret varies by a sixth at most, a mean of 12 by a twentieth: the tolerance is five of those.
    """
    problem = fb.instance(name, alpha=0.05)
    ratios = []
    for horizon in (10**4, 10**5, 10**6, 10**7, 10**8):
        result = fb.simulate(problem, "cof", horizon, runs=12, seed=1, checkpoints=1, workers=2)
        ratios.append(result.summary().mean / bounds.least_regret(problem, horizon).value)
    # At 10^4 COF has had no time to tell arms apart, and the asymptotic bound exceeds what can happen.
    assert ratios[0] < 1
    assert min(ratios[2:]) > 1
    assert ratios[3:] == pytest.approx([settled, settled], rel=0.25)


def test_least_pulls_lie_below_what_cof_does_late() -> None:
    """Arm by arm, at 10^8 pulls, where the asymptotic bounds have come true."""
    problem = fb.instance("movielens", alpha=0.05)
    result = fb.simulate(problem, "cof", 10**8, runs=6, seed=2, checkpoints=1, workers=2)
    mean = result.pulls[:, -1].mean(axis=0)
    others = np.arange(problem.arms) != problem.optimal_arm
    assert (mean > bounds.lower_pulls(problem, 10**8))[others].all()
