"""The cheapest mix of arms whose average quality reaches a bar: at most two arms, one on each side of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from frugalbandits.core.jit import inlined, inner

__all__ = ["STEEPEST", "Pair", "cheapest_pair"]

STEEPEST = 1e9  # no slope is above this: two means that differ by rounding alone have no slope


class Pair(NamedTuple):
    """A mix of two arms, or one arm alone; `low` and `high` are then the same, and nothing is mixed."""

    low: int  # below the bar, and cheaper
    high: int  # at the bar or above it
    share: float  # of the pulls that are of `high`
    cost: float  # of a pull on average
    slope: float  # what more quality costs there, lambda; 0 where the cheapest arm of all is good enough
    reached: bool  # False: no arm reaches the bar, and `high` is the best one


@inner
def cheapest_pair(means: Any, costs: Any, usable: Any, bar: float) -> Pair:
    """Return the cheapest mix of usable arms with an average of at least `bar`; at least one is usable.

    It is where the lower convex hull of the points (mean, cost) crosses the bar. From the cheapest arm that
    reaches the bar, the two ends take turns: each becomes the one with which the line through both is lowest
    on its side. When no point lies below the line, its slope is a price of quality at which no arm is a
    better deal: the linear programme's proof that the mix is the cheapest.
    """
    arms = len(means)
    best, high = -1, -1
    for k in range(arms):
        if usable[k]:
            if best < 0 or means[k] > means[best]:
                best = k
            if means[k] >= bar and (high < 0 or costs[k] < costs[high]):
                high = k
    if high < 0:
        return Pair(best, best, 1.0, costs[best], 0.0, False)
    low = -1
    for _ in range(arms):
        steepest = 0.0 if low < 0 else slope_of(means, costs, low, high)
        moved = False
        for k in range(arms):
            if usable[k] and means[k] < bar and slope_of(means, costs, k, high) > steepest:
                low, steepest, moved = k, slope_of(means, costs, k, high), True
        if low < 0:
            return Pair(high, high, 1.0, costs[high], 0.0, True)
        for k in range(arms):
            if usable[k] and means[k] >= bar and slope_of(means, costs, low, k) < steepest:
                high, steepest, moved = k, slope_of(means, costs, low, k), True
        if not moved:
            break
    share = (bar - means[low]) / (means[high] - means[low])
    slope = min(slope_of(means, costs, low, high), STEEPEST)
    return Pair(low, high, share, costs[low] + share * (costs[high] - costs[low]), slope, True)


@inlined
def slope_of(means: Any, costs: Any, low: int, high: int) -> float:
    """Return what a unit of quality costs on the way from one arm to another that is better."""
    return (costs[high] - costs[low]) / (means[high] - means[low])
