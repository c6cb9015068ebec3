"""The mean quality of all decisions of a session, estimated from those that were judged."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Delivered", "quality_delivered"]

_Z = 1.959964  # two-sided, 95%


class Delivered(NamedTuple):
    """The mean quality of all decisions, and its 95% interval."""

    mean: float
    low: float
    high: float


def quality_delivered(options: Iterable[tuple[int, int, float]]) -> Delivered | None:
    """Estimate the mean quality of all decisions; return None while no option in use has a reward.

    Each option comes as its decisions, the number of its rewards and their sum. The estimate is the mean of
    each option weighted by its decisions, so it does not matter which share of them was judged. It estimates
    the expected quality of the options that were used, which is what the bar is about: so the interval does
    not shrink to a point where every decision was judged.

    Intervals of the options (Wilson) are combined by the method of variance estimates recovery (Zou and
    Donner, 2008). Rewards need only lie in [0, 1]: those of 0 and 1 vary most for their mean, so the interval
    is wider than needed for others. It holds at one look, not at all looks together. Decisions for options
    without any reward are not part of the estimate; the interval allows them any quality from 0 to 1.

    Examples
    --------
    >>> quality_delivered([(900, 45, 36.0), (100, 100, 90.0)])
    Delivered(mean=0.81, low=0.6853..., high=0.8920...)
    >>> quality_delivered([(10, 0, 0.0)]) is None
    True
    """
    known = unknown = 0
    total = below = above = 0.0
    for decisions, rewards, rewards_sum in options:
        if rewards <= 0:
            unknown += decisions
            continue
        known += decisions
        mean = min(max(rewards_sum / rewards, 0.0), 1.0)
        low, high = _wilson(mean, rewards)
        total += decisions * mean
        below += (decisions * (mean - low)) ** 2
        above += (decisions * (high - mean)) ** 2
    if known == 0:
        return None
    everything = known + unknown
    return Delivered(
        mean=min(total / known, 1.0),
        low=max((total - math.sqrt(below)) / everything, 0.0),
        high=min((total + math.sqrt(above) + unknown) / everything, 1.0),
    )


def _wilson(mean: float, count: int) -> tuple[float, float]:
    """Return Wilson's 95% interval for the mean of rewards in [0, 1]."""
    square = _Z * _Z
    centre = (mean + square / (2 * count)) / (1 + square / count)
    reach = _Z / (1 + square / count) * math.sqrt(mean * (1 - mean) / count + square / (4 * count * count))
    # Rounding must not put the mean outside.
    return min(max(centre - reach, 0.0), mean), max(min(centre + reach, 1.0), mean)
