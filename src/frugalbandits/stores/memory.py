"""A store that ends with its process: for tests, for trying things out, and where nothing has to survive."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence

from frugalbandits.stores.contract import LAPSING, Entry, Outcome, Snapshot
from frugalbandits.stores.rules import Call, added, check_count, check_key, check_name, check_upto, settle
from frugalbandits.stores.writing import WritingStore

__all__ = ["MemoryStore"]


class MemoryStore(WritingStore):
    """Facts in dictionaries, with the thread and the rules of the stores that last.

    Examples
    --------
    >>> from frugalbandits.stores import Fact
    >>> with MemoryStore() as store:
    ...     outcomes = store.append("router", [Fact("d1", "reward", "{}", at=0.0, by="w1")])
    ...     store.sessions()
    {'router': 1}
    """

    def __init__(self) -> None:
        super().__init__("memory:")
        self._logs: dict[str, dict[int, Entry]] = {}
        self._keys: dict[tuple[str, str], Entry] = {}
        self._last: dict[str, int] = {}
        self._snapshots: dict[str, Snapshot] = {}
        self._changed = threading.Condition()
        self._looked_at = 0
        self._begin()

    def read(self, session: str, after: int = 0, limit: int = 10_000) -> list[Entry]:
        """Return entries with numbers above `after`, in order."""
        self._check()
        check_name("the name of a session", session)
        after = check_count("the number to read after", after, 0)
        limit = check_count("the limit of entries to read", limit, 1)
        with self._changed:
            log = self._logs.get(session, {})
            # Numbers are counted up where few are asked for, and sorted out where most have gone.
            span = self._last.get(session, 0) - after
            if span <= 2 * len(log):
                numbers = (number for number in range(after + 1, after + span + 1) if number in log)
            else:
                numbers = (number for number in log if number > after)
            return [log[number] for number, _ in zip(numbers, range(limit), strict=False)]

    def find(self, session: str, keys: Iterable[str]) -> dict[str, Entry]:
        """Return the entries of a session that have these keys, by key."""
        self._check()
        with self._changed:
            return {key: self._keys[session, key] for key in keys if (session, key) in self._keys}

    def latest(self, session: str) -> Snapshot | None:
        """Return the latest snapshot of a session."""
        self._check()
        check_name("the name of a session", session)
        return self._snapshots.get(session)

    def sessions(self) -> dict[str, int]:
        """Return the names of all sessions, each with the number of its newest entry."""
        self._check()
        with self._changed:
            return dict(self._last)

    def _write(self, calls: Sequence[Call]) -> list[list[Outcome]]:
        with self._changed:
            outcomes = settle(calls, self._keys, self._last)
            for session, entries in added(calls, outcomes).items():
                self._logs.setdefault(session, {}).update((entry.seq, entry) for entry in entries)
            self._changed.notify_all()
        return outcomes

    def _probe(self) -> None:
        """Do nothing: memory can always be written to."""

    def _keep(self, session: str, upto: int, state: str, key: str | None) -> None:
        last = self._last.get(session, 0)
        check_upto(session, upto, last)
        entry = self._logs.get(session, {}).get(upto)
        check_key(session, upto, key, None if entry is None else entry.fact.key)
        kept = self._snapshots.get(session)
        if kept is None or upto >= kept.upto:
            self._snapshots[session] = Snapshot(upto, state)

    def _old(self, session: str, upto: int, before: float, until: float) -> int:
        with self._changed:
            log = self._logs.get(session, {})
            young = [entry.seq for entry in log.values() if before <= entry.fact.at <= until]
        return min([upto, *(seq - 1 for seq in young)])

    def _forget(self, session: str, after: int, upto: int, before: float, chunk: int) -> int:
        with self._changed:
            log = self._logs.get(session, {})
            gone = [
                entry
                for entry in log.values()
                if entry.seq <= upto and entry.fact.kind in LAPSING and entry.fact.at < before
            ]
            for entry in gone:
                del log[entry.seq], self._keys[session, entry.fact.key]
        return upto

    def _newest(self) -> Mapping[str, int]:
        with self._changed:
            self._newest_at = time.monotonic()
            self._looked_at = sum(self._last.values())
            return dict(self._last)

    def _wait_for_change(self, seconds: float) -> None:
        # Closing does not wake this one up, so it does not wait long at a time.
        with self._changed:
            self._changed.wait_for(lambda: sum(self._last.values()) != self._looked_at, min(seconds, 0.1))

    def _release(self) -> None:
        with self._looking:
            self._listeners.clear()
