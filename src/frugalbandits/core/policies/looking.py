"""What policies look at that go by counts and sums alone: arrays in two forms, decisions, and learned costs.

Where costs are learned, an arm may cost c exp(-x cv / sqrt(1 + N)), x^2 = log(t / N) / 2, with c the mean of
its N bills and of the cost that was given, and cv the coefficient of variation of all bills: an arm with an
unlucky first bill is tried again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from frugalbandits.core.jit import inner, instead

__all__ = ["decided", "flags", "floats", "hoped_costs", "learned_costs", "numbers", "ordered", "wholes"]


def floats(count: int) -> Any:
    """Return so many zeros, in the form that is fastest in plain Python."""
    return [0.0] * count


@instead(floats)
def floats_as_array(count: int) -> Any:
    """Return the same for compiled code."""
    return np.zeros(count)


def wholes(count: int) -> Any:
    """Return so many whole zeros, in the form that is fastest in plain Python."""
    return [0] * count


@instead(wholes)
def wholes_as_array(count: int) -> Any:
    """Return the same for compiled code."""
    return np.zeros(count, np.int64)


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
def ordered(first: Any, second: Any, third: Any) -> Any:
    """Return the places of values sorted by three keys; equal ones stay in their order (merge sort)."""
    count = len(first)
    order, merged = wholes(count), wholes(count)
    for place in range(count):
        order[place] = place
    width = 1
    while width < count:
        for begin in range(0, count, 2 * width):
            middle, end = min(begin + width, count), min(begin + 2 * width, count)
            left, right = begin, middle
            for place in range(begin, end):
                take_left = right >= end
                if left < middle and right < end:
                    a, b = order[left], order[right]
                    if first[a] != first[b]:
                        take_left = first[a] < first[b]
                    elif second[a] != second[b]:
                        take_left = second[a] < second[b]
                    else:
                        take_left = third[a] <= third[b]
                if take_left:
                    merged[place] = order[left]
                    left += 1
                else:
                    merged[place] = order[right]
                    right += 1
        order, merged = merged, order
        width *= 2
    return order


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
