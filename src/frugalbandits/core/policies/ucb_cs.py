"""UCB-CS: Sinha, Sankararaman, Kazerouni and Avadhanula, AISTATS 2021.

The index of an arm is its upper confidence bound, capped at 1; the cheapest arm whose index reaches
(1 - alpha) times the largest one is pulled. The cap is why this policy can be stuck for good on an arm
that is not feasible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from frugalbandits.core.contract import Batch, Bounds, Journal, Policy, Setting, new_journal, single
from frugalbandits.core.jit import compiled, inlined, inner
from frugalbandits.core.tally import Tally, all_seen, any_pending, mean, new_tally, radius, unseen

__all__ = ["UCBCS", "UCBCSState"]

LONGEST = 1 << 40


class UCBCSState(NamedTuple):
    """The state of a UCB-CS run."""

    tally: Tally
    journal: Journal
    keep: float  # 1 - alpha
    width: float  # sqrt(2 log T)


@inlined
def index(state: Any, arm: int) -> float:
    """I_k = min(1, mean + sqrt(2 log T / n))."""
    return min(1.0, mean(state, arm) + radius(state.width, state.tally.pulls[arm]))


@inner
def stays(state: Any, arm: int, cheaper: float, others: float, more: int) -> bool:
    """Tell whether the arm is pulled after each of `more` pulls, whatever they show.

    `cheaper` and `others` are the highest indices of the cheaper and of all other arms. The arm's own
    index falls furthest if every reward is 0, and only its fall can change the choice. Each operation
    is the one that the choice itself makes, and each is monotone in floating point, so no slack is needed.
    """
    pulls = state.tally.pulls[arm] + more
    lowest = min(1.0, state.tally.sums[arm] / pulls + radius(state.width, pulls))
    bar = state.keep * max(others, lowest)
    return lowest >= bar and cheaper < bar


@compiled
def plan(state: Any, rng: Any) -> Batch:
    """Return the cheapest arm with an index good enough, for as many pulls as it is sure to stay so."""
    arms = len(state.tally.pulls)
    if not all_seen(state, arms):
        return Batch(unseen(state, arms), 1)
    highest = 0.0
    for k in range(arms):
        highest = max(highest, index(state, k))
    bar = state.keep * highest
    arm = 0
    cheaper = -np.inf
    while index(state, arm) < bar:
        cheaper = max(cheaper, index(state, arm))
        arm += 1
    if any_pending(state):
        return Batch(single(arm), 1)
    others = 0.0
    for k in range(arms):
        if k != arm:
            others = max(others, index(state, k))
    # m pulls are safe if the arm stays after each of the first m - 1.
    repeats = 1
    while repeats < LONGEST and stays(state, arm, cheaper, others, 2 * repeats - 1):
        repeats *= 2
    step = repeats // 2
    while step > 0:
        if stays(state, arm, cheaper, others, repeats + step - 1):
            repeats += step
        step //= 2
    return Batch(single(arm), repeats)


@dataclass(frozen=True)
class UCBCS(Policy):
    """The cheapest arm whose optimistic index is good enough.

    Examples
    --------
    >>> UCBCS()
    UCBCS()
    """

    title: ClassVar[str] = "Upper confidence bounds (Sinha et al. 2021)"
    plan: ClassVar[Any] = staticmethod(plan)
    concludes: ClassVar[bool] = False

    def start(self, setting: Setting) -> UCBCSState:
        arms = len(setting.costs)
        return UCBCSState(
            tally=new_tally(arms),
            journal=new_journal(arms),
            keep=1.0 - setting.alpha,
            width=math.sqrt(2 * math.log(self.needs_horizon(setting))),
        )

    def bounds(self, state: UCBCSState) -> Bounds:
        arms = range(len(state.tally.pulls))
        upper = np.array([index(state, k) for k in arms])
        means = np.array([mean(state, k) for k in arms])
        radii = np.array([radius(state.width, pulls) for pulls in state.tally.pulls])
        lower = np.maximum(0.0, means - radii)
        enough = upper >= state.keep * upper.max()
        chosen = int(np.argmax(enough))
        status = ["in use" if k == chosen else "looks feasible" if enough[k] else "looks poor" for k in arms]
        return Bounds(lower, upper, tuple(status), chosen)

    def reason(self, state: UCBCSState, arm: int) -> str:
        if state.tally.pulls[arm] + state.tally.pending[arm] == 0:
            return "first look at every option"
        return "cheapest option whose optimistic index is good enough"
