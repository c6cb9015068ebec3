"""Connections that do not wait for ever: whoever begins a request ends its head in time, or is hung up on."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["patient_for"]


class _Patient(HttpToolsProtocol):
    """uvicorn's protocol, which by itself waits for the rest of a head as long as it takes.

    The time is looked at now and then and not for each request, so that this costs nothing where it counts.
    """

    patience: float
    _reading_since: float | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._reading_since = self.loop.time()
        self.loop.call_later(self.patience, self._look)

    def on_message_begin(self) -> None:
        """Note when the head of a request begins."""
        super().on_message_begin()
        self._reading_since = self.loop.time()

    def on_headers_complete(self) -> None:
        """Note that it is there."""
        self._reading_since = None
        super().on_headers_complete()

    def _look(self) -> None:
        transport: asyncio.Transport = self.transport
        if transport.is_closing():
            return
        since = self._reading_since
        if since is not None and self.loop.time() - since >= self.patience:
            transport.close()
            return
        self.loop.call_later(self.patience / 2, self._look)


def patient_for(seconds: float) -> type[asyncio.Protocol]:
    """Return the protocol of connections that wait so long for a head."""
    return type("Patient", (_Patient,), {"patience": seconds})
