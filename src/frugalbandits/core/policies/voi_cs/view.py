"""What VOI-CS looks at when it plans: arms in the order of their prices now, and what counts of their past.

- *Prices* are scaled by what a unit of quality is worth. Where costs are learned, an arm's price is
  c exp(-x cv / sqrt(1 + N)), x^2 = log(t / N) / 2, with c the mean of its N bills and of the cost that was
  given, and cv the coefficient of variation of all bills: an arm with an unlucky first bill is tried again.
- *Pulls* and sums are those that count still (`core.past`).
- *Balance.* Of N_k decisions, n_k were told and W_k were not though feedback was wanted. With p the share
  told, an arm counts as h_k = (n_k + p W_k) / (2 - p) pulls: what is known, and a part of what is to come.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from frugalbandits.core.jit import inner, instead
from frugalbandits.core.policies.voi_cs.beliefs import floats, wholes

__all__ = [
    "arranged",
    "balance",
    "by_price",
    "decided",
    "flags",
    "hoped_costs",
    "learned_costs",
    "numbers",
    "priced",
]


def numbers(array: Any) -> Any:
    """Return the values of an array in the form that is read fastest."""
    return array.tolist()


@instead(numbers)
def numbers_as_array(array: Any) -> Any:
    """Return the array, for compiled code."""
    return array


def flags(count: int) -> Any:
    """Return so many times False, in the form that is fastest in plain Python."""
    return [False] * count


@instead(flags)
def flags_as_array(count: int) -> Any:
    """Return the same for compiled code."""
    return np.zeros(count, np.bool_)


@inner
def decided(tally: Any) -> Any:
    """Return the decisions for each arm, whatever became of their feedback."""
    counts = wholes(len(tally.pulls))
    pulls, pending, lost = numbers(tally.pulls), numbers(tally.pending), numbers(tally.lost)
    for k in range(len(counts)):
        counts[k] = pulls[k] + pending[k] + lost[k]
    return counts


@inner
def learned_costs(costs: Any, bills: Any) -> tuple[Any, float]:
    """Return the mean cost of each arm, the given one counted as a bill, and the coefficient of variation."""
    arms = len(costs)
    given, counts = numbers(costs), numbers(bills.counts)
    sums, squares = numbers(bills.sums), numbers(bills.squares)
    means = floats(arms)
    spread, free = 1.0, 1.0  # as if one bill had been off by its mean
    for k in range(arms):
        means[k] = (given[k] + sums[k]) / (1.0 + counts[k])
        if counts[k] > 1 and sums[k] > 0:
            mean = sums[k] / counts[k]
            spread += max(squares[k] / (mean * mean) - counts[k], 0.0)
            free += counts[k] - 1.0
    return means, math.sqrt(spread / free)


@inner
def hoped_costs(costs: Any, bills: Any, counts: Any) -> tuple[Any, float]:
    """Return what each arm may cost, those little used taken at their best, and the range of mean costs."""
    means, variation = learned_costs(costs, bills)
    time = 0.0
    for k in range(len(counts)):
        time += counts[k]
    hopes = floats(len(counts))
    dearest, cheapest = -np.inf, np.inf
    for k in range(len(counts)):
        used = max(counts[k], 1)
        tried = math.sqrt(0.5 * math.log(max(time / used, 1.0)))
        hopes[k] = means[k] * math.exp(-tried * variation / math.sqrt(1.0 + used))
        cheapest, dearest = min(cheapest, means[k]), max(dearest, means[k])
    return hopes, dearest - cheapest


@inner
def priced(state: Any, counts: Any) -> Any:
    """Return the price of each arm, scaled by what a unit of quality is worth; the least is 0."""
    if not state.learning:
        return numbers(state.prices)
    prices, span = hoped_costs(state.costs, state.bills, counts)
    least = np.inf
    for k in range(len(prices)):
        least = min(least, prices[k])
    scale = state.worth if state.worth > 0 else span
    for k in range(len(prices)):
        prices[k] = (prices[k] - least) / scale if scale > 0 else 0.0
    return prices


@inner
def by_price(prices: Any) -> Any:
    """Return the arms from the cheapest to the dearest; they mostly are in that order, so by insertion."""
    order = wholes(len(prices))
    for k in range(len(prices)):
        place = k
        while place > 0 and prices[order[place - 1]] > prices[k]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = k
    return order


@inner
def arranged(values: Any, order: Any) -> Any:
    """Return values in another order."""
    found = floats(len(order))
    for place in range(len(order)):
        found[place] = values[order[place]]
    return found


@inner
def balance(tally: Any, past: Any, skipped: Any, counts: Any) -> tuple[Any, Any, float]:
    """Return h_k of each arm, the same with the pulls that nobody wanted feedback of, and p."""
    arms = len(counts)
    pulls, held, unwanted = numbers(tally.pulls), numbers(past.pulls), numbers(skipped)
    waiting = floats(arms)
    told, out = 0.0, 0.0
    for k in range(arms):
        waiting[k] = max(counts[k] - pulls[k] - unwanted[k], 0.0)
        told += pulls[k]
        out += waiting[k]
    share = told / (told + out) if out > 0 and told > 0 else 1.0
    weight, whole = floats(arms), floats(arms)
    for k in range(arms):
        # What was dropped or faded of the past takes the decisions of that time with it.
        part = held[k] / pulls[k] if pulls[k] > 0 else 1.0
        weight[k] = (held[k] + share * waiting[k] * part) / (2.0 - share)
        idle = max(counts[k] - pulls[k] - waiting[k], 0.0)
        whole[k] = weight[k] + share * idle * part
    return weight, whole, share
