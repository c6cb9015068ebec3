"""Who may do what: bearer tokens, kept as digests, as facts of the store like everything else.

Whoever has a token has its role on all sessions whose names begin with its prefix. A store that has never had
a token is open: then only this machine is let in.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
import time
from typing import NamedTuple

from frugalbandits.errors import InputError, LogDiverged
from frugalbandits.stores.contract import CONFLICT, Entry, Fact, Store, body_of
from frugalbandits.stores.following import SERVER, check_session_name
from frugalbandits.stores.log_reader import read_after

__all__ = ["ADMIN", "NOBODY", "READER", "ROLES", "WRITER", "Access", "Holder", "add_token", "revoke_token"]

READER, WRITER, ADMIN = 1, 2, 3
ROLES = {"reader": READER, "writer": WRITER, "admin": ADMIN}
START = "frugal_"
_BYTES = 32
_PAGE = 1_000


class Holder(NamedTuple):
    """Whoever holds a token."""

    name: str
    role: int
    prefix: str
    at: float = 0.0
    number: int = 0  # how many of its name came before
    revoked: bool = False

    @property
    def role_name(self) -> str:
        """The role in a word."""
        return next(name for name, role in ROLES.items() if role == self.role)


#: Whoever asks where there are no tokens.
NOBODY = Holder("", ADMIN, "")


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


class Access:
    """The tokens of a store, as far as its log was read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._seen, self._seen_key = 0, ""
        self._closed = False
        self._by_digest: dict[str, Holder] = {}
        self._digests: dict[str, str] = {}  # the newest of each name
        self.all: dict[tuple[str, int], Holder] = {}

    @property
    def open(self) -> bool:
        """Whether there never was a token; once there was, nobody gets in without, revoked or not."""
        return not self.all and not self._closed

    def refresh(self) -> None:
        """Read what is new; may be called by any thread."""
        with self._lock:
            while True:
                try:
                    entries = read_after(self._store, SERVER, self._seen, self._seen_key, _PAGE)
                except LogDiverged:
                    # After a failover or a restore. What was closed stays closed, whatever the log has lost.
                    self._closed = self._closed or bool(self.all)
                    self._seen, self._seen_key = 0, ""
                    self._by_digest, self._digests, self.all = {}, {}, {}
                    continue
                for entry in entries:
                    self._take(entry)
                    self._seen, self._seen_key = entry.seq, entry.fact.key
                if len(entries) < _PAGE:
                    return

    def _take(self, entry: Entry) -> None:
        fact = entry.fact
        if fact.kind == "token":
            body = json.loads(fact.body)
            name = body["name"]
            role = ROLES.get(body["role"])
            if role is None:
                return  # a later release may have others: whoever has one is nobody here
            holder = Holder(name, role, body["prefix"], fact.at, body["number"])
            self.all[name, holder.number] = holder
            self._digests[name] = body["digest"]
            self._by_digest[body["digest"]] = holder
        elif fact.kind == "revoke":
            name = json.loads(fact.body)["name"]
            gone = self._by_digest.pop(self._digests.get(name, ""), None)
            if gone is not None:
                self.all[name, gone.number] = gone._replace(revoked=True)

    def holder(self, token: str) -> Holder | None:
        """Return who holds a token."""
        return self._by_digest.get(_digest(token))

    def named(self, name: str) -> Holder | None:
        """Return the token of a name that holds now."""
        return self._by_digest.get(self._digests.get(name, ""))


def add_token(store: Store, name: str, role: str, prefix: str = "") -> str:
    """Make a token, and return it: this once, for only its digest is kept."""
    _check_name(name)
    if role not in ROLES:
        raise InputError(f"a role is one of {', '.join(ROLES)}, but it is {role!r}")
    if prefix:
        check_session_name(prefix)
    access = Access(store)
    access.refresh()
    if access.named(name) is not None:
        raise InputError(f"a token called {name!r} is there: revoke it first, or take another name")
    number = sum(each == name for each, _ in access.all)
    token = START + secrets.token_urlsafe(_BYTES)
    body = {"name": name, "digest": _digest(token), "role": role, "prefix": prefix, "number": number}
    fact = Fact(f"token:{number}:{name}", "token", body_of(body), time.time(), "")
    [outcome] = store.append(SERVER, [fact])
    if outcome.what == CONFLICT:
        raise InputError(f"a token called {name!r} was made by somebody else just now")
    return token


def revoke_token(store: Store, name: str) -> Holder:
    """Let a token hold no more, and return whose it was."""
    access = Access(store)
    access.refresh()
    holder = access.named(name)
    if holder is None:
        known = ", ".join(sorted(each.name for each in access.all.values() if not each.revoked)) or "none"
        raise InputError(f"no token is called {name!r}; those that hold: {known}")
    fact = Fact(f"revoke:{holder.number}:{name}", "revoke", body_of({"name": name}), time.time(), "")
    store.append(SERVER, [fact])
    return holder


def _check_name(name: str) -> None:
    try:
        check_session_name(name)
    except InputError as error:
        raise InputError(str(error).replace("the name of a session", "the name of a token", 1)) from None
