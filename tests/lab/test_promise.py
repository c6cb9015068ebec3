"""The promise of the bar: what runs delivered, held and spent, beside a slow loop over their pulls."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.closure import import_closure
from frugalbandits.lab.promise import geometric_spend, low_quantile, promise_rank, shown_checkpoints
from frugalbandits.lab.sweeps.digest import _SHOWN, SIMULATION

NONE = np.zeros(0, dtype=[("run", int), ("time", int), ("event", "U11"), ("arm", int)])
# a2 is optimal, with a bar of 0.8 * 0.8 = 0.64.
PROBLEM = fb.Problem([0.2, 0.7, 0.8], [1, 2, 9], alpha=0.2)


def result_of(problem: fb.Problem, sequences: list[list[int]], times: list[int]) -> fb.Result:
    """Runs that pulled these arms, one after the other."""
    counted = [
        [[run[:time].count(arm) for arm in range(problem.arms)] for time in times] for run in sequences
    ]
    pulls = np.array(counted, np.int64)
    return fb.Result(problem, "made", 0, np.array(times), pulls, NONE, np.ones(len(pulls), np.int64))


def divided(above: float, below: float) -> float:
    if below > 0:
        return above / below
    return math.inf if above > 0 else 1.0


@st.composite
def played(draw: st.DrawFn) -> tuple[fb.Problem, list[list[int]], list[int]]:
    arms = draw(st.integers(2, 4))
    means = draw(st.lists(st.sampled_from([0.0, 0.3, 0.5, 0.75, 0.8, 1.0]), min_size=arms, max_size=arms))
    costs = draw(st.lists(st.sampled_from([0.0, 0.25, 1.0, 3.0, 40.0]), min_size=arms, max_size=arms))
    alpha = draw(st.sampled_from([0.0, 0.005, 0.1, 0.4]))
    bars = [
        fb.RelativeToBest(alpha),
        fb.RelativeTo("a1", alpha),
        fb.AtLeast(draw(st.sampled_from([0.2, 0.9]))),
    ]
    problem = fb.Problem(means, costs, quality=draw(st.sampled_from(bars)))
    horizon = draw(st.integers(1, 20))
    pulls = st.lists(st.integers(0, arms - 1), min_size=horizon, max_size=horizon)
    times = sorted({*draw(st.lists(st.integers(1, horizon), max_size=4)), horizon})
    return problem, draw(st.lists(pulls, min_size=1, max_size=5)), times


@given(played())
def test_every_measure_is_that_of_a_loop_over_pulls(
    case: tuple[fb.Problem, list[list[int]], list[int]],
) -> None:
    problem, sequences, times = case
    result = result_of(problem, sequences, times)
    means, costs = problem.means.tolist(), problem.costs.tolist()
    star, bar = problem.optimal_arm, problem.threshold
    spread = (max(costs) - min(costs)) or 1.0
    quality = problem.quality
    if isinstance(quality, fb.AtLeast):
        allowance = 0.05
    else:
        anchor = max(means) if isinstance(quality, fb.RelativeToBest) else means[0]
        allowance = max(quality.alpha, 0.01) * anchor
    assert problem.allowance == allowance and problem.cost_range == spread

    for at, time in enumerate(times):
        delivered = []
        for run, sequence in enumerate(sequences):
            got = spent = above = 0.0
            lacking = beyond = 0.0
            for arm in sequence[:time]:
                got += means[arm]
                spent += costs[arm]
                above += (costs[arm] - costs[star]) / spread
                beyond += max(costs[arm] - costs[star], 0.0)
                lacking += 0.0 if problem.feasible[arm] else bar - means[arm]
            delivered.append(divided(got / time, bar))
            regret = beyond / spread + (lacking / allowance if allowance > 0 else 0.0)
            assert result.delivered[run, at] == pytest.approx(delivered[-1])
            assert result.spend_over_oracle[run, at] == pytest.approx(divided(spent, costs[star] * time))
            assert result.overspend[run, at] == pytest.approx(above / time, abs=1e-12)
            assert result.promise_regret[run, at] == pytest.approx(regret, abs=1e-9)
        held = [each for each in delivered if each >= 0.99 - 1e-9]
        assert result.held[at] == pytest.approx(len(held) / len(delivered))
        assert result.delivered_low[at] == pytest.approx(min(delivered))

    late = [arm for sequence in sequences for arm in sequence[result.late_from :]]
    good = [arm for arm in late if means[arm] >= 0.99 * bar - 1e-12]
    assert result.late_good == pytest.approx(len(good) / len(late))


@given(played())
def test_pulls_of_a_star_alone_hold_the_bar_at_its_price(
    case: tuple[fb.Problem, list[list[int]], list[int]],
) -> None:
    problem, sequences, times = case
    result = result_of(problem, [[problem.optimal_arm] * times[-1] for _ in sequences], times)
    assert (result.held == 1).all() and (result.delivered_low >= 1 - 1e-12).all()
    assert result.late_good == 1.0
    assert result.spend_over_oracle == pytest.approx(np.ones_like(result.cost))
    assert result.overspend == pytest.approx(np.zeros_like(result.cost), abs=1e-12)
    assert (result.promise_regret == 0).all()


# By hand


def test_a_run_that_delivers_0_99_of_the_bar_holds_it_and_one_below_does_not() -> None:
    problem = fb.Problem([0.5, 0.99, 1.0], [1, 2, 3], quality=fb.AtLeast(1.0))
    result = result_of(problem, [[1] * 50, [1] * 49 + [2], [1] * 49 + [0]], [50])
    assert result.delivered[:, 0] == pytest.approx([0.99, 0.9902, 0.9802])
    assert result.held.tolist() == [2 / 3] and result.delivered_low[0] == pytest.approx(0.9802)


def test_an_arm_of_0_99_of_the_bar_is_good_late() -> None:
    problem = fb.Problem([0.98, 0.99, 1.0], [1, 2, 3], quality=fb.AtLeast(1.0))
    result = result_of(problem, [[0] * 8 + [0, 1], [0] * 8 + [1, 2]], [8, 10])
    assert result.late_from == 8 and result.late_good == 0.75


def test_of_a_hundred_runs_and_fewer_the_lowest_counts_and_of_more_one_in_a_hundred() -> None:
    values = np.linspace(0.5, 1.0, 1_000)
    assert low_quantile(values[:1]) == low_quantile(values[:99]) == low_quantile(values[:100]) == 0.5
    assert low_quantile(values[:101]) == values[1] and low_quantile(values[:200]) == values[1]
    assert low_quantile(values[::-1]) == values[9]
    assert np.array_equal(low_quantile(np.stack([values, values / 2], axis=1)), [values[9], values[9] / 2])
    assert low_quantile(np.full(5, np.inf)) == np.inf


def test_what_is_spent_below_a_star_counts() -> None:
    result = result_of(PROBLEM, [[0, 0, 1, 1], [2, 2, 2, 2]], [4])
    assert result.spend_over_oracle[:, 0].tolist() == [0.75, 4.5]
    assert result.overspend[:, 0].tolist() == [-0.5 / 8, 7 / 8]
    # Two pulls lack 0.44 each, and the allowance is 0.16.
    assert result.promise_regret[:, 0] == pytest.approx([2 * 0.44 / 0.16, 4 * 7 / 8])


# Edges


def test_a_bar_of_zero_is_held() -> None:
    problem = fb.Problem([0.0, 0.0], [1, 2], alpha=0.1)
    nothing = result_of(problem, [[0, 1]], [2])
    assert (problem.threshold, problem.allowance) == (0.0, 0.0)
    assert nothing.delivered.tolist() == [[1.0]] and nothing.promise_regret.tolist() == [[1.0]]
    some = result_of(fb.Problem([0.0, 0.5], [1, 2], quality="relative-to:a1:0.1"), [[0, 1]], [2])
    assert some.delivered.tolist() == [[math.inf]]
    for result in (nothing, some):
        assert result.held.tolist() == [1.0] and result.late_good == 1.0


def test_where_all_cost_the_same_or_nothing_spend_is_that_of_a_star() -> None:
    for cost in (0.0, 0.3):
        result = result_of(fb.Problem([0.2, 0.9], [cost, cost], alpha=0.1), [[0, 1, 0], [1, 1, 1]], [3])
        assert result.problem.cost_range == 1.0
        assert result.spend_over_oracle == pytest.approx(np.ones((2, 1)))
        assert result.overspend == pytest.approx(np.zeros((2, 1)))


def test_a_free_optimal_arm_makes_spend_infinite() -> None:
    result = result_of(fb.Problem([0.9, 0.9], [0, 1], alpha=0.1), [[0, 0], [0, 1]], [2])
    assert result.spend_over_oracle[:, 0].tolist() == [1.0, math.inf]
    assert result.overspend[:, 0].tolist() == [0.0, 0.5]


def test_with_a_negative_cost_a_ratio_of_spend_says_nothing() -> None:
    result = result_of(fb.Problem([0.9, 0.9], [-1, 1], alpha=0.1), [[0, 1]], [2])
    assert np.isnan(result.spend_over_oracle).all()
    assert result.overspend.tolist() == [[0.5]]


def test_an_alpha_of_zero_counts_as_a_hundredth() -> None:
    for alpha in (0.0, 0.003, 0.01):
        assert PROBLEM.with_alpha(alpha).allowance == pytest.approx(0.008)
    assert PROBLEM.with_alpha(0.05).allowance == pytest.approx(0.04)
    assert PROBLEM.with_quality("relative-to:a2:0.1").allowance == pytest.approx(0.07)


def test_under_a_level_that_no_arm_reaches_the_best_mean_is_the_bar() -> None:
    problem = fb.Problem([0.5, 0.7], [1, 2], quality=fb.AtLeast(0.9))
    result = result_of(problem, [[1] * 10, [0] * 10], [10])
    assert result.delivered[:, 0] == pytest.approx([1.0, 0.5 / 0.7])
    assert result.held.tolist() == [0.5] and result.late_good == 0.5
    assert problem.allowance == 0.05


def test_the_smallest_numbers_give_no_warning() -> None:
    tiny = 5e-324
    result = result_of(fb.Problem([tiny, 1.0], [tiny, 1.0], quality="relative-to:a1:0.1"), [[1, 0]], [2])
    assert result.held.tolist() == [1.0] and result.spend_over_oracle.tolist() == [[math.inf]]


# Small functions


def test_tables_show_the_first_checkpoints_after_the_round_numbers_and_the_last() -> None:
    def shown(times: list[int]) -> list[int]:
        return [times[at] for at in shown_checkpoints(times)]

    assert shown([*range(200, 100_001, 200)]) == [1_000, 5_000, 20_000, 100_000]
    assert shown([*range(10_000, 5_000_001, 10_000)]) == [10_000, 20_000, 100_000, 5_000_000]
    assert shown([200, 400, 600]) == [600] and shown([999, 1_001]) == [1_001]


def test_policies_that_hold_are_ranked_by_spend_and_the_others_by_held() -> None:
    ranked = [(0.95, 0.6), (1.0, 0.8), (0.96, math.nan), (0.94, 0.1), (0.5, 0.2)]
    jumbled = [ranked[at] for at in (3, 0, 4, 2, 1)]
    assert sorted(jumbled, key=lambda each: promise_rank(*each)) == ranked


def test_the_geometric_mean_of_spend_leaves_out_what_is_no_ratio() -> None:
    assert geometric_spend([0.5, math.nan, 8.0]) == pytest.approx(2.0)
    assert geometric_spend([math.inf, 0.0]) == pytest.approx(1.0)
    assert math.isnan(geometric_spend([math.nan])) and math.isnan(geometric_spend([]))


# Tables


def test_the_table_of_a_result_has_the_promise() -> None:
    result = fb.simulate(PROBLEM, "etc-cs", 1_000, runs=3, checkpoints=5)
    frame = result.to_polars()
    for name in ("delivered", "spend_over_oracle", "promise_regret"):
        assert frame[name].to_list() == getattr(result, name).ravel().tolist()


def test_a_comparison_has_the_promise_at_the_horizon(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = fb.compare(PROBLEM, ["etc-cs", "pe-cs"], 3_000, runs=3, checkpoints=6, progress=False)
    for row, result in zip(compared.to_polars().iter_rows(named=True), compared, strict=True):
        assert row["held"] == result.held[-1] and row["delivered_low"] == result.delivered_low[-1]
        assert row["late_good"] == result.late_good
        assert row["spend_over_oracle"] == result.spend_over_oracle[:, -1].mean()
        assert row["promise_regret"] == result.promise_regret[:, -1].mean()
    monkeypatch.setenv("COLUMNS", "160")
    text = repr(compared)
    assert "the promise: mean quality of at least 0.99 of the bar, 0.64" in text
    assert "held at 1,000" in text and "held at 3,000" in text and "held at 5,000" not in text
    for value in (compared, compared["pe-cs"]):
        page = value._repr_html_()
        assert "held at 1,000" in page and "promise regret" in page and "1% of runs below" in page


def test_a_measure_of_stored_pulls_is_no_part_of_the_digest_of_their_code() -> None:
    assert "frugalbandits.lab.promise" not in import_closure(SIMULATION, without=_SHOWN)
