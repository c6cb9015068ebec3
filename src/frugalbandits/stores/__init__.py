"""What survives a crash: a log of facts for each session, in memory, in SQLite or in PostgreSQL."""

from frugalbandits.stores.contract import Entry, Fact, Outcome, Snapshot, Store
from frugalbandits.stores.opening import open_store
from frugalbandits.stores.session import StoredSession

__all__ = ["Entry", "Fact", "Outcome", "Snapshot", "Store", "StoredSession", "open_store"]
