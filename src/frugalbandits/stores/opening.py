"""From an address to a store."""

from __future__ import annotations

from frugalbandits.errors import InputError
from frugalbandits.stores.address import without_password
from frugalbandits.stores.contract import Store

__all__ = ["open_store"]

_KNOWN = "memory:, sqlite:///file.db, sqlite:////folder/file.db, postgresql://user@host/database"


def open_store(url: str) -> Store:
    """Open the store at an address; what is not there yet is made.

    Parameters
    ----------
    url
        "memory:" for one that ends with the process, "sqlite:///decisions.db" for a file in the present
        folder ("sqlite:////srv/decisions.db" for one at an absolute path), or
        "postgresql://user:password@host/database" for a database that many machines share.

    Raises
    ------
    InputError
        If the address means nothing, or what is there is not a store of this package.
    StoreUnavailable
        If it cannot be reached at present.

    Examples
    --------
    >>> from frugalbandits.stores import Fact, body_of, open_store
    >>> with open_store("memory:") as store:
    ...     fact = Fact("decision 1", "reward", body_of({"reward": 1.0}), at=0.0, by="worker 1")
    ...     first, again = (store.append("router", [fact])[0] for _ in range(2))
    ...     (entry,) = store.read("router")
    >>> first.what, again.what, entry.seq
    ('new', 'same', 1)
    """
    if not isinstance(url, str):
        raise InputError(f"the address of a store must be a text, got {url!r}; known: {_KNOWN}")
    scheme, _, path = url.partition(":")
    if url == "memory:":
        from frugalbandits.stores.memory import MemoryStore

        return MemoryStore()
    if scheme == "sqlite" and path.startswith("///") and len(path) > 3:
        from frugalbandits.stores.sqlite import SQLiteStore

        return SQLiteStore(path[3:], address=url)
    if scheme in ("postgresql", "postgres") and path.startswith("//"):
        from frugalbandits.stores.postgres import PostgresStore

        return PostgresStore(url)
    raise InputError(f"no store has the address {without_password(url)!r}; known: {_KNOWN}")
