"""Requests, what comes back for them, and what a flow asks of whoever runs it.

All that the client does is written once, as flows: generators that yield what is to be done (`Send`, `Pause`,
`Work`) and are handed the outcome. One runner does these things with threads, another one with asyncio.
"""

from __future__ import annotations

import email.utils
import json
import math
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from frugalbandits.errors import (
    Conflict,
    Expired,
    InputError,
    NotAllowed,
    ToldBefore,
    UnknownDecision,
    UnknownSession,
)

__all__ = [
    "Effect",
    "Flow",
    "Lost",
    "Pause",
    "Reply",
    "Request",
    "Send",
    "Work",
    "answered",
    "driven",
    "error_of",
    "is_temporary",
]

T = TypeVar("T")
LONGEST_WAIT = 30.0  # seconds of a Retry-After that are listened to
# What may be otherwise a moment later.
_TEMPORARY = frozenset({408, 425, 429})
_SHOWN = 200

_KINDS: dict[str, type[InputError]] = {
    "expired": Expired,
    "unknown-decision": UnknownDecision,
    "unknown-session": UnknownSession,
    "conflict": Conflict,
    "told-before": ToldBefore,
}
_START = "urn:frugalbandits:problem:"


class Lost(Exception):
    """No answer came that is of use.

    `wait` is how long the service asks to be left alone. `heard` says that it was the service that answered,
    and cannot do this one thing at present: a store that takes no feedback may let it decide all the same.
    """

    def __init__(self, words: str, wait: float = 0.0, heard: bool = False) -> None:
        super().__init__(words)
        self.wait, self.heard = wait, heard


class Reply(NamedTuple):
    """What came back."""

    status: int
    body: bytes = b""
    retry_after: str | None = None
    location: str | None = None


@dataclass(frozen=True)
class Request(Generic[T]):
    """What is sent; `read` makes of the JSON that comes back what it is for.

    Every request may be sent again: what is told counts once by its id, and a decision that nobody uses
    expires.
    """

    method: str
    path: str
    read: Callable[[Any], T]
    body: Any = None


class Send(NamedTuple):
    """Send a request, and have the reply within so many seconds; without one it is `Lost`."""

    request: Request[Any]
    seconds: float


class Pause(NamedTuple):
    """Wait for so many seconds, or until there is something to do."""

    seconds: float


class Work(NamedTuple):
    """Do something that waits for a disk."""

    do: Callable[[], Any]


Effect = Send | Pause | Work
Flow = Generator[Effect, Any, T]


def driven(flow: Flow[T], do: Callable[[Effect], Any]) -> T:
    """Run a flow to its end."""
    try:
        effect = next(flow)
        while True:
            try:
                found = do(effect)
            except Exception as error:
                effect = flow.throw(error)
            else:
                effect = flow.send(found)
    except StopIteration as end:
        value: T = end.value
        return value
    finally:
        flow.close()


def answered(request: Request[T], reply: Reply) -> T:
    """Return what a reply says, or raise what the service has against the request, or `Lost`."""
    status = reply.status
    if 200 <= status < 300:
        try:
            return request.read(None if status == 204 else json.loads(reply.body))
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            shown = reply.body[:80].decode("utf-8", "replace")
            raise Lost(f"its answer is none that the service gives: {shown!r}") from None
    if 300 <= status < 400:
        where = (reply.location or "nowhere")[:_SHOWN]
        # The token is for the address that was given, and for no other.
        raise Lost(
            f"it answers with a redirect ({status}) to {where}: give the address of the service itself"
        )
    if is_temporary(status):
        heard = _document(reply.body) is not None
        words = f"it answers with {status}: {_detail(reply.body)}"
        raise Lost(words, _seconds(reply.retry_after), heard)
    raise _refusal(status, reply.body)


def is_temporary(status: int) -> bool:
    """Tell whether the same may be answered otherwise a moment later."""
    return status in _TEMPORARY or status >= 500 or status < 200


def _refusal(status: int, body: bytes) -> Exception:
    document = _document(body)
    if document is not None:
        return error_of(status, document)
    if status == 401:
        return NotAllowed("the service wants another token", status)
    return Lost(f"it answers with {status}, and not in the words of the service: {_detail(body)}")


def error_of(status: int, document: Any) -> Exception:
    """Return the error that a problem document is of, in the words of the service."""
    detail = document.get("detail") if isinstance(document, dict) else None
    words = detail if isinstance(detail, str) else f"the service refuses it ({status})"
    if status in (401, 403):
        return NotAllowed(words, status)
    kind = str(document.get("type", "")) if isinstance(document, dict) else ""
    return _KINDS.get(kind.removeprefix(_START), InputError)(words)


def _document(body: bytes) -> dict[str, Any] | None:
    """Return a problem document of the service; a proxy in between writes others."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    ours = isinstance(found, dict) and str(found.get("type", "")).startswith(_START)
    return found if ours else None


def _detail(body: bytes) -> str:
    document = _document(body)
    if document is not None and isinstance(document.get("detail"), str):
        return str(document["detail"])[:_SHOWN]
    return repr(body[:80].decode("utf-8", "replace"))


def _seconds(told: str | None) -> float:
    """Return the seconds of a Retry-After, which may be a number or a date."""
    if told is None:
        return 0.0
    try:
        wait = float(told)
    except ValueError:
        try:
            wait = email.utils.parsedate_to_datetime(told).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return 0.0
    return min(max(wait, 0.0), LONGEST_WAIT) if math.isfinite(wait) else 0.0
