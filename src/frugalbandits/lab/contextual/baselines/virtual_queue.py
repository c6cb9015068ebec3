"""A virtual queue of missing quality, as in MESS+, with bandit feedback and a bar that its model sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from frugalbandits.core.contextual.contract import Choice, ContextualSetting
from frugalbandits.core.jit import compiled
from frugalbandits.lab.contextual.baselines.common import (
    Baseline,
    Ridge,
    Scale,
    bar_of,
    fold,
    greatest,
    new_ridge,
    positive,
    predict,
    scale_of,
    within_limits,
)

__all__ = ["VirtualQueue"]

_ROUNDS = 4  # of all options in turn, before the rule begins


class QueueState(NamedTuple):
    """The state of a run of the virtual-queue rule."""

    ridge: Ridge
    scores: Any
    believed: Any  # the sum over queries of what each option was expected to give
    queue: Any
    clock: Any
    scale: Scale
    tradeoff: float
    explore: float
    keep: float
    reference: int
    level: float


@compiled
def choose(state: Any, phi: Any, costs: Any, usable: Any, rng: Any, floors: Any) -> Choice:
    """Take the option with the least V cost - queue x quality; explore now and then."""
    options = len(state.scores)
    time = state.clock[0]
    state.clock[0] += 1
    for k in range(options):
        expected = within_limits(predict(state.ridge, k, phi))
        state.believed[k] += expected
        cost = (costs[k] - state.scale.least) / state.scale.span
        state.scores[k] = state.queue[0] * expected - state.tradeoff * cost
    arm = greatest(state.scores, usable)
    count = usable.sum()
    chance = min(1.0, state.explore / (time + 1.0) ** (1.0 / 3.0))
    propensity = 1.0 - chance + chance / count
    turn = time < _ROUNDS * options and usable[time % options]
    if turn:
        arm, propensity = time % options, 1.0
    elif rng.random() < chance:
        other = int(rng.random() * count)
        for k in range(options):
            if usable[k]:
                if other == 0:
                    propensity = propensity if k == arm else chance / count
                    arm = k
                    break
                other -= 1
    bar = bar_of(state.believed / (time + 1.0), state.keep, state.reference, state.level)
    got = within_limits(predict(state.ridge, arm, phi))
    state.queue[0] = max(state.queue[0] + bar - got, 0.0)
    return Choice(arm, propensity, True)


@compiled
def learn(state: Any, phi: Any, arm: int, propensity: float, reward: float, floors: Any) -> None:
    """Fold one reward into the regression of its option."""
    fold(state.ridge, phi, arm, reward)


@dataclass(frozen=True)
class VirtualQueue(Baseline):
    """Drift plus penalty on the quality that is missing so far, in the manner of MESS+.

    Woisetschläger, Zhang, Wang and Jacobsen (2025) ask all options of a query that they explore; here only
    the chosen one is seen, a ridge regression is the predictor, and a relative bar is the mean of what the
    model expects, which is what one gets by putting an estimate in place of their fixed level.

    Parameters
    ----------
    tradeoff
        V: the greater, the longer quality may be missing for the sake of costs, which are scaled to [0, 1].
    explore
        The chance to explore is this over the third root of the number of decisions.
    """

    title: ClassVar[str] = "virtual queue of missing quality, in the manner of MESS+ (Woisetschläger et al.)"
    choose: ClassVar[Any] = staticmethod(choose)
    learn: ClassVar[Any] = staticmethod(learn)

    tradeoff: float = 20.0
    explore: float = 0.1

    def __post_init__(self) -> None:
        object.__setattr__(self, "tradeoff", positive("tradeoff", self.tradeoff))
        object.__setattr__(self, "explore", positive("explore", self.explore))

    def start(self, setting: ContextualSetting) -> QueueState:
        options = len(setting.costs)
        return QueueState(
            new_ridge(setting),
            np.zeros(options),
            np.zeros(options),
            np.zeros(1),
            np.zeros(1, np.int64),
            scale_of(setting),
            self.tradeoff,
            self.explore,
            setting.keep,
            setting.reference,
            setting.level,
        )
