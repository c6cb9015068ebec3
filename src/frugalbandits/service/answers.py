"""Answers as they go out: whole, with few headers, and no work but to send them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

from starlette.types import Receive, Scope, Send

__all__ = ["NOTHING", "Answer", "Header", "as_json", "encoded"]

Header = tuple[bytes, bytes]
JSON = b"application/json"
_ALWAYS: tuple[Header, ...] = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
_write = json.JSONEncoder(allow_nan=False, separators=(",", ":"), check_circular=False).encode


class Answer:
    """A status, a body and headers; an ASGI application that sends them."""

    __slots__ = ("body", "headers", "status")

    def __init__(
        self, status: int, body: bytes = b"", kind: bytes = JSON, headers: Iterable[Header] = ()
    ) -> None:
        self.status = status
        self.body = body
        self.headers: list[Header] = [*_ALWAYS, *headers]
        if status != 204:
            self.headers.append((b"content-type", kind))
            self.headers.append((b"content-length", b"%d" % len(body)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        body = b"" if scope["method"] == "HEAD" else self.body
        await send({"type": "http.response.body", "body": body})


NOTHING = Answer(204)


def encoded(value: Any) -> bytes:
    """Return JSON; what is not finite is null."""
    try:
        return _write(value).encode()
    except ValueError:
        return _write(_finite(value)).encode()


def as_json(value: Any, status: int = 200) -> Answer:
    """Return plain values as an answer."""
    return Answer(status, encoded(value))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value
