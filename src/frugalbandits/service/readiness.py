"""Whether the store can be written to: tried by one probe at a time, however many ask."""

from __future__ import annotations

import asyncio
import time

from frugalbandits.errors import StoreUnavailable
from frugalbandits.service.hub import Hub
from frugalbandits.service.store_threads import answered_within

__all__ = ["Readiness"]

_PATIENCE = 2.0  # seconds that the store may take
_FRESH = 0.5  # seconds for which a result is reused: anybody may send a probe, and each one is a commit


class Readiness:
    """The last probe of a store, and the one that is under way."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._probe: asyncio.Future[None] | None = None
        self._began = float("-inf")
        self._ended = float("-inf")

    async def check(self) -> None:
        """Return if the store can be written to; else raise why it cannot."""
        now = time.monotonic()
        if self._probe is None or (self._probe.done() and now - self._ended > _FRESH):
            self._began = now
            self._probe = self._hub.begin(self._hub.store.probe)
            self._probe.add_done_callback(self._end)
        left = self._began + _PATIENCE - now
        if self._probe.done():
            error = self._probe.exception()
            if error is not None:
                raise StoreUnavailable(str(error))
        elif left <= 0:
            raise StoreUnavailable(f"the store has not answered a probe for {now - self._began:.1f} s")
        else:
            try:
                await answered_within(left, self._probe)
            except StoreUnavailable:
                raise
            except Exception as error:
                raise StoreUnavailable(f"a probe of the store failed: {error!r}") from error

    def _end(self, _: object) -> None:
        self._ended = time.monotonic()
