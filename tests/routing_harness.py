"""What the tests of routing share: small problems, and the driver in plain Python, with notes."""

from __future__ import annotations

from types import FunctionType
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.contextual.registry import resolve_contextual
from frugalbandits.lab.contextual import driver

BARS = ("relative-to-best:0.1", "relative-to:a2:0.05", "at-least:0.6")


class Asked(NamedTuple):
    phi: tuple[float, ...]
    costs: tuple[float, ...]
    arm: int
    propensity: float


class Told(NamedTuple):
    phi: tuple[float, ...]
    arm: int
    propensity: float
    reward: float
    decisions: int  # that had been made by then


class Played(NamedTuple):
    asked: list[Asked]
    told: list[Told]
    books: driver.Books
    made: int


def play(problem, policy, horizon, seed=0, run=0, delay=0, feedback=1.0, times=None, choose=None, learn=None):
    """Run the driver as plain Python, with the random numbers of that run."""
    policy = resolve_contextual(policy) if isinstance(policy, str) else policy
    decide, take_in = choose or type(policy).choose, learn or type(policy).learn
    asked, told = [], []

    def noting_choose(state, phi, costs, usable, rng, floors):
        choice = decide(state, phi, costs, usable, rng, floors)
        asked.append(Asked(tuple(phi), tuple(costs), int(choice.arm), float(choice.propensity)))
        return choice

    def noting_learn(state, phi, arm, propensity, reward, floors):
        told.append(Told(tuple(phi), int(arm), float(propensity), float(reward), len(asked)))
        take_in(state, phi, arm, propensity, reward, floors)

    scope = {**driver.drive.__globals__, "choose": noting_choose, "learn": noting_learn}
    drive = FunctionType(driver.drive.__code__, scope)
    population = driver.Population(
        problem.encoded, problem.rewards, problem.costs, problem.segment, problem.realised, feedback, delay
    )
    for_policy, *others = np.random.SeedSequence(seed, spawn_key=(run,)).spawn(4)
    marks = np.array([horizon] if times is None else times, np.int64)
    books = driver.new_books(marks, len(problem.segment_names), problem.options)
    made = drive(
        policy.start(problem.setting()),
        population,
        np.random.default_rng(for_policy),
        driver.Streams(*map(np.random.default_rng, others)),
        books,
        np.zeros(1, np.bool_),
    )
    return Played(asked, told, books, made)


def small(seed=0, quality="relative-to-best:0.1", options=3, segments=3, queries=60):
    """Return a small problem whose options are not in the order of their costs."""
    drawn = fb.synthetic_routing(seed, options, 2, segments, queries=queries)
    order = np.roll(np.arange(options), 1 + seed % (options - 1))
    labels = np.array(drawn.segment_names)[drawn.segment]
    rewards, costs = drawn.rewards[:, order], drawn.costs[0, order]
    return fb.ContextualProblem(drawn.features, labels, rewards, costs, quality)


@st.composite
def populations(draw, queries=(1, 7), options=(2, 4), bars=BARS):
    """Draw a population: few queries, means that tie now and then, costs by option or by query."""
    n, k = draw(st.integers(*queries)), draw(st.integers(*options))
    means = st.integers(0, 8).map(lambda value: value / 8)
    rewards = [[draw(means) for _ in range(k)] for _ in range(n)]
    cost = st.integers(0, 12).map(float)
    by_query = draw(st.booleans())
    costs = [[draw(cost) for _ in range(k)] for _ in range(n)] if by_query else [draw(cost) for _ in range(k)]
    segments = draw(st.none() | st.lists(st.sampled_from("xyz"), min_size=n, max_size=n))
    features = draw(st.none() | st.just(np.round(np.random.default_rng(n).standard_normal((n, 2)), 2)))
    return fb.ContextualProblem(features, segments, rewards, costs, draw(st.sampled_from(bars)))
