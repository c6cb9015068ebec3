"""What both ways of sending share: the address, the headers, and what is made of httpx's words."""

from __future__ import annotations

import json
import logging
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from frugalbandits._version import __version__
from frugalbandits.client.desk import Desk
from frugalbandits.client.outbox import Outbox
from frugalbandits.client.wire import Lost, Reply, Send
from frugalbandits.core.quality import finite_number
from frugalbandits.errors import InputError

__all__ = [
    "AFTER_FAILURE",
    "LARGEST",
    "TOKEN",
    "TROUBLE",
    "desk_of",
    "log",
    "options_of",
    "parts_of",
    "reply_of",
    "trouble",
]

TOKEN = "FRUGALBANDITS_TOKEN"
AFTER_FAILURE = 1.0  # seconds that delivery rests after what nobody foresaw
LARGEST = 64 << 20  # bytes of an answer
#: What httpx may raise where nothing comes back.
TROUBLE = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError)
log = logging.getLogger("frugalbandits")
_LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=60.0)


def desk_of(url: str, timeout: float, queue: int, spool: str | os.PathLike[str] | None) -> Desk:
    """Return the desk of a client, whose settings are checked."""
    address = _checked_url(url)
    seconds = finite_number("timeout", timeout)
    if seconds <= 0:
        raise InputError(f"timeout must be more than 0 seconds, but it is {timeout!r}")
    if isinstance(queue, bool) or not isinstance(queue, int) or queue < 1:
        raise InputError(f"queue must be a number of pieces of feedback, 1 or more, but it is {queue!r}")
    return Desk(address, seconds, Outbox(queue, None if spool is None else Path(spool), address))


def _checked_url(url: object) -> str:
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        good = parts is not None and parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        parts, good = None, False
    if parts is not None and (parts.username is not None or parts.password is not None):
        # Not shown: there is a secret in it.
        raise InputError("the address of a service has no user and no password in it: give token=")
    if not isinstance(url, str) or not good or parts is None or parts.query or parts.fragment:
        raise InputError(
            f"the address of a service is like http://127.0.0.1:8000, but it is {repr(url)[:200]}"
        )
    return url.rstrip("/")


def options_of(url: str, token: str | None) -> dict[str, Any]:
    """Return what an httpx client is told; the token is in there, and nowhere else."""
    headers = {"user-agent": f"frugalbandits/{__version__}", "accept": "application/json"}
    given = os.environ.get(TOKEN) if token is None else token
    if given:
        if not isinstance(given, str) or not given.isascii() or not given.isprintable() or " " in given:
            raise InputError(
                "the token has characters that no token has: a space, a line break, or beyond ASCII"
            )
        headers["authorization"] = f"Bearer {given}"
    return {"base_url": url, "headers": headers, "limits": _LIMITS, "follow_redirects": False}


def parts_of(effect: Send) -> dict[str, Any]:
    """Return the arguments of a request to httpx."""
    request = effect.request
    content = None if request.body is None else json.dumps(request.body, allow_nan=False).encode()
    return {
        "method": request.method,
        "url": request.path,
        "content": content,
        "headers": {} if content is None else {"content-type": "application/json"},
        "timeout": effect.seconds if math.isfinite(effect.seconds) else None,
    }


def reply_of(status: int, headers: Mapping[str, str], body: bytes) -> Reply:
    """Return a reply."""
    return Reply(status, body, headers.get("retry-after"), headers.get("location"))


def trouble(error: Exception) -> Lost:
    """Return what went wrong, in a few words; httpx puts no headers into its own."""
    if isinstance(error, httpx.TimeoutException | TimeoutError):
        return Lost("no answer came in time")
    words = str(error) or type(error).__name__
    return Lost(words[:300])
