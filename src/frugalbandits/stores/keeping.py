"""What goes on behind sessions that are kept in a store: a thread for each store that is open.

It reads what other workers have added, says once a second how many decisions were handed out here, and takes
a snapshot now and then. A store that cannot be reached is tried again, and nothing is said twice.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Protocol

from frugalbandits.errors import StoreClosed, StoreUnavailable
from frugalbandits.stores.contract import Entry, Store

__all__ = ["Keeper", "keeper_of"]

EVERY = 1.0  # seconds between two words on what was handed out
LONGEST_WAIT = 10.0  # seconds until a store that cannot be reached is tried again

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

    def receive(self, entries: Sequence[Entry]) -> None: ...

    def catch_up(self) -> None: ...

    def flush(self) -> None: ...

    def snapshot_if_due(self) -> None: ...


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
        self._others: dict[str, int] = {}  # the newest numbers of sessions that are not kept here
        self.lag = 0.0  # seconds that the last reading of others' entries took to come

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
        for session in self._all():
            try:
                session.flush()
            except StoreUnavailable as error:
                _log.warning(
                    "what was handed out last of session %r could not be said: %s", session.name, error
                )

    def _all(self) -> list[Kept]:
        with self._lock:
            return [each for group in self._sessions.values() for each in group]

    def _receive(self, name: str, entries: Sequence[Entry]) -> None:
        with self._lock:
            group = list(self._sessions.get(name, ()))
        for session in group:
            session.receive(entries)

    def _run(self) -> None:
        wait, failures = 0.0, 0
        due = time.monotonic() + EVERY
        while not self._closed.wait(wait):
            wait = 0.0
            store = self._store()
            if store is None:
                return
            try:
                self._follow(store, max(due - time.monotonic(), 0.0))
                if time.monotonic() >= due:
                    due = time.monotonic() + EVERY
                    for session in self._all():
                        session.flush()
                        session.snapshot_if_due()
                failures = 0
            except StoreClosed:
                return
            except StoreUnavailable as error:
                failures += 1
                wait = min(0.1 * 2**failures, LONGEST_WAIT)
                if not self._closed.is_set():
                    _log.warning("store %s: %s; tried again in %.1f s", store.address, error, wait)
            del store  # so that it can go while this thread waits

    def _follow(self, store: Store, timeout: float) -> None:
        """Read what is new, or wait for it."""
        sessions = self._all()
        seen: dict[str, int] = {}
        for session in sessions:
            seen[session.name] = min(session.seen, seen.get(session.name, session.seen))
        news = store.news({**self._others, **seen}, timeout)
        # What nobody reads here would be news for ever, and this thread would never rest.
        self._others.update({name: last for name, last in news.items() if name not in seen})
        read = [session for session in sessions if news.get(session.name, 0) > session.seen]
        for session in read:
            session.catch_up()
        if read:
            self.lag = max(session.lag for session in read)


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
