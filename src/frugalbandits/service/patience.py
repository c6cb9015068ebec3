"""Connections with limits: of time and size for the head of a request, and of how many there are.

This stands on parts of uvicorn that it does not promise to keep; `UVICORN_PARTS` names them, and
pyproject.toml allows the versions that were tested.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from frugalbandits.service import limits
from frugalbandits.service.problems import MEDIA_TYPE, RETRY_AFTER, Problem

__all__ = ["UVICORN_PARTS", "patient_for"]

#: What is used of `HttpToolsProtocol` beyond its documentation: methods that are extended, and attributes.
UVICORN_PARTS = (
    "connection_lost",
    "connection_made",
    "connections",
    "data_received",
    "loop",
    "on_header",
    "on_headers_complete",
    "on_message_begin",
    "on_response_complete",
    "on_url",
    "pipeline",
    "send_400_response",
    "transport",
)


class _HeadTooLarge(httptools.HttpParserError):
    """The head of a request is larger than the limit."""


class _Patient(HttpToolsProtocol):
    """uvicorn's protocol, which by itself waits for a head as long as it takes, and takes heads of any size.

    The time is looked at now and then and not for each request, so that this costs nothing where it counts.
    """

    patience: float
    most: int
    #: Connections without a request in hand, in the order in which they became idle. Of all connections.
    idle: dict[_Patient, None]

    _reading_since: float | None = None
    _head = 0  # bytes of the present head
    _unfinished = 0  # bytes that came since it began and brought no end of it
    _begun_here = False  # whether it began in the bytes that are being read

    # How many connections.

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request; where there are too many connections, close one that is idle."""
        super().connection_made(transport)
        self._reading_since = self.loop.time()
        self.loop.call_later(self.patience, self._look)
        if len(self.connections) > self.most:
            oldest = next(iter(self.idle), None)
            if oldest is None:
                self._refuse(
                    Problem(
                        503,
                        "busy",
                        f"this worker has {self.most:,} connections, all of them in use",
                        headers=[(b"retry-after", b"%d" % RETRY_AFTER)],
                    )
                )
                return
            del self.idle[oldest]
            # uvicorn counts a connection until it is lost, which is in the next turn of the loop.
            self.connections.discard(oldest)
            oldest.transport.close()
        self.idle[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.idle.pop(self, None)
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Note that nothing is in hand."""
        super().on_response_complete()
        if not self.transport.is_closing() and not self.pipeline and self._reading_since is None:
            self.idle[self] = None

    # The head of a request.

    def data_received(self, data: bytes) -> None:
        """Read on, unless a head becomes too large."""
        if self.transport.is_closing():
            return
        self._begun_here = False
        super().data_received(data)
        if self._reading_since is None or self.transport.is_closing():
            self._unfinished = 0
        elif not self._begun_here:
            # All of it belongs to a head that has not ended: the parser keeps a header until it is whole.
            self._unfinished += len(data)
            if self._unfinished > limits.HEAD:
                self._refuse(_too_large())

    def on_message_begin(self) -> None:
        """Note when the head of a request begins."""
        super().on_message_begin()
        self.idle.pop(self, None)
        self._reading_since = self.loop.time()
        self._head = self._unfinished = 0
        self._begun_here = True

    def on_url(self, url: bytes) -> None:
        """Count the bytes of an address."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count the bytes of a header."""
        self._count(len(name) + len(value) + 4)
        super().on_header(name, value)

    def _count(self, size: int) -> None:
        self._head += size
        if self._head > limits.HEAD:
            self._refuse(_too_large())
            raise _HeadTooLarge

    def on_headers_complete(self) -> None:
        """Note that it is there."""
        self._reading_since = None
        super().on_headers_complete()

    def _refuse(self, problem: Problem) -> None:
        """Answer without the application, and close the connection."""
        if self.transport.is_closing():
            return
        body = json.dumps(problem.document()).encode()
        title = problem.document()["title"].encode()
        lines = [
            b"HTTP/1.1 %d %b" % (problem.status, title),
            b"content-type: %b" % MEDIA_TYPE,
            b"content-length: %d" % len(body),
            *(b"%b: %b" % header for header in problem.headers),
            b"connection: close",
        ]
        self.transport.write(b"\r\n".join(lines) + b"\r\n\r\n" + body)
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, unless an answer was given already."""
        if not self.transport.is_closing():
            super().send_400_response(msg)

    def _look(self) -> None:
        transport: asyncio.Transport = self.transport
        if transport.is_closing():
            return
        since = self._reading_since
        if since is not None and self.loop.time() - since >= self.patience:
            transport.close()
            return
        self.loop.call_later(self.patience / 2, self._look)


def _too_large() -> Problem:
    return Problem(431, "head-too-large", f"the head of a request may have {limits.HEAD:,} bytes")


def patient_for(seconds: float, connections: int) -> type[asyncio.Protocol]:
    """Return the protocol of connections: seconds that a head may take, and how many there may be."""
    return type("Patient", (_Patient,), {"patience": seconds, "most": connections, "idle": {}})
