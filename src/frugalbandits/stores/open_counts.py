"""Decisions without feedback, counted by the time at which they were handed out.

A replica keeps no list of them: what feedback needs is in the log, under the key of the decision.
"""

from __future__ import annotations

from typing import Any

__all__ = ["OpenCounts"]

PARTS = 64  # slots of a time to live
SHORTEST = 1.0  # seconds of a slot


class OpenCounts:
    """Numbers of pending decisions by slot of time; a slot expires as a whole, after its time to live."""

    def __init__(self, time_to_live: float | None, grace: float) -> None:
        self._time_to_live = time_to_live
        self._grace = grace  # seconds by which clocks of workers may differ
        self._width = max((time_to_live or 0.0) / PARTS, SHORTEST)
        self._open: dict[int, int] = {}
        self._ended = 0  # slots below it have expired

    @property
    def total(self) -> int:
        """The number of pending decisions."""
        return sum(self._open.values())

    def is_over(self, issued: float) -> bool:
        """Tell whether a decision that was handed out at a time has expired."""
        return self._slot(issued) < self._ended

    def add(self, issued: float) -> None:
        """Count a decision, unless it has expired already."""
        slot = self._slot(issued)
        if slot >= self._ended:
            self._open[slot] = self._open.get(slot, 0) + 1

    def close(self, issued: float) -> None:
        """Count that feedback came for a decision, or that it was forgotten."""
        slot = self._slot(issued)
        if slot < self._ended or not self._open:
            return
        # A snapshot of format 1 knows times of decisions only roughly: then another slot has it.
        place = slot if slot in self._open else min(self._open)
        self._open[place] -= 1
        if not self._open[place]:
            del self._open[place]

    def expire(self, now: float) -> None:
        """Drop the slots that have outlived their time to live."""
        if self._time_to_live is None:
            return
        ended = self._slot(now - self._time_to_live - self._grace)
        if ended > self._ended:
            self._ended = ended
            for slot in [each for each in self._open if each < ended]:
                del self._open[slot]

    def set_back(self, now: float) -> None:
        """Let slots go on that ended only because a clock was ahead."""
        if self._time_to_live is not None:
            self._ended = min(self._ended, self._slot(now - self._time_to_live - self._grace))

    def dumped(self) -> dict[str, Any]:
        """Return the counts as plain values; `load` reads them."""
        return {"open": sorted([slot, count] for slot, count in self._open.items()), "ended": self._ended}

    def load(self, data: Any) -> None:
        """Take over what `dumped` returned."""
        self._ended = int(data["ended"])
        self._open = {int(slot): int(count) for slot, count in data["open"]}
        if any(count < 1 or slot < self._ended for slot, count in self._open.items()):
            raise ValueError(f"counts of pending decisions are {data!r}")

    def _slot(self, time: float) -> int:
        return 0 if self._time_to_live is None else int(max(time, 0.0) // self._width)
