"""A session makes the decisions of the driver of worlds, and so does `simulate` where nothing moves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from driver_harness import drive_on_table
from frugalbandits.core.registry import policies, resolve
from harness import planner
from reference import Table
from world_harness import play, worlds

HORIZON = 120
STAND_STILL = [name for name in policies() if not resolve(name).randomised]


def table_of(world, seed, style="bernoulli"):
    rng = np.random.default_rng(seed)
    return (rng.random((world.problem.arms, HORIZON)) < world.problem.means[:, None]).astype(float)


def rng_of_policy(policy, seed=0, run=0):
    """The random numbers that a run's policy gets."""
    first = np.random.SeedSequence(seed, spawn_key=(run,)).spawn(5)[0]
    return np.random.default_rng(first) if resolve(policy).randomised else None


def play_in_session(world, policy, table, ups=None, lag=0, losing=None):
    """Ask and tell in turn; `ups` says who is up at each call, `losing` whose feedback never comes."""
    problem = world.problem
    session = fb.Session(
        problem.costs,
        policy=policy,
        horizon=HORIZON,
        quality=problem.quality,
        names=problem.names,
        worth=world.worth,  # a world tells policies
        memory=world.memory,
    )
    session._rng = rng_of_policy(policy)
    session._planner = planner(policy, "plain")
    pull, waiting, options = Table(table).pull, [], []
    for time in range(HORIZON):
        if ups is None:
            decision = session.ask()
        else:
            decision = session.ask(
                among=[name for name, up in zip(problem.names, ups[time], strict=True) if up]
            )
        option = problem.names.index(decision.option)
        options.append(option)
        waiting.append((decision.id, pull(option), losing is not None and losing[time]))
        if len(waiting) > lag:
            id_, reward, lost = waiting.pop(0)
            if lost:
                session.forget(id_)
            else:
                session.tell(id_, reward)
    return options


@pytest.mark.parametrize("policy", policies())
@given(world=worlds(moving=False), seed=st.integers(0, 1000), lag=st.sampled_from([0, 1, 5, 40]))
def test_late_feedback_as_in_a_session(policy, world, seed, lag):
    world = fb.World(world.problem, delay=lag, memory=None)
    table = table_of(world, seed)
    driven = [step.option for step in play(world, policy, HORIZON, table).steps]
    assert driven == play_in_session(world, policy, table, lag=lag)


@pytest.mark.parametrize("policy", STAND_STILL)
@given(world=worlds(moving=False), seed=st.integers(0, 1000))
def test_with_nothing_moving_the_pulls_are_those_of_the_paper_s_world(policy, world, seed):
    """Feedback comes at once, and all of it."""
    world = fb.World(world.problem, memory=None)
    table = table_of(world, seed)
    times = np.arange(1, HORIZON + 1)
    pulls, _ = drive_on_table(policy, world.problem.costs, world.problem.alpha, table, times)
    assert np.array_equal(play(world, policy, HORIZON, table).books.pulls, pulls)


def test_with_nothing_moving_the_law_is_that_of_the_paper_s_world():
    """Two samples of 400 runs each; 4.5 standard errors are a false alarm in 150,000 tests."""
    problem = fb.Problem([0.3, 0.7, 0.8], [1, 2, 9], alpha=0.2)
    for policy in ("ts-cs", "ucb-cs"):
        still = fb.simulate(fb.World(problem), policy, 1_000, runs=400, seed=1, checkpoints=1)
        paper = fb.simulate(problem, policy, 1_000, runs=400, seed=2, checkpoints=1)
        for option in range(3):
            one, other = still.pulls[:, -1, option], paper.pulls[:, -1, option]
            error = np.sqrt((one.var() + other.var()) / 400)
            assert abs(one.mean() - other.mean()) < 4.5 * error


@pytest.mark.parametrize("policy", policies())
@given(
    world=worlds(moving=False),
    seed=st.integers(0, 1000),
    lag=st.sampled_from([0, 3]),
    share=st.sampled_from([1.0, 0.4]),
)
def test_outages_and_lost_feedback_as_in_a_session(policy, world, seed, lag, share):
    """Options are down at random, and one for long; feedback is late, or never comes."""
    outages = [0.3, fb.Outage(0, 20, 70)]
    world = fb.World(world.problem, outages=outages, delay=lag, feedback=share)
    table = table_of(world, seed)
    played = play(world, policy, HORIZON, table)
    judged = np.diff(played.books.judged, prepend=0)
    # What is judged after decision t is decision t - lag; what is under way at the end is told to nobody.
    losing = [*(judged[lag:] == 0), *[False] * lag]
    ups = [step.up for step in played.steps]
    driven = [step.option for step in played.steps]
    assert driven == play_in_session(world, policy, table, ups, lag, losing)
