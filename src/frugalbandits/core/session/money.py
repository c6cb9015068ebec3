"""What decisions have cost: the price at the time, until a bill says otherwise.

Told costs are rounded to a multiple of some 2**-60 of the first price of their option, and their sums
are kept as two floats: so they are exact, and the same whatever order the bills came in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from frugalbandits.core.quality import finite_number
from frugalbandits.core.tally import add
from frugalbandits.errors import InputError

__all__ = ["DEAREST", "LEARNED_BITS", "Epoch", "Money", "check_cost", "limited"]

DEAREST = 1e100  # beyond it, the square of a cost is of no use
#: Costs that are learned from are rounded to so many bits below the price: so their squares sum exactly.
LEARNED_BITS = 36


def check_cost(what: str, cost: float) -> float:
    """Return a cost: a finite number, 0 or more."""
    value = finite_number(what, cost)
    if not 0.0 <= value <= DEAREST:
        raise InputError(f"{what} must be 0 or more, and at most {DEAREST:g}, but it is {cost!r}")
    return value


class Epoch:
    """A price that no longer holds for decisions from number `until` on.

    `asked` decisions were for the option while it held, and the bills of `billed` of them are in.
    """

    __slots__ = ("asked", "billed", "price", "until")

    def __init__(self, until: int, price: float, asked: int, billed: int) -> None:
        self.until, self.price, self.asked, self.billed = until, price, asked, billed


class Money:
    """Prices, bills and spending by option, in the order in which options came.

    A price holds from decision number `since` on. `before` has the earlier ones, as far back as a bill may
    still come; of those further back, `base` is what the decisions cost whose bills never came, and
    `replaced` the prices of the others. `counted` is the number of decisions before `since`; `always` is what
    every decision of the session until then would have cost, had it been for this option.
    """

    def __init__(self, prices: Sequence[float]) -> None:
        self.units: list[float] = []
        self.prices: list[float] = []
        self.since: list[int] = []
        self.before: list[list[Epoch]] = []
        self.base: list[float] = []
        self.replaced: list[float] = []
        self.counted: list[int] = []
        self.always: list[float] = []
        self.bills: list[int] = []  # of decisions since the price holds
        self.billed: list[float] = []
        self.billed_carry: list[float] = []
        self.extra: list[float] = []  # bills of uses that were no decisions
        self.extra_carry: list[float] = []
        for price in prices:
            self.add(price, 0)

    def add(self, price: float, decisions: int) -> None:
        """Take in a new option."""
        # The square of a much smaller cost would be 0.
        exponent = max(math.frexp(price)[1], -300) if price else 0
        self.units.append(math.ldexp(1.0, min(exponent, 400)))
        self.prices.append(price)
        self.since.append(decisions)
        self.before.append([])
        self.always.append(limited(price * decisions))
        for amounts in (self.base, self.replaced, self.billed, self.billed_carry):
            amounts.append(0.0)
        for amounts in (self.extra, self.extra_carry):
            amounts.append(0.0)
        for counts in (self.counted, self.bills):
            counts.append(0)

    def reprice(self, option: int, price: float, asked: int, decisions: int, oldest: int) -> None:
        """Set a price from now on; no bill will come for a decision before `oldest`."""
        last = self.prices[option]
        epoch = Epoch(decisions, last, asked - self.counted[option], self.bills[option])
        self.always[option] = limited(self.always[option] + last * (decisions - self.since[option]))
        kept = []
        for each in (*self.before[option], epoch):
            if each.until > oldest:
                kept.append(each)
            else:
                self.base[option] = limited(self.base[option] + each.price * (each.asked - each.billed))
                self.replaced[option] = limited(self.replaced[option] + each.price * each.billed)
        self.before[option] = kept
        self.prices[option], self.since[option] = price, decisions
        self.counted[option], self.bills[option] = asked, 0

    def rounded(self, option: int, cost: float, bits: int = 60) -> float:
        """Return the nearest multiple of a unit of an option, so many bits below its first price."""
        unit = math.ldexp(self.units[option], -bits)
        parts = cost / unit
        return float(round(parts)) * unit if math.isfinite(parts) else cost

    def bill(self, option: int, decision: int, cost: float) -> None:
        """Put what a decision has cost in place of its price."""
        self._take(option, cost)
        if decision >= self.since[option]:
            self.bills[option] += 1
            return
        for epoch in self.before[option]:
            if decision < epoch.until:
                epoch.billed += 1
                return

    def void(self, option: int, decision: int) -> None:
        """Leave out a decision that was not carried out: it cost nothing, whatever the option."""
        self._leave_out(option, [self._price_at(each, decision) for each in range(len(self.prices))])

    def _price_at(self, option: int, decision: int) -> float:
        """Return the price of an option when a decision was made, or the oldest that is known."""
        if decision >= self.since[option]:
            return self.prices[option]
        for epoch in self.before[option]:
            if decision < epoch.until:
                return epoch.price
        return self.prices[option]

    def _leave_out(self, option: int, prices: Sequence[float]) -> None:
        self.base[option] = limited(self.base[option] - prices[option])
        for each, price in enumerate(prices):
            self.always[each] = limited(self.always[each] - price)

    def _take(self, option: int, cost: float) -> None:
        add(self.billed, self.billed_carry, option, self.rounded(option, cost))

    def pay(self, option: int, cost: float) -> None:
        """Add what a use cost that was no decision."""
        add(self.extra, self.extra_carry, option, self.rounded(option, cost))

    def spent(self, option: int, asked: int) -> float:
        """Return what an option has cost, given its number of decisions."""
        by_price = self.prices[option] * (asked - self.counted[option] - self.bills[option])
        for epoch in self.before[option]:
            by_price += epoch.price * (epoch.asked - epoch.billed)
        return by_price + self.base[option] + self.billed[option] + self.extra[option]

    def by_price(self, option: int, decisions: int) -> float:
        """Return what so many decisions would have cost for one option, by its prices alone."""
        return self.always[option] + self.prices[option] * (decisions - self.since[option])

    def in_place_of(self, option: int) -> tuple[float, int]:
        """Return the prices that bills took the place of, and how many bills there are."""
        replaced = self.prices[option] * self.bills[option] + self.replaced[option]
        count = self.bills[option]
        for epoch in self.before[option]:
            replaced += epoch.price * epoch.billed
            count += epoch.billed
        return replaced, count

    def had_it_been_all(self, option: int, decisions: int) -> float:
        """Return what so many decisions would have cost for one option, by its prices and bills."""
        by_price = self.by_price(option, decisions)
        replaced, count = self.in_place_of(option)
        if replaced > 0:
            return by_price * (self.billed[option] / replaced)
        return by_price + self.billed[option] / count * decisions if count else by_price


def limited(amount: float) -> float:
    """Return an amount that can be stored: prices may be anywhere in the range of floats."""
    return min(max(amount, -1e300), 1e300)
