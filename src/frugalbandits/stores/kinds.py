"""Sessions in a store, of whichever kind they are: those that look at queries, and those that do not."""

from __future__ import annotations

from frugalbandits.core.contextual.session import ContextualSession
from frugalbandits.core.session import Session
from frugalbandits.stores.contextual_session import StoredContextualSession
from frugalbandits.stores.contract import Store
from frugalbandits.stores.following import check_session_name, first_of, looks_at_queries
from frugalbandits.stores.price_list import REFUSE
from frugalbandits.stores.session import StoredSession

__all__ = ["Stored", "keep_session", "open_session"]

Stored = StoredSession | StoredContextualSession


def open_session(store: Store, name: str) -> Stored:
    """Return a session that is in a store."""
    if looks_at_queries(first_of(store, check_session_name(name))):
        return StoredContextualSession.open(store, name)
    return StoredSession.open(store, name)


def keep_session(
    store: Store, name: str, session: Session | ContextualSession, by: str = "", on_difference: str = REFUSE
) -> tuple[Stored, bool]:
    """Keep a session under a name from now on; tell whether it is new there."""
    if isinstance(session, ContextualSession):
        return StoredContextualSession.create(store, name, session, by, on_difference)
    return StoredSession.create(store, name, session, by, on_difference)
