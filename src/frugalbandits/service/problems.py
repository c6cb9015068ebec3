"""What went wrong, as a problem document (RFC 9457), in the words of the library."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import ValidationError

from frugalbandits.errors import (
    Conflict,
    Expired,
    InputError,
    StateFormatError,
    StoreUnavailable,
    ToldBefore,
    UnknownDecision,
    UnknownSession,
)
from frugalbandits.service.answers import Answer, Header

__all__ = ["MEDIA_TYPE", "RETRY_AFTER", "Problem", "of_validation", "problem_of"]

MEDIA_TYPE = b"application/problem+json"
_WIDEST = 2_000  # characters of what is said
#: Seconds after which a store that cannot be reached, or a worker that is full, may be tried again.
RETRY_AFTER = 1

# The first that fits counts, so that what is more special stands first.
_KINDS: tuple[tuple[type[Exception], int, str], ...] = (
    (Expired, 410, "expired"),
    (UnknownDecision, 404, "unknown-decision"),
    (UnknownSession, 404, "unknown-session"),
    (Conflict, 409, "conflict"),
    (ToldBefore, 409, "told-before"),
    (StateFormatError, 503, "state-format"),  # another worker, or a later release, may read it
    (InputError, 422, "input"),
    (StoreUnavailable, 503, "store-unavailable"),
)


class Problem(Exception):
    """An answer that is an error, raised where it is found."""

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        *,
        errors: Sequence[dict[str, Any]] = (),
        headers: Iterable[Header] = (),
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.detail = detail if len(detail) <= _WIDEST else f"{detail[:_WIDEST]}..."
        self.errors = list(errors)
        self.headers = list(headers)

    def document(self, instance: str | None = None) -> dict[str, Any]:
        """Return the problem as plain values."""
        found: dict[str, Any] = {
            "type": f"urn:frugalbandits:problem:{self.kind}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        if instance is not None:
            found["instance"] = instance
        if self.errors:
            found["errors"] = self.errors
        return found

    def answer(self, instance: str | None = None) -> Answer:
        """Return the problem as an answer."""
        body = json.dumps(self.document(instance)).encode()
        return Answer(self.status, body, MEDIA_TYPE, self.headers)


def problem_of(error: Exception) -> Problem:
    """Return the problem that an error of the library is; what nobody foresaw says nothing of itself."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, ValidationError):
        return of_validation(error)
    for kind, status, name in _KINDS:
        if isinstance(error, kind):
            later: list[Header] = [(b"retry-after", b"%d" % RETRY_AFTER)] if status == 503 else []
            return Problem(status, name, str(error), headers=later)
    return Problem(
        500,
        "internal",
        "something went wrong in the service; its log says what, under the id of this request",
    )


def of_validation(error: ValidationError, within: tuple[str | int, ...] = ()) -> Problem:
    """Return the problem that a body of another form is: each bad value by its place."""
    found = error.errors(include_url=False, include_context=False)
    if found[0]["type"] == "json_invalid":
        return Problem(400, "not-json", f"the body is not JSON: {found[0]['msg']}")
    errors = []
    for each in found[:20]:
        place = "/".join(str(part) for part in (*within, *each["loc"]))
        errors.append({"place": place, "words": f"{each['msg']}, but it is {_short(each['input'])}"})
    first = errors[0]
    where = f"{first['place']}: " if first["place"] else ""
    return Problem(422, "input", f"{where}{first['words']}", errors=errors)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:60]}... of {len(text):,} characters"
