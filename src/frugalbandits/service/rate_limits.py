"""How many requests a token may send: a bucket for each, which fills up at a steady rate."""

from __future__ import annotations

import math
import time

from frugalbandits.service.problems import Problem

__all__ = ["RateLimits"]


class RateLimits:
    """Token buckets by the names of tokens, of one worker.

    Parameters
    ----------
    rate
        Requests a second that each token has; 0: no limit.
    burst
        Requests that it may send at once; 0: those of two seconds.

    Examples
    --------
    >>> limits = RateLimits(rate=10, burst=2)
    >>> limits.take("web"), limits.take("web")
    (None, None)
    >>> limits.take("web")
    Traceback (most recent call last):
    ...
    frugalbandits.service.problems.Problem: the token 'web' may send 10 requests a second to a worker
    >>> limits.take("mobile")
    """

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = max(burst or 2 * rate, 1.0)
        self._buckets: dict[str, tuple[float, float]] = {}  # what is left, and when

    def take(self, name: str) -> None:
        """Count a request, or refuse it."""
        if not self._rate:
            return
        left, now = self._left(name)
        if left < 1:
            wait = math.ceil((1 - left) / self._rate)
            whose = f"the token {name!r} may" if name else "without a token you may"
            raise Problem(
                429,
                "too-many-requests",
                f"{whose} send {self._rate:g} requests a second to a worker",
                headers=[(b"retry-after", b"%d" % wait)],
            )
        self._buckets[name] = left - 1, now

    def charge(self, name: str, more: int) -> None:
        """Count that a request that was let in is worth more than one: later ones wait for it."""
        if self._rate and more > 0:
            left, now = self._left(name)
            self._buckets[name] = left - more, now

    def _left(self, name: str) -> tuple[float, float]:
        now = time.monotonic()
        left, then = self._buckets.get(name, (self._burst, now))
        return min(left + (now - then) * self._rate, self._burst), now
