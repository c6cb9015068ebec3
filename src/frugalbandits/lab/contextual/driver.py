"""One run of a contextual policy, compiled: draw a query, choose, realise the reward, learn what has come."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contextual.contract import Choice, ContextualPolicy
from frugalbandits.core.jit import specialised

__all__ = [
    "WANTED",
    "Books",
    "Drive",
    "Population",
    "Streams",
    "choose",
    "drive",
    "drive_of",
    "learn",
    "new_books",
]

Drive = Callable[..., Any]

#: In place of the share of decisions that are judged: those of which the policy wants to know.
WANTED = -1.0


class Population(NamedTuple):
    """The queries, and when feedback on them comes."""

    encoded: NDArray[np.float64]
    rewards: NDArray[np.float64]
    costs: NDArray[np.float64]  # one row, or one for each query
    segment: NDArray[np.int64]
    realised: bool
    judged: float  # share, or WANTED
    delay: int  # decisions


class Streams(NamedTuple):
    """Random numbers, by what they are for, so that two policies meet the same queries."""

    queries: Any
    rewards: Any
    feedback: Any


class Books(NamedTuple):
    """What is written down, a row per checkpoint: sums from the start of the run."""

    times: NDArray[np.int64]
    pulls: NDArray[np.int64]  # checkpoints x segments x options
    cost: NDArray[np.float64]
    quality: NDArray[np.float64]
    judged: NDArray[np.int64]


def new_books(times: NDArray[np.int64], segments: int, options: int) -> Books:
    """Return empty books."""
    marks = len(times)
    return Books(
        times,
        np.zeros((marks, segments, options), np.int64),
        np.zeros(marks),
        np.zeros(marks),
        np.zeros(marks, np.int64),
    )


# Stand for the functions of the policy that the driver is specialised to.


def choose(state: Any, phi: Any, costs: Any, usable: Any, rng: Any, floors: Any) -> Choice:
    """Return which option takes this query."""
    raise AssertionError("drive is a template: it is specialised to a policy")


def learn(state: Any, phi: Any, arm: int, propensity: float, reward: float, floors: Any) -> None:
    """Fold in one reward."""
    raise AssertionError("drive is a template: it is specialised to a policy")


def drive(
    state: Any,
    population: Any,
    policy_rng: Any,
    streams: Any,
    books: Any,
    stop: NDArray[np.bool_],
) -> int:
    """Make decisions up to the last checkpoint; return how many were made.

    Fewer are made when another thread sets stop[0], or when the policy chooses what is no option.
    """
    encoded, rewards, costs, segments, realised, share, delay = population
    for_queries, for_rewards, for_feedback = streams
    queries, options = rewards.shape
    horizon = books.times[-1]
    usable = np.ones(options, np.bool_)
    pulls = np.zeros(books.pulls.shape[1:], np.int64)
    # Decisions whose feedback is under way, by time modulo one more than the delay.
    days = delay + 1
    waiting_query = np.zeros(days, np.int64)
    waiting_arm = np.full(days, -1, np.int64)
    waiting_propensity = np.zeros(days)
    waiting_floors = np.zeros((days, options))
    waiting_reward = np.zeros(days)
    cost = 0.0
    quality = 0.0
    judged = 0
    mark = 0
    for time in range(horizon):
        if stop[0]:
            return time
        query = int(for_queries.random() * queries)
        price = costs[query if len(costs) > 1 else 0]
        day = time % days
        choice = choose(state, encoded[query], price, usable, policy_rng, waiting_floors[day])
        arm = choice.arm
        if arm < 0 or arm >= options:
            return time
        mean = rewards[query, arm]
        pulls[segments[query], arm] += 1
        cost += price[arm]
        quality += mean
        # Drawn for every decision, so that all policies have the same luck.
        luck = for_rewards.random()
        heard = for_feedback.random()
        told = choice.wanted if share < 0 else heard < share
        waiting_query[day] = query
        waiting_arm[day] = arm if told else -1
        waiting_propensity[day] = choice.propensity
        waiting_reward[day] = mean if realised else (1.0 if luck < mean else 0.0)
        due = (time + 1) % days  # the decision of `delay` steps ago
        if time >= delay and waiting_arm[due] >= 0:
            learn(
                state,
                encoded[waiting_query[due]],
                waiting_arm[due],
                waiting_propensity[due],
                waiting_reward[due],
                waiting_floors[due],
            )
            judged += 1
        if mark < len(books.times) and books.times[mark] == time + 1:
            books.pulls[mark] = pulls
            books.cost[mark] = cost
            books.quality[mark] = quality
            books.judged[mark] = judged
            mark += 1
    return int(horizon)


@functools.cache
def _specialise(choose_function: Any, learn_function: Any, name: str) -> Drive:
    return specialised(drive, f"drive_contextual_{name}", choose=choose_function, learn=learn_function)


def drive_of(policy: ContextualPolicy) -> Drive:
    """Return the driver that has this kind of policy compiled into it."""
    kind = type(policy)
    return _specialise(kind.choose, kind.learn, kind.__name__)
