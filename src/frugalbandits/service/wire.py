"""What is around every request: an id, a limit of how many at once, a line in the log, a count."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from frugalbandits.service import limits
from frugalbandits.service.problems import RETRY_AFTER, Problem

if TYPE_CHECKING:
    from frugalbandits.service.app import Service

__all__ = ["Wire"]

#: Addresses that are answered however much is in hand: whoever restarts what does not answer would do harm.
_PROBES = frozenset({"/healthz", "/readyz"})
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")


class Wire:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, and take down what became of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        id_ = given if _ID.fullmatch(given) else secrets.token_hex(8).encode()
        scope["request_id"] = id_.decode()
        status = 0

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message["headers"], (b"x-request-id", id_)]}
            await send(message)

        probe = scope["path"] in _PROBES
        self._running += not probe
        try:
            if self._running > limits.CONCURRENCY and not probe:
                await _full().answer(scope["path"])(scope, receive, sent)
            else:
                await self._app(scope, receive, sent)
        except asyncio.CancelledError:
            # The server cancels what has not ended some time after it was told to stop.
            if status:
                raise
            await _ending().answer(scope["path"])(scope, receive, sent)
        finally:
            self._running -= not probe
            self._note(scope, status, time.perf_counter() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = scope.get("route")
        template: str = getattr(route, "path_format", None) or "none"
        self._service.metrics.answered(scope["method"] if route else "other", template, status, seconds)
        told: dict[str, Any] = {
            "method": scope["method"],
            "route": template,
            "status": status,
            "ms": round(seconds * 1e3, 3),
            "request": scope["request_id"],
        }
        about = {"session": scope.get("session"), "token": scope.get("who")}
        told.update({name: value for name, value in about.items() if value})
        self._service.log.info("request", **told)


def _full() -> Problem:
    return Problem(
        503,
        "busy",
        f"this worker has {limits.CONCURRENCY:,} requests in hand",
        headers=[(b"retry-after", b"%d" % RETRY_AFTER)],
    )


def _ending() -> Problem:
    return Problem(
        503,
        "ending",
        "this worker ends, and the request has not; whether anything was written is not known: the same "
        "request may be sent again, and counts once",
        headers=[(b"retry-after", b"%d" % RETRY_AFTER), (b"connection", b"close")],
    )
