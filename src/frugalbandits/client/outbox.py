"""Feedback that waits for the service: bounded, in order, and on the disk where that is wanted."""

from __future__ import annotations

import itertools
import json
import logging
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from frugalbandits.client.spool import Spool

__all__ = ["Item", "Op", "Outbox"]

#: What is to be said to the service: an item of its batches, or {"op": "create", ...}.
Op = Mapping[str, Any]
BATCH = 500  # items that are delivered at a time
BATCH_BYTES = 500_000
_log = logging.getLogger("frugalbandits")


class Item(NamedTuple):
    """Something that waits. `kept` is its number in the spool, if it is there."""

    number: int
    op: Op
    size: int
    kept: int | None


class Outbox:
    """A queue of what is to be said; safe to use from several threads.

    What does not fit is dropped, the newest first: what was there stays. Where a spool cannot be written,
    what waits is kept in memory alone.

    Examples
    --------
    >>> outbox = Outbox(2)
    >>> outbox.put([{"op": "forget", "id": name} for name in "abc"])
    >>> [item.op["id"] for item in outbox.head(9)], outbox.dropped
    (['a', 'b'], 1)
    >>> outbox.done(outbox.head(1))
    >>> len(outbox)
    1
    """

    def __init__(
        self, limit: int, path: Path | None = None, service: str = "", take_over: bool = True
    ) -> None:
        self.limit = limit
        self.dropped = 0
        self._given = path, service
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._items: dict[int, Item] = {}
        self._spool: Spool | None = None
        if path is not None and take_over:
            self._spool = Spool(path, service)
            self._take_over(self._spool)

    def child(self) -> Outbox:
        """Return an empty one for a process that was forked: what is here is delivered by its parent."""
        path, service = self._given
        return Outbox(self.limit, path, service, take_over=False)

    def _take_over(self, spool: Spool) -> None:
        for kept, body in spool.all():
            try:
                op = json.loads(body)
                assert isinstance(op, dict) and isinstance(op["op"], str)
            except (ValueError, KeyError, AssertionError):
                _log.error("what the spool %s has under number %d cannot be read", spool.path, kept)
                spool.remove([kept])
                continue
            self._append(op, len(body), kept)

    def _append(self, op: Op, size: int, kept: int | None) -> None:
        number = next(self._numbers)
        self._items[number] = Item(number, op, size, kept)

    def __len__(self) -> int:
        return len(self._items)

    @property
    def spooled(self) -> bool:
        """Whether there is a file."""
        return self._given[0] is not None

    def put(self, ops: Sequence[Op]) -> None:
        """Take in what is to be said; it is on the disk when this returns, if there is a spool."""
        with self._lock:
            room = max(self.limit - len(self._items), 0)
            fitting, over = ops[:room], len(ops) - room
            if over > 0:
                self._drop(over)
            bodies = [json.dumps(op) for op in fitting]
            kept = self._keep(bodies)
            for op, body, number in zip(fitting, bodies, kept, strict=True):
                self._append(op, len(body), number)

    def _drop(self, count: int) -> None:
        # Said at first and at every tenfold: a service that is away for long must not fill a log.
        before, self.dropped = self.dropped, self.dropped + count
        if len(str(before)) < len(str(self.dropped)) or not before:
            _log.error(
                "feedback is dropped: %s pieces wait for the service already; dropped so far: %s",
                f"{len(self._items):,}",
                f"{self.dropped:,}",
            )

    def _keep(self, bodies: Sequence[str]) -> Sequence[int | None]:
        path, service = self._given
        if path is None or not bodies:
            return [None] * len(bodies)
        try:
            if self._spool is None:
                self._spool = Spool(path, service)
            return self._spool.add(bodies)
        except (sqlite3.Error, ValueError) as error:
            _log.error("feedback is kept in memory alone: the spool %s cannot be written: %s", path, error)
            return [None] * len(bodies)

    def head(self, count: int = BATCH) -> list[Item]:
        """Return the oldest items, as many as one request takes."""
        with self._lock:
            found: list[Item] = []
            size = 0
            for item in itertools.islice(self._items.values(), count):
                size += item.size
                if found and size > BATCH_BYTES:
                    break
                found.append(item)
            return found

    def done(self, items: Iterable[Item]) -> None:
        """Let go of items that the service has heard, or will never take."""
        with self._lock:
            gone = [item for item in items if self._items.pop(item.number, None) is not None]
            kept = [item.kept for item in gone if item.kept is not None]
            if kept and self._spool is not None:
                try:
                    self._spool.remove(kept)
                except sqlite3.Error as error:
                    # It will be delivered again after a restart, which counts once.
                    _log.warning("the spool %s cannot be written: %s", self._spool.path, error)

    def close(self) -> None:
        """Let go of the file; what is in it stays there."""
        with self._lock:
            if self._spool is not None:
                self._spool.close()
                self._spool = None
