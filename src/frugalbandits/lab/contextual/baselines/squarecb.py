"""SquareCB on a Lagrangian, as in CBwLC: inverse gap weighting, a multiplier that follows the shortfall."""

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

__all__ = ["SquareCB"]


class SquareCBState(NamedTuple):
    """The state of a run of SquareCB with a Lagrangian."""

    ridge: Ridge
    scores: Any
    chances: Any
    means: Any
    weight: Any  # of what was told of each option: one over its propensity
    weighted: Any  # rewards, by that weight
    price: Any
    counts: Any  # decisions, rewards told
    scale: Scale
    sharpness: float
    rate: float
    cap: float
    keep: float
    reference: int
    level: float


@compiled
def choose(state: Any, phi: Any, costs: Any, usable: Any, rng: Any, floors: Any) -> Choice:
    """Draw an option: the less likely, the further its Lagrangian payoff is below the best one's."""
    options = len(state.scores)
    state.counts[0] += 1
    price = state.price[0]
    for k in range(options):
        cost = (costs[k] - state.scale.least) / state.scale.span
        # In [0, 1] but for a constant, as payoffs of SquareCB are.
        state.scores[k] = (price * within_limits(predict(state.ridge, k, phi)) - cost) / (1.0 + price)
    best = greatest(state.scores, usable)
    sharp = state.sharpness * np.sqrt(state.counts[0])
    count = usable.sum()
    left = 1.0
    for k in range(options):
        state.chances[k] = 0.0
        if usable[k] and k != best:
            state.chances[k] = 1.0 / (count + sharp * (state.scores[best] - state.scores[k]))
            left -= state.chances[k]
    state.chances[best] = left
    drawn = rng.random()
    arm = best
    for k in range(options):
        drawn -= state.chances[k]
        if drawn < 0.0:
            arm = k
            break
    return Choice(arm, state.chances[arm], True)


@compiled
def learn(state: Any, phi: Any, arm: int, propensity: float, reward: float, floors: Any) -> None:
    """Fold one reward into the regression, the options' means and the multiplier."""
    fold(state.ridge, phi, arm, reward)
    state.weight[arm] += 1.0 / propensity
    state.weighted[arm] += reward / propensity
    state.counts[1] += 1
    for k in range(len(state.means)):
        state.means[k] = state.weighted[k] / max(state.weight[k], 1e-300)
    bar = bar_of(state.means, state.keep, state.reference, state.level)
    step = state.rate / np.sqrt(state.counts[1])
    state.price[0] = min(max(state.price[0] + step * (bar - reward), 0.0), state.cap)


@dataclass(frozen=True)
class SquareCB(Baseline):
    """SquareCB with a Lagrangian, in the manner of CBwLC.

    SquareCB (Foster and Rakhlin, 2020) plays on payoffs -cost + lambda quality, and lambda takes gradient
    steps on the shortfall (Slivkins, Zhou, Sankararaman and Foster, 2024). Their constraint has a known
    level; a relative bar is estimated here from rewards weighted by one over their propensity.

    Parameters
    ----------
    sharpness
        The weight of a gap of payoffs, times the root of the number of decisions.
    rate
        The step of lambda, over the root of the number of rewards.
    cap
        The greatest lambda, in units of the range of the costs.
    """

    title: ClassVar[str] = "SquareCB with a Lagrangian, in the manner of CBwLC (Slivkins et al.)"
    choose: ClassVar[Any] = staticmethod(choose)
    learn: ClassVar[Any] = staticmethod(learn)

    sharpness: float = 10.0
    rate: float = 1.0
    cap: float = 20.0

    def __post_init__(self) -> None:
        for name in ("sharpness", "rate", "cap"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))

    def start(self, setting: ContextualSetting) -> SquareCBState:
        options = len(setting.costs)
        return SquareCBState(
            new_ridge(setting),
            np.zeros(options),
            np.zeros(options),
            np.zeros(options),
            np.zeros(options),
            np.zeros(options),
            np.ones(1),
            np.zeros(2, np.int64),
            scale_of(setting),
            self.sharpness,
            self.rate,
            self.cap,
            setting.keep,
            setting.reference,
            setting.level,
        )
