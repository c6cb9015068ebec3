"""What happens after an answer has gone out: a thread of its own, with an event loop, for bills and judges.

Callbacks of LiteLLM come from its event loop or from threads of its own; none of them is kept waiting.
Coroutines run in the loop, and what blocks (a store, a service, a judge that is a plain function) in a few
threads.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["Backstage", "is_coroutine_function", "log"]

T = TypeVar("T")
log = logging.getLogger("frugalbandits.litellm")
MOST = 10_000  # jobs that wait
THREADS = 8


def is_coroutine_function(function: Any) -> bool:
    """Tell whether a call of something is a coroutine, be it a function or an object."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


class Backstage:
    """Jobs behind the scenes; a process that was forked begins its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._make_pools()
        self._jobs: set[Future[Any]] = set()
        self._quiet = threading.Condition()

    def _make_pools(self) -> None:
        # A request never waits behind judges.
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="frugalbandits")
        self._front = ThreadPoolExecutor(THREADS, thread_name_prefix="frugalbandits-ask")

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._pid != os.getpid():
                self._begin()
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_run, args=(self._loop,), name="frugalbandits-litellm", daemon=True
                )
                self._thread.start()
            return self._loop

    def submit(self, job: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """Run a job soon; tell whether it was taken: it is not where too many wait already."""
        self._running()
        with self._quiet:
            if len(self._jobs) >= MOST:
                return False
            loop = self._running()  # again: it may have been closed a moment ago
            future = asyncio.run_coroutine_threadsafe(job(), loop)
            self._jobs.add(future)
        future.add_done_callback(self._done)
        return True

    def _done(self, future: Future[Any]) -> None:
        with self._quiet:
            self._jobs.discard(future)
            self._quiet.notify_all()
        error = None if future.cancelled() else future.exception()
        if error is not None:
            log.error("a job behind the scenes failed", exc_info=error)

    def later(self, seconds: float, job: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a job after a while; `flush` does not wait for it."""
        loop = self._running()
        loop.call_soon_threadsafe(loop.call_later, seconds, self.submit, job)

    async def in_thread(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Run what blocks in a thread, from any event loop."""
        self._running()
        return await asyncio.get_running_loop().run_in_executor(self._pool, lambda: function(*args, **kwargs))

    async def in_front(self, function: Callable[..., T], *args: Any) -> T:
        """Run what blocks and a request waits for, in threads that do nothing else."""
        self._running()
        return await asyncio.get_running_loop().run_in_executor(self._front, function, *args)

    async def called(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function of a user, which may be a coroutine function, without blocking the loop."""
        if is_coroutine_function(function):
            return await function(*args)
        found = await self.in_thread(function, *args)
        return await found if isinstance(found, Awaitable) else found

    def flush(self, timeout: float) -> bool:
        """Wait until nothing is left to do, for so many seconds at most; tell whether it is so."""
        with self._quiet:
            return self._quiet.wait_for(lambda: not self._jobs, timeout)

    def close(self) -> None:
        """End the thread; what is not done is dropped."""
        with self._quiet, self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5.0)
        self._pool.shutdown(wait=False)
        self._front.shutdown(wait=False)
        self._make_pools()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped; what is left then is dropped, and the loop closed."""
    loop.run_forever()
    loop.run_until_complete(_drop_the_others())
    loop.close()


async def _drop_the_others() -> None:
    """Cancel all other tasks of this loop, and wait until they have ended."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
