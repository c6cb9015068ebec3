"""What decisions of several workers have cost: counts and bills that add up in any order.

Prices that hold at one time are an *epoch*, a number that every decision carries. Of each epoch, decisions
and bills are counted by option. An epoch that no feedback can come for any more is folded into plain sums.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from frugalbandits.core.session.money import Money, limited

__all__ = ["Ledger", "Prices"]

_NEVER = 1e300  # a time that JSON can carry


class Prices:
    """One epoch: prices, decisions and bills by option, and when it ended."""

    __slots__ = ("asked", "billed", "ended", "prices")

    def __init__(self, prices: Sequence[float]) -> None:
        self.prices = list(prices)
        self.asked = [0] * len(prices)
        self.billed = [0] * len(prices)
        self.ended = _NEVER


class Ledger(Money):
    """Money of a session whose decisions are not numbered; `since` is the epoch of an option's price.

    `base`, `replaced` and `always` are of the epochs that were folded; `bills` counts all bills of an option.
    """

    def __init__(self, prices: Sequence[float]) -> None:
        self.epoch = 0
        self.epochs: dict[int, Prices] = {}
        super().__init__(prices)
        self.epochs[0] = Prices(prices)

    @classmethod
    def of(cls, money: Money, asked: Sequence[int], decisions: int) -> Ledger:
        """Return the ledger that goes on where money of numbered decisions stands."""
        found = cls(money.prices)
        _carry_over(money, found, asked, decisions)
        found.bills = [money.in_place_of(option)[1] for option in range(len(money.prices))]
        return found

    def money(self, asked: Sequence[int], decisions: int) -> Money:
        """Return money of so many numbered decisions that says the same."""
        found = Money(self.prices)
        _carry_over(self, found, asked, decisions)
        found.since = [decisions] * len(self.prices)
        found.counted = list(asked)
        return found

    def add(self, price: float, decisions: int) -> None:
        """Take in a new option, from a new epoch on."""
        super().add(price, 0)
        option = len(self.prices) - 1
        for each in self.epochs.values():
            # What was decided before it came is counted at its first price.
            each.prices.append(price)
            each.asked.append(0)
            each.billed.append(0)
        if self.epochs:
            self.always[option] = limited(price * (decisions - self._counted()))
            self._next_epoch()
            self.since[option] = self.epoch

    def reprice(self, option: int, price: float, asked: int, decisions: int, oldest: int) -> None:
        """Begin an epoch with another price."""
        self.prices[option] = price
        self._next_epoch()
        self.since[option] = self.epoch

    def _next_epoch(self) -> None:
        self.epoch += 1
        self.epochs[self.epoch] = Prices(self.prices)

    def _counted(self) -> int:
        return sum(sum(each.asked) for each in self.epochs.values())

    def at(self, epoch: int) -> Prices:
        """Return an epoch; of one that was folded, or that is not known yet, the nearest that is there."""
        found = self.epochs.get(epoch)
        return (
            found if found is not None else self.epochs[min(self.epochs, key=lambda each: abs(each - epoch))]
        )

    def count(self, epoch: int, option: int, decisions: int) -> None:
        """Add decisions for an option."""
        self.at(epoch).asked[option] += decisions

    def bill(self, option: int, decision: int, cost: float) -> None:
        """Put what a decision of an epoch has cost in place of its price."""
        self._take(option, cost)
        self.at(decision).billed[option] += 1
        self.bills[option] += 1

    def void(self, option: int, decision: int) -> None:
        """Leave out a decision of an epoch that was not carried out."""
        self._leave_out(option, self.at(decision).prices)

    def fold(self, before: float, needed: Container[int]) -> None:
        """Make plain sums of epochs that ended before a time, but for those that are still needed."""
        for epoch in [epoch for epoch, each in self.epochs.items() if each.ended < before]:
            if epoch in needed:
                continue
            each = self.epochs.pop(epoch)
            decisions = sum(each.asked)
            for option, price in enumerate(each.prices):
                by_price = price * max(each.asked[option] - each.billed[option], 0)
                self.base[option] = limited(self.base[option] + by_price)
                self.replaced[option] = limited(self.replaced[option] + price * each.billed[option])
                self.always[option] = limited(self.always[option] + price * decisions)

    def spent(self, option: int, asked: int) -> float:
        """Return what an option has cost."""
        by_price = sum(
            each.prices[option] * max(each.asked[option] - each.billed[option], 0)
            for each in self.epochs.values()
        )
        return by_price + self.base[option] + self.billed[option] + self.extra[option]

    def by_price(self, option: int, decisions: int) -> float:
        """Return what all decisions would have cost for one option, by its prices alone."""
        return self.always[option] + sum(
            each.prices[option] * sum(each.asked) for each in self.epochs.values()
        )

    def in_place_of(self, option: int) -> tuple[float, int]:
        """Return the prices that bills took the place of, and how many bills there are."""
        replaced = sum(each.prices[option] * each.billed[option] for each in self.epochs.values())
        return replaced + self.replaced[option], self.bills[option]

    def dumped(self) -> dict[str, Any]:
        """Return a copy of everything as plain values."""
        return {
            "epoch": self.epoch,
            "epochs": [
                [epoch, list(each.prices), list(each.asked), list(each.billed), each.ended]
                for epoch, each in self.epochs.items()
            ],
            "prices": list(self.prices),
            "units": list(self.units),
            "since": list(self.since),
            "bills": list(self.bills),
            **{name: list(getattr(self, name)) for name in _SUMS},
        }

    @classmethod
    def loaded(cls, data: dict[str, Any]) -> Ledger:
        """Return the ledger that `dumped` wrote."""
        found = cls(data["prices"])
        found.epoch = int(data["epoch"])
        found.epochs = {}
        for epoch, prices, asked, billed, ended in data["epochs"]:
            each = found.epochs[int(epoch)] = Prices(prices)
            each.asked, each.billed, each.ended = list(asked), list(billed), float(ended)
        for name in ("units", "since", "bills", *_SUMS):
            setattr(found, name, list(data[name]))
        return found


_SUMS = ("base", "replaced", "always", "billed", "billed_carry", "extra", "extra_carry")


def _carry_over(money: Money, found: Money, asked: Sequence[int], decisions: int) -> None:
    """Have what was spent so far as plain sums."""
    found.units = list(money.units)
    for name in ("billed", "billed_carry", "extra", "extra_carry"):
        setattr(found, name, list(getattr(money, name)))
    for option in range(len(money.prices)):
        told = money.billed[option] + money.extra[option]
        found.base[option] = limited(money.spent(option, asked[option]) - told)
        found.always[option] = limited(money.by_price(option, decisions))
        found.replaced[option] = limited(money.in_place_of(option)[0])
