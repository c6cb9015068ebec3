"""LinUCB on reward minus a weight times cost: what one gets by setting a price of quality by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from frugalbandits.core.contextual.contract import Choice, ContextualSetting
from frugalbandits.core.jit import compiled
from frugalbandits.lab.contextual.baselines.common import (
    Baseline,
    Ridge,
    fold,
    greatest,
    new_ridge,
    positive,
    predict,
    spread,
)

__all__ = ["LinUCB"]


class LinUCBState(NamedTuple):
    """The state of a run of LinUCB."""

    ridge: Ridge
    scores: Any
    weight: float
    width: float


@compiled
def choose(state: Any, phi: Any, costs: Any, usable: Any, rng: Any, floors: Any) -> Choice:
    """Take the option with the greatest upper bound of reward minus weighted cost."""
    scores = state.scores
    for k in range(len(scores)):
        upper = predict(state.ridge, k, phi) + state.width * spread(state.ridge, k, phi)
        scores[k] = upper - state.weight * costs[k]
    return Choice(greatest(scores, usable), 1.0, True)


@compiled
def learn(state: Any, phi: Any, arm: int, propensity: float, reward: float, floors: Any) -> None:
    """Fold one reward into the regression of its option."""
    fold(state.ridge, phi, arm, reward)


@dataclass(frozen=True)
class LinUCB(Baseline):
    """LinUCB with disjoint models (Li, Chu, Langford and Schapire, 2010) on reward - weight x cost.

    It knows of no bar: the weight is set by hand, and is right where it is 1 / lambda* of the oracle.

    Parameters
    ----------
    weight
        What a unit of cost is worth, in units of quality.
    width
        How many times phi' A^-1 phi's root is added to a prediction.
    """

    title: ClassVar[str] = "LinUCB on reward minus weighted cost, with a weight set by hand (Li et al.)"
    choose: ClassVar[Any] = staticmethod(choose)
    learn: ClassVar[Any] = staticmethod(learn)

    weight: float = 1.0
    width: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", positive("weight", self.weight))
        object.__setattr__(self, "width", positive("width", self.width))

    def start(self, setting: ContextualSetting) -> LinUCBState:
        return LinUCBState(new_ridge(setting), np.zeros(len(setting.costs)), self.weight, self.width)
