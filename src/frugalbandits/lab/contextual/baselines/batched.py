"""Policies of the batch contract, a query at a time: for all queries, or for each segment by itself."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from frugalbandits.core.absence import stand_in
from frugalbandits.core.contextual.contract import Choice, ContextualSetting
from frugalbandits.core.contract import Policy, Setting
from frugalbandits.core.jit import inlined
from frugalbandits.core.options import cost_order
from frugalbandits.core.policies.glr_cof import GLRCOF
from frugalbandits.core.policies.mix_cs import MixCS
from frugalbandits.core.policies.voi_cs import VOICS
from frugalbandits.core.settings import check_flag
from frugalbandits.core.tally import add
from frugalbandits.errors import InputError
from frugalbandits.lab.contextual.baselines.common import Baseline

__all__ = ["Batched", "BatchedGLRCOF", "BatchedMixCS", "BatchedVOICS"]

_plan_glr_cof: Any = GLRCOF.plan
_plan_mix_cs: Any = MixCS.plan
_plan_voi_cs: Any = VOICS.plan


class Seats(NamedTuple):
    """Which option each arm is, by rank of usual cost, and the bar."""

    who: Any
    ranks: Any  # of options
    usable: Any  # arms, for a stand-in
    keep: float
    reference: int
    level: float


class BatchedState(NamedTuple):
    """A batch policy's state for each segment, with the batch that is being handed out there."""

    parts: tuple[Any, ...]
    seats: Seats
    first: int  # where segments begin in an encoded query
    arms: Any  # of the batch: segments x options
    place: Any  # in the batch, its length, its repeats, decisions whose feedback is out: segments x 4


# Small functions take what they need and no more: to hand on the states of all segments takes long.


@inlined
def segment_of(phi: Any, first: int, segments: int) -> int:
    """Return which of the states a query is for."""
    if segments > 1:
        for s in range(segments):
            if phi[first + s] != 0.0:
                return s
    return 0


@inlined
def is_used_up(place: Any) -> bool:
    """Tell whether a new plan is due; goes on to the next pass of a batch."""
    if place[0] < place[1]:
        return False
    place[0] = 0
    place[2] -= 1
    return place[2] <= 0


@inlined
def take(place: Any, arms: Any, batch: Any) -> None:
    """Take in a plan."""
    place[0] = 0
    place[1] = len(batch.arms)
    # A batch is the same whatever its own outcomes; what is still out may change it.
    place[2] = 1 if place[3] > 0 else batch.repeats
    for i in range(len(batch.arms)):
        arms[i] = batch.arms[i]


@inlined
def hand_out(tally: Any, seats: Any, place: Any, arms: Any, usable: Any) -> Choice:
    """Return the next option of the batch, or a stand-in for one that may not be used."""
    arm = arms[place[0]]
    place[0] += 1
    if not usable[seats.who[arm]]:
        for k in range(len(seats.who)):
            seats.usable[k] = usable[seats.who[k]]
        arm = stand_in(tally, seats.keep, seats.reference, seats.level, seats.usable)
    tally.pending[arm] += 1
    place[3] += 1
    return Choice(seats.who[arm], 1.0, True)


@inlined
def learn(state: Any, phi: Any, arm: int, propensity: float, reward: float, floors: Any) -> None:
    """Fold one reward into the tally of its segment."""
    s = segment_of(phi, state.first, len(state.parts))
    rank = state.seats.ranks[arm]
    tally = state.parts[s].tally
    tally.pending[rank] -= 1
    tally.pulls[rank] += 1
    add(tally.sums, tally.carry, rank, reward)
    state.place[s, 3] -= 1


@inlined
def choose_glr_cof(state: Any, phi: Any, costs: Any, usable: Any, rng: Any, floors: Any) -> Choice:
    """Hand out what GLR-COF has planned."""
    s = segment_of(phi, state.first, len(state.parts))
    part = state.parts[s]
    if is_used_up(state.place[s]):
        take(state.place[s], state.arms[s], _plan_glr_cof(part, rng))
    return hand_out(part.tally, state.seats, state.place[s], state.arms[s], usable)


@inlined
def choose_voi_cs(state: Any, phi: Any, costs: Any, usable: Any, rng: Any, floors: Any) -> Choice:
    """Hand out what VOI-CS has planned."""
    s = segment_of(phi, state.first, len(state.parts))
    part = state.parts[s]
    if is_used_up(state.place[s]):
        take(state.place[s], state.arms[s], _plan_voi_cs(part, rng))
    return hand_out(part.tally, state.seats, state.place[s], state.arms[s], usable)


@inlined
def choose_mix_cs(state: Any, phi: Any, costs: Any, usable: Any, rng: Any, floors: Any) -> Choice:
    """Hand out what MIX-CS has planned."""
    part = state.parts[0]
    if is_used_up(state.place[0]):
        take(state.place[0], state.arms[0], _plan_mix_cs(part, rng))
    return hand_out(part.tally, state.seats, state.place[0], state.arms[0], usable)


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
        seats = Seats(who, ranks, np.ones(options, np.bool_), setting.keep, told.reference, setting.level)
        return BatchedState(
            tuple(self.policy().begin(told) for _ in range(segments)),
            seats,
            1 + setting.features,
            np.zeros((segments, options), np.int64),
            np.zeros((segments, 4), np.int64),
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


@dataclass(frozen=True)
class BatchedMixCS(Batched):
    """MIX-CS, which looks at no query and holds the average at the bar by a mix of two options."""

    title: ClassVar[str] = "MIX-CS, for all queries: the cheapest mix of two options"
    choose: ClassVar[Any] = staticmethod(choose_mix_cs)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.by_segment:
            raise InputError("MIX-CS by segment would hold the bar in each of them, which nobody asked for")

    def policy(self) -> Policy:
        return MixCS()
