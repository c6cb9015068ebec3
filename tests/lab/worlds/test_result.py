"""Results of worlds: seeds and workers, tables, alarms, figures, and no stall when options are down."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.registry import policies
from world_harness import worlds

PROBLEM = fb.Problem([0.3, 0.7, 0.8], [1, 2, 9], alpha=0.2, names=["tiny", "small", "large"])
ARRAYS = ("pulls", "cost_regret", "quality_regret", "spend", "spend_on_best", "judged", "alarms", "plans")


def same(one, other, runs=None):
    return all(
        np.array_equal(getattr(one, name), getattr(other, name)[: None if runs is None else runs])
        for name in ARRAYS
        if runs is None or name != "alarms"
    )


@pytest.mark.parametrize("policy", policies())
def test_seed_decides_and_workers_do_not(policy):
    world = fb.named_world("all", PROBLEM, seed=2)
    one = fb.simulate(world, policy, 2_000, runs=5, seed=3, workers=1)
    assert same(one, fb.simulate(world, policy, 2_000, runs=5, seed=3, workers=4))
    assert same(fb.simulate(world, policy, 2_000, runs=2, seed=3), one, runs=2)
    assert not np.array_equal(one.judged, fb.simulate(world, policy, 2_000, runs=5, seed=4).judged)


@given(world=worlds(), policy=st.sampled_from(["ts-cs", "voi-cs", "ucb-cs-window"]))
def test_sums_and_shapes(world, policy):
    result = fb.simulate(world, policy, 100, runs=3, checkpoints=10, progress=False)
    assert (result.pulls.sum(axis=2) == result.times).all()
    for name in ("pulls", "cost_regret", "quality_regret", "spend", "spend_on_best", "judged"):
        assert (np.diff(getattr(result, name), axis=1) >= 0).all(), name
    assert result.traffic.sum(axis=1) == pytest.approx(np.ones(10))
    assert (result.judged <= result.times).all()
    assert result.scaled_regret == pytest.approx(result.cost_regret / world.worth + result.quality_regret)
    assert result.runs == 3 and result.horizon == 100


def test_tables():
    world = fb.World(PROBLEM, drift=[fb.Drift(0.5, "small", 0.3)], outages=[fb.Outage("tiny", 10, 20)])
    result = fb.simulate(world, "voi-cs", 5_000, runs=2, checkpoints=4)
    regret = result.to_polars()
    assert (
        regret.shape == (8, 10) and regret["scaled_regret"].to_list() == result.scaled_regret.ravel().tolist()
    )
    assert result.to_polars("pulls").shape == (24, 5)
    happened = result.to_polars("happened")
    assert happened.rows() == [(10, "tiny", "is down"), (2_500, "small", "changes")]
    alarms = result.to_polars("alarms")
    assert alarms.height == len(result.alarms) and alarms.schema["right"] == pl.Boolean
    assert result.to_pandas().shape == (8, 10)
    for wrong in (result.to_polars, result.summary, result.plot):
        with pytest.raises(fb.InputError, match="but it is 'fame'"):
            wrong("fame")
    assert "saved" in result._repr_html_()


def test_alarms_are_right_where_an_option_has_changed():
    """The option in use gets much worse: every run notices, soon after."""
    world = fb.World(PROBLEM, drift=[fb.Drift(0.5, "small", 0.2)])
    result = fb.simulate(world, "voi-cs", 20_000, runs=20)
    right = result.alarms[result.alarms["right"]]
    assert set(right["run"]) == set(range(20))
    assert (right["option"] == 1).all() and (right["time"] > 10_000).all() and (right["time"] < 11_000).all()
    assert (result.alarms["time"][~result.alarms["right"]] >= 0).all()
    assert result.false_alarms == np.sum(~result.alarms["right"]) / 20
    forgetful = fb.simulate(fb.World(PROBLEM, drift=world.drift, memory=None), "voi-cs", 20_000, runs=20)
    assert len(forgetful.alarms) == 0
    assert forgetful.summary().mean > 3 * result.summary().mean


def test_only_what_is_wanted_is_judged():
    world = fb.World(PROBLEM, feedback="wanted")
    assert fb.simulate(world, "voi-cs", 20_000, runs=4).judged_share < 0.5
    every = fb.simulate(world, "ts-cs", 1_000, runs=4)
    assert every.judged_share == 1.0 and "has no say in what is judged: all is" in every.notes


def test_what_a_policy_cannot_do_is_said():
    world = fb.named_world("all", PROBLEM)
    assert fb.simulate(world, "voi-cs", 100, runs=1).notes == ()
    assert fb.simulate(world, "ts-cs", 100, runs=1).notes == (
        "cannot learn costs: goes by what it was told",
        "does not notice that options change",
    )
    assert len(fb.simulate(world, "ts-cs-discounted", 100, runs=1).notes) == 1


def test_learned_costs_beat_a_wrong_prior():
    """What is told makes the option to use look dearer than the best: those who learn find out."""
    problem = fb.Problem([0.2, 0.78, 0.8], [1, 5, 6], alpha=0.1)
    seed = next(
        seed
        for seed in range(100)
        if (told := fb.World(problem, costs="lognormal", seed=seed).told_costs)[1] > 1.5 * told[2]
    )
    world = fb.World(problem, costs="lognormal", seed=seed)
    learned, told = (fb.simulate(world, policy, 20_000, runs=10) for policy in ("voi-cs", "ts-cs"))
    assert learned.cost_regret[:, -1].mean() < 0.5 * told.cost_regret[:, -1].mean()


@pytest.mark.parametrize("policy", policies())
def test_no_stall_when_options_are_down(policy):
    """The option that every policy looks at first is down for long, and others are at times."""
    world = fb.World(PROBLEM, outages=[0.2, fb.Outage("tiny", 0, 0.5), fb.Outage("large", 0.6, 0.8)])
    result = fb.simulate(world, policy, 10_000, runs=4, checkpoints=10)
    assert (result.pulls[:, 4, 0] == 0).all()
    assert (result.pulls[:, 7, 2] == result.pulls[:, 5, 2]).all()
    assert (result.pulls[:, -1] > 0).all()


@pytest.mark.parametrize("policy", policies())
def test_options_and_prices_change_under_way(policy):
    happenings = [fb.Arrival("small", 0.3), fb.Departure("tiny", 0.5), fb.Price("large", 0.7, 0.5)]
    result = fb.simulate(
        fb.World(PROBLEM, delay=20, options=happenings), policy, 10_000, runs=4, checkpoints=10
    )
    assert (result.pulls[:, 2, 1] == 0).all() and (result.pulls[:, 9, 1] > 0).all()
    assert (result.pulls[:, 4, 0] == result.pulls[:, 9, 0]).all()
    # From the price change on, the best option is the cheapest, whatever was thought before.
    assert (np.diff(result.cost_regret[:, 6:], axis=1) >= 0).all()
    assert (result.judged[:, -1] == 10_000 - 20).all()


def test_figures_of_worlds():
    from frugalbandits.lab import figures

    world = fb.named_world("all", PROBLEM)
    results = [fb.simulate(world, policy, 2_000, runs=3) for policy in ("ucb-cs", "ts-cs")]
    figure = figures.plot_world("mine", results)
    regret, *traffic = figure.axes
    assert [axes.get_title(loc="left") for axes in traffic] == ["traffic of UCB-CS", "traffic of TS-CS"]
    assert {line.get_label() for line in regret.get_lines()} >= {"ucb-cs", "ts-cs"}
    # Three changes, an outage, an arrival and a price.
    said = " ".join(text.get_text() for text in regret.texts)
    for happened in results[0].happened:
        assert happened.option in said
    assert "is down" in said and "arrives" in said and "costs 4.5" in said
    renderer = figure.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in regret.texts]
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])
    other = fb.simulate(fb.named_world("late", PROBLEM), "ucb-cs", 2_000, runs=2)
    for wrong in ([], [results[0], other]):
        with pytest.raises(fb.InputError, match="needs"):
            figures.plot_world("mine", wrong)
    assert results[0].plot().axes[0].get_ylabel() == "regret, costs scaled"


def test_many_options_share_an_area():
    problem = fb.random_problem(12, alpha=0.1, seed=1)
    figure = fb.simulate(fb.World(problem, drift="slow"), "ts-cs", 500, runs=2).plot("cost")
    names = [text.get_text() for text in figure.legends[-1].get_texts()]
    assert len(names) == 7 and names[-1] == "6 others"
    assert not figure.axes[0].texts
