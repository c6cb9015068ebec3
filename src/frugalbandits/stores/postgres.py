"""A store in a PostgreSQL database, for many machines.

Whoever adds to a session locks its row, in the order of ids where there are several: so numbers have no gaps,
are in the order of the commits, and nobody waits in a circle. A group of calls is a handful of statements
over arrays in two trips to the database, however many facts it has.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from frugalbandits.errors import InputError, StoreUnavailable
from frugalbandits.stores import schema
from frugalbandits.stores.address import without_password
from frugalbandits.stores.contract import LAPSING, Entry, Fact, Outcome, Snapshot
from frugalbandits.stores.postgres_connection import Connection, Link, Silent, conninfo, psycopg
from frugalbandits.stores.rules import Call, added, check_count, check_key, check_name, check_upto, settle
from frugalbandits.stores.writing import WritingStore

__all__ = ["PostgresStore"]

# A waiting reader looks by itself this often, for news whose announcement was lost.
_NET = 1.0

# How long a waiting reader may take to see that the store was closed.
_SLICE = 0.2

# What an announcement may hold is less than 8,000 bytes.
_LONGEST_NOTE = 7_900

# Held while the tables are made or changed: any number that nobody else uses.
_MAKING = 0x66727567

# Seconds that a statement may take which makes or changes the tables: it may rewrite all of them.
_MAKING_TIME = 3_600.0

# A machine that is gone must not keep others waiting: not for its answer, and not for its locks.
_DEFAULTS = {
    "application_name": "frugalbandits",
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
_FACT = "seq, key, kind, body, at, author"
_NAME = """INSERT INTO frugal_sessions (name) SELECT name FROM unnest(%s::text[]) AS asked (name)
    ORDER BY name ON CONFLICT (name) DO NOTHING"""
_IDS = "SELECT name, id FROM frugal_sessions WHERE name = ANY (%s::text[])"
_LOCK = "SELECT id, last FROM frugal_sessions WHERE id = ANY (%s::bigint[]) ORDER BY id FOR UPDATE"
_FIND = """SELECT session, seq, key, kind, body, at, author FROM frugal_facts
    JOIN unnest(%s::bigint[], %s::text[]) AS asked (session, key) USING (session, key)"""
_FIND_KEYS = f"""SELECT {_FACT} FROM frugal_facts
    WHERE session = (SELECT id FROM frugal_sessions WHERE name = %s) AND key = ANY (%s::text[])"""
_INSERT = f"""INSERT INTO frugal_facts (session, {_FACT}) SELECT * FROM unnest(%s::bigint[],
    %s::bigint[], %s::text[], %s::text[], %s::text[], %s::double precision[], %s::text[])"""
_ADVANCE = """UPDATE frugal_sessions SET last = fresh.last
    FROM unnest(%s::bigint[], %s::bigint[]) AS fresh (id, last) WHERE frugal_sessions.id = fresh.id"""
_READ = f"""SELECT {_FACT} FROM frugal_facts
    WHERE session = (SELECT id FROM frugal_sessions WHERE name = %s) AND seq > %s ORDER BY seq LIMIT %s"""
_READ_MANY = f"""SELECT wanted.name, found.* FROM unnest(%s::text[], %s::bigint[]) AS wanted (name, after)
    JOIN frugal_sessions AS held ON held.name = wanted.name
    CROSS JOIN LATERAL (
        SELECT {_FACT} FROM frugal_facts WHERE session = held.id AND seq > wanted.after ORDER BY seq LIMIT %s
    ) AS found ORDER BY wanted.name, found.seq"""
_SESSIONS = "SELECT name, last FROM frugal_sessions WHERE last > 0"
_HEAD = "SELECT id, last FROM frugal_sessions WHERE name = %s"
_KEEP = """INSERT INTO frugal_snapshots (session, upto, state) VALUES (%s, %s, %s)
    ON CONFLICT (session) DO UPDATE SET upto = excluded.upto, state = excluded.state
    WHERE excluded.upto >= frugal_snapshots.upto"""
_KEY = "SELECT key FROM frugal_facts WHERE session = %s AND seq = %s"
_LATEST = """SELECT upto, state FROM frugal_snapshots
    WHERE session = (SELECT id FROM frugal_sessions WHERE name = %s)"""
_PROBE = "UPDATE frugal_sessions SET last = last WHERE id = (SELECT min(id) FROM frugal_sessions)"
_CHUNK_END = """SELECT seq FROM frugal_facts
    WHERE session = %s AND seq > %s AND seq <= %s ORDER BY seq LIMIT 1 OFFSET %s"""
_YOUNG = """SELECT seq FROM frugal_facts
    WHERE session = %s AND seq <= %s AND at >= %s AND at <= %s ORDER BY seq LIMIT 1"""
_FORGET = """DELETE FROM frugal_facts
    WHERE session = %s AND seq > %s AND seq <= %s AND at < %s AND kind = ANY (%s::text[])"""
_COLUMNS = """SELECT table_name, array_agg(column_name::text) FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name LIKE 'frugal\\_%' GROUP BY table_name"""


class PostgresStore(WritingStore):
    """The facts of sessions in the tables `frugal_...` of a PostgreSQL database; made where they are missing.

    Parameters
    ----------
    url
        The address of the database, as libpq takes it: "postgresql://user:password@host:port/database".
    patience
        So many seconds a statement may take. Where the database says nothing for two seconds more, the
        connection is closed.
    """

    def __init__(self, url: str, *, patience: float = 10.0) -> None:
        super().__init__(without_password(url))
        self._patience = patience
        try:
            given = conninfo.conninfo_to_dict(url)
        except psycopg.Error:
            # What the driver says may hold a part of the password.
            raise InputError(f"{self.address!r} is not the address of a PostgreSQL database") from None
        settings = {**_DEFAULTS, **given}
        self._writes = Link(settings, self.address, patience)
        self._reads = Link(settings, self.address, patience)
        self._one_reader = threading.Lock()
        self._ids: dict[str, int] = {}
        try:
            making = Link(settings, self.address, _MAKING_TIME)
            try:
                self._channel = _prepare(making, self.address)
            finally:
                making.drop()
            self._watch = Link(settings, self.address, patience, first=f"LISTEN {self._channel}")
            self._lasts: dict[str, int] = {}
            self._look_again = 0.0
            self._begin()
        except BaseException:
            self._writes.drop()
            self._reads.drop()
            raise

    @property
    def reconnects(self) -> int:  # type: ignore[override]
        """How often a connection was lost and made anew: another server may answer since then."""
        return sum(max(link.connections - 1, 0) for link in (self._writes, self._reads, self._watch))

    def read(self, session: str, after: int = 0, limit: int = 10_000) -> list[Entry]:
        """Return entries with numbers above `after`, in order."""
        check_name("the name of a session", session)
        after = check_count("the number to read after", after, 0)
        limit = check_count("the limit of entries to read", limit, 1)
        return [_entry(row) for row in self._rows(_READ, (session, after, limit))]

    def find(self, session: str, keys: Iterable[str]) -> dict[str, Entry]:
        """Return the entries of a session that have these keys, by key."""
        check_name("the name of a session", session)
        rows = self._rows(_FIND_KEYS, (session, list(keys)))
        return {str(row[1]): _entry(row) for row in rows}

    def read_many(self, after: Mapping[str, int], limit: int = 1_000) -> dict[str, list[Entry]]:
        """Return entries of several sessions by one query."""
        found: dict[str, list[Entry]] = {session: [] for session in after}
        for name, *row in self._rows(_READ_MANY, (list(after), list(after.values()), limit)):
            found[name].append(_entry(row))
        return found

    def latest(self, session: str) -> Snapshot | None:
        """Return the latest snapshot of a session."""
        check_name("the name of a session", session)
        rows = self._rows(_LATEST, (session,))
        return Snapshot(*rows[0]) if rows else None

    def last(self, session: str) -> int:
        """Return the number of the newest entry of a session, 0 where there is none."""
        check_name("the name of a session", session)
        rows = self._rows(_HEAD, (session,))
        return int(rows[0][1]) if rows else 0

    def sessions(self) -> dict[str, int]:
        """Return the names of all sessions, each with the number of its newest entry."""
        return dict(self._rows(_SESSIONS, ()))

    def _rows(self, query: str, values: tuple[Any, ...]) -> list[Any]:
        self._check()
        with self._reader():
            self._check()
            if self._reads.connection is not None:
                # It may have been lost while nobody looked: reading once more does no harm.
                with suppress(StoreUnavailable), self._reads.told():
                    return self._reads.connection.execute(query, values).fetchall()
            with self._reads.told():
                return self._reads.use().execute(query, values).fetchall()

    @contextmanager
    def _reader(self) -> Iterator[None]:
        """Wait for the connection that reads, but not for ever: whoever has it may wait for the database."""
        if not self._one_reader.acquire(timeout=self._patience):
            raise StoreUnavailable(
                f"cannot read {self.address!r}: those before have waited for {self._patience:g} s"
            )
        try:
            yield
        finally:
            self._one_reader.release()

    def _write(self, calls: Sequence[Call]) -> list[list[Outcome]]:
        wanted = {(call.session, fact.key) for call in calls for fact in call.facts}
        if not wanted:
            return [[] for _ in calls]
        with self._writes.told():
            connection, last, there = self._locked(wanted)
            outcomes = settle(calls, there, last)
            entries = added(calls, outcomes)
            if not entries:
                connection.execute("ROLLBACK")
                return outcomes
            ids = self._ids
            rows = [(ids[session], seq, *fact) for session, fresh in entries.items() for seq, fact in fresh]
            heads = [(ids[session], fresh[-1].seq) for session, fresh in entries.items()]
            with connection.pipeline():
                connection.execute(_INSERT, [list(column) for column in zip(*rows, strict=True)])
                connection.execute(_ADVANCE, [list(column) for column in zip(*heads, strict=True)])
                connection.execute("COMMIT")
        return outcomes

    def _locked(
        self, wanted: set[tuple[str, str]]
    ) -> tuple[Connection, dict[str, int], dict[tuple[str, str], Entry]]:
        """Begin a transaction that has sessions to itself; return their newest numbers and what is there."""
        connection = self._writes.connection
        if connection is not None:
            try:
                return connection, *self._lock(connection, wanted)
            except Silent:
                raise
            except psycopg.OperationalError:
                # The database may have been restarted while nobody wrote. Nothing was written yet: once more.
                if not connection.closed:
                    raise
        connection = self._writes.use()
        self._ids.clear()
        return connection, *self._lock(connection, wanted)

    def _lock(
        self, connection: Connection, wanted: set[tuple[str, str]]
    ) -> tuple[dict[str, int], dict[tuple[str, str], Entry]]:
        missing = sorted({session for session, _ in wanted if session not in self._ids})
        if missing:
            # New sessions get an id in a transaction of their own, so that whoever adds to sessions waits for
            # nothing but their locks. A session without entries is nowhere to be seen.
            connection.execute(_NAME, [missing])
            self._ids.update(connection.execute(_IDS, [missing]).fetchall())
        names = {self._ids[session]: session for session, _ in wanted}
        sessions, keys = zip(*((self._ids[session], key) for session, key in wanted), strict=True)
        with connection.pipeline():
            connection.execute("BEGIN")
            heads = connection.execute(_LOCK, [sorted(names)])
            # After the lock, so that it sees what was committed until then; nobody can add to that now.
            found = connection.execute(_FIND, [list(sessions), list(keys)])
            last = {names[number]: int(newest) for number, newest in heads.fetchall()}
            there = {(names[row[0]], str(row[2])): _entry(row[1:]) for row in found.fetchall()}
        if len(last) < len(names):
            raise psycopg.DataError("someone has removed its sessions")
        return last, there

    def _announce(self, newest: Mapping[str, int]) -> None:
        # After the commit, because commits that announce something wait for each other's disk.
        note = json.dumps(newest, ensure_ascii=False)
        if len(note.encode()) > _LONGEST_NOTE:
            note = ""  # look for yourself
        with suppress(StoreUnavailable), self._writes.told():
            self._writes.use().execute("SELECT pg_notify(%s, %s)", [self._channel, note])

    @contextmanager
    def _changing(self) -> Iterator[Connection]:
        with self._writes.told():
            connection = self._writes.use()
            with connection.transaction():
                yield connection

    def _probe(self) -> None:
        with self._changing() as connection:
            connection.execute(_PROBE)

    def _keep(self, session: str, upto: int, state: str, key: str | None) -> None:
        with self._changing() as connection:
            number, last = connection.execute(_HEAD, [session]).fetchone() or (0, 0)
            check_upto(session, upto, last)
            found = connection.execute(_KEY, [number, upto]).fetchone()
            check_key(session, upto, key, None if found is None else found[0])
            connection.execute(_KEEP, [number, upto, state])

    def now(self) -> float:
        """Return the time by the clock of the database."""
        return float(self._rows("SELECT extract(epoch FROM clock_timestamp())::float8", ())[0][0])

    def _old(self, session: str, upto: int, before: float, until: float) -> int:
        with self._changing() as connection:
            number, _ = connection.execute(_HEAD, [session]).fetchone() or (0, 0)
            row = connection.execute(_YOUNG, [number, upto, before, until]).fetchone()
        return upto if row is None else int(row[0]) - 1

    def _forget(self, session: str, after: int, upto: int, before: float, chunk: int) -> int:
        with self._changing() as connection:
            number, _ = connection.execute(_HEAD, [session]).fetchone() or (0, 0)
            end = connection.execute(_CHUNK_END, [number, after, upto, chunk - 1]).fetchone()
            reached = upto if end is None else int(end[0])
            connection.execute(_FORGET, [number, after, reached, before, sorted(LAPSING)])
        return reached

    def _newest(self) -> Mapping[str, int]:
        with self._watch.told():
            new = self._watch.connection is None
            connection = self._watch.use()
            if new or time.monotonic() >= self._look_again:
                looked = time.monotonic()
                self._lasts = dict(connection.execute(_SESSIONS).fetchall())
                self._newest_at = looked
                self._look_again = time.monotonic() + _NET
        return self._lasts

    def _wait_for_change(self, seconds: float) -> None:
        left = min(seconds, _SLICE, max(self._look_again - time.monotonic(), 0.0))
        with suppress(StoreUnavailable), self._watch.told():
            # The first announcement ends the wait; those that came with it are taken along.
            for note in self._watch.use().notifies(timeout=left, stop_after=1):
                if not note.payload:
                    self._look_again = 0.0
                    continue
                for name, last in json.loads(note.payload).items():
                    self._lasts[name] = max(last, self._lasts.get(name, 0))

    def _release(self) -> None:
        with self._looking, self._one_reader:
            for link in (self._writes, self._reads, self._watch):
                link.drop()


def _entry(row: Sequence[Any]) -> Entry:
    return Entry(row[0], Fact(*row[1:]))


def _prepare(link: Link, address: str) -> str:
    """Make the tables, or bring them up to date; return the channel on which news are announced."""
    connection = link.use()
    try:
        (encoding, place) = connection.execute(
            "SELECT current_setting('server_encoding'), current_schema()"
        ).fetchone() or ("", None)
        if encoding != "UTF8":
            raise InputError(f"cannot use {address!r}: its encoding is {encoding}, and must be UTF8")
        if place is None:
            raise InputError(f"cannot use {address!r}: it has no schema to make tables in (see search_path)")
        if _check_ours(connection, address) < len(schema.LADDER):
            with connection.transaction():
                # Two processes that open a new database at once: the second finds it made.
                connection.execute("SELECT pg_advisory_xact_lock(%s)", [_MAKING])
                version = _check_ours(connection, address)
                if version == 0:
                    connection.execute("CREATE TABLE frugal_store (version INTEGER NOT NULL)")
                    connection.execute("INSERT INTO frugal_store (version) VALUES (0)")
                for statement in schema.steps(version, schema.POSTGRES):
                    connection.execute(statement)
                connection.execute("UPDATE frugal_store SET version = %s", [len(schema.LADDER)])
        schema.check_columns(address, _columns(connection))
    except psycopg.OperationalError as error:
        raise StoreUnavailable(f"cannot use {address!r}: {link.words(error)}") from error
    except psycopg.Error as error:
        raise InputError(f"cannot use {address!r}: {link.words(error)}") from error
    # A channel is heard in the whole database, but tables may be in several of its schemas.
    return f"frugal_{hashlib.sha256(str(place).encode()).hexdigest()[:16]}"


def _check_ours(connection: Connection, address: str) -> int:
    """Return the version of our tables, 0 where there are none; refuse tables of others."""
    columns = _columns(connection)
    if "frugal_store" not in columns:
        taken = sorted(set(columns) & set(schema.COLUMNS))
        if taken:
            raise InputError(f"cannot use {address!r}: its table {taken[0]} is not of this package")
        return 0
    rows = []
    if columns["frugal_store"] == {"version"}:
        rows = connection.execute("SELECT version FROM frugal_store").fetchall()
    if len(rows) != 1 or not isinstance(rows[0][0], int):
        raise InputError(f"cannot use {address!r}: its table frugal_store is not of this package")
    schema.check_version(address, rows[0][0])
    return int(rows[0][0])


def _columns(connection: Connection) -> dict[str, set[str]]:
    return {str(table): set(columns) for table, columns in connection.execute(_COLUMNS).fetchall()}
