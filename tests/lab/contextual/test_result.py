"""What a simulation on queries says of itself: numbers, tables, pictures."""

from __future__ import annotations

import re

import numpy as np
import pytest

import frugalbandits as fb
from frugalbandits.errors import InputError
from frugalbandits.lab.contextual.baselines import LinUCB
from frugalbandits.lab.figures import plot_routing
from routing_harness import small


@pytest.fixture(scope="module")
def result():
    problem = small(1, queries=200, quality="relative-to-best:0.05")
    weight = 1 / problem.oracle().best.price
    return fb.simulate(problem, LinUCB(weight=weight), 800, 3, 2, checkpoints=4, progress=False)


def test_shapes(result):
    assert result.times.tolist() == [200, 400, 600, 800] and (result.horizon, result.runs) == (800, 3)
    assert result.segment_pulls.shape == (3, 4, 3, 3)
    assert (result.pulls.sum(axis=2) == result.times).all()
    assert (result.judged == result.times).all()
    # Costs are the same for all queries here.
    assert np.allclose(result.cost, result.pulls @ result.problem.costs[0] / result.times)


def test_shortfall_and_one_sided_regret(result):
    best, bar = result.problem.oracle().best, result.problem.bar
    assert np.allclose(result.shortfall, bar - result.quality)
    for run in range(3):
        for mark in range(4):
            cost, quality = result.cost[run, mark], result.quality[run, mark]
            expected = max(cost - best.cost, 0) + best.price * max(bar - quality, 0)
            assert result.regret[run, mark] == pytest.approx(expected)
    assert (result.regret > 0).any()


def test_the_summary_prints_as_a_table(result):
    told = result.summary()
    oracle = result.problem.oracle()
    assert told.over_single == pytest.approx(result.cost[:, -1].mean() / oracle.single.cost)
    assert told.over_oracle == pytest.approx(result.cost[:, -1].mean() / oracle.best.cost)
    assert told.over_bar == pytest.approx(result.quality[:, -1].mean() / oracle.bar)
    assert told.worst == pytest.approx(result.quality[:, -1].min() / oracle.bar) and told.judged == 1.0
    heads, row = str(told).splitlines()
    assert " ".join(heads.split()) == "policy cost over a* over oracle quality over bar worst run regret"
    assert row.endswith(f"{told.regret:.4g}") and f"{told.over_bar:.4g}" in row
    assert repr(result).startswith("ContextualResult('LinUCB(weight=")


def test_tidy_tables(result):
    runs = result.to_polars()
    assert runs.columns == ["policy", "run", "time", "cost", "quality", "shortfall", "regret", "judged"]
    assert runs.height == 12
    row = runs.filter((runs["run"] == 1) & (runs["time"] == 600)).row(0, named=True)
    assert row["cost"] == result.cost[1, 2] and row["quality"] == result.quality[1, 2]
    pulls = result.to_polars("pulls")
    assert pulls.height == 3 * 4 * 3 * 3 and pulls.filter(pulls["time"] == 800)["pulls"].sum() == 2400
    one = pulls.filter(
        (pulls["run"] == 2) & (pulls["time"] == 400) & (pulls["segment"] == "s2") & (pulls["option"] == "a3")
    )
    assert one["pulls"].to_list() == [result.segment_pulls[2, 1, 1, 2]]
    assert len(result.to_pandas()) == 12
    with pytest.raises(InputError, match="table must be 'runs' or 'pulls', but it is 'regret'"):
        result.to_polars("regret")


def test_who_is_asked_when(result):
    assert result.shares.shape == (3, 3) and result.shares.sum(axis=1) == pytest.approx(1.0)
    uses = result.segment_pulls[:, -1].sum(axis=0)
    assert result.shares[1, 0] == pytest.approx(uses[1, 0] / uses[1].sum())


def test_in_a_notebook(result):
    html = result._repr_html_()
    assert "Who was asked" in html and "oracle: linear" in html and ">s2<" in html
    assert "a*: " in result.problem._repr_html_()


def test_the_figure(result):
    figure = result.plot()
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("mean cost a query", "mean quality")
    points = {tuple(np.round(line.get_xydata()[0], 6)) for line in axes.lines if len(line.get_xydata()) == 1}
    problem = result.problem
    for k in range(3):
        assert tuple(np.round((problem.option_cost[k], problem.option_quality[k]), 6)) in points
    assert tuple(np.round((result.cost[:, -1].mean(), result.quality[:, -1].mean()), 6)) in points
    for rule in problem.oracle().rules:
        assert tuple(np.round((rule.cost, rule.quality), 6)) in points
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "oracle by segment" in labels and "good enough" in labels
    assert {text.get_text() for text in axes.texts} == {"a1", "a2", "a3"}


def test_what_a_figure_needs(result):
    with pytest.raises(InputError, match="a figure of routing needs at least one result"):
        plot_routing([])
    other = fb.simulate(small(2), LinUCB(), 800, 1, checkpoints=1, progress=False)
    with pytest.raises(InputError, match=re.escape("needs results of one problem and one horizon")):
        plot_routing([result, other])
