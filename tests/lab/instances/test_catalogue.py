"""Built-in instances and random problems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.errors import InputError
from frugalbandits.lab.instances.catalogue import as_problem, describe, instance, instances
from frugalbandits.lab.instances.drawn import random_problem, random_problems

UNIT = st.floats(0, 1)
PAPER = ("goodreads", "movielens", "nu1", "nu2", "cost-biased")
TABLES = ("routerbench-mbpp", "routerbench-arc", "swebench", "aider-polyglot")


# Built-in instances.


def test_the_paper_s_instances_come_first() -> None:
    assert instances()[:5] == PAPER
    assert set(instances()[5:]) == set(TABLES)


@pytest.mark.parametrize("name", PAPER + TABLES)
def test_every_instance_loads_and_is_described_in_one_line(name: str) -> None:
    assert instance(name).arms >= 2
    assert describe(name)
    assert "\n" not in describe(name)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("goodreads", ["Goodreads", "rated above 3", "random costs"]),
        ("movielens", ["MovieLens 25M", "mean rating", "divided by 5"]),
        ("nu1", ["ablation", "exclusive"]),
        ("nu2", ["ablation", "combining"]),
        ("cost-biased", ["last experiment", "alpha is ours"]),
        ("routerbench-mbpp", ["RouterBench", "MBPP", "dollars"]),
        ("routerbench-arc", ["RouterBench", "ARC-Challenge", "dollars"]),
        ("swebench", ["SWE-bench", "bash", "dollars"]),
        ("aider-polyglot", ["Aider polyglot", "dollars"]),
    ],
)
def test_descriptions_say_where_the_numbers_come_from(name: str, words: list[str]) -> None:
    for word in words:
        assert word in describe(name)


@pytest.mark.parametrize(
    ("name", "arms", "alpha", "threshold", "optimal", "best"),
    [
        ("goodreads", 8, 0.05, 0.95 * 0.712, 0, 6),
        ("movielens", 20, 0.05, 0.95 * 0.785, 13, 14),
        ("nu1", 7, 0.8, 0.198, 1, 4),
        ("nu2", 12, 0.3, 0.5012, 3, 8),
        ("cost-biased", 13, 0.25, 0.72, 7, 10),
        ("routerbench-mbpp", 11, 0.1, 0.9 * 0.68618, 6, 10),
        ("routerbench-arc", 11, 0.1, 0.9 * 0.95398, 4, 10),
    ],
)
def test_the_instances_are_the_published_ones(
    name: str, arms: int, alpha: float, threshold: float, optimal: int, best: int
) -> None:
    problem = instance(name)
    assert (problem.arms, problem.alpha) == (arms, alpha)
    assert problem.threshold == pytest.approx(threshold, rel=1e-12)
    assert (problem.optimal_arm, problem.best_arm) == (optimal, best)


def test_the_numbers_of_the_paper_s_text_are_here_digit_for_digit() -> None:
    nu1, nu2, biased, goodreads = (instance(name) for name in ("nu1", "nu2", "cost-biased", "goodreads"))
    assert nu1.means.tolist() == [0.15, 0.24, 0.96, 0.95, 0.99, 0.98, 0.97]
    assert nu1.costs.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert nu2.means.tolist() == [
        *(0.44, 0.46, 0.48, 0.7, 0.71, 0.704, 0.714, 0.702, 0.716, 0.708, 0.712, 0.706)
    ]
    assert nu2.costs.tolist() == list(range(1, 13))
    assert biased.costs.tolist() == [1, 1.5, 2, 3, 4, 5, 6, 8, 10, 40, 80, 800, 850]
    assert goodreads.means.tolist() == [0.684, 0.664, 0.659, 0.672, 0.636, 0.687, 0.712, 0.684]
    assert goodreads.costs.tolist() == [0.279, 0.354, 0.394, 0.533, 0.575, 0.688, 0.775, 0.852]


def test_option_tables_keep_the_options_names_and_dollars() -> None:
    problem = instance("routerbench-mbpp")
    assert problem.names[-1] == "gpt-4-1106-preview"
    assert problem.costs[-1] == 0.00937714
    assert problem.means[-1] == 0.68618
    assert instance("nu1").names == ("a1", "a2", "a3", "a4", "a5", "a6", "a7")


@pytest.mark.parametrize("name", ["goodreads", "swebench"])
def test_alpha_overrides(name: str) -> None:
    assert instance(name, alpha=0.3) == instance(name).with_alpha(0.3)
    assert instance(name, alpha=0).alpha == 0.0
    with pytest.raises(InputError, match=r"^alpha .*1\.5"):
        instance(name, alpha=1.5)


@pytest.mark.parametrize("call", [instance, describe])
def test_an_unknown_name_is_named_with_its_neighbours(call: Any) -> None:
    with pytest.raises(InputError) as caught:
        call("good-reads")
    assert "no instance is called 'good-reads'" in str(caught.value)
    assert "did you mean 'goodreads'" in str(caught.value)
    with pytest.raises(InputError, match="'3'"):
        call(3)


# Random problems.


@given(
    st.integers(2, 30),
    st.floats(0, 1, exclude_max=True),
    st.integers(0, 2**70),
    st.tuples(UNIT, UNIT).map(sorted),
    st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)).map(sorted),
)
def test_random_problems_keep_to_their_ranges_and_their_seed(
    arms: int, alpha: float, seed: int, means: Any, costs: Any
) -> None:
    problem = random_problem(arms, alpha, seed, means=means, costs=costs)
    assert (problem.arms, problem.alpha) == (arms, alpha)
    for values, (low, high) in ((problem.means, means), (problem.costs, costs)):
        assert values.min() >= low
        assert values.max() <= high
    assert random_problem(arms, alpha, seed, means=means, costs=costs) == problem


def test_another_seed_gives_another_problem_and_arms_are_not_sorted() -> None:
    first, second = random_problem(12, 0.1, seed=0), random_problem(12, 0.1, seed=1)
    assert first != second
    assert first.order.tolist() != list(range(12))
    rng = np.random.default_rng(0)
    assert first.means.tolist() == rng.uniform(0.05, 0.95, 12).tolist()
    assert first.costs.tolist() == rng.uniform(0.0, 1.0, 12).tolist()


def test_decimals_round_the_draws() -> None:
    exact, rounded = random_problem(9, 0.1, seed=3), random_problem(9, 0.1, seed=3, decimals=2)
    assert rounded.means.tolist() == [round(mean, 2) for mean in exact.means.tolist()]
    assert rounded.costs.tolist() == [round(cost, 2) for cost in exact.costs.tolist()]


@pytest.mark.parametrize("seed", [0, 5])
def test_a_family_does_not_depend_on_its_count(seed: int) -> None:
    many = random_problems(40, seed=seed)
    assert random_problems(0, seed=seed) == []
    for count in (1, 7, 39):
        assert random_problems(count, seed=seed) == many[:count]
    assert len(set(many)) == 40


def test_a_family_fills_its_ranges_and_depends_on_its_seed() -> None:
    many = random_problems(300, arms=(3, 6), alpha=(0.1, 0.2), seed=2)
    assert {problem.arms for problem in many} == {3, 4, 5, 6}
    alphas = [problem.alpha for problem in many]
    # 300 uniform draws all miss a given tenth of the range with probability 2e-14.
    assert 0.1 <= min(alphas) < 0.11
    assert 0.19 < max(alphas) <= 0.2
    assert random_problems(3, seed=2) != random_problems(3, seed=3)


def test_a_family_hands_its_ranges_on() -> None:
    for problem in random_problems(20, means=(0.5, 0.6), costs=(-3, -2), decimals=1):
        assert set(problem.means.tolist()) <= {0.5, 0.6}
        assert ((problem.costs >= -3) & (problem.costs <= -2)).all()


GOOD_DRAW: dict[str, Any] = {"arms": 3, "alpha": 0.1, "seed": 0}
BAD_DRAWS: list[tuple[dict[str, Any], list[str]]] = [
    ({"arms": 1}, ["arms", "at least 2", "1"]),
    ({"arms": 2.5}, ["arms", "whole number", "2.5"]),
    ({"arms": "three"}, ["arms", "'three'"]),
    ({"alpha": 1}, ["alpha", "[0, 1)", "1"]),
    ({"seed": -1}, ["seed", "at least 0", "-1"]),
    ({"seed": None}, ["seed", "whole number", "None"]),
    ({"means": (0.9, 0.1)}, ["means", "(0.9, 0.1)"]),
    ({"means": (0.5, 1.5)}, ["means", "[0, 1]", "(0.5, 1.5)"]),
    ({"means": (-0.5, 0.5)}, ["means", "[0, 1]", "(-0.5, 0.5)"]),
    ({"means": (float("nan"), 0.5)}, ["means", "(nan, 0.5)"]),
    ({"means": 0.5}, ["means", "pair", "0.5"]),
    ({"means": (0.1, 0.2, 0.3)}, ["means", "pair", "(0.1, 0.2, 0.3)"]),
    ({"costs": (2, 1)}, ["costs", "(2, 1)"]),
    ({"costs": (0, float("inf"))}, ["costs", "(0, inf)"]),
    ({"costs": (-1e308, 1e308)}, ["costs", "(-1e+308, 1e+308)"]),
    ({"costs": ("low", "high")}, ["costs", "('low', 'high')"]),
    ({"decimals": -1}, ["decimals", "at least 0", "-1"]),
    ({"decimals": 1.5}, ["decimals", "whole number", "1.5"]),
]
BAD_FAMILIES: list[tuple[dict[str, Any], list[str]]] = [
    ({"count": -1}, ["count", "at least 0", "-1"]),
    ({"count": 1.5}, ["count", "whole number", "1.5"]),
    ({"arms": (1, 5)}, ["arms", "at least 2", "1"]),
    ({"arms": (5, 3)}, ["arms", "(5, 3)"]),
    ({"arms": (3, 4.5)}, ["arms", "whole number", "4.5"]),
    ({"arms": 3}, ["arms", "pair", "3"]),
    ({"alpha": (0.5, 1.0)}, ["alpha", "[0, 1)", "1.0"]),
    ({"alpha": (0.5, 0.2)}, ["alpha", "(0.5, 0.2)"]),
    ({"seed": -1}, ["seed", "at least 0", "-1"]),
    ({"means": (0.9, 0.1)}, ["means", "(0.9, 0.1)"]),
]


@pytest.mark.parametrize(("change", "fragments"), BAD_DRAWS, ids=[str(change) for change, _ in BAD_DRAWS])
def test_a_bad_draw_is_refused_with_the_value(change: dict[str, Any], fragments: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        random_problem(**(GOOD_DRAW | change))
    for fragment in fragments:
        assert fragment in str(caught.value)


@pytest.mark.parametrize(
    ("change", "fragments"), BAD_FAMILIES, ids=[str(change) for change, _ in BAD_FAMILIES]
)
def test_a_bad_family_is_refused_with_the_value(change: dict[str, Any], fragments: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        random_problems(**({"count": 2} | change))
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_a_name_stands_for_its_instance_wherever_a_problem_is_taken() -> None:
    problem = instance("nu1")
    assert as_problem("nu1") == as_problem(problem) == problem
    assert fb.simulate("nu1", "etc-cs", 500, runs=2).problem == problem
    for call in (
        fb.bounds.lower_pulls,
        fb.bounds.joint,
        fb.bounds.joints,
        fb.bounds.best_arm_pulls,
        fb.bounds.least_regret,
        fb.bounds.cof_upper,
        fb.bounds.rounds,
        fb.bounds.overview,
    ):
        assert repr(call("nu1", 1_000)) == repr(call(problem, 1_000))
    assert fb.bounds.roles("nu1").problem == problem


@pytest.mark.parametrize("wrong", [None, 7, ["nu1"], np.zeros(3)])
def test_what_is_neither_a_problem_nor_a_name_is_shown(wrong: Any) -> None:
    for call in (lambda: fb.simulate(wrong, "cof", 500), lambda: fb.bounds.least_regret(wrong, 500)):
        with pytest.raises(InputError, match="a problem is a Problem or the name of a built-in instance"):
            call()
    with pytest.raises(InputError, match="no instance is called 'nu9'; did you mean 'nu2' or 'nu1'"):
        fb.bounds.overview("nu9", 500)
