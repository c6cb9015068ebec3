"""Where only what is wanted is judged: how much that is, and that nothing is held wrongly for it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import frugalbandits as fb
from contextual_harness import POLICY
from frugalbandits.core.contextual.dual_cof import state as fields
from frugalbandits.lab.contextual.driver import WANTED, Population, Streams, drive_of, new_books


def split_problem() -> fb.ContextualProblem:
    """Return queries where options differ in what they are good at, which a model can see."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(3_000, 1))
    rewards = np.column_stack([0.55 - 0.3 * x[:, 0], 0.75 + 0.0 * x[:, 0], 0.8 + 0.15 * x[:, 0]])
    return fb.ContextualProblem(x, None, rewards, [1.0, 3.0, 12.0], fb.RelativeToBest(0.1))


def go_on(state, problem, decisions, seed, judged=WANTED):
    """Run the driver on a state; return the mean quality and the share that was judged."""
    population = Population(
        problem.encoded, problem.rewards, problem.costs, problem.segment, False, judged, 0
    )
    own, *others = np.random.SeedSequence(seed).spawn(4)
    books = new_books(np.array([decisions]), len(problem.segment_names), problem.options)
    drive_of(POLICY)(
        state,
        population,
        np.random.default_rng(own),
        Streams(*map(np.random.default_rng, others)),
        books,
        np.zeros(1, np.bool_),
    )
    return books.quality[0] / decisions, books.judged[0] / decisions


@pytest.mark.parametrize("bar", ["relative-to-best:0.1", "relative-to:a3:0.1", "at-least:0.7"])
def test_less_and_less_is_wanted(bar):
    problem = split_problem().with_quality(bar)
    state = POLICY.start(problem.setting())
    shares = [
        go_on(state, problem, decisions, seed)[1] for seed, decisions in enumerate([1_000, *[9_000] * 4])
    ]
    assert shares[0] == 1.0
    assert shares == sorted(shares, reverse=True) and shares[-1] < 0.25


@pytest.mark.parametrize("judged", [1.0, 0.1])
def test_where_others_are_told_too_there_is_nothing_to_save(judged):
    problem = split_problem()
    state = POLICY.start(problem.setting())
    go_on(state, problem, 40_000, 0, judged)
    # A tenth at random leaves some doubt of how much is told.
    assert state.numbers[fields.WANTED] > 0.75
    assert state.numbers[fields.STOOD] < 1.1 * state.numbers[fields.HEARD]


def test_who_stops_telling_what_is_not_wanted_is_asked_for_less():
    problem = split_problem()
    state = POLICY.start(problem.setting())
    go_on(state, problem, 6_000, 0, 1.0)
    assert state.numbers[fields.WANTED] > 0.85
    go_on(state, problem, 60_000, 1)
    assert state.numbers[fields.WANTED] < 0.3


def test_what_is_wanted_tells_the_truth_of_options_and_of_what_was_reached():
    """Means over 200 runs against the truth; at four standard errors a false alarm comes in 16,000 seeds.

    Rates stand still: those that follow what was seen have a small bias of their own.
    """
    problem = split_problem()
    truth = problem.rewards.mean(0)
    options, reached = [], []
    for seed in range(200):
        state = POLICY.start(problem.setting())
        state.arms[fields.RATE] = 0.08, 0.02, 0.02
        state.numbers[[fields.WANTED, fields.BAR, fields.DUE]] = 0.3, problem.bar, 1e15
        quality, judged = go_on(state, problem, 6_000, seed)
        assert 0.25 < judged < 0.35
        options.append(state.arms[fields.ROBUST] / state.arms[fields.WEIGHT] - truth)
        reached.append(state.numbers[fields.SUM] / state.numbers[fields.STOOD] - quality)
    for errors in (*np.array(options).T, np.array(reached)):
        assert errors.std() < 0.05  # or it would show nothing
        assert abs(errors.mean()) < 4 * errors.std(ddof=1) / math.sqrt(200)


def test_judging_what_is_wanted_is_worth_more_than_as_much_at_random():
    """The shortfall of the bar: at random it is larger, in nearly every run."""
    problem = fb.routing_instance("synthetic-0", "relative-to-best:0.05")
    runs = {"horizon": 20_000, "runs": 8, "checkpoints": 1, "progress": False}
    wanted = fb.simulate(problem, "dual-cof", feedback="wanted", **runs)
    share = float(wanted.judged.mean() / 20_000)
    assert 0.1 < share < 0.35
    random = fb.simulate(problem, "dual-cof", feedback=share, **runs)
    missing = [np.maximum(problem.bar - each.quality[:, -1], 0.0).mean() for each in (wanted, random)]
    assert missing[0] < 0.6 * missing[1]
