"""How far a reward distribution is from one with another mean: D_inf and its reverse.

Definition D_inf_definition of the paper, for Bernoulli rewards and for Gaussian rewards of a common
standard deviation sigma. Two means that differ by less than a share of 1e-12 count as equal, as they do
where a `Problem` decides what is feasible.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from frugalbandits.errors import InputError

__all__ = ["Rewards", "bernoulli_kl", "check_family", "d_inf", "reverse_d_inf"]

Rewards = Literal["bernoulli", "gaussian"]

_SAME = 1e-12
# Below this, u - log(1 + u) is summed as a series, because the difference would lose digits.
_SMALL = 1e-3


def bernoulli_kl(p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    """Return the Kullback-Leibler divergence from Bernoulli(p) to Bernoulli(q), accurate for close means.

    Examples
    --------
    >>> bernoulli_kl([0.5, 0.0, 0.5], [0.25, 0.5, 1.0]).round(6).tolist()
    [0.143841, 0.693147, inf]
    """
    first, second = np.broadcast_arrays(np.asarray(p, np.float64), np.asarray(q, np.float64))
    # p log(p/q) = p (u - log(1 + u)) - p u with u = (q - p) / p, and the terms p u of both halves cancel.
    return _half(first, second) + _half(1.0 - first, 1.0 - second)


def _half(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return p log(p/q) - p + q, which is 0 or more."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        u = np.where(p > 0, (q - p) / np.where(p > 0, p, 1.0), 0.0)
        series = u * u * (1 / 2 - u * (1 / 3 - u * (1 / 4 - u * (1 / 5 - u / 6))))
        value = p * np.where(np.abs(u) < _SMALL, series, u - np.log1p(u))
    return np.where(p > 0, np.where(q > 0, value, np.inf), q)


def d_inf(
    means: ArrayLike, level: ArrayLike, rewards: Rewards = "bernoulli", sigma: float = 1.0
) -> NDArray[np.float64]:
    """Return the least divergence from a mean to any mean above the level.

    It is 0 where the mean is at the level or above it, and infinite where no Bernoulli mean exceeds the
    level, which is then 1 or more.

    Examples
    --------
    >>> d_inf([0.2, 0.5], 0.5).round(4).tolist()
    [0.1927, 0.0]
    >>> d_inf(0.2, 1.0).item(), d_inf(0.2, 1.2, "gaussian", sigma=2).item()
    (inf, 0.125)
    """
    check_family(rewards, sigma)
    mean, bar = np.broadcast_arrays(np.asarray(means, np.float64), np.asarray(level, np.float64))
    gap = bar - mean
    below = gap > _SAME * np.maximum(np.abs(bar), np.abs(mean))
    if rewards == "gaussian":
        return np.where(below, gap * gap / (2 * sigma * sigma), 0.0)
    distance = np.where(below, bernoulli_kl(mean, np.minimum(bar, 1.0)), 0.0)
    return np.where(bar >= 1.0 - _SAME, np.inf, distance)


def reverse_d_inf(
    means: ArrayLike, level: ArrayLike, rewards: Rewards = "bernoulli", sigma: float = 1.0
) -> NDArray[np.float64]:
    """Return the least divergence from a mean to any mean at the level or below it.

    It is 0 where the mean is there already, and infinite for a positive Bernoulli mean and a level of 0.

    Examples
    --------
    >>> reverse_d_inf([0.2, 0.5, 0.8], 0.5).round(4).tolist()
    [0.0, 0.0, 0.1927]
    >>> reverse_d_inf(0.2, 0.0).item()
    inf
    """
    check_family(rewards, sigma)
    mean, bar = np.broadcast_arrays(np.asarray(means, np.float64), np.asarray(level, np.float64))
    gap = mean - bar
    above = gap > _SAME * np.maximum(np.abs(bar), np.abs(mean))
    if rewards == "gaussian":
        return np.where(above, gap * gap / (2 * sigma * sigma), 0.0)
    return np.where(above, bernoulli_kl(mean, np.clip(bar, 0.0, 1.0)), 0.0)


def check_family(rewards: str, sigma: float) -> None:
    """Refuse a family of rewards that is not known, and a sigma that is no standard deviation."""
    if rewards not in ("bernoulli", "gaussian"):
        raise InputError(f"rewards must be 'bernoulli' or 'gaussian', but it is {rewards!r}")
    if not isinstance(sigma, int | float | np.number) or not 0.0 < float(sigma) < math.inf:
        raise InputError(f"sigma must be a positive number, but it is {sigma!r}")
