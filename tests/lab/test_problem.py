"""What is feasible, optimal and costly, against plain references in whole numbers."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frugalbandits.core.options import check_horizon, check_names, check_options, cost_order
from frugalbandits.core.quality import check_alpha
from frugalbandits.errors import InputError
from frugalbandits.lab.instances import instance
from frugalbandits.lab.problem import Problem

ALPHAS = st.integers(0, 99)


@st.composite
def grids(draw: st.DrawFn, distinct_costs: bool = False) -> tuple[list[int], list[int], int]:
    """Means in thousandths, costs in tenths and alpha in hundredths, as whole numbers."""
    arms = draw(st.integers(2, 8))
    means = draw(st.lists(st.integers(0, 1000), min_size=arms, max_size=arms))
    costs = draw(st.lists(st.integers(-20, 60), min_size=arms, max_size=arms, unique=distinct_costs))
    return means, costs, draw(ALPHAS)


def from_grid(grid: tuple[list[int], list[int], int]) -> Problem:
    means, costs, alpha = grid
    return Problem([mean / 1000 for mean in means], [cost / 10 for cost in costs], alpha / 100)


@given(grids())
def test_feasible_is_what_whole_numbers_say(grid: tuple[list[int], list[int], int]) -> None:
    means, _, alpha = grid
    assert from_grid(grid).feasible.tolist() == [100 * mean >= (100 - alpha) * max(means) for mean in means]


@given(grids())
def test_the_optimal_arm_is_the_cheapest_feasible_one(grid: tuple[list[int], list[int], int]) -> None:
    means, costs, alpha = grid
    feasible = [k for k, mean in enumerate(means) if 100 * mean >= (100 - alpha) * max(means)]
    assert from_grid(grid).optimal_arm == min(feasible, key=lambda k: (costs[k], k))


@given(grids())
def test_the_best_arm_has_the_highest_mean_and_is_the_cheapest_of_those(
    grid: tuple[list[int], list[int], int],
) -> None:
    means, costs, _ = grid
    assert from_grid(grid).best_arm == min(range(len(means)), key=lambda k: (-means[k], costs[k], k))


@given(grids())
def test_order_is_by_cost_then_as_given(grid: tuple[list[int], list[int], int]) -> None:
    costs = grid[1]
    expected = sorted(range(len(costs)), key=lambda k: (costs[k], k))
    assert from_grid(grid).order.tolist() == expected
    assert cost_order(np.array(costs, dtype=float)).tolist() == expected


@given(grids())
def test_gaps_are_what_the_definitions_say(grid: tuple[list[int], list[int], int]) -> None:
    means, costs, alpha = grid
    problem = from_grid(grid)
    cost = costs[problem.optimal_arm]
    assert problem.threshold == pytest.approx((100 - alpha) * max(means) / 100_000)
    assert problem.cost_gaps == pytest.approx([max(c - cost, 0) / 10 for c in costs])
    assert problem.quality_gaps == pytest.approx(
        [max((100 - alpha) * max(means) - 100 * mean, 0) / 100_000 for mean in means]
    )


@given(grids())
def test_gaps_are_never_negative_and_exactly_zero_where_they_should_be(
    grid: tuple[list[int], list[int], int],
) -> None:
    problem = from_grid(grid)
    assert (problem.cost_gaps >= 0).all()
    assert (problem.quality_gaps >= 0).all()
    assert problem.cost_gaps[problem.optimal_arm] == 0
    assert problem.quality_gaps[problem.optimal_arm] == 0
    assert problem.quality_gaps[problem.best_arm] == 0
    assert ((problem.quality_gaps == 0) == problem.feasible).all()
    assert (problem.cost_gaps[problem.costs == problem.costs[problem.optimal_arm]] == 0).all()


@given(grids(distinct_costs=True), st.randoms(use_true_random=False))
def test_permuting_the_arms_permutes_everything(grid: tuple[list[int], list[int], int], random: Any) -> None:
    problem = from_grid(grid)
    to = list(range(problem.arms))
    random.shuffle(to)
    moved = Problem(problem.means[to], problem.costs[to], problem.alpha, [problem.names[k] for k in to])
    assert to[moved.optimal_arm] == problem.optimal_arm
    assert to[moved.best_arm] == problem.best_arm
    assert moved.threshold == problem.threshold
    assert [to[k] for k in moved.order] == problem.order.tolist()
    for field in ("feasible", "cost_gaps", "quality_gaps"):
        assert getattr(moved, field).tolist() == getattr(problem, field)[to].tolist()


@given(grids(), st.data())
def test_regret_is_the_sum_of_gaps_times_pulls(
    grid: tuple[list[int], list[int], int], data: st.DataObject
) -> None:
    problem = from_grid(grid)
    count = st.integers(0, 10**7)
    row = st.lists(count, min_size=problem.arms, max_size=problem.arms)
    pulls = data.draw(st.lists(row, min_size=1, max_size=4))
    cost, quality = problem.regrets(pulls)
    for i, counts in enumerate(pulls):
        assert cost[i] == pytest.approx(sum(n * g for n, g in zip(counts, problem.cost_gaps, strict=True)))
        expected = sum(n * g for n, g in zip(counts, problem.quality_gaps, strict=True))
        assert quality[i] == pytest.approx(expected)


def test_regret_of_a_stack_of_runs_keeps_the_leading_axes() -> None:
    problem = Problem([0.5, 0.9, 1.0], [1, 2, 4], alpha=0.1)
    cost, quality = problem.regrets(np.ones((2, 5, 3), dtype=np.int64))
    assert cost.shape == quality.shape == (2, 5)
    assert cost == pytest.approx(np.full((2, 5), 2.0))
    assert quality == pytest.approx(np.full((2, 5), 0.4))


def test_pulling_only_the_optimal_arm_has_no_regret() -> None:
    problem = Problem([0.2, 0.57, 0.6], [1, 2, 3], alpha=0.05)
    assert problem.regrets([0, 1000, 0]) == (0.0, 0.0)


@pytest.mark.parametrize("pulls", [[1, 2], [[1, 2, 3, 4]], 5])
def test_pulls_of_the_wrong_shape_are_refused_with_the_shape(pulls: Any) -> None:
    problem = Problem([0.2, 0.57, 0.6], [1, 2, 3], alpha=0.05)
    with pytest.raises(InputError) as caught:
        problem.regrets(pulls)
    assert "3 entries" in str(caught.value)
    assert str(np.shape(pulls)) in str(caught.value)


@pytest.mark.parametrize(("mean", "best", "alpha"), [(0.57, 0.6, 0.05), (0.72, 0.8, 0.1), (0.05, 1, 0.95)])
def test_a_mean_that_equals_the_threshold_but_for_rounding_is_feasible(
    mean: float, best: float, alpha: float
) -> None:
    problem = Problem([mean, best], [1, 2], alpha)
    assert problem.optimal_arm == 0
    assert problem.quality_gaps[0] == 0.0


def test_the_rounding_that_the_last_test_is_about_is_real() -> None:
    assert (1 - 0.1) * 0.8 > 0.72


def test_a_mean_that_is_truly_below_the_threshold_is_not_feasible() -> None:
    problem = Problem([0.57 - 1e-9, 0.6], [1, 2], alpha=0.05)
    assert problem.optimal_arm == 1
    assert problem.quality_gaps[0] == pytest.approx(1e-9)


def test_equal_costs_go_in_the_order_given() -> None:
    problem = Problem([0.1, 0.8, 0.9, 0.9], [3, 3, 3, 1], alpha=0.2)
    assert problem.order.tolist() == [3, 0, 1, 2]
    assert problem.optimal_arm == 3
    assert Problem([0.1, 0.8, 0.9, 0.2], [3, 3, 3, 1], alpha=0.2).optimal_arm == 1


def test_arms_with_equal_means_count_the_cheapest_as_best() -> None:
    assert Problem([0.9, 0.9, 0.9], [5, 2, 2], alpha=0).best_arm == 1


def test_an_arm_that_costs_the_same_as_the_optimal_one_has_no_cost_regret() -> None:
    assert Problem([0.8, 0.9, 0.9], [2, 2, 3], alpha=0.2).cost_gaps.tolist() == [0, 0, 1]


def test_all_means_zero_makes_every_arm_feasible() -> None:
    problem = Problem([0, 0, 0], [3, 1, 2], alpha=0.5)
    assert problem.feasible.all()
    assert problem.optimal_arm == 1


def test_negative_costs_are_allowed() -> None:
    assert Problem([0.9, 0.9], [-1, -4], alpha=0.1).cost_gaps.tolist() == [3, 0]


def test_names_default_to_the_paper_s() -> None:
    assert Problem([0.1, 0.2, 0.3], [1, 2, 3], 0).names == ("a1", "a2", "a3")


def test_equal_problems_are_equal_and_hash_alike() -> None:
    problem = Problem([0.1, 0.2], [1, 2], 0.3, names=["x", "y"])
    same = Problem(np.array([0.1, 0.2]), (1.0, 2.0), 0.3, names=iter("xy"))
    assert problem == same
    assert len({problem, same}) == 1
    signs = Problem([0.0, 0.2], [0, 2], 0.0), Problem([-0.0, 0.2], [-0.0, 2], -0.0)
    assert signs[0] == signs[1]
    assert hash(signs[0]) == hash(signs[1])


@pytest.mark.parametrize(
    "other",
    [
        Problem([0.1, 0.25], [1, 2], 0.3, names=["x", "y"]),
        Problem([0.1, 0.2], [1, 2.5], 0.3, names=["x", "y"]),
        Problem([0.1, 0.2], [1, 2], 0.31, names=["x", "y"]),
        Problem([0.1, 0.2], [1, 2], 0.3),
        Problem([0.2, 0.1], [2, 1], 0.3, names=["y", "x"]),
        Problem([0.1, 0.2, 0.3], [1, 2, 3], 0.3),
        "a problem",
    ],
)
def test_any_difference_makes_problems_unequal(other: object) -> None:
    assert Problem([0.1, 0.2], [1, 2], 0.3, names=["x", "y"]) != other


def test_with_alpha_changes_alpha_alone() -> None:
    problem = Problem([0.1, 0.2], [1, 2], 0.3, names=["x", "y"])
    assert problem.with_alpha(0.6) == Problem([0.1, 0.2], [1, 2], 0.6, names=["x", "y"])
    assert problem.with_alpha(0.6).optimal_arm == 0
    assert problem.alpha == 0.3
    with pytest.raises(InputError, match=r"1\.5"):
        problem.with_alpha(1.5)


@pytest.mark.parametrize("field", ["means", "costs", "order", "feasible", "cost_gaps", "quality_gaps"])
def test_arrays_cannot_be_changed(field: str) -> None:
    problem = Problem([0.1, 0.2], [1, 2], 0.3)
    with pytest.raises(ValueError, match="read-only"):
        getattr(problem, field)[0] = 0


@pytest.mark.parametrize("field", ["means", "costs", "alpha", "names"])
def test_fields_cannot_be_set(field: str) -> None:
    problem = Problem([0.1, 0.2], [1, 2], 0.3)
    with pytest.raises(AttributeError):
        setattr(problem, field, getattr(problem, field))


def test_the_caller_s_arrays_are_copied() -> None:
    means, costs = np.array([0.1, 0.2]), np.array([1.0, 2.0])
    problem = Problem(means, costs, 0.3)
    means[0] = costs[0] = 0.9
    assert (problem.means[0], problem.costs[0]) == (0.1, 1.0)


GOOD: dict[str, Any] = {"means": [0.1, 0.2], "costs": [1, 2], "alpha": 0.3, "names": ["x", "y"]}
BAD: list[tuple[dict[str, Any], list[str]]] = [
    ({"means": [0.1, 1.5]}, ["that of 'y' is 1.5", "[0, 1]"]),
    ({"means": [-0.25, 0.1]}, ["means", "that of 'x' is -0.25"]),
    ({"means": [0.1, math.nan]}, ["that of 'y' is nan"]),
    ({"means": [0.1, math.inf], "names": None}, ["means[1] is inf"]),
    ({"means": [0.1, None]}, ["means must be numbers, but that of 'y' is None"]),
    ({"means": [0.1, "high"]}, ["means must be numbers, but that of 'y' is 'high'"]),
    ({"means": [0.1, "0.5"]}, ["means must be numbers, but that of 'y' is '0.5'"]),
    ({"means": [0.1, True]}, ["means must be numbers, but that of 'y' is True"]),
    ({"costs": np.array(["1", "2"])}, ["costs must be a list of numbers", "'1'"]),
    ({"costs": (True, 2), "names": None}, ["costs must be numbers, but costs[0] is True"]),
    ({"means": [0.1, 10**400]}, ["means", "10000"]),
    ({"means": [[0.1, 0.2]]}, ["means", "(1, 2)"]),
    ({"means": 0.5}, ["means", "flat list"]),
    ({"means": [0.1, 0.2, 0.3]}, ["3 means", "2 costs"]),
    ({"costs": [1, math.inf]}, ["costs must be finite, but that of 'y' is inf"]),
    ({"costs": [math.nan, 1], "names": None}, ["costs[0] is nan"]),
    ({"costs": [None, 1]}, ["costs must be numbers, but that of 'x' is None"]),
    ({"costs": [None, 1], "names": None}, ["costs[0] is None"]),
    ({"costs": (1, "free")}, ["that of 'y' is 'free'"]),
    ({"costs": [1, "free"]}, ["costs", "free"]),
    ({"costs": [1, 2, 3], "names": None}, ["2 means", "3 costs"]),
    ({"means": [0.1], "costs": [1], "names": None}, ["two arms", "there are 1"]),
    ({"means": [], "costs": [], "names": None}, ["two arms", "there are 0"]),
    ({"alpha": 1.0}, ["alpha", "1.0", "[0, 1)"]),
    ({"alpha": -0.125}, ["alpha", "-0.125"]),
    ({"alpha": math.nan}, ["alpha", "nan"]),
    ({"alpha": "much"}, ["alpha", "'much'"]),
    ({"alpha": None}, ["alpha", "quality"]),
    ({"alpha": 10**400}, ["alpha", "10000"]),
    ({"names": ["x"]}, ["1 names", "2 arms"]),
    ({"names": ["x", "x"]}, ["'x'", "2 times"]),
    ({"names": ["x", " "]}, ["' '"]),
    ({"names": ["x", ""]}, ["''"]),
    ({"names": ["x", 7]}, ["7"]),
    ({"names": "xy"}, ["'xy'"]),
    ({"names": 7}, ["names", "7"]),
    ({"names": ["x", "two\nlines"]}, [r"'two\nlines'", "line ends"]),
    ({"names": ["x", "\x1b[2J"]}, [r"'\x1b[2J'", "control characters"]),
    ({"names": ["x", "\u2028"]}, [r"'\u2028'"]),
    ({"names": ["x", "\ud800"]}, [r"'\ud800'", "lone surrogates"]),
]


@pytest.mark.parametrize(("change", "fragments"), BAD, ids=[str(change)[:40] for change, _ in BAD])
def test_a_bad_value_is_named_and_nothing_is_built(change: dict[str, Any], fragments: list[str]) -> None:
    unbuilt = object.__new__(Problem)
    with pytest.raises(InputError) as caught:
        Problem.__init__(unbuilt, **(GOOD | change))
    for fragment in fragments:
        assert fragment in str(caught.value)
    assert vars(unbuilt) == {}


@pytest.mark.parametrize("name", ["C#", "größe 2", "👩‍💻", "a\u00a0b", "模型"])
def test_names_in_any_script_are_taken(name: str) -> None:
    assert Problem([0.1, 0.2], [1, 2], 0.3, names=["x", name]).names[1] == name


def test_a_million_names_are_checked_in_seconds() -> None:
    arms = 1_000_000
    start = time.perf_counter()
    assert len(check_names([f"option {k}" for k in range(arms)], arms)) == arms
    with pytest.raises(InputError, match="'option 3' stands 2 times"):
        check_names([f"option {max(k, 3)}" for k in range(2, arms + 2)], arms)
    # It takes about a second; in quadratic time it would take hours.
    assert time.perf_counter() - start < 30


def test_an_unknown_reference_arm_is_told_with_its_neighbours() -> None:
    with pytest.raises(InputError, match="no option is called 'gpt4'; did you mean 'gpt-4-1106-preview'"):
        instance("routerbench-mbpp", quality="relative-to:gpt4:0.1")
    with pytest.raises(InputError) as caught:
        instance("routerbench-mbpp", quality="relative-to:Claude-V3:0.1")
    assert str(caught.value).startswith("routerbench-mbpp: no option is called 'Claude-V3'; did you mean")
    assert "'claude-v2'" in str(caught.value) and ".csv" not in str(caught.value)


def test_the_checks_return_what_they_checked() -> None:
    assert check_alpha(0) == 0.0
    assert check_options([2, 1])[0].tolist() == [2.0, 1.0]
    assert check_names(None, 2) == ("a1", "a2")
    assert check_horizon(5e6, arms=8) == 5_000_000
    assert check_horizon(9, arms=8) == 9
    assert isinstance(check_horizon(5e6, arms=8), int)


@pytest.mark.parametrize(
    ("horizon", "fragments"),
    [
        (8, ["greater than", "8"]),
        (-3, ["-3"]),
        (1.5e1 + 0.5, ["whole number", "15.5"]),
        (math.inf, ["finite", "inf"]),
        (math.nan, ["nan"]),
        ("long", ["'long'"]),
        (2**60, ["2**53", str(2**60)]),
        (10**400, ["10000"]),
    ],
)
def test_a_bad_horizon_is_named(horizon: Any, fragments: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        check_horizon(horizon, arms=8)
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_repr_says_what_is_optimal() -> None:
    problem = Problem([0.70, 0.78, 0.80], [1, 2, 9], alpha=0.05, names=["s", "m", "l"])
    assert repr(problem) == "Problem(3 arms, alpha=0.05, threshold=0.76, optimal='m', best='l')"
