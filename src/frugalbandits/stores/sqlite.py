"""A store in one file, for one machine: SQLite, durable at every commit, shared by as many processes as like.

Needs nothing but the standard library.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from frugalbandits.core.files import check_writable
from frugalbandits.errors import InputError, StoreUnavailable
from frugalbandits.stores import schema
from frugalbandits.stores.contract import LAPSING, Entry, Fact, Outcome, Snapshot
from frugalbandits.stores.rules import Call, added, check_count, check_key, check_name, check_upto, settle
from frugalbandits.stores.writing import WritingStore

__all__ = ["SQLiteStore"]

# How often a waiting reader looks; that costs one look at shared memory.
_POLL = 0.1

# Keys come in no order, so the thread that writes touches pages all over their index: so many kB are kept.
_CACHE = 64_000

# Seconds between two looks at a write-ahead log that is not the one that was opened.
_LOOK = 1.0

# Connections for reading that are kept open between calls.
_IDLE = 8

_FACT = "seq, key, kind, body, at, author"
_FIND = f"SELECT {_FACT} FROM frugal_facts WHERE session = ? AND key = ?"
_READ = f"""SELECT {_FACT} FROM frugal_facts
    WHERE session = (SELECT id FROM frugal_sessions WHERE name = ?) AND seq > ? ORDER BY seq LIMIT ?"""
_INSERT = f"INSERT INTO frugal_facts (session, {_FACT}) VALUES (?, ?, ?, ?, ?, ?, ?)"
_ADVANCE = "UPDATE frugal_sessions SET last = ? WHERE id = ?"
_KEEP = """INSERT INTO frugal_snapshots (session, upto, state) VALUES (?, ?, ?)
    ON CONFLICT (session) DO UPDATE SET upto = excluded.upto, state = excluded.state
    WHERE excluded.upto >= frugal_snapshots.upto"""
_KEY = "SELECT key FROM frugal_facts WHERE session = ? AND seq = ?"
_LATEST = """SELECT upto, state FROM frugal_snapshots
    WHERE session = (SELECT id FROM frugal_sessions WHERE name = ?)"""
_CHUNK_END = """SELECT seq FROM frugal_facts
    WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT 1 OFFSET ?"""
_YOUNG = """SELECT seq FROM frugal_facts
    WHERE session = ? AND seq <= ? AND at >= ? AND at <= ? ORDER BY seq LIMIT 1"""
_FORGET = f"""DELETE FROM frugal_facts WHERE session = ? AND seq > ? AND seq <= ? AND at < ?
    AND kind IN ({", ".join("?" for _ in LAPSING)})"""


class SQLiteStore(WritingStore):
    """The facts of sessions in an SQLite file.

    Parameters
    ----------
    path
        The file; made where it is missing, its folder is not.
    address
        What to call it in messages.
    patience
        So many seconds a write waits for other processes that write to the file before it is given up.

    Examples
    --------
    >>> import tempfile
    >>> from frugalbandits.stores import Fact
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with SQLiteStore(f"{folder}/decisions.db") as store:
    ...         outcomes = store.append("router", [Fact("d1", "reward", "{}", at=0.0, by="w1")])
    ...     with SQLiteStore(f"{folder}/decisions.db") as store:
    ...         store.sessions()
    {'router': 1}
    """

    def __init__(
        self, path: str | os.PathLike[str], *, address: str | None = None, patience: float = 5.0
    ) -> None:
        super().__init__(address if address is not None else f"sqlite:///{os.fspath(path)}")
        self._path = _usable(path)
        self._patience = patience
        self._idle: list[sqlite3.Connection] = []
        self._pool = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._watcher: sqlite3.Connection | None = None
        self._version: int | None = None
        self._lasts: dict[str, int] = {}
        self._log_file: tuple[int, int] | None = None
        self._rescued = False
        self._looked = 0.0
        _prepare(self._path, self.address, patience)
        self._file = _identity(self._path)
        self._begin()

    def read(self, session: str, after: int = 0, limit: int = 10_000) -> list[Entry]:
        """Return entries with numbers above `after`, in order."""
        check_name("the name of a session", session)
        after = check_count("the number to read after", after, 0)
        limit = check_count("the limit of entries to read", limit, 1)
        with self._reading() as connection:
            return [_entry(row) for row in connection.execute(_READ, (session, after, limit))]

    def find(self, session: str, keys: Iterable[str]) -> dict[str, Entry]:
        """Return the entries of a session that have these keys, by key."""
        check_name("the name of a session", session)
        found = {}
        with self._reading() as connection:
            number, _ = _head(connection, session) or (0, 0)
            for key in keys:
                row = connection.execute(_FIND, (number, key)).fetchone()
                if row is not None:
                    found[key] = _entry(row)
        return found

    def read_many(self, after: Mapping[str, int], limit: int = 1_000) -> dict[str, list[Entry]]:
        """Return entries of several sessions, read from one state of the file."""
        with self._reading() as connection:
            connection.execute("BEGIN")
            found = {
                session: [_entry(row) for row in connection.execute(_READ, (session, number, limit))]
                for session, number in after.items()
            }
            connection.execute("COMMIT")
        return found

    def latest(self, session: str) -> Snapshot | None:
        """Return the latest snapshot of a session."""
        check_name("the name of a session", session)
        with self._reading() as connection:
            row = connection.execute(_LATEST, (session,)).fetchone()
            return None if row is None else Snapshot(*row)

    def last(self, session: str) -> int:
        """Return the number of the newest entry of a session, 0 where there is none."""
        check_name("the name of a session", session)
        with self._reading() as connection:
            return (_head(connection, session) or (0, 0))[1]

    def sessions(self) -> dict[str, int]:
        """Return the names of all sessions, each with the number of its newest entry."""
        with self._reading() as connection:
            return _sessions(connection)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection to one thread."""
        self._check()
        with self._told("read"):
            with self._pool:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                connection = _connect(self._path, self._patience)
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
            with self._pool:
                if len(self._idle) < _IDLE and not self._ending.is_set():
                    self._idle.append(connection)
                    return
            connection.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection of the thread that writes, in a transaction of which all stays or nothing."""
        with self._told("write"):
            self._check_files()
            if self._writer is None:
                self._writer = _connect(self._path, self._patience)
                self._writer.execute(f"PRAGMA cache_size = -{_CACHE}")
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                yield self._writer
                if self._writer.in_transaction:
                    self._writer.execute("COMMIT")
            except InputError:
                self._writer.execute("ROLLBACK")
                raise
            except BaseException:
                # Closing rolls back, and whatever the trouble was, the next one begins afresh.
                self._writer.close()
                self._writer = None
                raise
            # Nothing counts as written that a file holds which is gone by now.
            self._check_files()

    def _check_files(self) -> None:
        """Raise `StoreUnavailable` where the file or its write-ahead log was removed or replaced.

        Both could still be written to, but no other process would ever read it.
        """
        if _identity(self._path) != self._file:
            raise StoreUnavailable(f"cannot write {str(self._path)!r}: the file was moved or replaced")
        if self._writer is None:
            self._log_file = None
            return
        log = _log_identity(self._path)
        if self._log_file is None:
            self._log_file = log  # the connection has just been opened, or has written for the first time
        elif log != self._log_file:
            self._rescue()
            raise StoreUnavailable(
                f"cannot write {str(self._path)!r}: its write-ahead log {self._path.name}-wal was removed or "
                "replaced; stop every process that uses the file, then start them again"
            )

    def _rescue(self) -> None:
        """Move what a removed write-ahead log holds into the file: this connection can still read it."""
        if self._writer is not None and not self._rescued and _log_identity(self._path) is None:
            self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)")
            self._rescued = True

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Say in words what stands in the way."""
        try:
            yield
        except sqlite3.Error as error:
            raise StoreUnavailable(f"cannot {what} {str(self._path)!r}: {_words(error)}") from error
        except OSError as error:
            raise StoreUnavailable(f"cannot {what} {str(self._path)!r}: {error.strerror}") from error

    def _write(self, calls: Sequence[Call]) -> list[list[Outcome]]:
        with self._writing() as connection:
            ids: dict[str, int] = {}
            last: dict[str, int] = {}
            there: dict[tuple[str, str], Entry] = {}
            for session, facts in calls:
                if session not in last:
                    known = _head(connection, session)
                    last[session] = 0
                    if known is not None:
                        ids[session], last[session] = known
                if session in ids:
                    for fact in facts:
                        row = connection.execute(_FIND, (ids[session], fact.key)).fetchone()
                        if row is not None:
                            there[session, fact.key] = _entry(row)
            outcomes = settle(calls, there, last)
            entries = added(calls, outcomes)
            if not entries:
                connection.execute("ROLLBACK")
            for session, fresh in entries.items():
                if session not in ids:
                    made = connection.execute("INSERT INTO frugal_sessions (name) VALUES (?)", (session,))
                    ids[session] = int(made.lastrowid or 0)
                number = ids[session]
                connection.executemany(_INSERT, ((number, seq, *fact) for seq, fact in fresh))
                connection.execute(_ADVANCE, (last[session], number))
        return outcomes

    def _probe(self) -> None:
        with self._writing() as connection:
            # SQLite leaves out the write of a row that stays the same, but not that of the version.
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            connection.execute(f"PRAGMA user_version = {version}")

    def _keep(self, session: str, upto: int, state: str, key: str | None) -> None:
        with self._writing() as connection:
            number, last = _head(connection, session) or (0, 0)
            check_upto(session, upto, last)
            found = connection.execute(_KEY, (number, upto)).fetchone()
            check_key(session, upto, key, None if found is None else found[0])
            connection.execute(_KEEP, (number, upto, state))

    def _old(self, session: str, upto: int, before: float, until: float) -> int:
        with self._reading() as connection:
            number, _ = _head(connection, session) or (0, 0)
            row = connection.execute(_YOUNG, (number, upto, before, until)).fetchone()
            return upto if row is None else int(row[0]) - 1

    def _forget(self, session: str, after: int, upto: int, before: float, chunk: int) -> int:
        with self._writing() as connection:
            number, _ = _head(connection, session) or (0, 0)
            end = connection.execute(_CHUNK_END, (number, after, upto, chunk - 1)).fetchone()
            reached = upto if end is None else int(end[0])
            connection.execute(_FORGET, (number, after, reached, before, *sorted(LAPSING)))
        return reached

    def _newest(self) -> Mapping[str, int]:
        try:
            with self._told("read"):
                if self._watcher is None:
                    self._version = None
                    self._watcher = _connect(self._path, self._patience)
                # The version first: what is committed in between is looked at once more, and never missed.
                looked = time.monotonic()
                (version,) = self._watcher.execute("PRAGMA data_version").fetchone()
                self._newest_at = looked
                if version != self._version:
                    self._lasts = _sessions(self._watcher)
                    self._version = version
            self._watch_log()
        except StoreUnavailable:
            if self._watcher is not None:
                self._watcher.close()
                self._watcher = None
            raise
        return self._lasts

    def _watch_log(self) -> None:
        """Have the thread that writes save what a removed write-ahead log holds, without a write to do."""
        log, now = self._log_file, time.monotonic()
        if log is None or self._rescued or now < self._looked or _log_identity(self._path) == log:
            return
        self._looked = now + _LOOK
        self._later(self._look_at_log)

    def _look_at_log(self) -> None:
        with self._told("write"):
            self._check_files()

    def _wait_for_change(self, seconds: float) -> None:
        self._ending.wait(min(seconds, _POLL))

    def _release(self) -> None:
        with self._looking, self._pool:
            for connection in (self._writer, self._watcher, *self._idle):
                if connection is not None:
                    connection.close()
            self._writer = self._watcher = None
            self._idle.clear()


def _usable(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file that is there or can be made, or say why there is none."""
    target = Path(path)
    shown = str(target)
    if target.name == ":memory:":
        raise InputError(f"{shown!r} is no file; a store in memory has the address 'memory:'")
    if "\0" in shown:
        raise InputError(f"cannot open {shown!r}: the name of a file must not contain NUL")
    # SQLite keeps a log and shared memory beside the file: the folder must be writable too.
    check_writable(target)
    if target.exists() and not os.access(target, os.R_OK | os.W_OK):
        raise InputError(f"cannot open {shown!r}: the file is not readable and writable")
    return target.absolute()


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _log_identity(path: Path) -> tuple[int, int] | None:
    """Return which file the write-ahead log is, None where there is none."""
    try:
        return _identity(Path(f"{path}-wal"))
    except FileNotFoundError:
        return None


def _connect(path: Path, patience: float, mode: str = "rw") -> sqlite3.Connection:
    """Open a file so that what is committed is on the disk."""
    # Only one thread at a time uses a connection, but it need not be the one that made it.
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        timeout=patience,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA synchronous = FULL")
        # On a Mac, a disk that says "written" has it in its own memory only, unless asked like this.
        connection.execute("PRAGMA fullfsync = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(path: Path, address: str, patience: float) -> None:
    """Make the tables, or bring them up to date; leave what is not ours as it is."""
    until = time.monotonic() + patience
    try:
        connection = _connect(path, patience, mode="rwc")
        try:
            # One transaction: another process may commit between two reads.
            connection.execute("BEGIN")
            _check_ours(connection, address)
            connection.execute("COMMIT")
            _log_ahead(connection, path, until)
            connection.execute("BEGIN IMMEDIATE")
            # Another process may have made the tables just now.
            version = _check_ours(connection, address)
            for statement in schema.steps(version, schema.SQLITE):
                connection.execute(statement)
            if version < len(schema.LADDER):
                connection.execute(f"PRAGMA application_id = {schema.APPLICATION}")
                connection.execute(f"PRAGMA user_version = {len(schema.LADDER)}")
            schema.check_columns(address, _columns(connection))
            connection.execute("COMMIT")
            _check_sound(connection, path)
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        raise StoreUnavailable(f"cannot open {str(path)!r}: {_words(error)}") from error
    except sqlite3.DatabaseError as error:
        raise InputError(f"cannot use {str(path)!r}: {error}") from error


def _check_sound(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file with damaged pages: what they held would be missing without a word."""
    found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    if found != "ok":
        raise InputError(
            f"cannot use {str(path)!r}: the file is damaged ({' '.join(found.split())}); put a backup in its "
            "place with frugal restore"
        )


def _check_ours(connection: sqlite3.Connection, address: str) -> int:
    """Return the version of a file of ours, 0 for an empty one; refuse all others."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != schema.APPLICATION and (application or version or tables):
        raise InputError(f"cannot use {address!r}: it is an SQLite database of another application")
    schema.check_version(address, version)
    return int(version)


def _log_ahead(connection: sqlite3.Connection, path: Path, until: float) -> None:
    """Switch to a write-ahead log, for good: readers and the writer then do not wait for each other."""
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            # Two processes that switch at once do not wait for each other, whatever their patience.
            if not _busy(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
            continue
        if mode != "wal":
            raise InputError(
                f"cannot use {str(path)!r}: no write-ahead log can be kept there, as on a network"
            )
        return


def _columns(connection: sqlite3.Connection) -> dict[str, set[str]]:
    return {
        table: {str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")}
        for table in schema.COLUMNS
    }


def _sessions(connection: sqlite3.Connection) -> dict[str, int]:
    return dict(connection.execute("SELECT name, last FROM frugal_sessions").fetchall())


def _head(connection: sqlite3.Connection, session: str) -> tuple[int, int] | None:
    """Return the id of a session, and the number of its newest entry."""
    found: tuple[int, int] | None = connection.execute(
        "SELECT id, last FROM frugal_sessions WHERE name = ?", (session,)
    ).fetchone()
    return found


def _entry(row: tuple[int, str, str, str, float, str]) -> Entry:
    return Entry(row[0], Fact(*row[1:]))


def _busy(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _words(error: sqlite3.Error) -> str:
    """Return what happened, with what it means where that is not plain."""
    if _busy(error):
        return "other processes have been writing to it for too long"
    return str(error)
