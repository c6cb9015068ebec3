"""What survives a crash: a log of facts for each session, in memory, in SQLite or in PostgreSQL."""

from frugalbandits.stores.contextual_session import StoredContextualSession
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
from frugalbandits.stores.kinds import open_session
from frugalbandits.stores.opening import open_store
from frugalbandits.stores.session import StoredSession

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
    "StoredContextualSession",
    "StoredSession",
    "body_of",
    "open_session",
    "open_store",
]
