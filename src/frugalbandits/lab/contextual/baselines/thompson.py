"""Per-query TS-CS: a linear Thompson draw for each option, and the cheapest that is good enough by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from frugalbandits.core.contextual.contract import Choice, ContextualSetting
from frugalbandits.core.jit import compiled
from frugalbandits.lab.contextual.baselines.common import (
    Baseline,
    Ridge,
    bar_of,
    fold,
    greatest,
    new_ridge,
    positive,
    predict,
    spread,
)

__all__ = ["LinearTSCS"]


class ThompsonState(NamedTuple):
    """The state of a run of per-query TS-CS."""

    ridge: Ridge
    draws: Any
    width: float
    keep: float
    reference: int
    level: float


@compiled
def choose(state: Any, phi: Any, costs: Any, usable: Any, rng: Any, floors: Any) -> Choice:
    """Draw a quality for each option; take the cheapest whose draw reaches the bar of the draws."""
    draws = state.draws
    for k in range(len(draws)):
        # Of the drawn weights only their product with phi matters, and that is normal.
        scale = state.width * spread(state.ridge, k, phi)
        draws[k] = predict(state.ridge, k, phi) + scale * rng.standard_normal()
    bar = bar_of(draws, state.keep, state.reference, state.level)
    arm = -1
    for k in range(len(draws)):
        if usable[k] and draws[k] >= bar and (arm < 0 or costs[k] < costs[arm]):
            arm = k
    # How likely that was would take an integral: it is not known.
    return Choice(arm if arm >= 0 else greatest(draws, usable), np.nan, True)


@compiled
def learn(state: Any, phi: Any, arm: int, propensity: float, reward: float, floors: Any) -> None:
    """Fold one reward into the regression of its option."""
    fold(state.ridge, phi, arm, reward)


@dataclass(frozen=True)
class LinearTSCS(Baseline):
    """Thompson sampling with cost subsidy, query by query: each answer has to be good enough by itself.

    TS-CS (Sinha, Sankararaman, Kazerouni and Avadhanula, 2021) on the draws of linear Thompson sampling
    (Agrawal and Goyal, 2013).

    Parameters
    ----------
    width
        How far draws spread: standard deviations of the noise of a reward.
    """

    title: ClassVar[str] = "TS-CS for each query, on linear Thompson draws (Sinha et al., Agrawal and Goyal)"
    choose: ClassVar[Any] = staticmethod(choose)
    learn: ClassVar[Any] = staticmethod(learn)

    width: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", positive("width", self.width))

    def start(self, setting: ContextualSetting) -> ThompsonState:
        return ThompsonState(
            new_ridge(setting),
            np.zeros(len(setting.costs)),
            self.width,
            setting.keep,
            setting.reference,
            setting.level,
        )
