"""What sessions of a store are called and begin with: names, the first entry, and the store's secret."""

from __future__ import annotations

import json
import re
import secrets
import time
import weakref
from typing import Any

from frugalbandits.errors import InputError, StateFormatError, UnknownSession
from frugalbandits.stores import facts
from frugalbandits.stores.contract import Entry, Fact, Store
from frugalbandits.stores.tokens import SECRET_BYTES

__all__ = ["SERVER", "check_session_name", "first_of", "looks_at_queries", "secret_of", "settings_in"]

#: The name under which a store keeps what is of all sessions: no session can have it.
SERVER = "$server"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+-]{0,119}")
_secrets: weakref.WeakKeyDictionary[Store, bytes] = weakref.WeakKeyDictionary()


def check_session_name(name: object) -> str:
    """Return a name under which a session can be kept."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        shown = (
            repr(name)
            if len(repr(name)) <= 100
            else f"{repr(name)[:60]}... of {len(repr(name)):,} characters"
        )
        raise InputError(
            "the name of a session is 1 to 120 letters, digits or one of . _ : @ + -, and begins with a "
            f"letter or a digit, but it is {shown}"
        )
    return name


def secret_of(store: Store) -> bytes:
    """Return the secret that signs decisions of a store; the first who asks makes it."""
    found = _secrets.get(store)
    if found is None:
        # Every session of the store needs it: it is asked for once, not once for each of them.
        found = _secrets[store] = _secret_in(store)
    return found


def _secret_in(store: Store) -> bytes:
    made = Fact("secret", "secret", f'"{secrets.token_hex(SECRET_BYTES)}"', time.time(), "")
    [outcome] = store.append(SERVER, [made])
    assert outcome.entry is not None
    return bytes.fromhex(outcome.entry.fact.body.strip('"'))


def first_of(store: Store, name: str) -> Entry:
    """Return the entry with which a session begins."""
    entries = store.read(name, 0, 1)
    if not entries:
        raise UnknownSession(f"no session is called {name!r} in {store.address}")
    return entries[0]


def looks_at_queries(first: Entry) -> bool:
    """Tell whether a session, by its first entry, is one that looks at queries."""
    return "context" in settings_in(first.fact)


def settings_in(fact: Fact) -> dict[str, Any]:
    """Return the settings with which a session began, from its first entry."""
    if fact.kind != facts.CREATED:
        raise StateFormatError(f"a session begins with a fact of the kind {fact.kind!r}, not 'created'")
    settings: dict[str, Any] = json.loads(fact.body)["settings"]
    return settings
