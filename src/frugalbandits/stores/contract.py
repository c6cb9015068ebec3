"""The contract of a store: a log of facts for each session, and a snapshot of what they add up to.

A fact has a key, and counts once: the same key with the same kind and body again is the same fact, with
another it is in conflict with the one that is there. Facts of a session are numbered from 1 on, without
gaps, in the order in which they became durable; so whoever has read up to a number has missed nothing.

Whoever keeps a store open may append, read and snapshot from any thread, and so may other processes.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

__all__ = [
    "CONFLICT",
    "LAPSING",
    "LEFT_OUT",
    "NEW",
    "SAME",
    "Entry",
    "Fact",
    "Listener",
    "Outcome",
    "Snapshot",
    "Store",
    "body_of",
]

# What became of a fact that was appended. LEFT_OUT: it is new, but another of the same call is in conflict.
NEW = "new"
SAME = "same"
CONFLICT = "conflict"
LEFT_OUT = "left out"

#: Kinds of facts that may go when they are older than the time to live and below a snapshot. All others stay:
#: what was changed and concluded is the history of a session.
LAPSING = frozenset({"asked", "reward", "cost", "forget", "observe", "count"})


class Fact(NamedTuple):
    """Something that happened in a session. Time and author say nothing on whether two facts are the same."""

    key: str
    kind: str
    body: str  # JSON, as `body_of` writes it
    at: float  # seconds since 1970, by the clock of its author
    by: str


class Entry(NamedTuple):
    """A fact in the log of a session."""

    seq: int
    fact: Fact


class Outcome(NamedTuple):
    """What became of a fact; `entry` is the one with its key in the log, or None where it was left out."""

    what: str
    entry: Entry | None


class Snapshot(NamedTuple):
    """What the facts of a session up to a number add up to, in a form that the store does not look into."""

    upto: int
    state: str


#: Called with the name of a session and new entries of its log, in order, once they are durable. It returns
#: whether it has taken them in. The first call must not wait for anything (the last argument is False): where
#: it would have to, it returns False, and is called once more from another thread, where it may wait.
Listener = Callable[[str, Sequence[Entry], bool], bool]


def body_of(values: Mapping[str, Any]) -> str:
    """Return the body of a fact: equal values give equal texts.

    Examples
    --------
    >>> body_of({"r": 1.0, "o": 2})
    '{"o":2,"r":1.0}'
    """
    return json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)


class Store(ABC):
    """Where the facts of sessions survive.

    A store that cannot be reached, or cannot write, raises `StoreUnavailable`: it may be tried again, and the
    same facts appended again count once.
    """

    #: The address as it was given, without a password.
    address: str
    #: How often a connection was lost and made anew: another server may answer since then.
    reconnects: int = 0

    def append(self, session: str, facts: Sequence[Fact]) -> list[Outcome]:
        """Add facts to the log of a session, all or nothing; durable when it returns.

        Where one of them is in conflict with the log, or with an earlier one of the same call, none is added.
        A session begins with its first fact.
        """
        return self.submit(session, facts).result()

    @abstractmethod
    def submit(self, session: str, facts: Sequence[Fact]) -> Future[list[Outcome]]:
        """Do the same without waiting. What several threads submit at a time becomes durable together.

        Entries that are new reach the listener before the future is done.
        """

    @abstractmethod
    def read(self, session: str, after: int = 0, limit: int = 10_000) -> list[Entry]:
        """Return entries with numbers above `after`, in order."""

    def read_many(self, after: Mapping[str, int], limit: int = 1_000) -> dict[str, list[Entry]]:
        """Return entries of several sessions at once: for each, up to `limit` with numbers above its own."""
        return {session: self.read(session, number, limit) for session, number in after.items()}

    @abstractmethod
    def snapshot(
        self,
        session: str,
        upto: int,
        state: str,
        forget_before: float | None = None,
        key: str | None = None,
    ) -> None:
        """Keep a snapshot, unless a later one is there.

        Entries up to it whose kind is `LAPSING`, and that are older than `forget_before`, go, but only those
        before the first entry that is not older: one that came later is younger, whatever its author's clock
        said. Raises
        `LogDiverged` and keeps nothing where the log ends before `upto`, or where its entry `upto` has
        another key than `key`: the state is of a log that is no more.
        """

    def now(self) -> float:
        """Return the time by the clock of the store, in seconds since 1970."""
        return time.time()

    @abstractmethod
    def latest(self, session: str) -> Snapshot | None:
        """Return the latest snapshot of a session."""

    @abstractmethod
    def find(self, session: str, keys: Iterable[str]) -> dict[str, Entry]:
        """Return the entries of a session that have these keys, by key; others are left out."""

    def last(self, session: str) -> int:
        """Return the number of the newest entry of a session, 0 where there is none."""
        return self.sessions().get(session, 0)

    @abstractmethod
    def sessions(self) -> dict[str, int]:
        """Return the names of all sessions, each with the number of its newest entry."""

    @abstractmethod
    def news(self, seen: Mapping[str, int], timeout: float) -> dict[str, int]:
        """Wait until a session has entries beyond those seen, but not longer than so many seconds.

        Returns the sessions that have, with their newest numbers; sessions that `seen` does not name count
        only where they are new since the store was opened. A session whose log has become shorter than what
        was seen is returned too, with its newest number, 0 where it is gone. Only one thread waits at a time.
        """

    @abstractmethod
    def listen(self, session: str, listener: Listener | None) -> None:
        """Have entries that this store object adds to a session handed to a listener; None ends that."""

    def probe(self) -> None:
        """Check that the store can be written to, by a commit that changes nothing.

        Raises `StoreUnavailable` where it cannot. A store that has no such commit checks that it can be read.
        """
        self.sessions()

    @abstractmethod
    def close(self) -> None:
        """Finish what was submitted, and let go of everything. Closing twice is the same as once."""

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
