"""Stores: where the facts of sessions survive, in memory, in an SQLite file, or in PostgreSQL."""

from __future__ import annotations

from frugalbandits.stores.contract import (
    CONFLICT,
    LAPSING,
    LEFT_OUT,
    NEW,
    SAME,
    Entry,
    Fact,
    Listener,
    Outcome,
    Snapshot,
    Store,
    body_of,
)
from frugalbandits.stores.opening import open_store

__all__ = [
    "CONFLICT",
    "LAPSING",
    "LEFT_OUT",
    "NEW",
    "SAME",
    "Entry",
    "Fact",
    "Listener",
    "Outcome",
    "Snapshot",
    "Store",
    "body_of",
    "open_store",
]
