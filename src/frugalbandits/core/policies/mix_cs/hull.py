"""The cheapest mix of arms whose average quality reaches a bar: at most two arms, one on each side of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from frugalbandits.core.jit import inner

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
    reaches the bar, the two ends take turns: each becomes the one that is cheapest with the other. While a
    point lies below the line through both, one of them gets better, and when none does, the line is a price
    at which no arm is a better deal: the linear programme's proof that the mix is the cheapest.
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
    low, cost = -1, costs[high]
    better = True
    while better:
        better = False
        for k in range(arms):
            if not usable[k]:
                continue
            if means[k] < bar and costs[k] < costs[high]:
                mixed = mixed_cost(means, costs, k, high, bar)
                if mixed < cost:
                    low, cost, better = k, mixed, True
            elif low >= 0 and means[k] >= bar and k != high:
                mixed = mixed_cost(means, costs, low, k, bar)
                if mixed < cost:
                    high, cost, better = k, mixed, True
    if low < 0:
        return Pair(high, high, 1.0, cost, 0.0, True)
    rise = means[high] - means[low]
    slope = min((costs[high] - costs[low]) / rise, STEEPEST)
    return Pair(low, high, (bar - means[low]) / rise, cost, slope, True)


@inner
def mixed_cost(means: Any, costs: Any, low: int, high: int, bar: float) -> float:
    """Return what a pull costs on average in the mix of two arms that is just at the bar."""
    share = (bar - means[low]) / (means[high] - means[low])
    return costs[low] + share * (costs[high] - costs[low])
