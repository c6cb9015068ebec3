"""Read a log onwards from a known entry, and notice where it has become another log.

A failover to an asynchronous standby, or a restore to an earlier time, makes a log shorter; new entries then
take numbers that were in use before. So each read starts with the last known entry and compares its key.
"""

from __future__ import annotations

from frugalbandits.errors import LogDiverged
from frugalbandits.stores.contract import Entry, Store

__all__ = ["has_entry", "read_after"]


def read_after(store: Store, session: str, seen: int, key: str, limit: int) -> list[Entry]:
    """Return entries with numbers above `seen`, whose entry has the key `key` ("" where it is not known).

    Raises `LogDiverged` where the log is shorter, or has another entry at `seen`. An entry that is old enough
    to be deleted below a snapshot cannot be compared.
    """
    if seen == 0:
        return store.read(session, 0, limit)
    entries = store.read(session, seen - 1, limit + 1)
    if entries and entries[0].seq == seen:
        if key and entries[0].fact.key != key:
            raise LogDiverged(f"entry {seen:,} of the log of session {session!r} is another one")
        return entries[1:]
    if not entries and store.last(session) < seen:
        raise LogDiverged(f"the log of session {session!r} ends before entry {seen:,}, which was read")
    return entries


def has_entry(store: Store, session: str, seen: int, key: str) -> bool:
    """Tell whether a log certainly has the entry that was read last."""
    entries = store.read(session, seen - 1, 1) if seen else []
    return bool(entries) and (entries[0].seq, entries[0].fact.key) == (seen, key)
