"""Whether to ask the service at all: after a failure it is left alone, and tried in the background.

Closed: all goes there. Open: nothing does, until a probe in the background is answered; then half open: one
caller tries, and what becomes of that decides. So no more than one caller waits for a service that is away.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

__all__ = ["Breaker"]

FIRST = 1.0  # seconds until the first probe
LONGEST = 30.0  # and between two at most
_CLOSED, _OPEN, _HALF = range(3)


class Breaker:
    """The state of the way to one service; safe to use from several threads.

    Examples
    --------
    >>> breaker = Breaker()
    >>> breaker.enter(), breaker.failed(), breaker.enter()
    (True, True, False)
    >>> breaker.probed()
    >>> breaker.enter(), breaker.enter(), breaker.reached(), breaker.enter()
    (True, False, True, True)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._state = _CLOSED
        self._trying = False
        self._wait = 0.0
        self._until = 0.0

    def enter(self) -> bool:
        """Tell whether a caller may go to the service now; if so, it must `leave` in the end."""
        with self._lock:
            if self._state == _CLOSED:
                return True
            if self._state == _HALF and not self._trying:
                self._trying = True
                return True
            return False

    def leave(self) -> None:
        """Say that a caller is back, however it went."""
        with self._lock:
            self._trying = False

    def failed(self, at_least: float = 0.0) -> bool:
        """Note that no answer came; tell whether that is news."""
        with self._lock:
            now = self._clock()
            if self._state == _OPEN and now < self._until:
                return False  # of those that were on their way when the first one failed
            news = self._state == _CLOSED
            self._wait = min(max(2 * self._wait, FIRST), LONGEST)
            # Clients that lost the service together do not all come back together.
            self._until = now + max(self._wait * random.uniform(0.8, 1.2), at_least)
            self._state = _OPEN
            return news

    def probed(self) -> None:
        """Note that a probe was answered."""
        with self._lock:
            if self._state == _OPEN:
                self._state = _HALF

    def reached(self) -> bool:
        """Note that a request was answered; tell whether that is news."""
        if self._state == _CLOSED:
            return False
        with self._lock:
            self._state, self._wait = _CLOSED, 0.0
            return True

    @property
    def due(self) -> float | None:
        """Seconds until the next probe; None: there is nothing to find out."""
        with self._lock:
            return max(self._until - self._clock(), 0.0) if self._state == _OPEN else None
