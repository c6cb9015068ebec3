"""On which decisions feedback is wanted, and what a reward stands for where only these are told.

Whether a decision is wanted is a coin that knows nothing of the query. Only a wanted one may become a trial,
so with w the share that is wanted their floors are e_k / w, and their propensities e_k / w + (1 - sum of e /
w) [g = k]. Among them the weighing is what it is where all are wanted; and trials, which tell the most, are
always judged. Of a decision that is not wanted nothing but its model learns, if it is told all the same.

What is wanted has more trials among it than there are among all. So a reward of the rule's own choice stands
for those that are not told as well: for 1 + (1 - s) (1 - w) / (w p) decisions, where s says how often what
is not wanted is told all the same. Where everything is told, or a part of it at random, s is 1, and a reward
stands for itself. Then there is nothing to save either, and all are wanted.

A propensity tells the kinds of decisions apart: `UNWANTED`, or below 1/2 for a trial, or 1 for a blind one.
"""

from __future__ import annotations

from typing import Any

from frugalbandits.core.contextual.dual_cof.state import (
    BAR,
    HEARD,
    OPEN,
    OPEN_TOLD,
    OTHER,
    OTHER_TOLD,
    STOOD,
    SUM,
    WANTED,
)
from frugalbandits.core.jit import inner

__all__ = [
    "TINY",
    "UNWANTED",
    "count_handed",
    "count_told",
    "owing",
    "set_wanted",
    "stands_for",
]

TINY = 2.0**-20  # of decisions try any option under a fixed level: no propensity but a blind one's is 1
UNWANTED = 1.0 - TINY  # the propensity of a decision that is not wanted; of others it is lower, or 1

ALL = 1000.0  # rewards until which all are wanted
LEAST = 0.05  # of decisions are wanted in any case
TRIED = 2.5  # times the share of trials is wanted at least, so that most wanted decisions are the rule's own
ASKED_FOR = 0.9  # of the rest is wanted too where it is told anyway: the others show whether it still is
RECENT = 2000.0  # decisions that were not wanted, after which older ones count half


@inner
def told_anyway(state: Any) -> float:
    """Return how often what is not wanted is told, over how often what is wanted is: from 0 to 1."""
    numbers = state.numbers
    if numbers[OTHER] == 0.0 or numbers[OPEN_TOLD] == 0.0:
        return 0.0
    share: float = numbers[OTHER_TOLD] / numbers[OTHER] / (numbers[OPEN_TOLD] / numbers[OPEN])
    return min(share, 1.0)


@inner
def set_wanted(state: Any, tried: float) -> None:
    """Set the share of decisions that are wanted, where a share `tried` are trials."""
    numbers = state.numbers
    heard = numbers[HEARD]
    if heard <= ALL:
        numbers[WANTED] = 1.0
        return
    share = max(ALL / heard, LEAST, TRIED * tried)
    numbers[WANTED] = min(share + (1.0 - share) * ASKED_FOR * told_anyway(state), 1.0)


@inner
def count_handed(state: Any, propensity: float) -> None:
    """Count a decision by whether it is wanted."""
    numbers = state.numbers
    numbers[OTHER if propensity == UNWANTED else OPEN] += 1.0
    if numbers[OTHER] >= RECENT:
        numbers[OTHER] *= 0.5
        numbers[OTHER_TOLD] *= 0.5
        numbers[OPEN] *= 0.5
        numbers[OPEN_TOLD] *= 0.5


@inner
def count_told(state: Any, propensity: float) -> None:
    """Count a reward by whether it was wanted."""
    state.numbers[OTHER_TOLD if propensity == UNWANTED else OPEN_TOLD] += 1.0


@inner
def stands_for(state: Any, propensity: float) -> float:
    """Return how many decisions a reward stands for."""
    wanted = state.numbers[WANTED]
    if propensity < 0.5 or propensity >= UNWANTED:
        return 1.0
    stood: float = 1.0 + (1.0 - told_anyway(state)) * (1.0 - wanted) / (wanted * propensity)
    return stood


@inner
def owing(state: Any) -> float:
    """Return what is missing of the bar so far, in units of reward; below 0 it is more than was wanted.

    It is what is missing of the rewards told; where these stand for others, half of all that it comes to.
    """
    numbers = state.numbers
    stood = numbers[STOOD]
    missing: float = (numbers[BAR] * stood - numbers[SUM]) * max(numbers[HEARD] / stood, 0.5)
    return missing
