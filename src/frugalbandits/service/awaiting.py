"""What another thread finishes, for coroutines that wait for it: all that is done comes in one go.

The thread that writes finishes a whole group at a time. To wake the event loop up once for each of them, as
`asyncio.wrap_future` does, takes longer than to answer them. One timer looks after the deadlines of all.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from frugalbandits.errors import StoreUnavailable

__all__ = ["Awaiting"]

_Result = TypeVar("_Result")
_LOOKS = 10  # looks at the deadlines until one is over
_AGAIN = "the same request may be sent again, and counts once"


class _Write(NamedTuple):
    until: float
    waiting: asyncio.Future[Any]
    submitted: Future[Any]


class Awaiting:
    """Futures of threads as futures of one event loop, each with a deadline.

    Parameters
    ----------
    loop
        The event loop.
    seconds
        After so many seconds a future fails with `StoreUnavailable`. While something is overdue that has
        begun, whatever is new fails at once: the thread cannot come to it.
    most
        So many may wait at a time.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float, most: int) -> None:
        self._loop = loop
        self._seconds = seconds
        self._most = most
        self._lock = threading.Lock()
        self._done: list[tuple[asyncio.Future[Any], Future[Any]]] = []
        self._writes: deque[_Write] = deque()  # in the order of their deadlines
        self._overdue: deque[Future[Any]] = deque()  # given up, but begun: what becomes of them is not known
        self._timer: asyncio.TimerHandle | None = None
        self._count = 0

    def of(self, submit: Callable[[], Future[_Result]]) -> asyncio.Future[_Result]:
        """Submit something, and return a future of the loop for it.

        Who cancels that cancels what was submitted, if it is not too late.
        """
        while self._overdue and self._overdue[0].done():
            self._overdue.popleft()
        if self._overdue:
            raise StoreUnavailable(
                f"the store has not answered for more than {self._seconds:g} s; nothing was written"
            )
        if self._count >= self._most:
            raise StoreUnavailable(f"{self._most:,} requests wait for the store already; nothing was written")
        submitted = submit()
        waiting: asyncio.Future[_Result] = self._loop.create_future()
        self._count += 1

        def ended(waiting: asyncio.Future[_Result]) -> None:
            self._count -= 1
            if waiting.cancelled():
                submitted.cancel()

        waiting.add_done_callback(ended)
        submitted.add_done_callback(lambda done: self._arrive(waiting, done))
        self._writes.append(_Write(self._loop.time() + self._seconds, waiting, submitted))
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds / _LOOKS, self._look)
        return waiting

    def _look(self) -> None:
        """Fail what is overdue, and forget what is done."""
        self._timer = None
        now = self._loop.time()
        while self._writes and (self._writes[0].waiting.done() or self._writes[0].until <= now):
            _, waiting, submitted = self._writes.popleft()
            if waiting.done() or submitted.done():
                continue
            if submitted.cancel():
                became = "nothing was written"
            else:
                became = f"whether it was written is not known: {_AGAIN}"
                self._overdue.append(submitted)
            waiting.set_exception(
                StoreUnavailable(f"the store did not answer within {self._seconds:g} s; {became}")
            )
        if self._writes:
            self._timer = self._loop.call_later(self._seconds / _LOOKS, self._look)

    def _arrive(self, waiting: asyncio.Future[Any], done: Future[Any]) -> None:
        with self._lock:
            self._done.append((waiting, done))
            if len(self._done) > 1:
                return  # the loop was woken up already
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        with self._lock:
            arrived, self._done = self._done, []
        for waiting, done in arrived:
            if waiting.done():
                continue
            if done.cancelled():
                waiting.cancel()
                continue
            error = done.exception()
            if error is None:
                waiting.set_result(done.result())
            else:
                waiting.set_exception(error)
