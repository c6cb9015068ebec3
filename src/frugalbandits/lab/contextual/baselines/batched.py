"""Policies of the batch contract, a query at a time: for all queries together, or for each segment by itself."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from frugalbandits.core.absence import stand_in
from frugalbandits.core.contextual.contract import Choice, ContextualSetting
from frugalbandits.core.contract import Policy, Setting
from frugalbandits.core.jit import compiled, inner
from frugalbandits.core.options import cost_order
from frugalbandits.core.policies.glr_cof import GLRCOF
from frugalbandits.core.policies.voi_cs import VOICS
from frugalbandits.core.settings import check_flag
from frugalbandits.core.tally import observe
from frugalbandits.lab.contextual.baselines.common import Baseline

__all__ = ["Batched", "BatchedGLRCOF", "BatchedVOICS"]

_plan_glr_cof: Any = GLRCOF.plan
_plan_voi_cs: Any = VOICS.plan


class BatchedState(NamedTuple):
    """A batch policy's state for each segment, with the batch that is being handed out there."""

    parts: tuple[Any, ...]
    who: Any  # options by rank of cost
    ranks: Any  # ranks of options
    first: int  # where segments begin in an encoded query
    arms: Any  # of the batch: segments x options
    place: Any  # in the batch, its length, its repeats, decisions whose feedback is out: segments x 4
    usable: Any
    keep: float
    reference: int
    level: float


@inner
def segment_of(state: Any, phi: Any) -> int:
    """Return which of the states a query is for."""
    if len(state.parts) > 1:
        for s in range(len(state.parts)):
            if phi[state.first + s] != 0.0:
                return s
    return 0


@inner
def is_used_up(state: Any, s: int) -> bool:
    """Tell whether a new plan is due; goes on to the next pass of a batch."""
    place = state.place[s]
    if place[0] < place[1]:
        return False
    place[0] = 0
    place[2] -= 1
    return place[2] <= 0


@inner
def take(state: Any, s: int, batch: Any) -> None:
    """Take in a plan."""
    place = state.place[s]
    place[0] = 0
    place[1] = len(batch.arms)
    # A batch is the same whatever its own outcomes; what is still out may change it.
    place[2] = 1 if place[3] > 0 else batch.repeats
    for i in range(len(batch.arms)):
        state.arms[s, i] = batch.arms[i]


@inner
def hand_out(state: Any, s: int, usable: Any) -> Choice:
    """Return the next option of the batch, or a stand-in for one that may not be used."""
    place = state.place[s]
    part = state.parts[s]
    arm = state.arms[s, place[0]]
    place[0] += 1
    if not usable[state.who[arm]]:
        for k in range(len(state.who)):
            state.usable[k] = usable[state.who[k]]
        arm = stand_in(part.tally, state.keep, state.reference, state.level, state.usable)
    part.tally.pending[arm] += 1
    place[3] += 1
    return Choice(state.who[arm], 1.0, True)


@compiled
def learn(state: Any, phi: Any, arm: int, propensity: float, reward: float) -> None:
    """Fold one reward into the tally of its segment."""
    s = segment_of(state, phi)
    part = state.parts[s]
    rank = state.ranks[arm]
    part.tally.pending[rank] -= 1
    state.place[s, 3] -= 1
    observe(part, rank, 1, reward)


@compiled
def choose_glr_cof(state: Any, phi: Any, costs: Any, usable: Any, rng: Any) -> Choice:
    """Hand out what GLR-COF has planned."""
    s = segment_of(state, phi)
    if is_used_up(state, s):
        take(state, s, _plan_glr_cof(state.parts[s], rng))
    return hand_out(state, s, usable)


@compiled
def choose_voi_cs(state: Any, phi: Any, costs: Any, usable: Any, rng: Any) -> Choice:
    """Hand out what VOI-CS has planned."""
    s = segment_of(state, phi)
    if is_used_up(state, s):
        take(state, s, _plan_voi_cs(state.parts[s], rng))
    return hand_out(state, s, usable)


@dataclass(frozen=True)
class Batched(Baseline):
    """A batch policy that is asked a query at a time.

    It goes by the usual costs. Its promise is that of the batch policy: one option that is good enough, for
    all queries together or for each segment.
    """

    learn: ClassVar[Any] = staticmethod(learn)

    by_segment: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_segment", check_flag("by_segment", self.by_segment))

    @abstractmethod
    def policy(self) -> Policy:
        """Return the batch policy."""

    def start(self, setting: ContextualSetting) -> BatchedState:
        options = len(setting.costs)
        segments = max(setting.width - 1 - setting.features, 1) if self.by_segment else 1
        who = cost_order(setting.costs)
        ranks = np.argsort(who).astype(np.int64)
        reference = None if setting.reference < 0 else setting.reference
        told = Setting.of(setting.costs, setting.quality, None, reference)
        place = np.zeros((segments, 4), np.int64)
        return BatchedState(
            tuple(self.policy().begin(told) for _ in range(segments)),
            who,
            ranks,
            1 + setting.features,
            np.zeros((segments, options), np.int64),
            place,
            np.ones(options, np.bool_),
            setting.keep,
            told.reference,
            setting.level,
        )


@dataclass(frozen=True)
class BatchedGLRCOF(Batched):
    """GLR-COF, which looks at no query but, if asked to, at its segment.

    Parameters
    ----------
    by_segment
        Whether each segment has a run, and a bar, of its own.
    """

    title: ClassVar[str] = "GLR-COF, for all queries or by segment: the cheapest option that is good enough"
    choose: ClassVar[Any] = staticmethod(choose_glr_cof)

    def policy(self) -> Policy:
        # The level of T = 50,000: one over the horizon.
        return GLRCOF(delta=2e-5)


@dataclass(frozen=True)
class BatchedVOICS(Batched):
    """VOI-CS, which looks at no query but, if asked to, at its segment.

    Parameters
    ----------
    by_segment
        Whether each segment has a run, and a bar, of its own.
    """

    title: ClassVar[str] = "VOI-CS, for all queries or by segment: the cheapest option that is good enough"
    choose: ClassVar[Any] = staticmethod(choose_voi_cs)

    def policy(self) -> Policy:
        return VOICS()
