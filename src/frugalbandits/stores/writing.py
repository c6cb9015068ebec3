"""One thread that writes: what has queued up while it was busy becomes durable in one transaction.

A commit that reaches the disk takes milliseconds, however much is in it. So calls wait in a queue while the
one before is being committed, and then go together; the more callers there are, the larger the groups.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, NamedTuple, TypeVar

from frugalbandits.errors import StoreClosed, StoreUnavailable
from frugalbandits.stores.contract import Fact, Listener, Outcome, Store
from frugalbandits.stores.delivery import Delivery, Parcel
from frugalbandits.stores.rules import Call, added, check_count, check_name, check_text, checked

__all__ = ["WritingStore"]

_log = logging.getLogger("frugalbandits")
_Answer = TypeVar("_Answer")

# A group ends with the call that brings it to so many facts: whoever waits for a lock waits for one group.
_GROUP = 2_000

# Callers that have just been answered often come back at once. The next transaction waits for as many as
# there were, for this share of the time that the last one took; where they do not come, the next few do not.
_WAIT_SHARE = 0.25
_LONGEST_WAIT = 0.005
_WAITLESS = 8

# How many entries are looked at in one transaction when old ones go, so that writers get in between.
_CHUNK = 1_000

# Seconds that a clock may be ahead and is still believed.
_AHEAD = 60.0

# How long `news` waits before it looks again at a store that cannot be reached.
_TROUBLE = 0.25


class _Waiting(NamedTuple):
    call: Call
    future: Future[list[Outcome]]


class _Task(NamedTuple):
    work: Callable[[], Any]
    future: Future[Any]


class WritingStore(Store):
    """A store with a thread that writes for all others, and that tells listeners.

    Subclasses say how a group of calls is written, and how to find out what is new; they call `_begin` when
    they are ready.
    """

    #: How many transactions have added entries so far.
    commits: int

    def __init__(self, address: str) -> None:
        self.address = address
        self.commits = 0
        self._owner = os.getpid()
        self._opened_at, self._opened = time.time(), time.monotonic()
        self._queue: list[_Waiting | _Task] = []
        self._ready = threading.Condition()
        self._expected = 1
        self._longest_wait = 0.0
        self._waitless = 0
        self._closed = False
        self._ending = threading.Event()
        self._listeners: dict[str, Listener] = {}
        self._looking = threading.Lock()
        self._before: frozenset[str] = frozenset()
        self._newest_at = float("-inf")  # when what `_newest` returns was read, by the monotonic clock
        self._thread = threading.Thread(target=self._work, name=f"writes to {address}", daemon=True)
        self._delivery = Delivery(f"delivers from {address}", lambda parcel: self._tell(parcel, wait=True))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r})"

    def _begin(self) -> None:
        self._before = frozenset(self.sessions())
        self._thread.start()

    # What a subclass does. All but `_newest`, `_wait_for_change` run in the thread that writes.

    @abstractmethod
    def _write(self, calls: Sequence[Call]) -> list[list[Outcome]]:
        """Write calls in one transaction, and return what became of their facts once that is durable."""

    @abstractmethod
    def _keep(self, session: str, upto: int, state: str, key: str | None) -> None:
        """Keep a snapshot in one transaction, unless a later one is there or the entry has another key."""

    @abstractmethod
    def _old(self, session: str, upto: int, before: float, until: float) -> int:
        """Return the number of the last entry, up to a number, that comes before all those that are not old.

        An entry is not old where its time is from `before` to `until`: later ones are not believed.
        """

    def now(self) -> float:
        """Return the time by this machine's clock, without a step forward since the store was opened.

        So what was written a moment ago never looks old.
        """
        return min(time.time(), self._opened_at + (time.monotonic() - self._opened) + _AHEAD)

    @abstractmethod
    def _forget(self, session: str, after: int, upto: int, before: float, chunk: int) -> int:
        """Let old entries go among the next `chunk` ones after a number; return how far that went."""

    @abstractmethod
    def _probe(self) -> None:
        """Commit a transaction that writes and changes nothing."""

    def _announce(self, newest: Mapping[str, int]) -> None:
        """Tell other processes which sessions have new entries."""

    @abstractmethod
    def _release(self) -> None:
        """Let go of everything; nobody writes or waits for news any more."""

    @abstractmethod
    def _newest(self) -> Mapping[str, int]:
        """Return the newest numbers of all sessions; `_newest_at` is set before they are read."""

    @abstractmethod
    def _wait_for_change(self, seconds: float) -> None:
        """Return when there may be something new since `_newest`, or a little earlier or later."""

    # What callers do.

    def append(self, session: str, facts: Sequence[Fact]) -> list[Outcome]:
        """Add facts to the log of a session, all or nothing; durable when it returns."""
        return self._result(self.submit(session, facts))

    def submit(self, session: str, facts: Sequence[Fact]) -> Future[list[Outcome]]:
        """Add facts to the log of a session without waiting until they are durable."""
        waiting = _Waiting(checked(session, facts), Future())
        self._enqueue(waiting)
        return waiting.future

    def snapshot(
        self,
        session: str,
        upto: int,
        state: str,
        forget_before: float | None = None,
        key: str | None = None,
    ) -> None:
        """Keep a snapshot, unless a later one is there; entries older than `forget_before` go."""
        check_name("the name of a session", session)
        check_text(f"the snapshot of session {session!r}", state)
        upto = check_count("the number of the last entry in a snapshot", upto, 1)
        self._run(partial(self._keep, session, upto, state, key))
        if forget_before is None:
            return
        after, end = 0, self._run(partial(self._old, session, upto, forget_before, self.now() + _AHEAD))
        while after < end:
            after = self._run(partial(self._forget, session, after, end, forget_before, _CHUNK))

    def news(self, seen: Mapping[str, int], timeout: float) -> dict[str, int]:
        """Wait until a session has entries beyond those seen, but not longer than so many seconds.

        Where the store cannot be reached, this tries again until the time is up, and then says so.
        """
        self._check()
        began = time.monotonic()
        until = began + max(timeout, 0.0)
        with self._looking:
            while True:
                trouble = None
                newest: Mapping[str, int] = {}
                try:
                    newest = self._newest()
                except StoreUnavailable as error:
                    trouble = error
                found = {
                    name: last
                    for name, last in newest.items()
                    if last > seen.get(name, last if name in self._before else 0)
                }
                if trouble is None and self._newest_at >= began:
                    # What was seen had been committed by then: a smaller number is of another log.
                    for name, number in seen.items():
                        if newest.get(name, 0) < number:
                            found[name] = newest.get(name, 0)
                left = until - time.monotonic()
                if found or self._ending.is_set():
                    return found
                if left <= 0 and trouble is not None:
                    raise trouble
                if left <= 0:
                    return {}
                if trouble is not None:
                    self._ending.wait(min(left, _TROUBLE))
                else:
                    self._wait_for_change(left)

    def probe(self) -> None:
        """Check that the store can be written to, by a commit that changes nothing."""
        self._run(self._probe)

    def listen(self, session: str, listener: Listener | None) -> None:
        """Have entries that this store object adds to a session handed to a listener; None ends that."""
        self._check()
        check_name("the name of a session", session)
        if listener is None:
            self._listeners.pop(session, None)
        else:
            self._listeners[session] = listener

    def close(self) -> None:
        """Finish what was submitted, and let go of everything. Closing twice is the same as once."""
        # A process that was forked off has no thread that writes, and its locks may be held by nobody.
        if os.getpid() != self._owner:
            return
        with self._ready:
            self._closed = True
            self._ending.set()
            self._ready.notify()
        # A listener may close the store: the thread then ends by itself when the queue is empty.
        if not self._is_own_thread():
            self._thread.join()

    # How it goes.

    def _check(self) -> None:
        """Refuse to go on with a store that was closed, or that another process has opened."""
        if os.getpid() != self._owner:
            raise StoreUnavailable(
                f"{self.address!r} was opened before this process was forked: open it anew here"
            )
        if self._closed:
            raise StoreClosed(f"{self.address!r} was closed")

    def _enqueue(self, item: _Waiting | _Task) -> None:
        self._check()
        with self._ready:
            self._check()
            self._queue.append(item)
            # The thread that writes is woken up twice for a group, not for each call of it.
            if len(self._queue) in (1, self._expected):
                self._ready.notify()

    def _run(self, work: Callable[[], _Answer]) -> _Answer:
        """Have something done by the thread that writes."""
        future: Future[_Answer] = Future()
        self._enqueue(_Task(work, future))
        return self._result(future)

    def _later(self, work: Callable[[], object]) -> None:
        """Have something done by the thread that writes, without waiting for it; its errors are logged."""

        def logged() -> None:
            try:
                work()
            except Exception as error:
                _log.error("store %s: %s", self.address, error)

        self._enqueue(_Task(logged, Future()))

    def _result(self, future: Future[_Answer]) -> _Answer:
        if self._is_own_thread():
            raise RuntimeError("a listener must not wait for the store that called it: use submit")
        return future.result()

    def _is_own_thread(self) -> bool:
        return threading.current_thread() is self._thread or self._delivery.is_this_thread()

    def _work(self) -> None:
        try:
            while True:
                with self._ready:
                    while not self._queue and not self._closed:
                        self._ready.wait()
                    self._gather()
                    group, tasks = self._take()
                if not group and not tasks:
                    return
                began = time.monotonic()
                if group:
                    error = self._write_group(group)
                    if error is not None and self._closed:
                        # Each attempt may take as long as the store is waited for: one is enough.
                        self._refuse_rest(tasks, error)
                        return
                    self._longest_wait = min(_WAIT_SHARE * (time.monotonic() - began), _LONGEST_WAIT)
                self._expected = len(group) + len(self._queue)
                for task in tasks:
                    self._do(task)
        finally:
            self._delivery.close()
            self._release()

    def _gather(self) -> None:
        """Wait a little for those who were there a moment ago."""
        if self._waitless:
            self._waitless -= 1
            return
        until = time.monotonic() + self._longest_wait
        while len(self._queue) < self._expected and not self._closed:
            left = until - time.monotonic()
            if left <= 0:
                self._waitless = _WAITLESS
                return
            self._ready.wait(left)

    def _take(self) -> tuple[list[_Waiting], list[_Task]]:
        """Take what has queued up, but not more than a group holds."""
        group: list[_Waiting] = []
        tasks: list[_Task] = []
        facts = taken = 0
        for item in self._queue:
            if facts >= _GROUP:
                break
            taken += 1
            if isinstance(item, _Task):
                tasks.append(item)
            else:
                facts += max(len(item.call.facts), 1)
                group.append(item)
        del self._queue[:taken]
        return group, tasks

    def _refuse_rest(self, tasks: list[_Task], error: BaseException) -> None:
        """Fail everything that was submitted before the store was closed and cannot be written any more."""
        with self._ready:
            left: list[_Waiting | _Task] = [*tasks, *self._queue]
            self._queue.clear()
        for item in left:
            if item.future.set_running_or_notify_cancel():
                item.future.set_exception(_own(error))

    def _write_group(self, group: list[_Waiting]) -> BaseException | None:
        """Write a group, and tell all who wait for it; return the error where it could not be written."""
        # Whoever has given up waiting before it was written gets nothing written.
        group = [waiting for waiting in group if waiting.future.set_running_or_notify_cancel()]
        calls = [waiting.call for waiting in group]
        if not calls:
            return None
        try:
            outcomes = self._write(calls)
        except BaseException as error:
            for waiting in group:
                waiting.future.set_exception(_own(error))
            return error
        entries = added(calls, outcomes)
        if entries:
            self.commits += 1
        answers: dict[str, list[tuple[Future[list[Outcome]], list[Outcome]]]] = {}
        for waiting, told in zip(group, outcomes, strict=True):
            answers.setdefault(waiting.call.session, []).append((waiting.future, told))
        for session, futures in answers.items():
            parcel = Parcel(session, entries.get(session, ()), futures)
            if self._delivery.has(session) or not self._tell(parcel, wait=False):
                self._delivery.put(parcel)
            else:
                parcel.answer()
        if entries:
            try:
                self._announce({session: fresh[-1].seq for session, fresh in entries.items()})
            except Exception:
                # Others find out when they look, and this thread must live on.
                _log.exception("could not announce what is new in %r", self.address)
        return None

    def _tell(self, parcel: Parcel, wait: bool) -> bool:
        """Hand entries to the listener of their session; tell whether it has taken them in."""
        listener = self._listeners.get(parcel.session)
        if listener is None or not parcel.entries:
            return True
        try:
            return listener(parcel.session, parcel.entries, wait)
        except Exception:
            # The facts are durable whatever the listener makes of them, and their callers must hear so.
            first = parcel.entries[0].seq
            _log.exception("the listener of session %r failed on entries from %d on", parcel.session, first)
            return True

    @staticmethod
    def _do(task: _Task) -> None:
        if not task.future.set_running_or_notify_cancel():
            return
        try:
            answer = task.work()
        except BaseException as error:
            task.future.set_exception(error)
        else:
            task.future.set_result(answer)


def _own(error: BaseException) -> BaseException:
    """Return an error for one caller: one that several threads raise would gather the traces of all."""
    if not isinstance(error, StoreUnavailable):
        return error
    own = StoreUnavailable(*error.args)
    own.__cause__ = error.__cause__
    return own
