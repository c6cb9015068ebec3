"""The bar, what quality costs there, and how often each option is tried whatever the query.

All of it moves slowly, so it is computed anew when feedback has grown by 1%, not at each query.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contextual.dual_cof.model import scale, spreads
from frugalbandits.core.contextual.dual_cof.state import (
    ASKED,
    BAR,
    BAR_ERROR,
    ERROR,
    ERRORS,
    FIRST_PRICE,
    FORCE,
    HEARD,
    HIGH,
    LOW,
    NOISE,
    PRICE,
    QUALITY,
    RATE,
    ROBUST,
    SEEN,
    SPENT,
    STOOD,
    TOLD,
    WEIGHT,
)
from frugalbandits.core.contextual.dual_cof.wanting import TINY, set_wanted
from frugalbandits.core.jit import inner

__all__ = ["hull_price", "look_around", "variance"]

Floats = NDArray[np.float64]

MOST = 0.1  # of decisions that an option is given whatever the query, and all options together
MOST_OF_ALL = 0.25
RARELY = 0.05  # times as often for an option that cannot be the best
BIAS = (0.01, 0.05)  # of a model's mean over queries, at least and at most
FINE = 0.01  # of the bar, two standard errors: below it, and below a quarter of alpha, the bar is known
SURE = 0.12  # of the mean cost goes to the options that the bar hangs on, until it is known
CAP = 10.0  # times what quality costs at the bar without looking at queries: the highest lambda
CAP_AFTER = 5000.0  # rewards after which the cap is one step further up; it starts at 1
SPARSE = 4.0  # where fewer are told, decisions that count as one reward there
DEPTH = 0.02  # times the lowest price on the way to the bar: the lowest lambda


@inner
def variance(state: Any, arm: int) -> float:
    """Return the variance of an option's rewards around its model; 1/8 before much is known."""
    found: float = (state.arms[ERRORS, arm] + 0.25) / (state.arms[TOLD, arm] + 2.0)
    return found


@inner
def hull_price(quality: Floats, costs: Floats, bar: float) -> float:
    """Return what a unit of quality costs where the cheapest mix of two options reaches the bar.

    Where no option reaches it, the price is that of the best one; where the cheapest option does, that of the
    cheapest way up from there. It is 0 where nothing better costs more.
    """
    arms = len(quality)
    top, cheapest = 0, 0
    for k in range(1, arms):
        if quality[k] > quality[top] or (quality[k] == quality[top] and costs[k] < costs[top]):
            top = k
        if costs[k] < costs[cheapest] or (costs[k] == costs[cheapest] and quality[k] > quality[cheapest]):
            cheapest = k
    bar = min(bar, quality[top] * (1.0 - 1e-9))  # just below the best, where there is a way up to it
    least, price = math.inf, 0.0
    for j in range(arms):
        if quality[j] < bar:
            continue
        if costs[j] < least:
            least, price = costs[j], 0.0
        for i in range(arms):
            if quality[i] < bar and costs[i] < costs[j]:
                slope = (costs[j] - costs[i]) / (quality[j] - quality[i])
                cost = costs[j] - slope * (quality[j] - bar)
                if cost <= least:
                    least, price = cost, slope
    if price == 0.0:
        return first_price(quality, costs, cheapest)
    return price


@inner
def first_price(quality: Floats, costs: Floats, cheapest: int) -> float:
    """Return the least price of more quality than the cheapest option has, 0 where there is none."""
    best = 0.0
    for k in range(len(quality)):
        if quality[k] > quality[cheapest] and costs[k] > costs[cheapest]:
            price = (costs[k] - costs[cheapest]) / (quality[k] - quality[cheapest])
            if best == 0.0 or price < best:
                best = price
    return best


@inner
def estimate(state: Any) -> None:
    """Estimate the mean quality of each option over queries: by weighing rewards, and by its model."""
    arms = state.arms
    count = max(state.numbers[SEEN], 1.0)
    centre = state.queries[0].copy()
    scale(centre, 1.0 / count)
    if state.numbers[SEEN] == 0.0:
        centre[0] = 1.0
    spread = spreads(state.inverse, centre)
    for k in range(arms.shape[1]):
        by_model = 0.0
        for j in range(len(centre)):
            by_model += state.theta[k, j] * centre[j]
        by_model = min(max(by_model, 0.0), 1.0)
        noise = variance(state, k)
        error = noise * spread[k]
        weight = arms[WEIGHT, k]
        if weight <= 0.0 or arms[FORCE, k] <= 0.0:
            arms[QUALITY, k], arms[ERROR, k] = by_model, math.sqrt(error + BIAS[1] * BIAS[1])
            continue
        robust = arms[ROBUST, k] / weight
        # A few small surprises are no certainty.
        own = max(arms[NOISE, k], 0.5 * arms[FORCE, k]) / (weight * weight)
        gap = (robust - by_model) * (robust - by_model) - own
        error += min(max(gap, BIAS[0] * BIAS[0]), BIAS[1] * BIAS[1])
        share = error / (error + own)
        arms[QUALITY, k] = min(max(by_model + share * (robust - by_model), 0.0), 1.0)
        arms[ERROR, k] = math.sqrt(share * own)


@inner
def set_bar(state: Any) -> int:
    """Estimate the bar, and return the option that looks best.

    The maximum of estimates is too high: those that cannot be told from the highest share it.
    """
    quality, error = state.arms[QUALITY], state.arms[ERROR]
    top = 0
    for k in range(1, len(quality)):
        if quality[k] > quality[top]:
            top = k
    if state.level >= 0.0:
        state.numbers[BAR], state.numbers[BAR_ERROR] = state.level, 0.0
    elif state.reference >= 0:
        state.numbers[BAR] = state.keep * quality[state.reference]
        state.numbers[BAR_ERROR] = state.keep * error[state.reference]
    else:
        total, level, squares = 0.0, 0.0, 0.0
        for k in range(len(quality)):
            apart = math.sqrt(2.0 * (error[k] * error[k] + error[top] * error[top]))
            near = math.erfc((quality[top] - quality[k]) / max(apart, 1e-12)) if k != top else 1.0
            weight = near * near
            total += weight
            level += weight * quality[k]
            squares += weight * error[k] * (weight * error[k])
        state.numbers[BAR] = state.keep * (level / total)
        state.numbers[BAR_ERROR] = state.keep * (math.sqrt(squares) / total)
    return top


@inner
def set_limits(state: Any, price: float) -> None:
    """Set the limits of lambda, beyond which it would only have to be brought back."""
    numbers = state.numbers
    if price <= 0.0:
        numbers[LOW], numbers[HIGH] = numbers[FIRST_PRICE] - 5.0, numbers[FIRST_PRICE] + 5.0
        return
    known = max(numbers[HEARD], numbers[SEEN] / SPARSE)
    cap = CAP if state.level >= 0.0 else min(CAP, 1.0 + known / CAP_AFTER)
    costs, cheapest = state.costs, 0
    for k in range(1, len(costs)):
        if costs[k] < costs[cheapest]:
            cheapest = k
    lowest = first_price(state.arms[QUALITY], costs, cheapest)
    numbers[HIGH] = math.log(cap * price)
    numbers[LOW] = math.log(DEPTH * (min(lowest, price) if lowest > 0.0 else price))


@inner
def evidence(state: Any, arm: int) -> float:
    """Return how many rewards the doubly robust mean of an option is worth."""
    expected = state.arms[FORCE, arm]
    weight = state.arms[WEIGHT, arm]
    return weight * weight * variance(state, arm) / expected if expected > 0.0 else 0.0


@inner
def hopes(state: Any) -> Floats:
    """Return how good each option may still be: none is written off for a few bad rewards."""
    quality, error = state.arms[QUALITY], state.arms[ERROR]
    width = math.log(max(state.numbers[HEARD], 2.0))
    hopeful = np.empty(len(quality))
    for k in range(len(quality)):
        reach = error[k] * math.sqrt(2.0 * width) + width / (3.0 * (evidence(state, k) + 1.0))
        hopeful[k] = min(quality[k] + reach, 1.0)
    return hopeful


@inner
def set_rates(state: Any, top: int) -> None:
    """Set how often each option is tried whatever the query: what that is worth against what it costs."""
    arms, numbers = state.arms, state.numbers
    quality, error, rates = arms[QUALITY], arms[ERROR], arms[RATE]
    options = len(quality)
    if state.level >= 0.0:
        for k in range(options):
            rates[k] = TINY / options
        return
    bar, seen = numbers[BAR], max(numbers[SEEN], 1.0)
    pace = max(numbers[STOOD], 1.0) ** (-1.0 / 3.0) / 6.0
    price = math.exp(min(max(numbers[PRICE], numbers[LOW]), numbers[HIGH]))
    spent = numbers[SPENT] / seen
    first = 0.3 * math.exp(numbers[FIRST_PRICE])
    hopeful, believed = hopes(state), quality.copy()
    unsure = np.zeros(options, np.bool_)
    count = 0
    for k in range(options):
        matters = k == state.reference if state.reference >= 0 else hopeful[k] >= quality[top]
        if matters and 2.0 * error[k] > min((1.0 - state.keep) / 4.0, FINE) * bar:
            unsure[k] = True
            count += 1
    total = 0.0
    for k in range(options):
        rates[k] = 0.0
        if state.reference >= 0 and k != state.reference:
            continue
        # The stake is valued at the bar that this option may set, not at one that may have fallen.
        believed[k] = min(quality[k] + 2.0 * error[k], 1.0)
        dear = hull_price(believed, state.costs, max(bar, state.keep * believed[k]))
        hopeless = state.reference < 0 and believed[k] < quality[top]
        believed[k] = quality[k]
        dear = max(min(max(dear, price), 5.0 * max(price, 1.0)), first)
        regret = max(state.costs[k] - spent + price * (bar - quality[k]), 0.02 * price + 1e-4)
        worth = (dear * math.sqrt(variance(state, k)) / (2.0 * regret)) ** (2.0 / 3.0)
        rate = (1.0 - min(arms[ASKED, k] / seen, 1.0)) * worth * pace
        if hopeless:
            rate *= RARELY
        if unsure[k]:
            dearer = max(state.costs[k] / spent, 1.0) if spent > 0.0 else 1.0
            rate = max(rate, SURE / count / dearer)
        rates[k] = min(rate, MOST)
        total += rates[k]
    if total > MOST_OF_ALL:
        for k in range(options):
            rates[k] *= MOST_OF_ALL / total


@inner
def look_around(state: Any) -> None:
    """Estimate quality and bar anew, and what follows from them."""
    estimate(state)
    top = set_bar(state)
    set_limits(state, hull_price(state.arms[QUALITY], state.costs, state.numbers[BAR]))
    set_rates(state, top)
    tried = 0.0
    for k in range(state.arms.shape[1]):
        tried += state.arms[RATE, k]
    set_wanted(state, tried)
