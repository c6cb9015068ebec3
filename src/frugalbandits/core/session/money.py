"""What decisions have cost: the price at the time, until a bill says otherwise.

Told costs are rounded to a multiple of a unit, some 2**-36 of the largest price at the start, and their sums
are kept as two floats: so they are exact, and the same whatever order the bills came in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from frugalbandits.core.quality import finite_number
from frugalbandits.core.tally import add
from frugalbandits.errors import InputError

__all__ = ["DEAREST", "Money", "check_cost", "unit_of"]

DEAREST = 1e100  # beyond it, the square of a cost is of no use
_FINE = 36  # bits below the largest price


def check_cost(what: str, cost: float) -> float:
    """Return a cost: a finite number, 0 or more."""
    value = finite_number(what, cost)
    if not 0.0 <= value <= DEAREST:
        raise InputError(f"{what} must be 0 or more, and at most {DEAREST:g}, but it is {cost!r}")
    return value


def unit_of(costs: Sequence[float]) -> float:
    """Return what told costs are rounded to a multiple of."""
    largest = max(map(abs, costs))
    exponent = math.frexp(largest)[1] if largest > 0 else 0
    return math.ldexp(1.0, max(exponent, -900) - _FINE)


class Money:
    """Prices, bills and spending by option, in the order in which options came.

    A price holds from decision number `since` on; `before` has the earlier ones, each with the number of the
    first decision that it no longer holds for, as far back as a bill may still come. `base` is what the
    decisions before `since` cost by their prices, of which there were `counted`; `always` is what every
    decision until then would have cost, had it been for this option.
    """

    def __init__(self, prices: Sequence[float], unit: float) -> None:
        self.unit = unit
        self.prices: list[float] = []
        self.since: list[int] = []
        self.before: list[list[tuple[int, float]]] = []
        self.base: list[float] = []
        self.counted: list[int] = []
        self.always: list[float] = []
        self.bills: list[int] = []
        self.billed: list[float] = []
        self.billed_carry: list[float] = []
        self.replaced: list[float] = []  # the prices of those decisions that were billed
        self.replaced_carry: list[float] = []
        self.extra: list[float] = []  # bills of uses that were no decisions
        self.extra_carry: list[float] = []
        for price in prices:
            self.add(price, 0)

    def add(self, price: float, decisions: int) -> None:
        """Take in a new option."""
        self.prices.append(price)
        self.since.append(decisions)
        self.before.append([])
        self.always.append(_limited(price * decisions))
        for amounts in (self.base, self.billed, self.billed_carry, self.replaced, self.replaced_carry):
            amounts.append(0.0)
        for amounts in (self.extra, self.extra_carry):
            amounts.append(0.0)
        for counts in (self.counted, self.bills):
            counts.append(0)

    def reprice(self, option: int, price: float, asked: int, decisions: int, oldest: int) -> None:
        """Set a price from now on; no bill will come for a decision before `oldest`."""
        last = self.prices[option]
        self.base[option] = _limited(self.base[option] + last * (asked - self.counted[option]))
        self.always[option] = _limited(self.always[option] + last * (decisions - self.since[option]))
        self.counted[option] = asked
        kept = [each for each in self.before[option] if each[0] > oldest]
        if decisions > oldest:
            kept.append((decisions, last))
        self.before[option] = kept
        self.prices[option], self.since[option] = price, decisions

    def price_at(self, option: int, decision: int) -> float:
        """Return the price of an option at the time of a decision."""
        if decision < self.since[option]:
            for until, price in self.before[option]:
                if decision < until:
                    return price
        return self.prices[option]

    def rounded(self, cost: float) -> float:
        """Return the nearest multiple of the unit."""
        parts = cost / self.unit
        return float(round(parts)) * self.unit if math.isfinite(parts) else cost

    def bill(self, option: int, decision: int, cost: float) -> None:
        """Put what a decision has cost in place of its price."""
        self.bills[option] += 1
        add(self.billed, self.billed_carry, option, cost)
        add(self.replaced, self.replaced_carry, option, self.rounded(self.price_at(option, decision)))

    def pay(self, option: int, cost: float) -> None:
        """Add what a use cost that was no decision."""
        add(self.extra, self.extra_carry, option, cost)

    def spent(self, option: int, asked: int) -> float:
        """Return what an option has cost, given its number of decisions."""
        by_price = self.base[option] + self.prices[option] * (asked - self.counted[option])
        return by_price + (self.billed[option] - self.replaced[option]) + self.extra[option]

    def had_it_been_all(self, option: int, decisions: int) -> float:
        """Return what so many decisions would have cost for one option, by its prices and bills."""
        by_price = self.always[option] + self.prices[option] * (decisions - self.since[option])
        if self.bills[option] == 0:
            return by_price
        if self.replaced[option] > 0:
            return by_price * (self.billed[option] / self.replaced[option])
        return by_price + self.billed[option] / self.bills[option] * decisions


def _limited(amount: float) -> float:
    """Return an amount that can be stored: prices may be anywhere in the range of floats."""
    return min(max(amount, -1e300), 1e300)
