"""What another thread finishes, for coroutines that wait for it: all that is done comes in one go.

The thread that writes finishes a whole group at a time. To wake the event loop up once for each of them, as
`asyncio.wrap_future` does, takes longer than to answer them.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import Any, TypeVar

__all__ = ["Awaiting"]

_Result = TypeVar("_Result")


class Awaiting:
    """Futures of threads as futures of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._done: list[tuple[asyncio.Future[Any], Future[Any]]] = []

    def of(self, submitted: Future[_Result]) -> asyncio.Future[_Result]:
        """Return a future of the loop; who gives it up gives up what was submitted, if it is not too late."""
        waiting: asyncio.Future[_Result] = self._loop.create_future()

        def given_up(ended: asyncio.Future[_Result]) -> None:
            if ended.cancelled():
                submitted.cancel()

        waiting.add_done_callback(given_up)
        submitted.add_done_callback(lambda done: self._arrive(waiting, done))
        return waiting

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
