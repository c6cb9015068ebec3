"""The least regret: against all vertices, against a proof of optimality, and by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from bounds_harness import FAMILIES, HAND, T, problems
from frugalbandits.lab import bounds

LOG = math.log(T)
OBJECTIVES = ("sum", "cost", "quality")


def gaps_of(problem: fb.Problem, objective: str) -> np.ndarray:
    kinds = {"cost": [problem.cost_gaps], "quality": [problem.quality_gaps]}
    return sum(kinds.get(objective, [problem.cost_gaps, problem.quality_gaps]))


def least_vertex(gaps: np.ndarray, lower: np.ndarray, rows: list[np.ndarray], level: float) -> float:
    """The least regret over every point where as many bounds are tight as there are arms."""
    sides = [*np.eye(len(gaps)), *rows]
    levels = [*lower, *[level] * len(rows)]
    least = math.inf
    for chosen in itertools.combinations(range(len(sides)), len(gaps)):
        matrix = np.array([sides[i] for i in chosen])
        if abs(np.linalg.det(matrix)) < 1e-12:
            continue
        pulls = np.linalg.solve(matrix, [levels[i] for i in chosen])
        if all(side @ pulls >= at * (1 - 1e-9) - 1e-9 for side, at in zip(sides, levels, strict=True)):
            least = min(least, float(gaps @ pulls))
    return least


def test_hand_worked() -> None:
    """In multiples of log T: own bounds, then what the joint bound lacks, from the arm that costs least."""
    least = bounds.least_regret(HAND["no cheap arm"], T, "gaussian")
    # Arm 2 costs 1 more than a* and lacks 0.56 - 0.3; arm 3 costs 2 more.
    assert least.value / LOG == pytest.approx(2 / 0.45**2 * (1 + 0.26) + 2 / 0.05**2 * 2)
    assert least.tight == ("a2: own bound (expensive)", "a3: own bound (i* expensive)")

    # No own bound for i*, so that the joint bound alone sets its pulls: 1 / kl(0.9, 5/7) = 1 / 0.1030183
    least = bounds.least_regret(HAND["i* alone"], T, "bernoulli", "cost")
    assert least.value / LOG == pytest.approx(7 / 0.1030183, rel=1e-5)

    # Own bounds give 0.646 of the joint bound. A pull of arm 4 costs 3 and gives 0.0257318, one of arm 3
    # costs 1 and gives 0.0061643, so arm 4 does the rest: (1 - 0.0061643 / 0.0923323) / 0.0257318.
    least = bounds.least_regret(HAND["two share"], T)
    assert least.pulls[3] / LOG == pytest.approx((1 - 0.0061643 / 0.0923323) / 0.0257318, rel=1e-4)
    assert least.pulls[2] / LOG == pytest.approx(1 / 0.0923323, rel=1e-4)
    assert "joint bound against a1 (a† cheap): a3 + a4" in least.tight
    assert "a3: own bound (expensive)" in least.tight
    assert "a4: own bound (i* expensive)" not in least.tight


@given(problems(most=5), st.sampled_from(FAMILIES), st.sampled_from(OBJECTIVES))
def test_no_vertex_has_less_regret(problem: fb.Problem, rewards: str, objective: str) -> None:
    gaps, lower = gaps_of(problem, objective), bounds.lower_pulls(problem, T, rewards)
    least = bounds.least_regret(problem, T, rewards, objective)
    arms = [arm for arm in range(problem.arms) if arm != problem.optimal_arm and lower[arm] < math.inf]
    endless = np.isinf(lower)
    if gaps[endless].any():
        assert least.value == math.inf
        return
    rows = [
        shared.weights[arms]
        for shared in bounds.joints(problem, T, rewards)
        if not shared.free and not shared.weights[endless].any()
    ]
    expected = least_vertex(gaps[arms], lower[arms], rows, LOG) if arms else 0.0
    assert least.value == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(problems(), st.sampled_from(FAMILIES), st.sampled_from(OBJECTIVES))
def test_pulls_meet_every_bound_and_no_others_do_with_less(
    problem: fb.Problem, rewards: str, objective: str
) -> None:
    """Weak duality: a multiplier of the tightest joint bound proves that nothing is less."""
    gaps, lower = gaps_of(problem, objective), bounds.lower_pulls(problem, T, rewards)
    least = bounds.least_regret(problem, T, rewards, objective)
    others = np.arange(problem.arms) != problem.optimal_arm
    assert (least.pulls[others] >= lower[others] * (1 - 1e-9)).all()
    for shared in bounds.joints(problem, T, rewards):
        assert shared.free or shared.evidence(least.pulls) >= shared.level * (1 - 1e-9)
    if np.isinf(least.pulls[gaps > 0]).any():
        assert least.value == math.inf
        return
    assert least.value == pytest.approx(gaps[gaps > 0] @ least.pulls[gaps > 0])
    bound = float(gaps[gaps > 0] @ lower[gaps > 0])
    shared = bounds.joint(problem, T, rewards)
    if shared is not None and not shared.free and not np.isinf(lower[shared.arms]).any():
        rate = (gaps[shared.arms] / shared.weights[shared.arms]).min()
        # gaps - rate * weights >= 0, so gaps @ n >= gaps @ lower + rate * (level - weights @ lower).
        bound += rate * max(0.0, shared.level - shared.evidence(lower))
    assert least.value == pytest.approx(bound, rel=1e-6, abs=1e-9)


@given(problems(), st.sampled_from(FAMILIES))
def test_one_objective_alone_is_no_more_than_its_part_of_the_sum(problem: fb.Problem, rewards: str) -> None:
    both = bounds.least_regret(problem, T, rewards)
    parts = [bounds.least_regret(problem, T, rewards, objective).value for objective in ("cost", "quality")]
    assert sum(parts) <= both.value * (1 + 1e-6) + 1e-9


def test_a_star_can_meet_a_joint_bound_for_free() -> None:
    problem = fb.Problem([0.2, 0.8, 0.85], [1, 2, 3], alpha=0.1)
    shared = bounds.joint(problem, T)
    assert shared is not None and shared.free and problem.optimal_arm in shared.arms
    least = bounds.least_regret(problem, T)
    assert least.pulls[2] == pytest.approx(bounds.lower_pulls(problem, T)[2])


def test_arms_without_regret_do_the_work_with_few_pulls() -> None:
    """For quality regret, feasible arms are free: they meet the joint bound, and no more than that."""
    problem = HAND["two share"]
    least = bounds.least_regret(problem, T, objective="quality")
    shared = bounds.joint(problem, T)
    assert shared is not None
    assert shared.evidence(least.pulls) == pytest.approx(shared.level)
    own = bounds.lower_pulls(problem, T)
    assert least.value == pytest.approx(own @ problem.quality_gaps)


def test_an_infinite_bound_is_infinite_regret_only_where_the_arm_has_regret() -> None:
    problem = fb.Problem([0.72, 0.8, 0.5], [1, 2, 3], alpha=0.1)
    assert bounds.least_regret(problem, T).value == math.inf
    quality = bounds.least_regret(problem, T, objective="quality")
    assert quality.value < math.inf and quality.pulls[1] == math.inf and quality.pulls[0] == 0
    assert quality.too_early
    assert "a2: own bound (i* expensive), which is infinite" in quality.tight


def test_what_is_left_of_the_horizon_is_for_a_star() -> None:
    problem = HAND["i* alone"]
    least = bounds.least_regret(problem, T)
    assert least.pulls.sum() == pytest.approx(T)
    assert not least.too_early
    early = bounds.least_regret(problem, 100)
    assert early.too_early and early.pulls[2] == 0
    assert early.value == pytest.approx(least.value * math.log(100) / LOG)


@pytest.mark.parametrize("spread", [1e-5, 1e-3, 1.0])
@pytest.mark.parametrize("price", [1e-6, 1.0, 1e9])
def test_scales_far_apart_do_not_upset_the_solver(spread: float, price: float) -> None:
    """Arms that hardly help, and costs of any size: the closed form for the one bound that binds."""
    rng = np.random.default_rng(3)
    means = np.concatenate([[0.35, 0.45], 0.7 + spread * rng.uniform(1e-3, 0.08, 30), [0.3]])
    costs = price * np.concatenate([[1, 2], rng.uniform(2.1, 90, 30), [0.5]])
    problem = fb.Problem(means, costs, alpha=0.5 * (1 - spread / 100))
    for rewards in FAMILIES:
        shared = bounds.joint(problem, T, rewards)
        assert shared is not None and not shared.free
        gaps, lower = gaps_of(problem, "sum"), bounds.lower_pulls(problem, T, rewards)
        rate = (gaps[shared.arms] / shared.weights[shared.arms]).min()
        expected = gaps @ lower + rate * max(0.0, shared.level - shared.evidence(lower))
        assert bounds.least_regret(problem, T, rewards).value == pytest.approx(expected, rel=1e-6)
