"""What the baselines share: a ridge regression for each option, bars, and what they cannot do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contextual.contract import Beliefs, ContextualPolicy, ContextualSetting
from frugalbandits.core.jit import inlined, inner
from frugalbandits.core.quality import finite_number
from frugalbandits.errors import InputError

__all__ = [
    "Baseline",
    "Ridge",
    "Scale",
    "bar_of",
    "fold",
    "greatest",
    "new_ridge",
    "positive",
    "predict",
    "scale_of",
    "spread",
    "within_limits",
]

Floats = NDArray[np.float64]


class Ridge(NamedTuple):
    """A ridge regression for each option, with penalty 1: A = I + sum phi phi', kept as its inverse."""

    inverse: Floats  # options x width x width
    weights: Floats  # options x width
    told: NDArray[np.int64]  # rewards of each option
    work: Floats


class Scale(NamedTuple):
    """What takes the usual costs to [0, 1]."""

    least: float
    span: float


def new_ridge(setting: ContextualSetting) -> Ridge:
    """Return regressions that have seen nothing."""
    options, width = len(setting.costs), setting.width
    return Ridge(
        np.tile(np.eye(width), (options, 1, 1)),
        np.zeros((options, width)),
        np.zeros(options, np.int64),
        np.zeros(width),
    )


def scale_of(setting: ContextualSetting) -> Scale:
    """Return the scale of the usual costs."""
    return Scale(float(np.min(setting.costs)), float(np.ptp(setting.costs)) or 1.0)


@inner
def predict(ridge: Any, arm: int, phi: Any) -> float:
    """Return what an option is expected to give on a query."""
    total = 0.0
    for i in range(len(phi)):
        total += ridge.weights[arm, i] * phi[i]
    return total


@inner
def _spanned(ridge: Any, arm: int, phi: Any) -> None:
    """Set `work` to A^-1 phi."""
    work = ridge.work
    work[:] = 0.0
    for j in range(len(phi)):
        # A is symmetric: by rows, so that the inner loop has no sum. Most entries of segments are 0.
        if phi[j] != 0.0:
            for i in range(len(phi)):
                work[i] += ridge.inverse[arm, j, i] * phi[j]


@inner
def spread(ridge: Any, arm: int, phi: Any) -> float:
    """Return the root of phi' A^-1 phi: how little is known of an option on a query."""
    _spanned(ridge, arm, phi)
    total = 0.0
    for i in range(len(phi)):
        total += ridge.work[i] * phi[i]
    return np.sqrt(max(total, 0.0))


@inner
def fold(ridge: Any, phi: Any, arm: int, reward: float) -> None:
    """Take in one reward, by the formula of Sherman and Morrison."""
    missed = reward - predict(ridge, arm, phi)
    _spanned(ridge, arm, phi)
    work = ridge.work
    total = 1.0
    for i in range(len(phi)):
        total += work[i] * phi[i]
    for i in range(len(phi)):
        step = work[i] / total
        ridge.weights[arm, i] += step * missed
        for j in range(len(phi)):
            ridge.inverse[arm, i, j] -= step * work[j]
    ridge.told[arm] += 1


@inlined
def within_limits(value: float) -> float:
    """Return a quality within [0, 1]."""
    return min(max(value, 0.0), 1.0)


@inner
def bar_of(quality: Any, keep: float, reference: int, level: float) -> float:
    """Return the bar that qualities of the options set."""
    if level >= 0.0:
        return level
    return keep * (quality[reference] if reference >= 0 else quality.max())


@inner
def greatest(values: Any, usable: Any) -> int:
    """Return the usable option with the greatest value."""
    found = -1
    for k in range(len(values)):
        if usable[k] and (found < 0 or values[k] > values[found]):
            found = k
    return found


def positive(what: str, value: float) -> float:
    """Return a setting that is above 0."""
    number = finite_number(what, value)
    if number <= 0.0:
        raise InputError(f"{what} must be above 0, but it is {value!r}")
    return number


@dataclass(frozen=True)
class Baseline(ContextualPolicy):
    """A policy for simulations alone: it explains nothing, and its options and segments stay."""

    def beliefs(self, state: Any) -> Beliefs:
        self._cannot("explain what it believes")

    def widened(self, state: Any, width: int) -> Any:
        self._cannot("take in segments that were not there at the start")

    def carried(self, state: Any, setting: ContextualSetting, origin: list[int]) -> Any:
        self._cannot("go on with other options or costs")

    def _cannot(self, what: str) -> NoReturn:
        raise InputError(f"{type(self).__name__} is a baseline for simulations and cannot {what}")
