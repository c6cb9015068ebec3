"""Decisions that something is still to come for: rewards, bills, or the end of their time to live.

A decision waits until its reward is told or forgotten, or until its time to live has passed. Its bill may
come before that; where costs are learned, also later: until the time to live has passed, or without one until
`BILLS` further decisions were handed out.

Ids are whole numbers in order, so times are kept for stretches of them and not for each: a stretch covers at
most 1 / `PARTS` of the time to live, and all of it expires when its last decision does. So memory does not
grow with the number of decisions, and a decision lives at most that much longer than it should. For about
another time to live it is known which decisions have expired; of older ones, that they were told, forgotten
or expired.
"""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any, NamedTuple

from frugalbandits.core.quality import finite_number
from frugalbandits.core.session.feedback import Told
from frugalbandits.errors import Expired, InputError, ToldBefore, UnknownDecision

__all__ = ["BILLS", "PARTS", "REMEMBERED", "Expiry", "Stretch", "Waiting", "duration"]

BILLS = 100_000
PARTS = 1_024
STEP = 60.0  # seconds by which a clock may go back before the times that are kept go with it
REMEMBERED = 1_024  # stretches that have expired


class Stretch(NamedTuple):
    """Decisions from number `first` on, handed out between two times."""

    first: int
    start: float
    end: float


class Expiry(NamedTuple):
    """A stretch that has expired: `lost` of its `decisions` were still waiting.

    `which` has a bit for each of these, the first decision's being the lowest, where only some were; -1 for
    old stretches that were joined.
    """

    first: int
    end: float
    decisions: int
    lost: int
    which: int

    def had(self, id_: int) -> bool | None:
        """Tell whether a decision expired; None: not known."""
        if self.lost in (0, self.decisions):
            return self.lost > 0
        return None if self.which < 0 else bool(self.which >> (id_ - self.first) & 1)


class Waiting:
    """Decisions that wait, by id; options by the order in which they came."""

    def __init__(self, time_to_live: float | None) -> None:
        self.time_to_live = time_to_live
        self.options: dict[int, int] = {}
        self.metadata: dict[int, Any] = {}
        self.billed: set[int] = set()  # of those that wait, whose bill is in
        self.owed: dict[int, int] = {}  # no longer waiting, but for a bill: id and option
        self.live: deque[Stretch] = deque()
        self.expired: deque[Expiry] = deque()
        self.now = 0.0  # times run backwards only where `follow` says so
        self.late = 0  # rewards or bills that came after the end
        self.latest = 0.0  # the longest time that feedback was seen to take

    def follow(self, now: float) -> None:
        """Follow a clock that was set back by more than a minute; a smaller step is waited out.

        Times that are kept move with it, so that every decision is as old as it was.
        """
        back = self.now - now
        if back <= STEP:
            return
        self.now = now
        self.live = deque(Stretch(first, start - back, end - back) for first, start, end in self.live)
        self.expired = deque(each._replace(end=each.end - back) for each in self.expired)

    def handed_out(self, id_: int, now: float) -> None:
        """Note when a decision was handed out."""
        self.now = now = max(now, self.now)
        if self.live:
            first, start, _ = self.live[-1]
            if now - start < (self.time_to_live or 0.0) / PARTS:
                self.live[-1] = Stretch(first, start, now)
                return
        self.live.append(Stretch(id_, now, now))

    def overdue(self, now: float, decisions: int) -> Iterable[int]:
        """Return the ids whose time has come, and forget, as they are taken, what else is kept of them."""
        self.now = now = max(now, self.now)
        if self.time_to_live is None or not self.live or now - self.live[0].end <= self.time_to_live:
            return ()
        return self._expire(now, decisions, self.time_to_live)

    def _expire(self, now: float, decisions: int, time_to_live: float) -> Iterator[int]:
        while self.live and now - self.live[0].end > time_to_live:
            stretch = self.live.popleft()
            until = self.live[0].first if self.live else decisions
            count = until - stretch.first
            which = bytearray(count // 8 + 1)
            lost = 0
            for place in range(count):
                id_ = stretch.first + place
                self.owed.pop(id_, None)
                if id_ in self.options:
                    lost += 1
                    which[place // 8] |= 1 << place % 8
                    yield id_
            some = int.from_bytes(which, "little") if 0 < lost < count else 0
            self.expired.append(Expiry(stretch.first, stretch.end, count, lost, some))
            if len(self.expired) > REMEMBERED:
                one, two = self.expired.popleft(), self.expired.popleft()
                count, lost = one.decisions + two.decisions, one.lost + two.lost
                self.expired.appendleft(Expiry(one.first, two.end, count, lost, -1))

    def oldest(self, decisions: int) -> int:
        """Return a number below which no bill can come any more for a decision."""
        first = next(iter(self.options), decisions)
        if self.owed:
            lives = self.live[0].first if self.live else decisions
            first = min(first, decisions - BILLS if self.time_to_live is None else lives)
        return max(first, 0)

    def owes(self, id_: int, option: int, decisions: int) -> None:
        """Note that the bill of a decision is still out."""
        self.owed[id_] = option
        if self.time_to_live is None and len(self.owed) > 2 * BILLS:
            kept = {each: option for each, option in self.owed.items() if each >= decisions - BILLS}
            self.owed.clear()
            self.owed.update(kept)

    def for_reward(self, id_: object, decisions: int) -> int:
        """Return the id of a decision that waits for its reward; raise an error that says why it is none."""
        whole = _index(id_, decisions)
        if whole in self.options:
            return whole
        raise self._gone(whole, "was told or forgotten before")

    def for_bill(self, id_: object, decisions: int) -> int:
        """Return the id of a decision that waits for its bill; raise an error that says why it is none."""
        whole = _index(id_, decisions)
        if whole in self.billed:
            raise ToldBefore(f"the cost of decision {whole} was told before")
        if whole in self.options:
            return whole
        if whole in self.owed and (self.time_to_live is not None or whole >= decisions - BILLS):
            return whole
        raise self._gone(whole, "was told or forgotten before, and no cost is waited for")

    def told_of(self, entries: Iterable[Told], decisions: int) -> tuple[dict[int, float], dict[int, float]]:
        """Return the rewards and the costs that are told, by id; raise an error where one cannot be."""
        rewards: dict[int, float] = {}
        costs: dict[int, float] = {}
        for entry in entries:
            if entry.reward is not None:
                id_ = self.for_reward(entry.id, decisions)
                if id_ in rewards:
                    raise ToldBefore(f"decision {id_} stands twice in what is told")
                rewards[id_] = entry.reward
            if entry.cost is not None:
                id_ = self.for_bill(entry.id, decisions)
                if id_ in costs:
                    raise ToldBefore(f"the cost of decision {id_} stands twice in what is told")
                costs[id_] = entry.cost
        return rewards, costs

    def _gone(self, id_: int, told: str) -> InputError:
        live = self.live[0].first if self.live else id_ + 1
        if self.time_to_live is None or not self.expired or id_ >= live:
            return ToldBefore(f"decision {id_} {told}")
        place = max(bisect_right(self.expired, id_, key=operator.attrgetter("first")) - 1, 0)
        found = self.expired[place]
        had = found.had(id_)
        if had is False:
            return ToldBefore(f"decision {id_} {told}")
        took = self.now - found.end
        over = f"it was handed out {took:,.6g} s ago, and its time to live is {self.time_to_live:,.6g} s"
        if had:
            return Expired(f"decision {id_} has expired: {over}", took)
        return Expired(f"decision {id_} was told, forgotten or expired: {over}", took)

    def came_late(self, error: Expired) -> None:
        """Take down that feedback came for a decision that has expired."""
        self.late += 1
        self.latest = max(self.latest, error.seconds)


def _index(id_: Any, decisions: int) -> int:
    """Return an id as a whole number of a decision that was handed out."""
    if not isinstance(id_, bool):
        try:
            whole = operator.index(id_)
        except TypeError:
            raise UnknownDecision(f"no decision has the id {id_!r}") from None
        if 0 <= whole < decisions:
            return whole
    raise UnknownDecision(f"no decision has the id {id_!r}")


def duration(value: Any) -> float | None:
    """Return a time to live in seconds."""
    if value is None:
        return None
    seconds = value.total_seconds() if isinstance(value, timedelta) else finite_number("time_to_live", value)
    if seconds <= 0:
        raise InputError(f"time_to_live must be more than 0 seconds, but it is {value!r}")
    return seconds
