"""COF's upper bounds: the theorem's formulas, the choice of A, and steps of the proof that are mended."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from bounds_harness import HAND, T, problems
from frugalbandits.lab import bounds

LOG = math.log(T)


def plain_core(problem: fb.Problem, arm: int, limit: float, n: float) -> bool:
    """Equation core_optimization_problem_tau_ell at n rounds, straight from the paper."""
    beta = math.sqrt(limit / (2 * n))
    best = problem.means.max()
    total = 0.0
    for mean in problem.means:
        gap = (1 - problem.alpha) * mean - problem.means[arm]
        pause = math.inf if mean == best else 8 * limit / (best - mean) ** 2
        if gap > 0 and n <= pause * (1 + 1e-12):
            total += max(gap - 3 * beta, 0) ** 2
    return total >= beta**2 * (1 - 1e-9)


def test_hand_worked_pulls() -> None:
    upper = bounds.cof_upper(HAND["no cheap arm"], T)
    # mu_a* - (1 - alpha) mu_k is 0.6 - 0.24 and 0.6 - 0.56; K is 3.
    assert upper.pulls == pytest.approx([T, 16 * LOG / 0.36**2 + 3, 16 * LOG / 0.04**2 + 3])
    assert upper.combined == 0 and not upper.dagger_pulls.any()

    upper = bounds.cof_upper(HAND["i* alone"], T)
    # Cheap: 16 log T / Delta_Q^2 + 2. Expensive: 0.7 - 0.63 in the episode of a*, 0.13 in that of a†; K is 4.
    expected = [16 * LOG / 0.43**2 + 2, 16 * LOG / 0.13**2 + 2, T, 16 * LOG / 0.07**2 + 4]
    assert upper.pulls == pytest.approx(expected)
    assert upper.combined == 1
    assert upper.dagger_pulls[3] == pytest.approx(16 * LOG / 0.13**2)

    # Gaps to a† are 0.05 and 0.025: too far apart to share. Arm 3 is paused after 16 log T / 0.05^2.
    upper = bounds.cof_upper(HAND["two share"], T)
    assert upper.combined == 1
    assert upper.dagger_pulls == pytest.approx(
        [0, 0, 16 * LOG / 0.05**2, 16 * LOG / 0.05**2, 16 * LOG / 0.2**2]
    )
    assert upper.optimal_pulls == pytest.approx(
        [0, 0, 16 * LOG / 0.075**2, 16 * LOG / 0.05**2, 16 * LOG / 0.15**2]
    )


@given(problems(), st.sampled_from([None, 1e-3, 1e-8]))
def test_regret_is_the_theorem(problem: fb.Problem, delta: float | None) -> None:
    """Theorem cof_regret_ub, written out again; log(1/delta) for 2 log T and T^2 delta for 1."""
    upper = bounds.cof_upper(problem, T, delta)
    limit = -math.log(delta or T**-2.0)
    over = max(problem.arms, 3) * T**2 * (delta or T**-2.0)
    who = bounds.roles(problem)
    chosen = [one.pulls for one in bounds.rounds(problem, T, delta) if one.feasible]
    cost = quality = 0.0
    for arm in range(problem.arms):
        mean = problem.means[arm]
        if who.cheap[arm]:
            quality += 8 * limit / problem.quality_gaps[arm] + over * problem.quality_gaps[arm]
        elif who.expensive[arm]:
            from_best = problem.means.max() - mean
            from_star = problem.means[who.optimal] - (1 - problem.alpha) * mean
            first = min(min(chosen), 8 * limit / from_best**2 if from_best else math.inf) if chosen else 0.0
            second = 8 * limit / from_star**2 if from_star > 1e-9 else math.inf
            for gap in (problem.cost_gaps[arm], problem.quality_gaps[arm]):
                assert gap == 0 or gap > 0
            cost += problem.cost_gaps[arm] * (max(first, second) + over)
            if problem.quality_gaps[arm]:
                quality += problem.quality_gaps[arm] * (max(first, second) + over)
    assert upper.cost_regret == pytest.approx(cost, rel=1e-6)
    assert upper.quality_regret == pytest.approx(quality, rel=1e-6)
    assert upper.summed_regret == upper.cost_regret + upper.quality_regret


def test_many_equal_arms_share_the_work() -> None:
    """(3 sqrt(p) + 1)^2 / (2 p) falls from 8 towards 4.5."""
    problem = fb.Problem([0.3, 0.5] + [0.9] * 9, list(range(11)), alpha=0.5)
    candidates = bounds.rounds(problem, T)
    assert [one.arms for one in candidates] == list(range(1, 10))
    assert all(one.feasible for one in candidates)
    upper = bounds.cof_upper(problem, T)
    assert upper.combined == 9
    assert upper.dagger_pulls[-1] == pytest.approx(2 * LOG * (3 * 3 + 1) ** 2 / 2 / (9 * 0.15**2))
    alone = bounds.cof_upper(problem, T, combine=False)
    assert alone.combined == 1
    assert alone.dagger_pulls[-1] == pytest.approx(16 * LOG / 0.15**2)


def test_an_arm_that_may_be_paused_before_cannot_share_the_work() -> None:
    """Two arms would need fewer rounds than i* alone, but the filter may pause the second long before."""
    problem = fb.Problem([0.04, 0.5, 0.835, 0.9], [1, 2, 3, 4], alpha=0.9)
    first, second = bounds.rounds(problem, T)[:2]
    # Gaps of 0.05 and 0.0435; the second arm is 0.065 below i*.
    assert second.pulls == pytest.approx((3 * math.sqrt(2) + 1) ** 2 * LOG / (0.05**2 + 0.0435**2))
    assert second.pulls < first.pulls and second.pulls > 16 * LOG / 0.065**2
    assert first.feasible and not second.feasible
    assert bounds.cof_upper(problem, T).combined == 1


def test_an_arm_whose_radius_swallows_its_gap_cannot_share_the_work() -> None:
    """Gaps of 0.28 and 0.14, and 3 beta is 0.64 * 0.28 where both together would do."""
    problem = fb.Problem([0.28, 0.6, 0.8], [1, 2, 3], alpha=0.3)
    first, second = bounds.rounds(problem, T)
    assert second.pulls < 16 * LOG / 0.2**2  # it would not be paused
    assert first.feasible and not second.feasible


@given(problems(), st.sampled_from([None, 0.01]))
def test_feasible_candidates_rule_the_arm_out(problem: fb.Problem, delta: float | None) -> None:
    limit = -math.log(delta or T**-2.0)
    for arm in np.flatnonzero(bounds.roles(problem).cheap):
        candidates = bounds.rounds(problem, T, delta, int(arm))
        assert candidates[0].feasible
        for one in candidates:
            assert not one.feasible or plain_core(problem, arm, limit, one.pulls)


@given(problems())
def test_the_best_cheap_arm_takes_the_most_rounds(problem: fb.Problem) -> None:
    """Lemma episode_ordering_lemma, for the closed form of the candidates."""
    taken = {
        int(arm): min(one.pulls for one in bounds.rounds(problem, T, arm=int(arm)) if one.feasible)
        for arm in np.flatnonzero(bounds.roles(problem).cheap)
    }
    dagger = bounds.roles(problem).dagger
    assert all(pulls <= taken[dagger] * (1 + 1e-9) for pulls in taken.values())


# Slips of the paper's text, each shown by numbers


def test_with_an_equality_no_candidate_may_be_feasible() -> None:
    """The paper's condition for tau_{l,p}; with 'at most' in place of 'equal to', p = 1 always is."""
    problem = fb.Problem([0.0827, 0.5, 0.8015, 0.9], [1, 2, 3, 4], alpha=0.797)
    limit = 2 * LOG
    best = problem.means.max()
    gaps = (1 - problem.alpha) * problem.means - problem.means[0]
    ranked = sorted((mean for mean, gap in zip(problem.means, gaps, strict=True) if gap > 0), reverse=True)
    equal = []
    for one in bounds.rounds(problem, T):
        beta = math.sqrt(limit / (2 * one.pulls))
        chosen = [(1 - problem.alpha) * mean - problem.means[0] - 3 * beta for mean in ranked]
        left = sum(value**2 for value in chosen[: one.arms])
        counted = [
            max(value, 0) ** 2
            for value, mean in zip(chosen, ranked, strict=True)
            if mean == best or one.pulls <= 8 * limit / (best - mean) ** 2
        ]
        equal.append(math.isclose(left, sum(counted), rel_tol=1e-9))
    assert len(equal) >= 2 and not any(equal)
    assert bounds.rounds(problem, T)[0].feasible


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_the_bound_on_kl_is_a_lower_one(p: float, q: float) -> None:
    assert bounds.bernoulli_kl(p, q).item() >= (1 - p) * math.log(1 / (1 - q)) - math.log(2) - 1e-12


@given(st.lists(st.tuples(st.integers(1, 50), st.floats(0, 1)), min_size=1, max_size=5), st.floats(0.1, 1))
def test_the_product_of_the_epsilons_has_the_square_of_one_minus_alpha(
    arms: list[tuple[int, float]], ucb: float
) -> None:
    alpha = 0.4
    exponents = [-2 * n * (mean - ucb / (1 - alpha)) ** 2 for n, mean in arms if mean > ucb / (1 - alpha)]
    product = reduce(lambda a, b: a * math.exp(b), exponents, 1.0)
    gaps = [max(0.0, (1 - alpha) * mean - ucb) for _, mean in arms]
    squares = sum(n * gap**2 for (n, _), gap in zip(arms, gaps, strict=True))
    assert product == pytest.approx(math.exp(-2 / (1 - alpha) ** 2 * squares), rel=1e-9)


def test_the_product_of_epsilons_falls_below_delta_more_often_than_delta() -> None:
    """Nine arms whose mean lies at the level exactly: what the proof calls delta 'by construction'.

    The mean of the indicator over 40,000 draws; with probability delta = 0.01 it would exceed 0.0125 once in
    10^6 tests, and it is about nine times delta.
    """
    rng = np.random.default_rng(1)
    pulls, delta = 400, 0.01
    means = rng.binomial(pulls, 0.5, (40_000, 9)) / pulls
    evidence = (2 * pulls * np.maximum(means - 0.5, 0) ** 2).sum(axis=1)
    assert np.mean(evidence >= -math.log(delta)) > 0.05


def test_two_arms_need_the_constant_of_the_second_lemma() -> None:
    """What is left over is the larger of K T^2 delta and 3 T^2 delta, and K may be 2."""
    problem = fb.Problem([0.8, 0.5], [1, 2], alpha=0.2)
    assert bounds.cof_upper(problem, T).pulls[1] == pytest.approx(16 * LOG / 0.4**2 + 3)
