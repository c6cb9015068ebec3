"""How a session went over time, in few numbers: for pictures.

Time is cut into bins of equal width, as many as are told apart in a picture; when there are more, two become
one. Each has by option: decisions, rewards that came, their sum, and what all decisions of that time would
have cost for that option; and for all: what was spent by price, and how late feedback came.
"""

from __future__ import annotations

from array import array
from typing import Any

__all__ = ["BINS", "Series"]

BINS = 128
_BY_OPTION = ("asked", "told", "rewards", "always")
_FOR_ALL = ("spent", "delays", "answers")


class Bin:
    """What happened within one bin."""

    __slots__ = (*_BY_OPTION, *_FOR_ALL)

    def __init__(self, options: int) -> None:
        self.asked = array("d", bytes(8 * options))
        self.told = array("d", bytes(8 * options))
        self.rewards = array("d", bytes(8 * options))
        self.always = array("d", bytes(8 * options))
        self.spent = 0.0
        self.delays = 0.0
        self.answers = 0.0

    def take_in(self, other: Bin) -> None:
        """Add what another bin has."""
        for name in _BY_OPTION:
            mine, theirs = getattr(self, name), getattr(other, name)
            for option, value in enumerate(theirs):
                mine[option] += value
        for name in _FOR_ALL:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Series:
    """The bins, by number: bin i begins at i times the width."""

    def __init__(self, options: int, width: float = 1.0) -> None:
        self.options = options
        self.width = width
        self.bins: dict[int, Bin] = {}

    def bin(self, at: float) -> Bin:
        """Return the bin of a time."""
        number = int(at // self.width)
        found = self.bins.get(number)
        if found is None:
            found = self.bins[number] = Bin(self.options)
            if len(self.bins) > BINS or max(self.bins) - min(self.bins) >= 4 * BINS:
                self._coarsen()
                return self.bin(at)
        return found

    def _coarsen(self) -> None:
        """Double the width until there are not too many bins, nor too many between the first and the last."""
        while len(self.bins) > BINS or max(self.bins) - min(self.bins) >= 4 * BINS:
            self.width *= 2
            bins: dict[int, Bin] = {}
            for number, each in self.bins.items():
                if number // 2 in bins:
                    bins[number // 2].take_in(each)
                else:
                    bins[number // 2] = each
            self.bins = bins

    def add_option(self) -> None:
        """Make room for a new option."""
        self.options += 1
        for each in self.bins.values():
            for name in _BY_OPTION:
                getattr(each, name).append(0.0)

    def listed(self) -> dict[str, Any]:
        """Return times and values by name, oldest first."""
        numbers = sorted(self.bins)
        found: dict[str, Any] = {"width": self.width, "times": [number * self.width for number in numbers]}
        for name in _BY_OPTION:
            found[name] = [list(getattr(self.bins[number], name)) for number in numbers]
        for name in _FOR_ALL:
            found[name] = [getattr(self.bins[number], name) for number in numbers]
        return found

    @classmethod
    def loaded(cls, data: dict[str, Any], options: int) -> Series:
        """Return the series that `listed` wrote."""
        found = cls(options, float(data["width"]))
        for place, time in enumerate(data["times"]):
            each = found.bins[round(time / found.width)] = Bin(options)
            for name in _BY_OPTION:
                setattr(each, name, array("d", data[name][place]))
            for name in _FOR_ALL:
                setattr(each, name, float(data[name][place]))
        return found
