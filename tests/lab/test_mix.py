"""The cheapest mix as an oracle, beside a linear programme; what a result says of averages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import frugalbandits as fb
from frugalbandits.core.registry import policies
from frugalbandits.lab import comparison

PROBLEM = fb.Problem([0.6, 0.7, 0.9], [0.2, 1.5, 3.0], alpha=0.1, names=["small", "mid", "large"])


@st.composite
def problems(draw):
    arms = draw(st.integers(2, 8))
    level = st.one_of(st.floats(0.01, 1), st.sampled_from([0.25, 0.5, 0.75, 1.0]))
    cost = st.one_of(st.floats(-5, 10), st.integers(0, 4).map(float))
    means, costs = (draw(st.lists(each, min_size=arms, max_size=arms)) for each in (level, cost))
    alpha = draw(st.floats(0, 0.9))
    bar = draw(
        st.sampled_from([fb.RelativeToBest(alpha), fb.RelativeTo("a1", alpha), fb.AtLeast(round(alpha, 2))])
    )
    return fb.Problem(means, costs, quality=bar)


@given(problem=problems())
def test_the_mix_is_the_optimum_of_the_linear_programme(problem):
    mix = problem.mix
    solved = linprog(
        problem.costs,
        A_ub=[-problem.means],
        b_ub=[-mix.bar],
        A_eq=[np.ones(problem.arms)],
        b_eq=[1.0],
        bounds=(0, None),
    )
    assert mix.cost == pytest.approx(solved.fun, rel=1e-6, abs=1e-6)
    assert mix.quality >= mix.bar - 1e-9
    assert mix.cost <= problem.costs[problem.optimal_arm] + 1e-9
    assert mix.price > 0 or (
        mix.alone and mix.cost <= problem.costs[problem.means < mix.bar].min(initial=np.inf)
    )
    # What the bar may fall by saves its price, as far as the mix is of the same arms.
    if not mix.alone and mix.share > 0.01:
        rise = problem.means[mix.dear] - problem.means[mix.cheap]
        assert mix.price * rise == pytest.approx(problem.costs[mix.dear] - problem.costs[mix.cheap])


def test_a_level_that_no_arm_reaches_leaves_the_best_arm():
    mix = PROBLEM.with_quality("at-least:0.95").mix
    assert mix.alone and mix.dear == 2 and mix.cost == 3.0 and mix.bar == pytest.approx(0.9)


def test_what_a_result_says_of_averages():
    result = fb.simulate(PROBLEM, "mix-cs", 2_000, runs=3, checkpoints=4, progress=False)
    mix = PROBLEM.mix
    assert result.promise == "queries" and not result.settles
    assert result.cost.shape == result.quality.shape == result.mix_regret.shape == (3, 4)
    last = result.pulls[:, -1] / 2_000
    assert np.allclose(result.cost[:, -1], last @ PROBLEM.costs)
    assert np.allclose(result.quality[:, -1], last @ PROBLEM.means)
    assert np.allclose(result.excess[:, -1], 2_000 * (last @ PROBLEM.costs - mix.cost))
    assert np.allclose(result.shortfall[:, -1], 2_000 * (mix.bar - last @ PROBLEM.means))
    one_sided = np.maximum(result.excess, 0) + mix.price * np.maximum(result.shortfall, 0)
    assert np.array_equal(result.mix_regret, one_sided)
    # No mix is better than the cheapest one, at its price.
    assert (result.excess + mix.price * result.shortfall >= -1e-6).all()
    assert fb.simulate(PROBLEM, fb.MixCS(), 100, runs=1, progress=False).promise == "queries"
    assert fb.simulate(PROBLEM, "voi-cs", 100, runs=1, progress=False).promise == "each"


@pytest.mark.parametrize("bar", ["relative-to-best:0.1", "relative-to:large:0.1", "at-least:0.8"])
def test_the_average_is_held_for_less_than_the_best_single_arm(bar):
    """Over 100 other seeds, the mean of 10 runs has a standard deviation of at most 0.002 and 1%."""
    problem = PROBLEM.with_quality(bar)
    result = fb.simulate(problem, "mix-cs", 20_000, runs=10, seed=5, checkpoints=1, progress=False)
    assert abs(result.quality.mean() / problem.mix.bar - 1) < 0.01
    assert result.cost.mean() < 1.08 * problem.mix.cost < problem.costs[problem.optimal_arm]


def test_tables_of_regret_leave_out_what_promises_an_average():
    assert policies(over="queries") == ("mix-cs",)
    assert set(policies(over="each")) | {"mix-cs"} == set(policies())
    assert "mix-cs" not in comparison._chosen(PROBLEM, None)
    assert "voi-cs" in comparison._chosen(PROBLEM, None)
