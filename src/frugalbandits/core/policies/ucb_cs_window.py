"""Sliding-window UCB-CS: UCB-CS on the last rewards alone, after Garivier and Moulines, 2011.

The index of an arm is min(1, mean + sqrt(2 log(min(t, window)) / n)) over its n rewards among the last
`window` that were told, t of them in all; 1 where there are none. The cheapest arm whose index reaches
(1 - alpha) times the largest one is pulled. A plan folds in what was told since the last one: of several
rewards of an arm each counts as their mean, the arms in the order of their costs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contract import Batch, Bounds, Journal, Policy, Ranges, Setting, new_journal, single
from frugalbandits.core.jit import compiled, inlined, inner
from frugalbandits.core.tally import Tally, all_seen, new_tally, unseen
from frugalbandits.errors import InputError

__all__ = ["WindowUCBCS", "WindowUCBCSState"]

_LONGEST = 10_000_000


class WindowUCBCSState(NamedTuple):
    """The state of a run: a ring of the last rewards and their arms, and what they add up to."""

    tally: Tally
    journal: Journal
    keep: float  # 1 - alpha
    arms: NDArray[np.int64]
    rewards: NDArray[np.float64]
    length: NDArray[np.int64]  # rewards folded in so far
    pulls: NDArray[np.int64]
    sums: NDArray[np.float64]
    told: NDArray[np.int64]
    paid: NDArray[np.float64]


@inner
def fold(state: Any) -> None:
    """Take in what was told since the last plan."""
    window = len(state.arms)
    new = 0
    for k in range(len(state.told)):
        new += state.tally.pulls[k] - state.told[k]
    for k in range(len(state.told)):
        pulls = state.tally.pulls[k] - state.told[k]
        if pulls > 0:
            reward = min(max((state.tally.sums[k] - state.paid[k]) / pulls, 0.0), 1.0)
            state.told[k] = state.tally.pulls[k]
            state.paid[k] = state.tally.sums[k]
            # More than the window holds comes at once where options or prices change: each arm keeps its
            # share.
            for _ in range(pulls if new <= window else max(pulls * window // new, 1)):
                push(state, k, reward)


@inner
def push(state: Any, arm: int, reward: float) -> None:
    """Add a reward, and drop the one that leaves the window."""
    window = len(state.arms)
    place = state.length[0] % window
    if state.length[0] >= window:
        old = state.arms[place]
        state.pulls[old] -= 1
        # An arm without rewards starts from nothing: no error of rounding stays behind.
        state.sums[old] = max(state.sums[old] - state.rewards[place], 0.0) if state.pulls[old] > 0 else 0.0
    state.arms[place] = arm
    state.rewards[place] = reward
    state.pulls[arm] += 1
    state.sums[arm] += reward
    state.length[0] += 1


@inlined
def index(state: Any, arm: int, width: float) -> float:
    """Return the optimistic index of an arm."""
    pulls = state.pulls[arm]
    return min(1.0, state.sums[arm] / pulls + width / math.sqrt(pulls)) if pulls > 0 else 1.0


@inlined
def width_of(state: Any) -> float:
    """Return sqrt(2 log(min(t, window)))."""
    return math.sqrt(2.0 * math.log(max(min(state.length[0], len(state.arms)), 1)))


@compiled
def plan(state: Any, rng: Any) -> Batch:
    """Return the cheapest arm whose index is good enough, once."""
    arms = len(state.tally.pulls)
    fold(state)
    if not all_seen(state, arms):
        return Batch(unseen(state, arms), 1)
    width = width_of(state)
    highest = 0.0
    for k in range(arms):
        highest = max(highest, index(state, k, width))
    bar = state.keep * highest
    arm = 0
    while index(state, arm, width) < bar:
        arm += 1
    return Batch(single(arm), 1)


@dataclass(frozen=True)
class WindowUCBCS(Policy):
    """UCB-CS on the last rewards alone; a baseline where means change.

    Parameters
    ----------
    window
        How many rewards are looked at. By default 2 sqrt(T log T), the choice of its paper for one change.

    Examples
    --------
    >>> WindowUCBCS(window=2_000)
    WindowUCBCS(window=2000)
    """

    title: ClassVar[str] = "Sliding-window UCB (Garivier and Moulines 2011, with subsidy)"
    plan: ClassVar[Any] = staticmethod(plan)
    concludes: ClassVar[bool] = False
    for_moving_means: ClassVar[bool] = True

    window: int | None = None

    def __post_init__(self) -> None:
        if self.window is None:
            return
        whole = isinstance(self.window, int | np.integer) and not isinstance(self.window, bool)
        if not whole or not 1 <= self.window <= _LONGEST:
            raise InputError(
                f"window must be a whole number from 1 to {_LONGEST:,}, or None, but it is {self.window!r}"
            )
        self.settings_checked(window=int(self.window))

    def start(self, setting: Setting) -> WindowUCBCSState:
        arms = len(setting.costs)
        window = self.window
        if window is None:
            horizon = self.needs_horizon(setting)
            window = min(math.ceil(2.0 * math.sqrt(horizon * math.log(horizon))), _LONGEST)
        return WindowUCBCSState(
            tally=new_tally(arms),
            journal=new_journal(arms),
            keep=1.0 - setting.alpha,
            arms=np.zeros(window, np.int64),
            rewards=np.zeros(window),
            length=np.zeros(1, np.int64),
            pulls=np.zeros(arms, np.int64),
            sums=np.zeros(arms),
            told=np.zeros(arms, np.int64),
            paid=np.zeros(arms),
        )

    def ranges(self, setting: Setting) -> Ranges:
        arms, most = len(setting.costs), float(2**53)
        return {
            "arms": (0, arms - 1),
            "rewards": (0.0, 1.0),
            "length": (0, 2**53),
            "pulls": (0, _LONGEST),
            "sums": (0.0, most),
            "told": (0, 2**53),
            "paid": (0.0, most),
        }

    def contradiction(self, state: WindowUCBCSState) -> str | None:
        held = min(int(state.length[0]), len(state.arms))
        if not np.array_equal(np.bincount(state.arms[:held], minlength=len(state.pulls)), state.pulls):
            return "the window holds other rewards than are counted"
        if (state.told > state.tally.pulls).any():
            return "more pulls were folded in than there were"
        return None

    def bounds(self, state: WindowUCBCSState) -> Bounds:
        arms, width = range(len(state.pulls)), width_of(state)
        upper = np.array([index(state, k, width) for k in arms])
        seen = np.maximum(state.pulls, 1)
        lower = np.where(state.pulls > 0, state.sums / seen - width / np.sqrt(seen), 0.0)
        lower = np.minimum(np.maximum(lower, 0.0), upper)
        enough = upper >= state.keep * upper.max()
        chosen = int(np.argmax(enough))
        status = ["in use" if k == chosen else "looks feasible" if enough[k] else "looks poor" for k in arms]
        return Bounds(lower, upper, tuple(status), chosen)

    def reason(self, state: WindowUCBCSState, arm: int) -> str:
        if state.tally.pulls[arm] + state.tally.pending[arm] == 0:
            return "first look at every option"
        return "cheapest option whose optimistic index over the last rewards is good enough"
