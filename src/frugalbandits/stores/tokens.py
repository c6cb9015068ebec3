"""Ids of decisions that carry all that feedback needs, signed: so nothing is written when one is handed out.

An id is a text of letters, digits, "-" and "_": which session, which option, under which prices, when, a
number that is used once, and what the caller wants to have with it. It is signed with the secret of the
store, so an id of another session, another store, or somebody's own making is nobody's decision.
"""

from __future__ import annotations

import binascii
import hmac
import json
import os
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

from frugalbandits.errors import InputError, UnknownDecision

__all__ = ["LONGEST", "METADATA", "SECRET_BYTES", "Token", "Tokens", "mark_in", "mark_of"]

METADATA = 512  # bytes of metadata that an id may carry
SECRET_BYTES = 32
_SIGNATURE = 16
_HEAD = struct.Struct(">B8sQ6sIII")  # version and flags, session, when in ms, worker, number, option, prices
_VERSION = 0x10
_WANTED = 0x01
_LAST = 2**32 - 1
#: The longest text that can be an id.
LONGEST = 4 * (_HEAD.size + METADATA + _SIGNATURE + 2) // 3


class Token(NamedTuple):
    """What an id says."""

    key: str  # names the decision in the log
    option: int  # by the order in which options came
    epoch: int  # which prices held
    issued: float  # seconds since 1970
    wanted: bool
    metadata: Any


def mark_of(secret: bytes, session: str) -> bytes:
    """Return what stands for a session in its ids."""
    return blake2b(session.encode(), key=secret, digest_size=8, person=b"session").digest()


def mark_in(id_: str) -> bytes | None:
    """Return what stands for a session in an id, whose signature is not looked at; None if it is none."""
    raw = _raw(id_)
    return None if raw is None else raw[1:9]


class Tokens:
    """The ids of one session, as one worker makes and reads them.

    Examples
    --------
    >>> tokens = Tokens(b"secret", "shop")
    >>> token = tokens.read(tokens.issue(2, 0, 1_700_000_000.25, wanted=True))
    >>> token.option, token.issued, token.wanted
    (2, 1700000000.25, True)
    """

    def __init__(self, secret: bytes, session: str) -> None:
        self._secret = secret
        self._mark = mark_of(secret, session)
        self._worker = os.urandom(6)
        self._number = 0

    def issue(
        self, option: int, epoch: int, issued: float, wanted: bool, metadata: bytes | None = None
    ) -> str:
        """Return the id of a decision that is handed out now; not for several threads at once."""
        if self._number == _LAST:
            self._worker, self._number = os.urandom(6), 0
        self._number += 1
        flags = _VERSION | _WANTED if wanted else _VERSION
        head = _HEAD.pack(
            flags, self._mark, int(issued * 1000), self._worker, self._number, option, epoch & _LAST
        )
        if metadata is not None:
            head += metadata
        signed = head + blake2b(head, key=self._secret, digest_size=_SIGNATURE, person=b"decision").digest()
        return urlsafe_b64encode(signed).rstrip(b"=").decode()

    def read(self, id_: object) -> Token:
        """Return what an id says, or say that it is nobody's."""
        raw = _raw(id_) if isinstance(id_, str) else None
        if raw is None:
            raise UnknownDecision(f"no decision has the id {_short(id_)}")
        head, signature = raw[:-_SIGNATURE], raw[-_SIGNATURE:]
        right = blake2b(head, key=self._secret, digest_size=_SIGNATURE, person=b"decision").digest()
        flags, mark, issued, worker, number, option, epoch = _HEAD.unpack_from(head)
        if mark != self._mark or not hmac.compare_digest(right, signature):
            raise UnknownDecision(f"no decision of this session has the id {_short(id_)}")
        noted = head[_HEAD.size :]
        return Token(
            key=urlsafe_b64encode(worker + number.to_bytes(4) + b"\0\0")[:14].decode(),
            option=option,
            epoch=epoch,
            issued=issued / 1000,
            wanted=bool(flags & _WANTED),
            metadata=json.loads(noted) if noted else None,
        )


def packed(metadata: Any) -> bytes | None:
    """Return metadata in the form in which an id carries it."""
    if metadata is None:
        return None
    text = json.dumps(metadata, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
    if len(text) > METADATA:
        raise InputError(
            f"metadata travels in the id of a decision, so it may be {METADATA} bytes of JSON, but it is "
            f"{len(text):,}"
        )
    return text


# Whoever asks for the session of an id asks for what the id says next.
@lru_cache(maxsize=256)
def _raw(id_: str) -> bytes | None:
    """Return the bytes of an id of the present form."""
    if len(id_) > LONGEST or not id_.isascii():
        return None
    try:
        raw = urlsafe_b64decode(id_ + "=" * (-len(id_) % 4))
    except (binascii.Error, ValueError):
        return None
    # Python reads past characters that are none of base64, and past bits that are left over.
    if len(raw) < _HEAD.size + _SIGNATURE or raw[0] & 0xF0 != _VERSION:
        return None
    return raw if urlsafe_b64encode(raw).rstrip(b"=").decode() == id_ else None


def _short(id_: object) -> str:
    text = repr(id_)
    return text if len(text) <= 100 else f"{text[:60]}... of {len(text):,} characters"
