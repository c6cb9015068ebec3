"""Decisions under a fixed level that do not look at the query, where models are not to be trusted."""

from __future__ import annotations

import math
from typing import Any

from frugalbandits.core.contextual.dual_cof.state import (
    BLIND,
    BLIND_SUM,
    DARK,
    DEBT,
    MISSED,
    RUN,
    RUNS,
)
from frugalbandits.core.jit import inner
from frugalbandits.core.likelihood import divergence

__all__ = ["TRUST", "blind_choice", "count_blind", "doubt", "trust"]

TRUST = 100.0  # units of quality that a fixed level may be missed by, in all, before models are not trusted
BORNE = 0.5  # of the level, more of it for each decision that was out before anything was known
SERIES = 1.65  # at least the sum of 1 / n^2
DOUBT = 0.001  # the probability that an option which reaches the level is ever believed not to


@inner
def trust(state: Any) -> float:
    """Return by how much a fixed level may be missed before models are not trusted.

    What was handed out before the first reward came is no fault of theirs, and is made up for by and by.
    """
    borne: float = TRUST + BORNE * state.level * state.numbers[DARK]
    return borne


@inner
def blind_choice(state: Any, usable: Any) -> int:
    """Return the option to use where models are not trusted; -1 where they have to be."""
    if state.level < 0.0 or state.numbers[DEBT] < trust(state):
        return -1
    arms = state.arms
    best, highest = -1, -1.0
    for k in range(len(state.costs)):
        if usable[k] and may_reach(state, k):
            mean = arms[BLIND_SUM, k] / arms[BLIND, k] if arms[BLIND, k] > 0.0 else 1.0
            if mean > highest or (mean == highest and state.costs[k] < state.costs[best]):
                best, highest = k, mean
    return best


@inner
def doubt(state: Any, arm: int) -> float:
    """Return the evidence that it takes to believe that an option is below the level."""
    runs = state.arms[RUNS, arm] + 1.0
    return math.log(SERIES * (state.arms[RUN, arm] + 1.0) * runs * runs / DOUBT)


@inner
def may_reach(state: Any, arm: int) -> bool:
    """Tell whether blind decisions leave it open that an option's mean is at the level."""
    count, missed = state.arms[RUN, arm], state.arms[MISSED, arm]
    if missed <= 0.0:
        return True
    total = max(count * state.level - missed, 0.0)
    return divergence(count, total, state.level, 1.0 - state.level) <= doubt(state, arm)


@inner
def count_blind(state: Any, arm: int, reward: float) -> None:
    """Count a reward of a decision that did not look at the query."""
    arms = state.arms
    arms[BLIND, arm] += 1.0
    arms[BLIND_SUM, arm] += reward
    arms[RUN, arm] += 1.0
    arms[MISSED, arm] += state.level - reward
    if arms[MISSED, arm] <= 0.0:
        arms[RUN, arm], arms[MISSED, arm] = 0.0, 0.0
        arms[RUNS, arm] += 1.0
