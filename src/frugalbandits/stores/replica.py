"""A session as the fold of a log: what one worker knows of a session that many share.

Facts of feedback commute, and changes come in the order of the log; so whoever has read as far has the same
tallies. Decisions that this worker has handed out count here at once, and for the others when it says so.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from frugalbandits.core.session import Decision, Session, snapshot, stored
from frugalbandits.core.session.history import Change, History
from frugalbandits.core.session.terms import PAUSED
from frugalbandits.core.session.waiting import Waiting
from frugalbandits.errors import Expired
from frugalbandits.stores import facts
from frugalbandits.stores.contract import Fact
from frugalbandits.stores.counts import Counts, Effect
from frugalbandits.stores.ledger import Ledger
from frugalbandits.stores.series import Series
from frugalbandits.stores.telling import Telling
from frugalbandits.stores.tokens import packed

__all__ = ["FORMAT", "Replica"]

FORMAT = "frugalbandits-replica"
VERSION = 1
_WIDEST = 2_000  # characters of what is noticed


class SharedHistory(History):
    """Changes as the log has them. What this worker notices becomes a fact first: others notice it too."""

    def __init__(self, notice: Callable[[int, str, str | None, str], None]) -> None:
        super().__init__()
        self._notice = notice

    def add(self, decision: int, kind: str, option: str | None, words: str) -> None:
        """Take down a change that comes from the log; propose what was noticed."""
        if kind in ("price", "added", "paused", "resumed", "retired"):
            super().add(decision, kind, option, words)
        else:
            self._notice(decision, kind, option, words)

    def record(self, change: Change) -> None:
        """Take down what the log says was noticed."""
        self.changes.append(change)
        self.total += 1


class NothingWaits(Waiting):
    """What is waited for is counted in cells: this only takes down feedback that comes too late."""

    def handed_out(self, id_: int, now: float) -> None:
        """Do nothing: an id has its time with it."""


class Replica(Telling, Session):
    """A session that is a fold of facts: what it hands out, and what it keeps."""

    _routes = False
    _money: Ledger
    _history: SharedHistory
    _plans_to_explain = True  # others may have told much since this worker planned

    def _found(self) -> None:
        self._worker = secrets.token_hex(6)
        self._turn = 0
        self._unsent: Counter[tuple[int, int, int]] = Counter()
        self._in_flight: dict[str, Fact] = {}  # what was said, and is not in the log for all that is known
        self._proposed: dict[str, Fact] = {}
        self._raised: Counter[str] = Counter()  # alarms by option, as noticed here
        self._logged: Counter[str] = Counter()  # and as the log has them

    def _lives(self) -> float | None:
        return self._terms.time_to_live

    def _was_late(self, error: Expired) -> None:
        self._came_late(error)

    # From a log or a snapshot.

    def _begin_with(self, text: str) -> None:
        """Be the session of a text, with no decision out."""
        snapshot.read_into(self, text, None)
        for option in range(len(self._names)):
            state, rank = self._home(option)
            state.tally.lost[rank] += state.tally.pending[rank]
            state.tally.pending[rank] = 0
        ttl = self._terms.time_to_live
        waiting = NothingWaits(ttl)
        waiting.late, waiting.latest = self._waiting.late, self._waiting.latest
        self._wait_in(waiting)
        self._money = Ledger.of(self._money, self._asked, self._next)
        self._counts = Counts(len(self._names), ttl)
        self._series = Series(len(self._names))
        history = SharedHistory(self._notice)
        history.changes.extend(self._history.changes)
        history.total = self._history.total
        self._history = history
        if self._rng is not None:
            # Workers that draw the same numbers would make the same mistakes.
            self._rng = np.random.default_rng()
        self._void()
        self._no_slot()
        self._look_around()

    def _captured(self) -> Callable[[], str]:
        # The log does not have what this worker has not said yet.
        with self._without_unsent():
            self._date_back()
            session = self._settled()
            data = {
                "format": FORMAT,
                "version": VERSION,
                "seen": self._seen,
                "key": self._seen_key,
                "now": self._log_now,
                "alarms": dict(self._logged),
                "ledger": self._money.dumped(),
                "counts": self._counts.dumped(),
                "series": self._series.listed(),
            }
        return lambda: json.dumps({**data, "session": stored.dump(session)}, allow_nan=False)

    def _date_back(self) -> None:
        """Have nothing noted at a number of decisions that the log does not have yet."""
        now = self._next
        noted = [each._replace(decision=min(each.decision, now)) for each in self._history.changes]
        self._history.changes.clear()
        self._history.changes.extend(noted)
        self._events = [(min(time, now), kind, name) for time, kind, name in self._events]
        self._lost_at = {option: min(at, now) for option, at in self._lost_at.items()}

    def _restore(self, text: str) -> None:
        """Be what `_dumped` wrote."""
        try:
            data = self._loaded(text, FORMAT, VERSION)
            self._begin_with(data["session"])
            self._money = Ledger.loaded(data["ledger"])
            self._counts = Counts.loaded(data["counts"], self._terms.time_to_live)
            self._series = Series.loaded(data["series"], len(self._names))
            self._logged = Counter(data["alarms"])
            self._raised = Counter(self._logged)
            self._seen, self._log_now = int(data["seen"]), self._believed(float(data["now"]))
            self._counts.set_back(self._log_now)
            self._seen_key = str(data.get("key", ""))
            for option in range(len(self._names)):
                waiting = self._counts.waiting(option)
                state, rank = self._home(option)
                state.tally.pending[rank] += waiting
                state.tally.lost[rank] -= waiting
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise self._damaged(error) from error
        self._no_slot()

    def _settled(self) -> dict[str, Any]:
        """Copy the session as one of its own, for `stored.dump`: what waits is given up in it."""
        waiting = [self._counts.waiting(option) for option in range(len(self._names))]
        try:
            self._move_waiting(waiting, -1)
            return snapshot.captured(self, self._money.money(self._asked, self._next))
        finally:
            self._move_waiting(waiting, 1)

    def _move_waiting(self, waiting: list[int], sign: int) -> None:
        for option, count in enumerate(waiting):
            state, rank = self._home(option)
            state.tally.pending[rank] += sign * count
            state.tally.lost[rank] -= sign * count

    @contextmanager
    def _without_unsent(self) -> Iterator[None]:
        """Leave out for a moment what this worker has handed out and the log does not have."""
        undone = []
        for (option, epoch, slot), count in [*self._unsent.items(), *self._flying()]:
            state, rank = self._home(option)
            effect = self._counts.take_back(epoch, slot, option, count, int(state.tally.lost[rank]))
            self._count(option, epoch, effect)
            undone.append((option, epoch, slot, count, effect))
        try:
            yield
        finally:
            for option, epoch, slot, count, effect in undone:
                self._counts.hand_out(epoch, slot, option, count)
                self._count(option, epoch, Effect(*(-part for part in effect)))

    def _flying(self) -> Iterator[tuple[tuple[int, int, int], int]]:
        for fact in self._in_flight.values():
            body = json.loads(fact.body)
            if body["w"] == self._worker:
                for option, epoch, slot, count in body["n"]:
                    yield (option, epoch, slot), count

    def _start_over(self, load: Callable[[], None]) -> None:
        """Load another state, and add the decisions that this worker has not written to the log yet.

        Counts that it has written are in the snapshot, or will be read: so it takes another name, and they
        count as those of another worker. Decisions for options that the loaded state does not have, because
        the log lost them in a failover, are left out.
        """
        self._worker = secrets.token_hex(6)
        self._proposed = {}
        self._logged, self._raised = Counter(), Counter()
        load()
        known = len(self._names)
        self._unsent = Counter({key: count for key, count in self._unsent.items() if key[0] < known})
        self._in_flight = {
            key: fact
            for key, fact in self._in_flight.items()
            if all(row[0] < known for row in json.loads(fact.body)["n"])
        }
        for (option, epoch, slot), count in self._unsent.items():
            self._count(option, epoch, self._counts.hand_out(epoch, slot, option, count))

    # Handing out.

    def _look_around(self) -> None:
        super()._look_around()
        # Times to live are kept by cells, so they are nothing to look at in each call.
        self._hindered = bool(self._lost_at) or PAUSED in self._standing

    def _anything_out(self) -> bool:
        """Let a batch go on: it ends where anything comes in."""
        return False

    def _sweep(self) -> None:
        """Do nothing: what is lost follows from the log."""

    def _no_slot(self) -> None:
        self._slot, self._slot_begins, self._slot_ends, self._cell_epoch = 0, 0.0, float("-inf"), -1

    def _hand_out(self, metadata: Any) -> Decision:
        if self._at == len(self._ranks):
            self._go_on()
        rank = self._ranks[self._at]
        reason = self._reasons.get(rank)
        if reason is None:
            reason = self._reasons[rank] = self._policy.reason(self._state, rank)
        decision = self._deliver(rank, reason, metadata, self._wanted)
        self._at += 1  # last: metadata that is refused uses up nothing
        return decision

    def _deliver(self, rank: int, reason: str, metadata: Any, wanted: bool) -> Decision:
        noted = packed(metadata)
        now = self._now()
        option, epoch, counts = self._ranked[rank], self._money.epoch, self._counts
        if not self._slot_begins <= now < self._slot_ends or epoch != self._cell_epoch:
            self._slot, self._cell_epoch = counts.slot(now), epoch
            self._slot_begins, self._slot_ends = counts.begin(self._slot), counts.until(self._slot)
        self._unsent[option, epoch, self._slot] += 1
        cell = counts.cells.get((epoch, self._slot))
        if cell is not None and cell.asked[option] >= cell.answered[option]:
            # What `_count` would do with one more that waits: this is where time counts.
            cell.asked[option] += 1
            self._state.tally.pending[rank] += 1
            self._asked[option] += 1
            self._next += 1
            self._money.epochs[epoch].asked[option] += 1
        else:
            self._count(option, epoch, counts.hand_out(epoch, self._slot, option, 1))
        ttl = self._terms.time_to_live
        return Decision(
            self._tokens.issue(option, epoch, now, wanted, noted),
            self._names[option],
            reason,
            metadata,
            wanted,
            None if ttl is None else now + ttl,
        )

    def _count(self, option: int, epoch: int, effect: Effect) -> None:
        state, rank = self._home(option)
        tally = state.tally
        tally.pending[rank] += effect.waiting
        tally.lost[rank] += effect.lost
        if effect.handed_out:
            self._asked[option] += effect.handed_out
            self._next += effect.handed_out
            self._money.count(epoch, option, effect.handed_out)

    def _to_keep(self, after: Any) -> int | None:
        if after is None or isinstance(after, Decision):
            return super()._to_keep(after)
        return self._token(after).option

    # Noticing.

    def _notice(self, decision: int, kind: str, option: str | None, words: str) -> None:
        """Propose a fact on what was noticed; what the log has already is not said again."""
        if kind == "alarm" and option is not None:
            self._raised[option] += 1
            if self._raised[option] <= self._logged[option]:
                return
            key = f"alarm:{self._raised[option]}:{option}"
        elif kind == "late":
            key = f"late:{self._worker}:{self._waiting.late}"
        else:
            key = f"{kind}:{self._money.epoch}:{words}:{option}"
        fact = facts.noticed(key, kind, option, words[:_WIDEST], decision, self._now(), self._author)
        self._proposed[fact.key] = fact
