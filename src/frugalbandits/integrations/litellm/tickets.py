"""Ids that are handed out with an answer, and that feedback comes back with.

A ticket says which group, segment and option an answer is of, and which decision it was, if it was one. It is
signed, so a client can only send feedback on answers that were given. The key is random and kept in the store
of the sessions, or it is given as a setting (`ticket_key`); so each process that shares the sessions takes
feedback for any ticket, after a restart too. Sessions in memory have a random key of their process.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

from frugalbandits.errors import UnknownDecision

__all__ = ["Signer", "Ticket", "group_named_in"]

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
        A secret of all processes that share sessions; None: a random one, for this process alone.
    older
        Secrets that signed tickets before: their tickets are still read.

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

    def __init__(self, key: str | None, older: Sequence[str] = ()) -> None:
        self._keys = [
            secrets.token_bytes(32) if key is None else _digest(key),
            *(_digest(each) for each in older),
        ]

    def write(self, ticket: Ticket) -> str:
        """Return a ticket as text."""
        body = _packed(json.dumps(ticket, separators=(",", ":")).encode())
        return f"{body}.{_signature(self._keys[0], body)}"

    def read(self, text: object) -> Ticket:
        """Return the ticket that a text is; raise `UnknownDecision` where it is none of ours."""
        body, dot, signature = text.partition(".") if isinstance(text, str) else ("", "", "")
        given = signature.encode(errors="surrogatepass")
        # All keys are compared, so that the time taken does not tell which one fits.
        fits = [hmac.compare_digest(given, _signature(key, body).encode()) for key in self._keys]
        if not dot or not any(fits):
            raise UnknownDecision(f"no answer was given out with the id {_short(text)}")
        try:
            return _unpacked(body)
        except (ValueError, TypeError, binascii.Error) as error:
            # Signed by us, so it is of another release.
            raise UnknownDecision(f"the id {_short(text)} cannot be read: {error}") from error


def group_named_in(text: object) -> str | None:
    """Return the group that a ticket names, without a check of its signature; None where it is no ticket.

    This only says whose key to check the ticket with.

    Examples
    --------
    >>> group_named_in(Signer(None).write(Ticket("chat", None, "small", 17, "x")))
    'chat'
    >>> group_named_in("nonsense") is None
    True
    """
    if not isinstance(text, str):
        return None
    try:
        found = _unpacked(text.partition(".")[0]).group
    except (ValueError, TypeError, binascii.Error, RecursionError):
        return None
    return found if isinstance(found, str) else None


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


def _signature(key: bytes, body: str) -> str:
    return _packed(hmac.digest(key, body.encode(errors="surrogatepass"), "sha256")[:_BYTES])


def _unpacked(body: str) -> Ticket:
    return Ticket(*json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))))


def _packed(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _short(text: object) -> str:
    return repr(text) if not isinstance(text, str) or len(text) <= 32 else repr(text[:28] + "...")
