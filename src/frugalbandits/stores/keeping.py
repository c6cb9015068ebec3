"""What goes on behind sessions that are kept in a store: a thread for each store that is open.

It reads what other workers have added, says once a second how many decisions were handed out here, and takes
a snapshot now and then. A store that cannot be reached is tried again, and nothing is said twice.

An error in one session does not stop the others. The session is marked as broken, its reason is logged once,
and it is tried again with growing pauses until it works.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from frugalbandits.errors import InputError, StoreClosed, StoreUnavailable
from frugalbandits.stores.contract import Entry, Store

__all__ = ["Keeper", "Trouble", "keeper_of"]

EVERY = 1.0  # seconds between two writes of decision counts
# With many sessions a write of their counts takes long: it may use this share of the time, but what others do
# not know yet stays bounded. It is below the grace that counts have before their cell ends.
_FLUSH_SHARE = 0.1
_LONGEST_EVERY = 3.0
PAUSE = 0.02  # seconds between two readings, so that a busy log is read in larger parts
LONGEST_WAIT = 10.0  # seconds until a store, or one session, that fails is tried again
_TOGETHER = 500  # sessions whose entries are read at once
_NOT_WRITTEN = "session %r: could not write the last decision counts: %s"
_SNAPSHOT_TIME = 0.1  # seconds for snapshots between two readings, so that replicas do not fall behind

_log = logging.getLogger("frugalbandits")
_keepers: weakref.WeakKeyDictionary[Store, Keeper] = weakref.WeakKeyDictionary()
_guard = threading.Lock()


class Kept(Protocol):
    """What a keeper needs of a session."""

    @property
    def name(self) -> str: ...

    @property
    def seen(self) -> int: ...

    @property
    def lag(self) -> float: ...

    @property
    def needs_rebuild(self) -> bool: ...

    def confirm(self) -> None: ...

    def receive(self, entries: Sequence[Entry]) -> None: ...

    def receive_at_once(self, entries: Sequence[Entry]) -> bool: ...

    def take(self, entries: Sequence[Entry]) -> None: ...

    def catch_up(self) -> None: ...

    def start_flush(self) -> Callable[[], None]: ...

    def flush(self) -> None: ...

    def snapshot_if_due(self) -> None: ...


class Trouble(NamedTuple):
    """Why a session does not follow its log at present."""

    reason: str
    since: float  # by the monotonic clock
    failures: int
    retry_at: float  # by the monotonic clock


class Keeper:
    """Keeps the sessions of one store up to date."""

    def __init__(self, store: Store) -> None:
        # Weak, so that a store that nobody uses any more can go.
        self._store = weakref.ref(store)
        self._sessions: dict[str, list[Kept]] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._process = os.getpid()
        self._others: dict[str, int] = {}  # sessions that nobody has open here, as far as they were heard of
        self._troubles: dict[str, Trouble] = {}
        self._unavailable: set[str] = set()  # sessions for which the store failed last time
        self._unreachable_since: float | None = None
        self._to_snapshot: list[Kept] = []  # sessions to look at: is a snapshot due?
        self._reconnects = store.reconnects
        self._last_lag = 0.0  # seconds that the last reading of others' entries took to come

    @property
    def lag(self) -> float:
        """Seconds by which sessions are behind their logs: the largest lag of the last reading.

        A broken session lags for as long as it has been broken, and all do while the store is unreachable.
        """
        since = [each.since for each in self.troubles().values()]
        if self._unreachable_since is not None:
            since.append(self._unreachable_since)
        return max([self._last_lag, *(time.monotonic() - each for each in since)])

    def troubles(self) -> dict[str, Trouble]:
        """Return the sessions that do not follow their logs at present, with the reason."""
        with self._lock:
            return dict(self._troubles)

    def attach(self, session: Kept) -> None:
        """Keep a session up to date from now on."""
        store = self._store()
        if store is None or self._closed.is_set() or os.getpid() != self._process:
            raise StoreUnavailable("the store was closed, or opened by another process: open it again")
        with self._lock:
            self._sessions.setdefault(session.name, []).append(session)
            store.listen(session.name, self._receive)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="frugalbandits-keeper", daemon=True)
                self._thread.start()

    def detach(self, session: Kept) -> None:
        """Let go of a session."""
        store = self._store()
        with self._lock:
            left = [each for each in self._sessions.get(session.name, []) if each is not session]
            if left:
                self._sessions[session.name] = left
            else:
                self._sessions.pop(session.name, None)
                self._troubles.pop(session.name, None)
                if store is not None:
                    store.listen(session.name, None)

    def close(self) -> None:
        """Stop, after a last word on what was handed out."""
        if self._closed.is_set() or os.getpid() != self._process:
            return
        self._closed.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=5.0)
        # All are submitted before the first one is waited for: one commit for all of them.
        finish = {}
        for session in self._all():
            try:
                finish[session] = session.start_flush()
            except Exception as error:
                _log.warning(_NOT_WRITTEN, session.name, _words(error))
        for session, wait in finish.items():
            try:
                wait()
            except Exception as error:
                _log.warning(_NOT_WRITTEN, session.name, _words(error))

    def _all(self) -> list[Kept]:
        with self._lock:
            return [each for group in self._sessions.values() for each in group]

    def _receive(self, name: str, entries: Sequence[Entry], wait: bool) -> bool:
        with self._lock:
            group = list(self._sessions.get(name, ()))
            broken = name in self._troubles
        store = self._store()
        if broken or store is None or store.reconnects != self._reconnects:
            # `_follow` reads these entries from the log: after it has tried again, or compared the logs.
            return True
        received = True
        for session in group:
            try:
                if wait:
                    session.receive(entries)
                else:
                    received = session.receive_at_once(entries) and received
            except Exception as error:
                self._failed(session, error)
        return received

    # Sessions that fail.

    def _failed(self, session: Kept, error: Exception) -> None:
        """Mark a session as broken; log the reason once."""
        now, reason = time.monotonic(), _words(error)
        with self._lock:
            if session not in self._sessions.get(session.name, ()):
                return  # it was closed meanwhile
            before = self._troubles.get(session.name)
            failures = 1 if before is None else before.failures + 1
            since = now if before is None else before.since
            pause = min(0.25 * 2**failures, LONGEST_WAIT)
            self._troubles[session.name] = Trouble(reason, since, failures, now + pause)
        if before is None or before.reason != reason:
            # A traceback helps only where the error is not one that the package foresees.
            unforeseen = not isinstance(error, InputError | StoreUnavailable)
            _log.error(
                "session %r is broken on this worker and is tried again: %s",
                session.name,
                reason,
                exc_info=error if unforeseen else None,
            )

    def _recovered(self, session: Kept) -> None:
        with self._lock:
            before = self._troubles.pop(session.name, None)
        if before is not None:
            _log.warning("session %r works again", session.name)

    def _resting(self) -> set[str]:
        """Return broken sessions that are not to be tried again yet."""
        now = time.monotonic()
        return {name for name, each in self.troubles().items() if now < each.retry_at}

    def _for_each(self, sessions: Sequence[Kept], work: Callable[[Kept], None]) -> None:
        """Do something for each session, whatever becomes of the others.

        Where the store fails for two sessions in a row, the rest wait for the next round. Sessions for which
        it failed last time come last, so one whose rows are damaged does not hold up the others.
        """
        failed: list[tuple[Kept, StoreUnavailable]] = []
        worked = row = 0
        for session in sorted(sessions, key=lambda each: each.name in self._unavailable):
            try:
                work(session)
                worked, row = worked + 1, 0
            except StoreClosed:
                raise
            except StoreUnavailable as error:
                failed.append((session, error))
                row += 1
                if row == 2:
                    break
            except Exception as error:
                self._failed(session, error)
                row = 0
        self._unavailable = {session.name for session, _ in failed}
        if failed and not worked:
            raise failed[-1][1]
        for session, trouble in failed:
            self._failed(session, trouble)

    # The thread.

    def _run(self) -> None:
        wait, failures = 0.0, 0
        due = time.monotonic() + EVERY
        while not self._closed.wait(wait):
            wait = PAUSE
            store = self._store()
            if store is None:
                return
            try:
                self._follow(store, max(due - time.monotonic(), 0.0))
                began = time.monotonic()
                if began >= due:
                    broken = self.troubles()
                    working = [each for each in self._all() if each.name not in broken]
                    self._flush(working)
                    took = time.monotonic() - began
                    due = began + max(EVERY, min(took / _FLUSH_SHARE, _LONGEST_EVERY))
                    self._to_snapshot = self._to_snapshot or working
                self._take_snapshots()
                failures, self._unreachable_since = 0, None
            except StoreClosed:
                return
            except Exception as error:
                failures += 1
                if self._unreachable_since is None:
                    self._unreachable_since = time.monotonic()
                wait = min(0.1 * 2**failures, LONGEST_WAIT)
                if not self._closed.is_set():
                    unforeseen = not isinstance(error, StoreUnavailable)
                    _log.warning(
                        "store %s: %s; tried again in %.1f s",
                        store.address,
                        _words(error),
                        wait,
                        exc_info=error if unforeseen else None,
                    )
            del store  # so that it can go while this thread waits

    def _follow(self, store: Store, timeout: float) -> None:
        """Read what is new, or wait for it."""
        sessions, resting = self._all(), self._resting()
        seen: dict[str, int] = {}
        for session in sessions:
            seen[session.name] = min(session.seen, seen.get(session.name, session.seen))
        followed = {name: number for name, number in seen.items() if name not in resting}
        news = store.news({**self._others, **followed}, timeout)
        # What is heard of a session that nobody has open, or that is broken, is heard once.
        self._others.update((name, newest) for name, newest in news.items() if name not in followed)
        # Some may have been detached while this waited.
        attached = {id(each) for each in self._all()}
        sessions = [each for each in sessions if id(each) in attached]
        broken = self.troubles()
        again = [each for each in sessions if each.name in broken and each.name not in resting]
        working = [each for each in sessions if each.name not in broken]
        # After a reconnect another server may answer, with another log: compare before anything is added.
        reconnects = store.reconnects
        doubtful = [each for each in working if news.get(each.name, each.seen) < seen[each.name]]
        if reconnects != self._reconnects:
            doubtful = working
        self._for_each(doubtful, _confirm)
        self._reconnects = reconnects
        read = [each for each in working if news.get(each.name, 0) > each.seen or each.needs_rebuild]
        if read:
            self._read(store, read, seen, news)
            self._last_lag = max(session.lag for session in read)
        if again:
            self._for_each(again, self._retry)

    def _read(
        self, store: Store, sessions: Sequence[Kept], seen: Mapping[str, int], news: Mapping[str, int]
    ) -> None:
        """Take in new entries of some sessions, which are read together."""
        pages: dict[str, list[Entry]] = {}
        for at in range(0, len(sessions), _TOGETHER):
            # From the entry that was read last on: a session compares it, as the log may be another one.
            wanted = {each.name: max(seen[each.name] - 1, 0) for each in sessions[at : at + _TOGETHER]}
            try:
                pages.update(store.read_many(wanted))
            except StoreClosed:
                raise
            except StoreUnavailable:
                break  # these are read one by one, so that one with damaged rows holds up no other

        def take(session: Kept) -> None:
            session.take(pages.get(session.name, ()))
            if session.needs_rebuild or session.seen < news.get(session.name, 0):
                session.catch_up()

        self._for_each(sessions, take)

    def _flush(self, sessions: Sequence[Kept]) -> None:
        """Write decision counts of all sessions: all are submitted first, so one commit takes them."""
        started: dict[int, Callable[[], None]] = {}

        def start(session: Kept) -> None:
            started[id(session)] = session.start_flush()

        self._for_each(sessions, start)
        self._for_each([each for each in sessions if id(each) in started], lambda each: started[id(each)]())

    def _take_snapshots(self) -> None:
        """Take snapshots that are due, but not for long: sessions made together are due together."""
        if not self._to_snapshot:
            return
        until = time.monotonic() + _SNAPSHOT_TIME
        resting = self.troubles()
        while self._to_snapshot and time.monotonic() < until:
            some, self._to_snapshot = self._to_snapshot[:20], self._to_snapshot[20:]
            self._for_each([each for each in some if each.name not in resting], _snapshot_if_due)

    def _retry(self, session: Kept) -> None:
        """Do all that a broken session may have failed at."""
        session.confirm()
        session.catch_up()
        _write_out(session)
        self._recovered(session)


def _confirm(session: Kept) -> None:
    session.confirm()


def _write_out(session: Kept) -> None:
    session.flush()
    session.snapshot_if_due()


def _snapshot_if_due(session: Kept) -> None:
    session.snapshot_if_due()


def _words(error: Exception) -> str:
    text = str(error)
    return text if text and isinstance(error, InputError | StoreUnavailable) else repr(error)


def keeper_of(store: Store) -> Keeper:
    """Return the keeper of a store; there is one for each."""
    with _guard:
        found = _keepers.get(store)
        if found is None or found._closed.is_set() or found._process != os.getpid():
            found = _keepers[store] = Keeper(store)
        return found


@atexit.register
def _close_all() -> None:
    for keeper in list(_keepers.values()):
        keeper.close()
