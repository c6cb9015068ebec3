"""What VOI-CS looks at when it plans: arms in the order of their prices now, and what counts of their past.

- *Prices* are scaled by what a unit of quality is worth. Where costs are learned, they are what an arm may
  cost (`looking`).
- *Pulls* and sums are those that count still (`core.past`).
- *Balance.* Of N_k decisions, n_k were told and W_k were not though feedback was wanted. With p the share
  told, an arm counts as h_k = (n_k + p W_k) / (2 - p) pulls: what is known, and a part of what is to come.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from frugalbandits.core.jit import inner
from frugalbandits.core.policies.looking import floats, hoped_costs, numbers, ordered, wholes

__all__ = [
    "arranged",
    "balance",
    "by_price",
    "priced",
]

FEW = 32  # so many prices are sorted fastest by insertion


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
    """Return the arms from the cheapest to the most expensive.

    A few arms, or arms that are in that order, are sorted by insertion.
    """
    sorted_already = True
    for k in range(1, len(prices)):
        if prices[k - 1] > prices[k]:
            sorted_already = False
            break
    if not sorted_already and len(prices) > FEW:
        return ordered(prices, prices, prices)
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
