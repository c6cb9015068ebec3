"""Threads for calls that wait for the store, apart from those that compute.

A store may hang. The threads that wait for it must not be those that explain a session or write metrics, they
must not keep the process from ending, and a request waits for them only so long.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from frugalbandits.errors import StoreUnavailable

__all__ = ["StoreThreads", "answered_within"]

_Result = TypeVar("_Result")


class _Job(NamedTuple):
    work: Callable[[], Any]
    future: Future[Any]


class StoreThreads:
    """A few daemon threads with a bounded queue.

    The threads of `concurrent.futures` are no alternative: the interpreter waits for them when it ends.
    """

    def __init__(self, threads: int, waiting: int) -> None:
        self._most_threads = threads
        self._most_waiting = waiting
        self._jobs: deque[_Job] = deque()
        self._ready = threading.Condition()
        self._threads = 0
        self._idle = 0

    def run(self, work: Callable[[], _Result]) -> asyncio.Future[_Result]:
        """Have something done by one of the threads; refuse where too much waits already."""
        future: Future[_Result] = Future()
        with self._ready:
            if len(self._jobs) >= self._most_waiting:
                raise StoreUnavailable(f"{self._most_waiting} requests wait for the store already")
            self._jobs.append(_Job(work, future))
            if self._idle >= len(self._jobs) or self._threads == self._most_threads:
                self._ready.notify()
            else:
                self._threads += 1
                threading.Thread(target=self._work, name="frugalbandits-store", daemon=True).start()
        return asyncio.wrap_future(future)

    def _work(self) -> None:
        while True:
            with self._ready:
                self._idle += 1
                while not self._jobs:
                    self._ready.wait()
                self._idle -= 1
                job = self._jobs.popleft()
            if not job.future.set_running_or_notify_cancel():
                continue
            try:
                result = job.work()
            except BaseException as error:
                job.future.set_exception(error)
            else:
                job.future.set_result(result)
            del job


async def answered_within(seconds: float, found: Awaitable[_Result]) -> _Result:
    """Wait for something that the store has to do, but not longer; it goes on by itself all the same."""
    task = asyncio.ensure_future(found)
    # So that an error which nobody waits for any more is not logged as one that nobody has handled.
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        async with asyncio.timeout(seconds):
            return await asyncio.shield(task)
    except TimeoutError:
        raise StoreUnavailable(f"the store did not answer within {seconds:g} s") from None
