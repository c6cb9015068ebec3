"""PE-CS, Pairwise Elimination: Juneja, Joe-Wong and Yagan, ICLR 2025.

First the best arm r is found by rounds of elimination, then candidates are compared with r one by one,
from cheapest to most expensive. Round m works with the gap guess D = 2^-m, N(D) pulls an arm and a
radius to match.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contract import (
    FOREVER,
    INFEASIBLE,
    OPTIMAL,
    Batch,
    Bounds,
    Journal,
    Policy,
    Ranges,
    Setting,
    new_journal,
    note,
    single,
)
from frugalbandits.core.jit import compiled, inner
from frugalbandits.core.tally import Tally, handed, mean, new_tally
from frugalbandits.errors import InputError

__all__ = ["PECS", "PECSState"]


class PECSState(NamedTuple):
    """The state of a PE-CS run. Scalars that change are arrays of length one."""

    tally: Tally
    journal: Journal
    keep: float  # 1 - alpha
    horizon: float
    last_round: int
    kappa: int
    active: NDArray[np.bool_]  # best-arm phase: not dropped
    rounds: NDArray[np.int64]  # the round that each arm is in or has completed last
    reference: NDArray[np.int64]  # r, or -1 while the best-arm phase lasts
    candidate: NDArray[np.int64]
    settled: NDArray[np.int64]


@inner
def pulls_of_round(state: Any, round_: int) -> int:
    """N(D) = ceil(2 log(T D^2) / D^2)."""
    squared = 4.0**-round_
    return math.ceil(2 * math.log(state.horizon * squared) / squared)


@inner
def radius_of(state: Any, arm: int) -> float:
    """sqrt(log(T D^2) / (2 N(D))) for the round that the arm is in."""
    round_ = state.rounds[arm]
    squared = 4.0**-round_
    return math.sqrt(math.log(state.horizon * squared) / (2 * pulls_of_round(state, round_)))


@inner
def bring(state: Any, arms: NDArray[np.int64]) -> Batch:
    """Return the pulls that bring these arms to the end of their rounds; no arms if they are there.

    When all pulls are handed out but feedback is missing, the arms go on in balance, a pass at a time: a
    round is closed on full data only.
    """
    waiting = False
    for arm in arms:
        needed = pulls_of_round(state, state.rounds[arm])
        if handed(state, arm) < needed:
            return Batch(single(arm), needed - handed(state, arm))
        if state.tally.pulls[arm] < needed:
            waiting = True
    if waiting:
        return Batch(arms.copy(), 1)
    return Batch(arms[:0].copy(), 0)


@inner
def close_round(state: Any) -> None:
    """Drop arms that are not the best, and end the best-arm phase when one is left or time is up."""
    arms = len(state.active)
    highest = -np.inf
    for k in range(arms):
        if state.active[k]:
            highest = max(highest, mean(state, k) - radius_of(state, k))
    left = 0
    best = -1
    for k in range(arms):
        if state.active[k]:
            if mean(state, k) + radius_of(state, k) <= highest:
                state.active[k] = False
            else:
                left += 1
                if best < 0 or mean(state, k) > mean(state, best):
                    best = k
    if left == 1 or state.rounds[best] == state.last_round:
        state.reference[0] = best
        return
    for k in range(arms):
        if state.active[k]:
            state.rounds[k] += 1


@inner
def settle(state: Any, arm: int) -> None:
    """Keep this arm for good."""
    state.candidate[0] = arm
    state.settled[0] = 1
    note(state, OPTIMAL, arm)


@inner
def compare(state: Any) -> None:
    """Pairwise phase: conclude on the candidate, or move it to the next round."""
    c = state.candidate[0]
    r = state.reference[0]
    if state.keep * (mean(state, r) + radius_of(state, r)) < mean(state, c) - radius_of(state, c):
        settle(state, c)
    elif mean(state, c) + radius_of(state, c) < state.keep * (mean(state, r) - radius_of(state, r)):
        note(state, INFEASIBLE, c)
        state.candidate[0] += 1
    elif state.rounds[c] == state.last_round:
        settle(state, c)
    else:
        state.rounds[c] += 1


@compiled
def plan(state: Any, rng: Any) -> Batch:
    """Close what can be closed, then return the pulls that the round still needs."""
    while state.reference[0] < 0:
        batch = bring(state, np.flatnonzero(state.active))
        if len(batch.arms) > 0:
            return batch
        close_round(state)
    r = state.reference[0]
    while state.settled[0] == 0:
        c = state.candidate[0]
        if c == r:
            settle(state, r)
            break
        # The reference may lead by kappa rounds and never falls behind.
        state.rounds[c] = max(state.rounds[c], state.rounds[r] - state.kappa)
        state.rounds[r] = max(state.rounds[r], state.rounds[c])
        pair = np.empty(2, np.int64)
        pair[0] = c
        pair[1] = r
        batch = bring(state, pair)
        if len(batch.arms) > 0:
            return batch
        compare(state)
    return Batch(single(state.candidate[0]), FOREVER)


@dataclass(frozen=True)
class PECS(Policy):
    """Pairwise Elimination for the subsidised best reward.

    Parameters
    ----------
    kappa
        How many rounds the best arm may be ahead of the candidate that it is compared with.

    Examples
    --------
    >>> PECS().kappa
    5
    """

    title: ClassVar[str] = "Pairwise Elimination (Juneja, Joe-Wong, Yagan 2025)"
    plan: ClassVar[Any] = staticmethod(plan)

    kappa: int = 5

    def __post_init__(self) -> None:
        whole = isinstance(self.kappa, int | np.integer) and not isinstance(self.kappa, bool)
        if not whole or not 0 <= self.kappa <= 64:
            raise InputError(f"kappa must be a whole number of rounds, 0 to 64, but it is {self.kappa!r}")
        self.settings_checked(kappa=int(self.kappa))

    def start(self, setting: Setting) -> PECSState:
        arms = len(setting.costs)
        horizon = self.needs_horizon(setting)
        return PECSState(
            tally=new_tally(arms),
            journal=new_journal(arms),
            keep=1.0 - setting.alpha,
            horizon=float(horizon),
            last_round=_last_round(horizon),
            kappa=self.kappa,
            active=np.ones(arms, np.bool_),
            rounds=np.zeros(arms, np.int64),
            reference=np.full(1, -1, np.int64),
            candidate=np.zeros(1, np.int64),
            settled=np.zeros(1, np.int64),
        )

    def ranges(self, setting: Setting) -> Ranges:
        last = len(setting.costs) - 1
        return {
            "active": (0, 1),
            "rounds": (0, _last_round(self.needs_horizon(setting))),
            "reference": (-1, last),
            "candidate": (0, last),
            "settled": (0, 1),
        }

    def contradiction(self, state: PECSState) -> str | None:
        if not state.active.any():
            return "no arm may be the best"
        reference, candidate = int(state.reference[0]), int(state.candidate[0])
        if reference < 0 and (candidate or state.settled[0]):
            return f"the candidate is {candidate} before the best arm is known"
        if 0 <= reference < candidate:
            return f"the candidate, {candidate}, costs more than the best arm, {reference}"
        return None

    def bounds(self, state: PECSState) -> Bounds:
        arms = range(len(state.active))
        reference, candidate = int(state.reference[0]), int(state.candidate[0])

        def status(arm: int) -> str:
            if reference < 0:
                return "may be the best" if state.active[arm] else "not the best"
            if state.settled[0]:
                if arm == candidate:
                    return "optimal"
                return "infeasible" if arm < candidate else "not needed"
            if arm == reference:
                return "best"
            if arm < candidate:
                return "infeasible"
            return "candidate" if arm == candidate else "waiting"

        means = np.array([mean(state, k) for k in arms])
        seen = state.tally.pulls > 0
        radii = np.where(seen, [radius_of(state, k) for k in arms], math.inf)
        return Bounds(
            means - radii,
            means + radii,
            tuple(status(k) for k in arms),
            candidate if reference >= 0 else -1,
        )

    def reason(self, state: PECSState, arm: int) -> str:
        if state.settled[0]:
            return "settled: the cheapest option that is good enough"
        if state.reference[0] < 0:
            return f"looking for the best option, round {int(state.rounds[arm])}"
        if arm == state.candidate[0]:
            return f"candidate: compared with the best option, round {int(state.rounds[arm])}"
        return "best option: the candidate is compared with it"


def _last_round(horizon: int) -> int:
    return math.floor(0.5 * math.log2(horizon / math.e))
