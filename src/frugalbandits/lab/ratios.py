"""Quotients of regrets and their geometric mean."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["geometric_mean", "ratio"]


def ratio(above: float, below: float) -> float:
    """Return a quotient of regrets; nothing over nothing is 1.

    Examples
    --------
    >>> ratio(6.0, 2.0), ratio(0.0, 0.0), ratio(1.0, 0.0)
    (3.0, 1.0, inf)
    """
    if below == 0:
        return 1.0 if above == 0 else math.inf
    return above / below


def geometric_mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean of those that are neither 0 nor infinite; nan if there is none.

    Examples
    --------
    >>> geometric_mean([2.0, 8.0, math.inf])
    4.0
    """
    usable = [value for value in ratios if 0 < value < math.inf]
    return math.exp(sum(map(math.log, usable)) / len(usable)) if usable else math.nan
