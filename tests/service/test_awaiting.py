"""What a thread finishes reaches the coroutines that wait for it, a group at a time."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import pytest

from frugalbandits.errors import StoreUnavailable
from frugalbandits.service.awaiting import Awaiting


def as_is(future):
    return future


def test_results_and_errors_arrive_where_they_belong():
    async def run() -> list[object]:
        awaiting = Awaiting(asyncio.get_running_loop(), 60.0, 1_000)
        submitted: list[Future[int]] = [Future() for _ in range(3)]
        waits = [awaiting.of(partial(as_is, each)) for each in submitted]
        with ThreadPoolExecutor(1) as thread:
            thread.submit(submitted[1].set_result, 11)
            thread.submit(submitted[0].set_exception, ValueError("broken"))
            thread.submit(submitted[2].set_result, 22)
            return await asyncio.gather(*waits, return_exceptions=True)

    first, second, third = asyncio.run(run())
    assert isinstance(first, ValueError) and str(first) == "broken"
    assert (second, third) == (11, 22)


def test_a_group_wakes_the_loop_up_once():
    async def run() -> int:
        loop = asyncio.get_running_loop()
        knocks = []
        real = loop.call_soon_threadsafe

        def counted(*arguments, **more):
            knocks.append(1)
            return real(*arguments, **more)

        loop.call_soon_threadsafe = counted
        submitted: list[Future[int]] = [Future() for _ in range(100)]
        awaiting = Awaiting(loop, 60.0, 1_000)
        waits = [awaiting.of(partial(as_is, each)) for each in submitted]
        # The loop is busy meanwhile: this coroutine does not give way before the last one is done.
        for number, each in enumerate(submitted):
            each.set_result(number)
        assert await asyncio.gather(*waits) == list(range(100))
        return len(knocks)

    assert asyncio.run(run()) == 1


def test_who_gives_up_has_nothing_written_if_it_is_not_too_late():
    async def run() -> None:
        awaiting = Awaiting(asyncio.get_running_loop(), 60.0, 1_000)
        early, late = Future(), Future()
        waits = [awaiting.of(lambda: early), awaiting.of(lambda: late)]
        late.set_running_or_notify_cancel()
        for each in waits:
            each.cancel()
        await asyncio.sleep(0)
        assert early.cancelled() and not late.cancelled()
        late.set_result(1)
        await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await waits[1]

    asyncio.run(run())


def test_what_was_cancelled_before_it_was_written_is_cancelled_for_who_waits():
    async def run() -> None:
        awaiting = Awaiting(asyncio.get_running_loop(), 60.0, 1_000)
        submitted: Future[int] = Future()
        waits = awaiting.of(lambda: submitted)
        submitted.cancel()
        submitted.set_running_or_notify_cancel()
        with pytest.raises(asyncio.CancelledError):
            await waits

    asyncio.run(run())


def test_what_takes_too_long_fails_and_says_whether_it_was_begun():
    async def run() -> None:
        awaiting = Awaiting(asyncio.get_running_loop(), 0.05, 1_000)
        begun, queued = Future(), Future()
        begun.set_running_or_notify_cancel()
        waits = [awaiting.of(lambda: begun), awaiting.of(lambda: queued)]
        with pytest.raises(StoreUnavailable, match=r"within 0\.05 s; whether it was written is not known"):
            await waits[0]
        with pytest.raises(StoreUnavailable, match="nothing was written"):
            await waits[1]
        assert queued.cancelled()
        # While the thread is busy with it, what is new is refused at once, and not even submitted.
        with pytest.raises(StoreUnavailable, match="has not answered"):
            awaiting.of(lambda: pytest.fail("it was submitted"))
        begun.set_result(1)
        late: Future[int] = Future()
        late.set_result(2)
        assert await awaiting.of(lambda: late) == 2

    asyncio.run(run())


def test_only_so_many_wait():
    async def run() -> None:
        awaiting = Awaiting(asyncio.get_running_loop(), 60.0, 2)
        submitted: list[Future[int]] = [Future() for _ in range(2)]
        waits = [awaiting.of(partial(as_is, each)) for each in submitted]
        with pytest.raises(StoreUnavailable, match="2 requests wait"):
            awaiting.of(lambda: pytest.fail("it was submitted"))
        for each in submitted:
            each.set_result(1)
        await asyncio.gather(*waits)
        await asyncio.sleep(0)
        assert await awaiting.of(lambda: submitted[0]) == 1

    asyncio.run(run())
