"""Hand new entries to sessions that are busy, in a thread of its own.

The thread that writes serves all sessions of a store, so it never waits for one of them. Where a session
cannot take its entries in at once, because another thread is planning or explaining with it, they go through
this thread, and so does all that comes for that session until it has caught up.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from frugalbandits.stores.contract import Entry, Outcome

__all__ = ["Delivery", "Parcel"]


class Parcel(NamedTuple):
    """New entries of a session, and the calls that are answered when the session has them."""

    session: str
    entries: Sequence[Entry]
    answers: Sequence[tuple[Future[list[Outcome]], list[Outcome]]]

    def answer(self) -> None:
        """Answer the calls."""
        for future, outcomes in self.answers:
            future.set_result(outcomes)


class Delivery:
    """A thread that hands over parcels in order; it starts with the first one.

    Parameters
    ----------
    name
        What the thread is called.
    hand_over
        Hands entries to the listener of a session, however long that takes; raises nothing.
    """

    def __init__(self, name: str, hand_over: Callable[[Parcel], object]) -> None:
        self._name = name
        self._hand_over = hand_over
        self._parcels: deque[Parcel] = deque()
        self._left: Counter[str] = Counter()  # parcels by session that are not handed over yet
        self._ready = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    def has(self, session: str) -> bool:
        """Tell whether there are parcels for a session: what comes next must come after them."""
        with self._ready:
            return session in self._left

    def put(self, parcel: Parcel) -> None:
        """Have a parcel handed over; returns at once."""
        with self._ready:
            self._left[parcel.session] += 1
            self._parcels.append(parcel)
            self._ready.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def is_this_thread(self) -> bool:
        """Tell whether the caller runs in the thread that hands over."""
        return threading.current_thread() is self._thread

    def close(self) -> None:
        """End when all that was put has been handed over."""
        with self._ready:
            self._closed = True
            self._ready.notify()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._ready:
                while not self._parcels and not self._closed:
                    self._ready.wait()
                if not self._parcels:
                    return
                parcel = self._parcels.popleft()
            self._hand_over(parcel)
            with self._ready:
                self._left[parcel.session] -= 1
                if not self._left[parcel.session]:
                    del self._left[parcel.session]
            parcel.answer()
