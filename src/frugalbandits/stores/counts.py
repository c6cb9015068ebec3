"""Decisions that several workers handed out, and what came back for them: counts without an order.

A worker says about once a second how many decisions it has handed out of each option; feedback carries its
own time and prices. So decisions are counted in *cells*: those of one epoch of prices and one slot of time.
In a cell, as many wait as were handed out and not answered. Where more were answered than anybody said were
handed out, because a worker died before it could say so, those count as handed out.

A cell ends when no feedback can come for it any more, by the clock of the log: the latest time in it. What
was waiting then is lost. Without a time to live there is one slot, and nothing ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

__all__ = ["GRACE", "SLOTS", "Cell", "Counts", "Effect"]

SLOTS = 64  # of the time to live
GRACE = 5.0  # seconds within which a worker has said what it handed out


class Effect(NamedTuple):
    """What a fact changes: decisions that wait, that are lost, and that were handed out."""

    waiting: int = 0
    lost: int = 0
    handed_out: int = 0


class Cell:
    """Counts by option, in the order in which options came."""

    __slots__ = ("answered", "asked")

    def __init__(self, options: int) -> None:
        self.asked = [0] * options
        self.answered = [0] * options

    def waiting(self, option: int) -> int:
        """Count the decisions that wait for feedback."""
        return max(self.asked[option] - self.answered[option], 0)

    def handed_out(self, option: int) -> int:
        """Count the decisions that were handed out, for all that is known."""
        return max(self.asked[option], self.answered[option])


class Counts:
    """The cells of a session, by epoch and slot."""

    def __init__(self, options: int, time_to_live: float | None) -> None:
        self.options = options
        self.time_to_live = time_to_live
        # At least a nanosecond: a part of the smallest positive number is zero.
        self._width = max((time_to_live or 0.0) / SLOTS, 1e-9)
        self.cells: dict[tuple[int, int], Cell] = {}
        self.ended = 0  # slots below it are over

    def slot(self, time: float) -> int:
        """Return the slot of a time."""
        return 0 if self.time_to_live is None else int(time // self._width)

    def begin(self, slot: int) -> float:
        """Return when a slot begins."""
        return float("-inf") if self.time_to_live is None else slot * (self.time_to_live / SLOTS)

    def until(self, slot: int) -> float:
        """Return when a slot ends."""
        return float("inf") if self.time_to_live is None else (slot + 1) * self._width

    def cell(self, epoch: int, slot: int) -> Cell:
        """Return a cell; it must not be over."""
        found = self.cells.get((epoch, slot))
        if found is None:
            found = self.cells[epoch, slot] = Cell(self.options)
        return found

    def add_option(self) -> None:
        """Make room for a new option."""
        self.options += 1
        for cell in self.cells.values():
            cell.asked.append(0)
            cell.answered.append(0)

    def hand_out(self, epoch: int, slot: int, option: int, count: int) -> Effect:
        """Count decisions that were handed out."""
        if slot < self.ended:
            return Effect(lost=count, handed_out=count)
        cell = self.cell(epoch, slot)
        waiting, handed_out = cell.waiting(option), cell.handed_out(option)
        cell.asked[option] += count
        return Effect(cell.waiting(option) - waiting, 0, cell.handed_out(option) - handed_out)

    def take_back(self, epoch: int, slot: int, option: int, count: int, lost: int) -> Effect:
        """Leave out decisions that were counted as handed out; `lost` of the option were given up so far.

        In a slot that is over, those that were told all the same count as handed out by that alone.
        """
        if slot < self.ended:
            gone = min(count, lost)
            return Effect(lost=-gone, handed_out=-gone)
        return self.hand_out(epoch, slot, option, -count)

    def answer(self, epoch: int, slot: int, option: int, lost: int) -> Effect:
        """Count one decision for which feedback came; `lost` decisions of the option were given up."""
        if slot < self.ended:
            # A clock that is behind let it in: it was given up, and now is not.
            return Effect(lost=-1) if lost > 0 else Effect(handed_out=1)
        cell = self.cell(epoch, slot)
        waiting, handed_out = cell.waiting(option), cell.handed_out(option)
        cell.answered[option] += 1
        return Effect(cell.waiting(option) - waiting, 0, cell.handed_out(option) - handed_out)

    def end(self, now: float) -> Iterator[tuple[int, int]]:
        """Drop cells that are over at a time; yield options and how many of their decisions are lost."""
        if self.time_to_live is None:
            return
        first = self.slot(now - self.time_to_live - GRACE)
        if first <= self.ended:
            return
        self.ended = first
        for key in [key for key in self.cells if key[1] < first]:
            cell = self.cells.pop(key)
            for option in range(self.options):
                if cell.waiting(option):
                    yield option, cell.waiting(option)

    def set_back(self, now: float) -> None:
        """Let slots go on that ended only because a clock was ahead."""
        if self.time_to_live is not None:
            self.ended = min(self.ended, self.slot(now - self.time_to_live - GRACE))

    def epochs(self) -> set[int]:
        """Return the epochs that feedback may still come for."""
        return {epoch for epoch, _ in self.cells}

    def waiting(self, option: int) -> int:
        """Count the decisions for an option that wait for feedback."""
        return sum(cell.waiting(option) for cell in self.cells.values())

    def dumped(self) -> dict[str, Any]:
        """Return a copy of everything as plain values."""
        return {
            "options": self.options,
            "ended": self.ended,
            "cells": [[*key, list(cell.asked), list(cell.answered)] for key, cell in self.cells.items()],
        }

    @classmethod
    def loaded(cls, data: dict[str, Any], time_to_live: float | None) -> Counts:
        """Return what `dumped` wrote."""
        found = cls(int(data["options"]), time_to_live)
        found.ended = int(data["ended"])
        for epoch, slot, asked, answered in data["cells"]:
            cell = found.cells[int(epoch), int(slot)] = Cell(0)
            cell.asked, cell.answered = list(asked), list(answered)
        return found
