"""Delivery in the background: what waits goes out in order when the service is back, and counts once.

It runs while something waits, or while it is to be found out whether the service is back, and ends then.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any, TypeVar

from frugalbandits.client import forms
from frugalbandits.client.breaker import FIRST, LONGEST, Breaker
from frugalbandits.client.outbox import BATCH, Item, Outbox
from frugalbandits.client.wire import Flow, Lost, Pause, Request, Send, Work, answered, error_of, is_temporary
from frugalbandits.errors import InputError, NotAllowed

__all__ = ["Delivery"]

T = TypeVar("T")
_HURRY = 0.2  # seconds between two tries while somebody waits for all to be delivered
_LOOK = 0.02  # seconds between two looks whether it is
_log = logging.getLogger("frugalbandits")


class Delivery:
    """What goes on beside the calls of a client."""

    def __init__(self, outbox: Outbox, breaker: Breaker, url: str, timeout: float) -> None:
        self._outbox, self._breaker, self._url, self._timeout = outbox, breaker, url, timeout
        self.refused = 0
        self.stopped = False
        self._size = BATCH
        self._hold = 0.0  # seconds to wait after a refusal that a new token may mend
        self._held_until = 0.0
        self._locked_out = False  # so that it is said once
        self._hurry_until = 0.0
        self._last = float("-inf")

    @property
    def wanted(self) -> bool:
        """Whether there is anything to do."""
        return not self.stopped and (len(self._outbox) > 0 or self._breaker.due is not None)

    def attend(self) -> Flow[None]:
        """Deliver and probe until there is nothing more to do."""
        while self.wanted:
            wait = self._due()
            if wait > 0:
                yield Pause(wait)
            else:
                self._last = time.monotonic()
                yield from self._round()

    def hurry(self, seconds: float) -> None:
        """Try often for a while."""
        self._hurry_until = time.monotonic() + seconds

    def now(self) -> None:
        """Wait no longer: the service is back."""
        self._hold = self._held_until = 0.0

    def drained(self, seconds: float) -> Flow[bool]:
        """Wait until nothing waits, for so long at most; tell whether it came to that."""
        end = time.monotonic() + seconds
        while len(self._outbox) and time.monotonic() < end and not self.stopped:
            yield Pause(_LOOK)
        return not len(self._outbox)

    def _due(self) -> float:
        now = time.monotonic()
        wait = max(self._breaker.due or 0.0, self._held_until - now, 0.0)
        if now < self._hurry_until:
            return min(wait, max(self._last + _HURRY - now, 0.0))
        return wait

    def _round(self) -> Flow[None]:
        items = self._outbox.head(self._size)
        try:
            if not items:
                yield from self._once(forms.probe())
                self._breaker.probed()
            elif items[0].op["op"] == "create":
                yield from self._create(items[0])
            else:
                first = next((place for place, each in enumerate(items) if each.op["op"] == "create"), None)
                yield from self._batch(items[:first])
        except Lost as error:
            self._wait_longer(error.wait)
            if error.heard and items:
                self._breaker.probed()  # it may decide all the same
            else:
                self._breaker.failed(error.wait)
        except NotAllowed as error:
            # Kept: a token may be made known again, and a spool outlives this one. Whoever asks is told.
            self._breaker.reached()
            if not self._locked_out:
                _log.error("feedback waits: the service at %s refuses the token: %s", self._url, error)
            self._locked_out = True
            self._wait_longer()
        except InputError:
            # Of a probe: it is the service that answers, of whatever release.
            self._breaker.probed()

    def _once(self, request: Request[T]) -> Flow[T]:
        reply = yield Send(request, self._timeout)
        return answered(request, reply)

    def _wait_longer(self, at_least: float = 0.0) -> None:
        self._hold = min(max(2 * self._hold, FIRST), LONGEST)
        self._held_until = time.monotonic() + max(self._hold, at_least)

    def _went_through(self) -> None:
        self.now()
        self._locked_out = False
        if self._breaker.reached():
            _log.info("the decision service at %s is back", self._url)

    def _create(self, item: Item) -> Flow[None]:
        try:
            yield from self._once(forms.create(item.op["session"], item.op["body"]))
        except (InputError, NotAllowed) as error:
            if isinstance(error, NotAllowed) and error.status == 401:
                raise
            self._refuse([item], error)
        self._went_through()
        yield from self._done([item])

    def _batch(self, items: Sequence[Item]) -> Flow[None]:
        try:
            results = yield from self._once(forms.batch([item.op for item in items]))
        except InputError as error:
            # One that has a wrong form spoils all of them: so it is found by halves.
            self._went_through()
            if len(items) > 1:
                self._size = len(items) // 2
                return
            self._refuse(items, error)
            self._size = BATCH
            yield from self._done(items)
            return
        self._size = min(2 * self._size, BATCH)
        done, late = [], 0
        for item, (status, document) in zip(items, results, strict=True):
            if is_temporary(status) or status == 401:
                late += 1
                continue
            if status >= 400:
                self._refuse([item], error_of(status, document))
            done.append(item)
        if done:
            yield from self._done(done)
        if late:
            raise Lost(f"{late} of {len(items)} could not be taken at present", heard=True)
        self._went_through()

    def _done(self, items: Sequence[Item]) -> Flow[None]:
        if self._outbox.spooled:
            yield Work(lambda: self._outbox.done(items))
        else:
            self._outbox.done(items)

    def _refuse(self, items: Sequence[Item], error: Exception) -> None:
        for item in items:
            self.refused += 1
            _log.error("the decision service refuses %s, which is dropped: %s", _about(item.op), error)


def _about(op: Any) -> str:
    """Say what an item is, without what a caller may have put into an id."""
    told = {"tell": "feedback on a decision", "forget": "to forget a decision"}
    if op["op"] in told:
        return f"{told[op['op']]} ({str(op['id'])[:12]}...)"
    what = "the session" if op["op"] == "create" else "an observation of the session"
    return f"{what} {op['session']!r}"
