"""ETC-CS, explore then commit: Sinha, Sankararaman, Kazerouni and Avadhanula, AISTATS 2021.

A fixed share of the horizon goes to all arms equally; after that the cheapest arm is pulled whose upper
bound reaches (1 - alpha) times the largest lower bound. The bounds go on being updated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from frugalbandits.core.contract import Batch, Bounds, Journal, Policy, Setting, new_journal, single
from frugalbandits.core.jit import compiled, inlined, inner
from frugalbandits.core.quality import finite_number
from frugalbandits.core.tally import Tally, any_pending, handed, mean, new_tally, radius
from frugalbandits.errors import InputError

__all__ = ["ETCCS", "ETCCSState"]

LONGEST = 1 << 40
SLACK = 1e-11


class ETCCSState(NamedTuple):
    """The state of an ETC-CS run."""

    tally: Tally
    journal: Journal
    keep: float  # 1 - alpha
    width: float  # sqrt(2 log T)
    share: int  # pulls of each arm in the exploration


@inlined
def upper(state: Any, arm: int) -> float:
    """Upper confidence bound, capped at 1."""
    return min(1.0, mean(state, arm) + radius(state.width, state.tally.pulls[arm]))


@inlined
def lower(state: Any, arm: int) -> float:
    """Lower confidence bound, floored at 0."""
    return max(0.0, mean(state, arm) - radius(state.width, state.tally.pulls[arm]))


@inner
def stays(state: Any, arm: int, cheaper: float, others: float, more: int) -> bool:
    """Tell whether the arm is pulled after each of `more` pulls, whatever they show.

    `cheaper` is the highest upper bound of the cheaper arms, `others` the highest lower bound of all
    other arms. With every reward 0 the arm's lower bound is S / x - w / sqrt(x) at x pulls, which falls
    until sqrt(x) = 2 S / w and rises from there on.
    """
    pulls = state.tally.pulls[arm]
    total = state.tally.sums[arm]
    most = pulls + more
    if total / most + radius(state.width, most) - SLACK < state.keep * others:
        return False
    turn = 2 * total / state.width
    x = min(max(turn * turn, float(pulls)), float(most))
    own = max(0.0, total / x - state.width / math.sqrt(x) - SLACK)
    return cheaper < state.keep * max(others, own)


@compiled
def plan(state: Any, rng: Any) -> Batch:
    """Explore in one batch; then the cheapest arm that may be good enough, while it is sure to stay so."""
    arms = len(state.tally.pulls)
    least = handed(state, 0)
    for k in range(1, arms):
        least = min(least, handed(state, k))
    if least < state.share:
        behind = np.empty(arms, np.int64)
        count = 0
        until = state.share
        for k in range(arms):
            if handed(state, k) == least:
                behind[count] = k
                count += 1
            else:
                until = min(until, handed(state, k))
        return Batch(behind[:count].copy(), until - least)
    highest = 0.0
    for k in range(arms):
        highest = max(highest, lower(state, k))
    arm = 0
    cheaper = -np.inf
    while upper(state, arm) < state.keep * highest:
        cheaper = max(cheaper, upper(state, arm))
        arm += 1
    if any_pending(state) or state.tally.pulls[arm] == 0:
        return Batch(single(arm), 1)
    others = 0.0
    for k in range(arms):
        if k != arm:
            others = max(others, lower(state, k))
    repeats = 1
    while repeats < LONGEST and stays(state, arm, cheaper, others, 2 * repeats - 1):
        repeats *= 2
    return Batch(single(arm), repeats)


@dataclass(frozen=True)
class ETCCS(Policy):
    """Explore all arms equally for a share of the horizon, then commit.

    Parameters
    ----------
    budget
        Share of the horizon spent on exploration, in (0, 1]; the paper's experiments use 0.2.

    Examples
    --------
    >>> ETCCS(budget=0.1).budget
    0.1
    """

    title: ClassVar[str] = "Explore then commit (Sinha et al. 2021)"
    plan: ClassVar[Any] = staticmethod(plan)
    concludes: ClassVar[bool] = False

    budget: float = 0.2

    def __post_init__(self) -> None:
        value = finite_number("budget", self.budget)
        if not 0.0 < value <= 1.0:
            raise InputError(f"budget is a share of the horizon in (0, 1], but it is {self.budget!r}")
        self.settings_checked(budget=value)

    def start(self, setting: Setting) -> ETCCSState:
        arms = len(setting.costs)
        horizon = self.needs_horizon(setting)
        return ETCCSState(
            tally=new_tally(arms),
            journal=new_journal(arms),
            keep=1.0 - setting.alpha,
            width=math.sqrt(2 * math.log(horizon)),
            share=math.floor(self.budget * horizon / arms),
        )

    def bounds(self, state: ETCCSState) -> Bounds:
        arms = range(len(state.tally.pulls))
        uppers = np.array([upper(state, k) for k in arms])
        lowers = np.array([lower(state, k) for k in arms])
        if (state.tally.pulls + state.tally.pending).min() < state.share:
            return Bounds(lowers, uppers, ("exploring",) * len(arms), -1)
        enough = uppers >= state.keep * lowers.max()
        chosen = int(np.argmax(enough))
        status = ["in use" if k == chosen else "looks feasible" if enough[k] else "infeasible" for k in arms]
        return Bounds(lowers, uppers, tuple(status), chosen)

    def reason(self, state: ETCCSState, arm: int) -> str:
        if state.tally.pulls[arm] + state.tally.pending[arm] < state.share:
            return "exploration: all options equally"
        return "cheapest option that may be good enough"
