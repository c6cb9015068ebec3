"""What is true in a world at each moment, and the regret of a run, against a plain reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from reference import world as plain
from world_harness import plainly, play, worlds

HORIZON = 100
POLICIES = ["ucb-cs", "ts-cs", "pe-cs", "voi-cs", "ucb-cs-restarts"]


@pytest.mark.parametrize("policy", POLICIES)
@given(world=worlds(), seed=st.integers(0, 1000))
def test_every_step_is_what_the_reference_says(policy, world, seed):
    played = play(world, policy, HORIZON, seed=seed)
    problem, happenings = world.problem, plainly(world)
    options = range(problem.arms)
    cost = quality = spend = best = 0.0
    assert len(played.steps) == HORIZON
    for time, step in enumerate(played.steps):
        means = [plain.mean_at(problem.means[k], happenings, k, time, HORIZON) for k in options]
        prices = [plain.price_at(problem.costs[k], happenings, k, time, HORIZON) for k in options]
        there = [plain.is_there(happenings, k, time, HORIZON) for k in options]
        for k in options:
            if step.up[k]:
                assert there[k] and not plain.is_down(happenings, k, time, HORIZON)
            elif not world.down_share:
                assert not there[k] or plain.is_down(happenings, k, time, HORIZON)
        assert step.up[step.option]
        assert step.mean == pytest.approx(means[step.option], abs=1e-12)
        least, bar, dearest = plain.best_use(means, prices, there, step.up, problem.alpha)
        cost += max(prices[step.option] - least, 0)
        if means[step.option] < bar * (1 - 1e-9):
            quality += bar - means[step.option]
        spend += prices[step.option]
        best += dearest
    assert played.books.sums[-1] == pytest.approx([cost, quality, spend, best], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("bar", [fb.AtLeast(0.5), fb.AtLeast(0.95), fb.RelativeTo("a2", 0.1)])
@given(data=st.data())
def test_other_bars(bar, data):
    world = data.draw(worlds(feedback=1.0, costs="known", options=()))
    problem = fb.Problem(world.problem.means, world.problem.costs, quality=bar)
    world = fb.World(problem, drift=world.drift, outages=world.outages)
    played, happenings = play(world, "cof", HORIZON), plainly(world)
    kind = {"level": bar.level} if isinstance(bar, fb.AtLeast) else {"alpha": bar.alpha, "reference": 1}
    quality = 0.0
    for time, step in enumerate(played.steps):
        means = [plain.mean_at(m, happenings, k, time, HORIZON) for k, m in enumerate(problem.means)]
        everybody = [True] * problem.arms
        _, level, _ = plain.best_use(means, problem.costs, everybody, step.up, **kind)
        if means[step.option] < level * (1 - 1e-9):
            quality += level - means[step.option]
    assert played.books.sums[-1, 1] == pytest.approx(quality, rel=1e-6, abs=1e-6)


@given(world=worlds(), seed=st.integers(0, 1000))
def test_plain_and_compiled_drivers_agree(world, seed):
    result = fb.simulate(world, "voi-cs", HORIZON, runs=2, seed=seed, checkpoints=HORIZON, progress=False)
    for run in range(2):
        books = play(world, "voi-cs", HORIZON, seed=seed, run=run).books
        assert np.array_equal(books.pulls, result.pulls[run])
        assert np.array_equal(books.judged, result.judged[run])
        assert books.sums[:, 0] == pytest.approx(result.cost_regret[run], rel=1e-12)
        assert books.sums[:, 1] == pytest.approx(result.quality_regret[run], rel=1e-12, abs=1e-12)


def test_slow_changes_move_in_a_straight_line():
    problem = fb.Problem([0.2, 0.8], [1, 2], alpha=0.1)
    world = fb.World(problem, drift=[fb.Drift(0.0, 0, 1.0, over=1.0), fb.Drift(50, 0, 0.0, over=10)])
    played = play(world, "etc-cs", 100)
    seen = {time: step.mean for time, step in enumerate(played.steps) if step.option == 0}
    expected = {
        time: 0.2 + 0.008 * time if time < 50 else max(0.6 - 0.06 * (time - 50), 0.0) for time in range(100)
    }
    assert seen and all(seen[time] == pytest.approx(expected[time]) for time in seen)
