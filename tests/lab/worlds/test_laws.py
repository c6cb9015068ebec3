"""Laws of the worlds, by many runs; each test has a fixed seed and a false-alarm rate below 1e-4."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import frugalbandits as fb
from frugalbandits.core.contract import Batch, single
from frugalbandits.lab.rewards import BetaRewards, TwoPoint
from frugalbandits.lab.worlds.driver import draw_reward
from frugalbandits.lab.worlds.script import law_of
from world_harness import play

PROBLEM = fb.Problem([0.3, 0.7, 0.8], [1, 2, 9], alpha=0.2)
FEW = 4.5  # standard errors: a false alarm in 150,000


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_the_share_that_is_judged(share):
    result = fb.simulate(fb.World(PROBLEM, feedback=share), "ucb-cs", 20_000, runs=10, checkpoints=1)
    decisions = 20_000 * 10
    error = math.sqrt(decisions * share * (1 - share))
    assert abs(result.judged.sum() - decisions * share) < FEW * error


def test_a_fixed_delay_is_exact():
    for delay in (0, 1, 7, 500):
        world = fb.World(PROBLEM, delay=delay)
        result = fb.simulate(world, "ucb-cs", 400, runs=2, checkpoints=400)
        assert (result.judged == np.maximum(result.times - delay, 0)).all()


@pytest.mark.parametrize("mean", [0.5, 3.0, 60.0])
def test_geometric_delays(mean):
    """Judged after t decisions: each of the t is, independently, with the chance that its delay allows."""
    runs = 200
    world = fb.World(PROBLEM, delay=("geometric", mean))
    result = fb.simulate(world, "ucb-cs", 200, runs=runs, checkpoints=200)
    for time in (1, 5, 20, 100, 200):
        # The decision before last has had one chance more than the last one.
        chances = np.array([1 - (mean / (1 + mean)) ** k for k in range(1, time + 1)])
        error = math.sqrt(runs * (chances * (1 - chances)).sum()) + 1e-9
        assert abs(result.judged[:, time - 1].sum() - runs * chances.sum()) < FEW * error


@pytest.mark.parametrize("model", [fb.Bernoulli(), TwoPoint(0.25, 1.0), BetaRewards(3.0)])
def test_rewards_have_the_mean_of_the_moment(model):
    law, rng = law_of(fb.World(PROBLEM), model), np.random.default_rng(5)
    for mean in (0.3, 0.55, 0.9):
        drawn = np.array([draw_reward(law, 0, mean, rng) for _ in range(20_000)])
        assert ((drawn >= 0) & (drawn <= 1)).all()
        assert abs(drawn.mean() - mean) < FEW * drawn.std() / math.sqrt(len(drawn))


@pytest.mark.parametrize("sigma", [0.3, 1.0])
def test_bills_are_lognormal_around_the_price(sigma):
    world = fb.World(PROBLEM, costs=fb.Bills(sigma, 2.0), options=[fb.Price(1, 0.5, 5.0)])
    steps = play(world, "voi-cs", 4_000).steps
    price = [
        PROBLEM.costs[step.option] if step.option != 1 or time < 2_000 else 5.0
        for time, step in enumerate(steps)
    ]
    logs = np.log([step.bill for step in steps]) - np.log(price)
    # The mean of a bill is its price if the logarithm has the mean -sigma^2 / 2.
    assert stats.kstest(logs, "norm", args=(-(sigma**2) / 2, sigma)).pvalue > 1e-5


def test_told_costs_are_off_by_up_to_a_factor():
    problem = fb.random_problem(12, alpha=0.1, seed=3)
    errors = np.concatenate([fb.World(problem, costs="lognormal", seed=seed).error for seed in range(200)])
    assert errors.min() >= 0.5 and errors.max() <= 2.0
    assert stats.kstest(np.log2(errors), "uniform", args=(-1, 2)).pvalue > 1e-5
    world = fb.World(problem, costs=fb.Bills(1.0, 1.0))
    assert np.array_equal(world.told_costs, problem.costs)


def test_options_fail_independently_and_never_all():
    """Which options are up, against the exact chances: all down counts as one of them up, each as likely."""
    share, calls = 0.6, 6_000
    steps = play(fb.World(PROBLEM, outages=share), "ucb-cs", calls).steps
    expected = dict.fromkeys(itertools.product([False, True], repeat=3), 0.0)
    for up in expected:
        chance = math.prod(1 - share if each else share for each in up)
        for mended in [up] if any(up) else [tuple(k == j for j in range(3)) for k in range(3)]:
            expected[mended] += chance / (1 if any(up) else 3)
    sets = [up for up in expected if any(up)]
    seen = [sum(step.up == up for step in steps) for up in sets]
    assert sum(seen) == calls
    assert stats.chisquare(seen, [calls * expected[up] for up in sets]).pvalue > 1e-5


def test_calls_and_feedback_are_the_same_for_all_policies():
    world = fb.World(PROBLEM, outages=0.4, feedback=0.3, delay=("geometric", 5.0))
    one, other = (play(world, policy, 200, seed=4) for policy in ("ucb-cs", "voi-cs"))
    assert [step.up for step in one.steps] == [step.up for step in other.steps]
    assert np.array_equal(one.books.judged, other.books.judged)


@pytest.mark.parametrize("number", [3, 10])
def test_random_changes_are_spread_over_the_run(number):
    problem = fb.random_problem(6, alpha=0.1, seed=0)
    chosen = []
    for seed in range(200):
        changes = fb.World(problem, drift=number, seed=seed).drift
        assert len(changes) == number
        for place, change in enumerate(changes):
            assert (place + 0.25) / number <= change.at <= (place + 0.75) / number
            assert 0.02 <= change.mean <= 0.98 and change.over == 0
        chosen += [problem.names.index(change.option) for change in changes]
    assert stats.chisquare(np.bincount(chosen, minlength=6)).pvalue > 1e-5


def test_the_batch_is_planned_on_what_is_known():
    """While feedback is out, a plan of many pulls is good for one pass: as in a session."""

    def plan(state, rng):
        seen.append(int(state.tally.pulls.sum()))
        return Batch(single(0), 50)

    seen: list[int] = []
    play(fb.World(PROBLEM), "ucb-cs", 100, plan=plan)
    assert seen == [0, 50]
    seen.clear()
    play(fb.World(PROBLEM, delay=10), "ucb-cs", 100, plan=plan)
    # Nothing is out at the first plan; from the second one on there always is.
    assert seen == [0, *range(40, 90)]
