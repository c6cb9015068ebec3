"""The lower bounds: against values worked out by hand, closed forms, and searches over grids."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from bounds_harness import FAMILIES, HAND, T, problems
from frugalbandits.lab import bounds

LOG = math.log(T)


def plain_kl(p: float, q: float) -> float:
    def half(a: float, b: float) -> float:
        return 0.0 if a == 0 else math.inf if b == 0 else a * math.log(a / b)

    return half(p, q) + half(1 - p, 1 - q)


# Worked out by hand, as multiples of log T


def test_hand_worked_without_a_cheap_arm() -> None:
    """a* is the cheapest; an expensive arm would have to exceed 0.6 / 0.8 = 0.75."""
    problem = HAND["no cheap arm"]
    gaussian = bounds.lower_pulls(problem, T, "gaussian") / LOG
    assert gaussian == pytest.approx([0, 2 / 0.45**2, 2 / 0.05**2])
    # 0.3 log(0.4) + 0.7 log(2.8), and 0.7 log(14/15) + 0.3 log(1.2)
    assert bounds.lower_pulls(problem, T) / LOG == pytest.approx([0, 1 / 0.4458463, 1 / 0.0064014], rel=1e-4)
    assert bounds.joint(problem, T) is None
    assert bounds.joints(problem, T) == ()
    assert bounds.best_arm_pulls(problem, T) == 0
    who = bounds.roles(problem)
    assert (who.optimal, who.best, who.dagger) == (0, 2, None)
    assert [who.label(arm) for arm in range(3)] == ["a*", "expensive", "i* expensive"]


def test_hand_worked_where_only_the_best_arm_can_rule_the_best_cheap_arm_out() -> None:
    """The threshold is 0.63, and a cheap arm of mean 0.5 is good enough beside 0.5 / 0.7 = 5/7."""
    problem = HAND["i* alone"]
    gaussian = bounds.lower_pulls(problem, T, "gaussian") / LOG
    assert gaussian == pytest.approx([2 / 0.43**2, 2 / 0.13**2, 0, 2 / 0.1**2])
    # No Bernoulli mean exceeds 0.7 / 0.7 = 1.
    bernoulli = bounds.lower_pulls(problem, T) / LOG
    assert bernoulli == pytest.approx([1 / plain_kl(0.2, 0.63), 1 / plain_kl(0.5, 0.63), 0, 0])
    shared = bounds.joint(problem, T, "gaussian")
    assert shared is not None and shared.arm == 1 and shared.arms.tolist() == [3]
    assert shared.level == pytest.approx(LOG)
    assert shared.weights[3] == pytest.approx((0.7 * 0.9 - 0.5) ** 2 / (2 * 0.7**2))
    # Equation iclr_lower_bound: 2 (1 - alpha)^2 / Delta_Q^2.
    assert bounds.best_arm_pulls(problem, T, "gaussian") / LOG == pytest.approx(2 * 0.7**2 / 0.13**2)
    assert bounds.best_arm_pulls(problem, T) / LOG == pytest.approx(1 / plain_kl(0.9, 5 / 7))


def test_hand_worked_where_two_arms_share_the_joint_bound() -> None:
    """The threshold is 0.4; 0.35 is good enough beside 0.7, which 0.75 and 0.8 exceed, 0.6 does not."""
    problem = HAND["two share"]
    who = bounds.roles(problem)
    assert (who.optimal, who.best, who.dagger) == (1, 3, 0)
    shared = bounds.joint(problem, T, "gaussian")
    assert shared is not None and not shared.free
    assert shared.weights == pytest.approx([0, 0, 0.05**2 / 2, 0.1**2 / 2, 0])
    exact = bounds.joint(problem, T)
    assert exact is not None
    assert exact.weights == pytest.approx([0, 0, 0.0061643, 0.0257318, 0], rel=1e-4)
    assert bounds.lower_pulls(problem, T, "gaussian") / LOG == pytest.approx(
        [2 / 0.05**2, 0, 2 / 0.15**2, 2 / 0.1**2, 2 / 0.3**2]
    )
    assert bounds.best_arm_pulls(problem, T) == 0


@pytest.mark.parametrize("sigma", [0.1, 0.5, 3.0])
def test_gaussian_pulls_grow_with_the_variance(sigma: float) -> None:
    problem = HAND["two share"]
    unit = bounds.lower_pulls(problem, T, "gaussian")
    assert bounds.lower_pulls(problem, T, "gaussian", sigma) == pytest.approx(sigma**2 * unit)
    shared, scaled = bounds.joint(problem, T, "gaussian"), bounds.joint(problem, T, "gaussian", sigma)
    assert shared is not None and scaled is not None
    assert scaled.weights * sigma**2 == pytest.approx(shared.weights)


# Against the paper's closed forms


@given(problems(), st.sampled_from([0.3, 1.0, 2.0]))
def test_gaussian_bounds_are_the_papers_formulas(problem: fb.Problem, sigma: float) -> None:
    who = bounds.roles(problem)
    keep, means = 1 - problem.alpha, problem.means
    pulls = bounds.lower_pulls(problem, T, "gaussian", sigma) / (sigma**2 * LOG)
    for arm in range(problem.arms):
        if who.cheap[arm]:
            assert pulls[arm] == pytest.approx(2 / problem.quality_gaps[arm] ** 2)
        elif who.expensive[arm]:
            gap = means[who.optimal] - keep * means[arm]
            expected = math.inf if gap < 1e-9 else 2 * keep**2 / gap**2
            assert pulls[arm] == pytest.approx(expected, rel=1e-6)
        else:
            assert pulls[arm] == 0
    for shared in bounds.joints(problem, T, "gaussian", sigma):
        gaps = np.maximum(keep * means - means[shared.arm], 0)
        # The paper's form: sum of squared gaps times pulls >= 2 (1 - alpha)^2 log T.
        assert shared.weights * 2 * keep**2 * sigma**2 == pytest.approx(gaps**2, abs=1e-15)
        assert shared.level == pytest.approx(LOG)


# Against searches over grids of alternatives


@pytest.mark.parametrize(("mean", "level"), [(0.0, 0.3), (0.2, 0.64), (0.7, 0.75), (0.95, 0.999), (0.4, 0.4)])
def test_d_inf_is_the_least_divergence_to_a_higher_mean(mean: float, level: float) -> None:
    grid = np.linspace(level, 1, 200_001)[1:]
    least = min(plain_kl(mean, q) for q in grid)
    assert bounds.d_inf(mean, level).item() == pytest.approx(least, rel=1e-3, abs=1e-9)
    gaussian = (mean - grid) ** 2 / (2 * 0.7**2)
    assert bounds.d_inf(mean, level, "gaussian", 0.7).item() == pytest.approx(
        gaussian.min(), rel=1e-3, abs=1e-9
    )


@pytest.mark.parametrize(("mean", "level"), [(1.0, 0.3), (0.8, 0.64), (0.75, 0.7), (0.4, 0.4), (0.2, 0.001)])
def test_reverse_d_inf_is_the_least_divergence_to_a_lower_mean(mean: float, level: float) -> None:
    grid = np.linspace(0, level, 200_001)
    least = min(plain_kl(mean, q) for q in grid)
    assert bounds.reverse_d_inf(mean, level).item() == pytest.approx(least, rel=1e-3, abs=1e-9)


def test_own_bounds_are_the_least_change_of_one_arm_that_changes_the_optimal_arm() -> None:
    """For each arm, every higher mean on a grid is tried out on the problem itself."""
    for problem in HAND.values():
        pulls = bounds.lower_pulls(problem, T) / LOG
        for arm in range(problem.arms):
            if arm == problem.optimal_arm:
                continue
            least = math.inf
            for mean in np.arange(problem.means[arm], 1.0, 1e-4):
                means = problem.means.copy()
                means[arm] = mean
                changed = fb.Problem(means, problem.costs, problem.alpha)
                if changed.optimal_arm != problem.optimal_arm:
                    least = plain_kl(problem.means[arm], mean)
                    break
            assert 1 / least == pytest.approx(pulls[arm], rel=0.02)


def test_the_joint_bound_is_the_least_change_of_all_other_arms_that_makes_a_cheap_arm_optimal() -> None:
    """Given pulls, the cheapest alternative in evidence, over a grid of means of the two arms that matter."""
    problem = HAND["two share"]
    shared = bounds.joint(problem, T)
    assert shared is not None
    grid = np.arange(0.6, 0.8 + 1e-9, 0.0025)
    for pulls in ([0, 0, 10, 10, 5], [3, 9, 100, 1, 0], [0, 0, 1, 40, 2]):
        least = math.inf
        for third in grid:
            for fourth in grid:
                means = [0.35, 0.45, third, fourth, 0.6]
                if fb.Problem(means, problem.costs, problem.alpha).optimal_arm == 0:
                    evidence = pulls[2] * plain_kl(0.75, third) + pulls[3] * plain_kl(0.8, fourth)
                    least = min(least, evidence)
        assert shared.evidence(pulls) == pytest.approx(least, rel=1e-6)


@given(problems(), st.sampled_from(FAMILIES))
def test_the_best_cheap_arm_has_the_tightest_joint_bound(problem: fb.Problem, rewards: str) -> None:
    every = bounds.joints(problem, T, rewards)
    tightest = bounds.joint(problem, T, rewards)
    assert (tightest is None) == (not every)
    for shared in every:
        assert tightest is not None
        assert set(tightest.arms) <= set(shared.arms)
        assert (shared.weights >= tightest.weights * (1 - 1e-9)).all()
        assert problem.best_arm in shared.arms
        assert (bounds.joint(problem, T, rewards, arm=shared.arm).weights == shared.weights).all()


# Edges


def test_a_gap_of_zero_gives_an_infinite_bound() -> None:
    """a* is only just feasible, up to rounding: i* cannot be told from an arm that rules it out."""
    problem = fb.Problem([0.72, 0.8, 0.5], [1, 2, 3], alpha=0.1)
    assert problem.optimal_arm == 0
    for rewards in FAMILIES:
        pulls = bounds.lower_pulls(problem, T, rewards)
        assert pulls[1] == math.inf
        assert 0 < pulls[2] < math.inf


def test_alpha_of_zero() -> None:
    problem = fb.Problem([0.4, 0.8, 0.6, 0.8], [1, 2, 3, 4], alpha=0.0)
    assert problem.optimal_arm == 1
    pulls = bounds.lower_pulls(problem, T) / LOG
    expected = [1 / plain_kl(0.4, 0.8), 0, 1 / plain_kl(0.6, 0.8), math.inf]
    assert pulls == pytest.approx(expected)
    shared = bounds.joint(problem, T)
    assert shared is not None and shared.arms.tolist() == [1, 2, 3] and shared.free


def test_means_of_zero_and_one() -> None:
    problem = fb.Problem([0.0, 0.4, 1.0, 0.0], [1, 2, 3, 4], alpha=0.5)
    pulls = bounds.lower_pulls(problem, T) / LOG
    # The threshold is 0.5; an expensive arm would have to exceed 1 / 0.5.
    assert pulls == pytest.approx([1 / math.log(2), 1 / plain_kl(0.4, 0.5), 0, 0])
    assert not np.isnan(bounds.lower_pulls(problem, T, "gaussian")).any()
    # One reward of 1 rules an arm out whose mean is 0.
    none = bounds.joint(problem, T, arm=0)
    assert none is not None and none.free and np.isinf(none.weights[2])
    assert bounds.joint(problem, T, "gaussian", arm=0).weights[2] == pytest.approx(0.5)
    certain = fb.Problem([0.3, 1.0], [1, 2], alpha=0.0)
    assert bounds.lower_pulls(certain, T).tolist() == [0, 0]
    nothing = fb.Problem([0.0, 0.0], [1, 2], alpha=0.5)
    assert bounds.lower_pulls(nothing, T).tolist() == [0, math.inf]


def test_no_expensive_arm() -> None:
    problem = fb.Problem([0.2, 0.5, 0.9], [1, 2, 3], alpha=0.1)
    who = bounds.roles(problem)
    assert not who.expensive.any() and who.dagger == 1
    shared = bounds.joint(problem, T)
    assert shared is not None and shared.free


def test_equal_costs_go_by_the_callers_order_as_in_cof() -> None:
    problem = fb.Problem([0.3, 0.8, 0.3, 0.85], [2, 2, 2, 2], alpha=0.2)
    who = bounds.roles(problem)
    assert who.optimal == 1
    assert [who.label(arm) for arm in range(4)] == ["a† cheap", "a*", "same cost", "i* same cost"]
    pulls = bounds.lower_pulls(problem, T, "gaussian") / LOG
    assert pulls == pytest.approx([2 / 0.38**2, 0, 2 / 0.7**2, 2 / 0.15**2])


def test_the_divergence_keeps_its_digits_where_means_are_close() -> None:
    for p in (1e-9, 0.2, 0.7, 1 - 1e-9):
        for step in (1e-3, 1e-6, 1e-8):
            q = p + step * p * (1 - p)
            gap = q - p
            # kl = gap^2 / (2 p (1 - p)) (1 + O(gap)): the first two terms of the series
            second = gap**2 / (2 * p * (1 - p)) * (1 - 2 / 3 * gap * (1 - 2 * p) / (p * (1 - p)))
            assert bounds.bernoulli_kl(p, q).item() == pytest.approx(second, rel=2 * step**2 + 1e-6)


# Any problem


@given(problems(), st.randoms(use_true_random=False), st.sampled_from(FAMILIES))
def test_permuted_arms_permute_the_bounds(problem: fb.Problem, random: Random, rewards: str) -> None:
    order = list(range(problem.arms))
    random.shuffle(order)
    other = fb.Problem(problem.means[order], problem.costs[order], problem.alpha)
    assert (bounds.lower_pulls(other, T, rewards) == bounds.lower_pulls(problem, T, rewards)[order]).all()
    for left, right in zip(bounds.joints(problem, T, rewards), bounds.joints(other, T, rewards), strict=True):
        assert (right.weights == left.weights[order]).all()
    least, moved = (bounds.least_regret(one, T, rewards) for one in (problem, other))
    assert moved.value == pytest.approx(least.value)
    assert moved.pulls == pytest.approx(least.pulls[order])
    upper, lifted = bounds.cof_upper(problem, T), bounds.cof_upper(other, T)
    assert lifted.pulls == pytest.approx(upper.pulls[order])
    assert lifted.quality_regret == pytest.approx(upper.quality_regret)


@given(problems(), st.sampled_from(FAMILIES))
def test_bounds_grow_with_the_horizon(problem: fb.Problem, rewards: str) -> None:
    early, late = 10**3, 10**7
    grown = math.log(late) / math.log(early)
    lower = bounds.lower_pulls(problem, early, rewards)
    assert bounds.lower_pulls(problem, late, rewards) == pytest.approx(grown * lower)
    assert bounds.least_regret(problem, late, rewards).value == pytest.approx(
        grown * bounds.least_regret(problem, early, rewards).value
    )
    assert (bounds.cof_upper(problem, late).pulls >= bounds.cof_upper(problem, early).pulls).all()


@given(problems())
def test_cofs_upper_bounds_lie_above_the_lower_bounds(problem: fb.Problem) -> None:
    upper = bounds.cof_upper(problem, T)
    lower = bounds.lower_pulls(problem, T)
    others = np.arange(problem.arms) != problem.optimal_arm
    assert (upper.pulls[others] >= lower[others]).all()
    assert upper.summed_regret >= bounds.least_regret(problem, T).value * (1 - 1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: bounds.lower_pulls(p, 3), "horizon must be greater than the number of arms"),
        (lambda p: bounds.lower_pulls(p, T, "beta"), "rewards must be 'bernoulli' or 'gaussian', .* 'beta'"),
        (lambda p: bounds.lower_pulls(p, T, "gaussian", 0.0), "sigma must be a positive number, .* 0.0"),
        (lambda p: bounds.least_regret(p, T, objective="both"), "objective must be .* 'both'"),
        (lambda p: bounds.joint(p, T, arm=2), "one before a\\*, but it is 2; the cheap ones are: 0, 1"),
        (lambda p: bounds.joint(p, T, arm=9), "but it is 9"),
        (lambda p: bounds.rounds(p, T, arm=2), "one before a\\*, but it is 2"),
        (lambda p: bounds.cof_upper(p, T, delta=1.5), "delta must lie strictly between 0 and 1, .* 1.5"),
        (lambda p: bounds.cof_upper(p, 1.5), "whole number"),
    ],
)
def test_bad_values_are_named(call: Callable[[fb.Problem], object], message: str) -> None:
    with pytest.raises(fb.InputError, match=message):
        call(HAND["i* alone"])
