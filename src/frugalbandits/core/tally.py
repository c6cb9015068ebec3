"""What was seen of each arm: counts and sums that are the same whatever order the feedback came in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.jit import inlined, inner

__all__ = [
    "Bills",
    "Tally",
    "add",
    "all_seen",
    "any_pending",
    "charge",
    "handed",
    "mean",
    "new_bills",
    "new_tally",
    "observe",
    "radius",
    "unseen",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Tally(NamedTuple):
    """What has been seen of each arm.

    `pending` counts pulls that were handed out and whose feedback is still out: they count towards balance,
    never towards means. `lost` counts those whose feedback will never come. `sums` + `carry` is the sum of
    rewards to twice the precision of a float, so that the order in which rewards arrive leaves no trace in
    the state.
    """

    pulls: Ints
    pending: Ints
    sums: Floats
    carry: Floats
    lost: Ints


class Bills(NamedTuple):
    """What uses of each arm turned out to cost: how many are known, their sum, and the sum of their squares.

    Each sum is kept as two floats, as in the tally.
    """

    counts: Ints
    sums: Floats
    carry: Floats
    squares: Floats
    squares_carry: Floats


def new_tally(arms: int) -> Tally:
    """Return the tally of arms that nobody has pulled yet."""
    none = np.zeros(arms, np.int64)
    return Tally(none, none.copy(), np.zeros(arms), np.zeros(arms), none.copy())


def new_bills(arms: int) -> Bills:
    """Return the bills of arms that nobody has paid for yet."""
    return Bills(np.zeros(arms, np.int64), np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(arms))


@inlined
def observe(state: Any, arm: int, pulls: int, reward_sum: float) -> None:
    """Fold the rewards of `pulls` pulls of one arm into the state; draws no conclusion.

    The sum is kept as two floats, the rounded sum and what rounding left over. Rewards that are multiples of
    2**-60, which every float from 1/256 to 1 is, are summed exactly up to 2**33 pulls, so any order of tells
    gives the same state.
    """
    tally = state.tally
    tally.pulls[arm] += pulls
    add(tally.sums, tally.carry, arm, reward_sum)


@inlined
def charge(state: Any, arm: int, cost: float) -> None:
    """Fold what one use of an arm has cost into the bills of a policy that learns costs."""
    bills = state.bills
    bills.counts[arm] += 1
    add(bills.sums, bills.carry, arm, cost)
    add(bills.squares, bills.squares_carry, arm, cost * cost)


@inlined
def add(sums: Any, carry: Any, arm: int, value: float) -> None:
    """Add to a sum that is kept as two floats: Knuth's two-sum, then renormalised."""
    before = sums[arm]
    total = before + value
    part = total - before
    lost = (before - (total - part)) + (value - part)
    rest = carry[arm] + lost
    exact = total + rest
    sums[arm] = exact
    carry[arm] = rest - (exact - total)


@inlined
def handed(state: Any, arm: int) -> int:
    """Count the pulls of an arm that were handed out, whether or not their feedback is back."""
    return state.tally.pulls[arm] + state.tally.pending[arm]


@inlined
def mean(state: Any, arm: int) -> float:
    """Mean reward of an arm, 0 before its first reward."""
    pulls = state.tally.pulls[arm]
    return state.tally.sums[arm] / pulls if pulls > 0 else 0.0


@inlined
def radius(width: float, pulls: int) -> float:
    """Confidence radius width / sqrt(n), without limit before the first reward."""
    return width / np.sqrt(pulls) if pulls > 0 else np.inf


@inlined
def all_seen(state: Any, among: int) -> bool:
    """Tell whether a pull of every arm among the cheapest ones was handed out."""
    least = handed(state, 0)
    for k in range(1, among):
        least = min(least, handed(state, k))
    return least > 0


@inner
def unseen(state: Any, among: int) -> Ints:
    """Arms among the cheapest ones of which no pull was handed out yet: the first batch of most policies."""
    found = np.empty(among, np.int64)
    count = 0
    for k in range(among):
        if handed(state, k) == 0:
            found[count] = k
            count += 1
    return found[:count].copy()


@inlined
def any_pending(state: Any) -> bool:
    """Tell whether feedback is still out."""
    out = 0
    for k in range(len(state.tally.pending)):
        out += state.tally.pending[k]
    return out > 0
