"""Measure whether runs keep the promise of the bar.

You say what quality is good enough, and you expect to get it: soon, and in nearly every run. A run *holds*
the bar at a checkpoint if the true mean quality of all its pulls up to then is at least 0.99 of the bar.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ENOUGH",
    "LEAST_ALPHA",
    "LEVEL_ALLOWANCE",
    "NEARLY_ALL",
    "SHOWN_TIMES",
    "geometric_spend",
    "good_arms",
    "holds",
    "low_quantile",
    "promise_rank",
    "ratio_to",
    "shown_checkpoints",
]

#: Share of the bar from which it counts as held. You could hardly measure a difference of 1%.
ENOUGH = 0.99
#: Share of the runs that must hold the bar before a policy is ranked by what it spends.
NEARLY_ALL = 0.95
#: A lower alpha counts as this one in promise regret. With alpha = 0 any loss would weigh infinitely much;
#: 1% is also what `ENOUGH` forgives.
LEAST_ALPHA = 0.01
#: Quality that may be given up under a fixed level, which names none. 0.05 is a common alpha, and the best
#: mean quality is often near 1.
LEVEL_ALLOWANCE = 0.05
#: Numbers of pulls at which tables show the share of runs that hold the bar.
SHOWN_TIMES = (1_000, 5_000, 20_000, 100_000)

# A run at exactly 0.99 of the bar holds it, however that was rounded.
_SAME = 1e-12
# In a geometric mean a ratio of spend is at least this and at most its inverse, so that one row in which an
# arm is free does not decide everything.
_LEAST_SPEND = 1e-3

Floats = NDArray[np.float64]


def ratio_to(values: Floats, reference: float) -> Floats:
    """Divide by a reference that is 0 or more; nothing over nothing is 1.

    Examples
    --------
    >>> ratio_to(np.array([0.0, 2.0]), 0.0).tolist(), ratio_to(np.array([1.0, 2.0]), 4.0).tolist()
    ([1.0, inf], [0.25, 0.5])
    """
    if reference > 0:
        # A reference near the smallest float gives an infinite ratio, which is what it says.
        with np.errstate(over="ignore"):
            return np.asarray(values / reference)
    return np.where(values > 0, np.inf, 1.0)


def good_arms(means: Floats, bar: float) -> NDArray[np.bool_]:
    """Return which arms have at least 0.99 of the bar."""
    return np.asarray(means >= ENOUGH * bar * (1.0 - _SAME))


def holds(delivered: Floats) -> NDArray[np.bool_]:
    """Return which runs hold the bar, given what they delivered as a share of it."""
    return np.asarray(delivered >= ENOUGH * (1.0 - _SAME))


def low_quantile(delivered: Floats) -> Floats:
    """Return the 1% quantile over runs (the first axis); the worst run where there are fewer than 100.

    It is the value of a run, with nothing interpolated: one run in a hundred delivers that or less.

    Examples
    --------
    >>> low_quantile(np.arange(300.0)).tolist(), low_quantile(np.array([0.8, 0.7])).tolist()
    (2.0, 0.7)
    """
    runs = len(delivered)
    return np.asarray(np.sort(delivered, axis=0)[(runs + 99) // 100 - 1])


def shown_checkpoints(times: Sequence[int] | NDArray[np.int64]) -> list[int]:
    """Return the checkpoints that tables show: the first at or after each of `SHOWN_TIMES`, and the last.

    Examples
    --------
    >>> shown_checkpoints([500, 1_000, 2_000, 8_000, 9_000])
    [1, 3, 4]
    """
    found = np.searchsorted(np.asarray(times), SHOWN_TIMES).tolist()
    return sorted({at for at in found if at < len(times)} | {len(times) - 1})


def promise_rank(held: float, spend: float) -> tuple[bool, float]:
    """Return a key to sort by: policies that hold 95% come first, by spend, then the others by held.

    Examples
    --------
    >>> sorted([(0.90, 0.5), (0.99, 1.0), (0.40, 0.1), (0.95, 0.7)], key=lambda each: promise_rank(*each))
    [(0.95, 0.7), (0.99, 1.0), (0.9, 0.5), (0.4, 0.1)]
    """
    if held >= NEARLY_ALL * (1.0 - _SAME):
        return False, math.inf if math.isnan(spend) else spend
    return True, -held


def geometric_spend(ratios: Sequence[float]) -> float:
    """Return the geometric mean of ratios of spend, each counted as 0.001 to 1,000; nan if there is none.

    Examples
    --------
    >>> round(geometric_spend([0.5, 2.0, math.nan]), 6), round(geometric_spend([0.0]), 6)
    (1.0, 0.001)
    """
    logarithms = [
        math.log(min(max(each, _LEAST_SPEND), 1 / _LEAST_SPEND)) for each in ratios if not math.isnan(each)
    ]
    return math.exp(math.fsum(logarithms) / len(logarithms)) if logarithms else math.nan
