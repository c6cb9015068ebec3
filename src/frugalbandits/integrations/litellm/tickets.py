"""Ids that are handed out with an answer, and that feedback comes back with.

A ticket says which group, segment and option an answer is of, and which decision it was, if it was one. It is
signed, so whoever may send feedback can only send it for answers that were given. Processes that share a
service or a store share the key, so any of them takes feedback for any ticket, after a restart too.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from typing import Any, NamedTuple

from frugalbandits.errors import UnknownDecision

__all__ = ["Signer", "Ticket"]

_BYTES = 12  # of the signature: forging one takes 2**95 tries on average


class Ticket(NamedTuple):
    """What feedback needs to know of an answer.

    `id` is the decision that the answer goes back to; None: it was no decision of ours that was followed, but
    the use of an option all the same (a fallback, a shadow), which `nonce` tells from others. Where a session
    looks at the request, such a use has with it what was known, `context`: no log has that.
    """

    group: str
    segment: str | None
    option: str
    id: Any
    nonce: str
    context: str | None = None


class Signer:
    """Writes tickets as short texts that fit into a header, and reads them back.

    Parameters
    ----------
    key
        What all processes know that share sessions; None: tickets are for this process alone.

    Examples
    --------
    >>> signer = Signer("a secret")
    >>> text = signer.write(Ticket("chat", None, "small", 17, "x"))
    >>> Signer("a secret").read(text).id
    17
    >>> Signer("another").read("nonsense")
    Traceback (most recent call last):
    frugalbandits.errors.UnknownDecision: no answer was given out with the id 'nonsense'
    """

    def __init__(self, key: str | None) -> None:
        self._key = secrets.token_bytes(32) if key is None else hashlib.sha256(key.encode()).digest()

    def write(self, ticket: Ticket) -> str:
        """Return a ticket as text."""
        body = _packed(json.dumps(ticket, separators=(",", ":")).encode())
        return f"{body}.{self._signature(body)}"

    def read(self, text: object) -> Ticket:
        """Return the ticket that a text is; raise `UnknownDecision` where it is none of ours."""
        body, dot, signature = text.partition(".") if isinstance(text, str) else ("", "", "")
        if not dot or not hmac.compare_digest(signature.encode(), self._signature(body).encode()):
            raise UnknownDecision(f"no answer was given out with the id {_short(text)}")
        try:
            return Ticket(*json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))))
        except (ValueError, TypeError, binascii.Error) as error:
            # Signed by us, so it is of another release.
            raise UnknownDecision(f"the id {_short(text)} cannot be read: {error}") from error

    def _signature(self, body: str) -> str:
        return _packed(hmac.digest(self._key, body.encode(), "sha256")[:_BYTES])


def _packed(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _short(text: object) -> str:
    return repr(text) if not isinstance(text, str) or len(text) <= 32 else repr(text[:28] + "...")
