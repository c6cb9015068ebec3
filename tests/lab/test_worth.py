"""What a unit of quality is worth: one setting of a problem that regret, policies and files go by."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from cli_harness import good
from frugalbandits.lab.bounds import least_regret

MEANS, COSTS = [0.4, 0.75, 0.8], [1.0, 2.0, 6.0]
NEAR = fb.Problem([0.70, 0.78, 0.80], [1, 2, 9], 0.05)


def test_by_default_it_is_the_range_of_the_costs():
    assert fb.Problem(MEANS, COSTS, 0.1).worth == 5.0
    assert fb.Problem(MEANS, [3, 3, 3], 0.1).worth == 1.0
    assert fb.Problem(MEANS, COSTS, 0.1, worth=2).worth == 2.0
    assert math.isfinite(fb.Problem(MEANS, [-1.7e308, 0, 1.7e308], 0.1).worth)


@pytest.mark.parametrize(
    ("worth", "words"),
    [
        (0, "worth must be above 0, but it is 0"),
        (-2.5, "worth must be above 0, but it is -2.5"),
        (math.nan, "worth must be finite, but it is nan"),
        (math.inf, "worth must be finite, but it is inf"),
        ("much", "worth must be a number, but it is 'much'"),
    ],
)
def test_nonsense_is_named(worth, words):
    with pytest.raises(fb.InputError, match=words):
        fb.Problem(MEANS, COSTS, 0.1, worth=worth)


def test_copies_keep_it():
    problem = fb.Problem(MEANS, COSTS, 0.1, worth=20)
    assert problem.with_alpha(0.2).worth == problem.with_quality("at-least:0.7").worth == 20.0
    assert problem.with_worth(None).worth == 5.0
    assert problem != problem.with_worth(None) and problem == fb.Problem(MEANS, COSTS, 0.1, worth=20.0)
    assert fb.Problem(MEANS, COSTS, 0.1, worth=5) == fb.Problem(MEANS, COSTS, 0.1)
    assert "worth=20" in repr(problem) and "worth" not in repr(problem.with_worth(None))


@given(worth=st.one_of(st.none(), st.floats(1e-3, 1e3)), seed=st.integers(0, 99))
def test_scaled_regret_is_cost_regret_in_units_of_quality(worth, seed):
    problem = fb.Problem(MEANS, COSTS, 0.1, worth=worth)
    result = fb.simulate(problem, "etc-cs", 500, runs=2, seed=seed, checkpoints=3)
    expected = result.cost_regret / problem.worth + result.quality_regret
    assert np.array_equal(result.scaled_regret, expected)
    assert result.summary("scaled").mean == pytest.approx(expected[:, -1].mean())
    cost, quality = problem.scaled().regrets(result.pulls)
    assert cost + quality == pytest.approx(expected)


def test_files_and_archives_carry_it(tmp_path):
    for problem in (NEAR, NEAR.with_worth(0.25)):
        path = tmp_path / "mine.txt"
        fb.write_instance(problem, path)
        assert fb.read_instance(path) == problem
        assert ("quality_worth: 0.25" in path.read_text()) == (problem.given_worth is not None)
        result = fb.simulate(problem, "pe-cs", 300, runs=2, checkpoints=2)
        result.save(tmp_path / "mine.result")
        again = fb.Result.load(tmp_path / "mine.result")
        assert again.problem == problem and again.problem.given_worth == problem.given_worth
    path.write_text(path.read_text().replace("0.25", "-1"))
    with pytest.raises(fb.InputError, match="worth must be above 0, but it is -1"):
        fb.read_instance(path)


def test_policies_hear_of_it():
    """A unit of quality that is worth far more than the costs differ: GLR-COF spends more on the dear arm."""
    dear = [
        fb.simulate(NEAR.with_worth(worth), "glr-cof", 3_000, runs=20, checkpoints=1).pulls[:, -1, 2].mean()
        for worth in (None, 1_000)
    ]
    assert dear[1] > 1.2 * dear[0]
    same = [fb.simulate(NEAR.with_worth(worth), "glr-cof", 3_000, runs=3).pulls for worth in (None, 8)]
    assert np.array_equal(*same)


def test_tables_and_figures_have_it():
    compared = fb.compare(NEAR.with_worth(4), ["etc-cs", "pe-cs"], horizon=2_000, runs=3, checkpoints=5)
    assert compared.to_polars()["scaled_regret"].to_list() == [
        pytest.approx(result.summary("scaled").mean) for result in compared
    ]
    assert "scaled" in repr(compared) and "scaled regret" in compared._repr_html_()
    assert "scaled regret" in compared["pe-cs"]._repr_html_()
    for figure in (compared.plot("scaled"), compared["pe-cs"].plot("scaled")):
        assert any("scaled" in axes.get_ylabel() for axes in figure.axes)
    least = least_regret(NEAR.scaled(), 2_000).value
    assert least < least_regret(NEAR, 2_000).value
    with pytest.raises(fb.InputError, match="'summed' or 'scaled', but it is 'all'"):
        compared["pe-cs"].plot("all")


def test_the_command_line_takes_it():
    few = ("simulate", "nu1", "--policy", "etc-cs", "--horizon", "500", "--runs", "2", "--json")
    (plain,) = json.loads(good(*few))["results"]
    (told,) = json.loads(good(*few, "--worth", "0.5"))["results"]
    assert (plain["worth"], told["worth"]) == (fb.instance("nu1").worth, 0.5)
    expected = told["cost_regret"]["mean"] / 0.5 + told["quality_regret"]["mean"]
    assert told["scaled_regret"]["mean"] == pytest.approx(expected)
    assert told["summed_regret"] == plain["summed_regret"]
