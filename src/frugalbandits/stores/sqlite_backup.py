"""Backup and restore of an SQLite store, checked on both ends.

A backup is one file: SQLite's online backup copies it page by page while the store is in use. A restore makes
the new file complete before it takes the place of the old one, and moves the old one aside together with its
write-ahead log: SQLite would apply a log that stayed behind to the restored file.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from frugalbandits.core.files import check_writable
from frugalbandits.errors import InputError
from frugalbandits.stores import schema
from frugalbandits.stores.address import without_password

__all__ = ["Copied", "back_up", "restore"]

_SCHEME = "sqlite:///"
_LOCKS = (0x40000000, 512)  # where SQLite puts its locks in a file: first byte and length
_PATIENCE = 5.0  # seconds to wait for the locks of others
_PAGES = 4_096  # copied at a time


class Copied(NamedTuple):
    """What a backup or a restore has written."""

    path: Path
    sessions: int
    events: int
    set_aside: Path | None = None  # where the file that was replaced is now


def back_up(address: str, file: str | os.PathLike[str]) -> Copied:
    """Copy an SQLite store to a file, while others may use it; the file must not exist.

    Examples
    --------
    >>> import tempfile
    >>> from frugalbandits.stores import Fact, open_store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open_store(f"sqlite:///{folder}/decisions.db") as store:
    ...         _ = store.append("router", [Fact("d1", "reward", "{}", at=0.0, by="w1")])
    ...         back_up(store.address, f"{folder}/copy.db").events
    1
    """
    source, target = _path_of(address, "back up"), Path(file)
    if not source.exists():
        raise InputError(f"cannot back up {address!r}: no file is called {str(source)!r}")
    if target.exists():
        raise InputError(f"cannot write {str(target)!r}: there is a file of that name; name a new one")
    check_writable(target)
    with _part_of(target) as part:
        sessions, events = _copy(source, part)
        # Not `replace`: another process may have made the file in the meantime.
        os.link(part, target)
    _sync_folder(target)
    return Copied(target, sessions, events)


def restore(file: str | os.PathLike[str], address: str, replace: bool = False) -> Copied:
    """Put a backup in the place of an SQLite store that nobody has open; `replace`: where there is one.

    The file that is replaced is kept beside it, with its write-ahead log.
    """
    source, target = Path(file), _path_of(address, "restore")
    if not source.is_file():
        raise InputError(f"cannot restore {str(source)!r}: there is no such file")
    if Path(f"{source}-wal").exists():
        raise InputError(
            f"cannot restore {str(source)!r}: {source.name}-wal lies beside it, so it is a store that is or "
            "was in use and not a backup; make a backup of it with frugal backup"
        )
    if target.exists() and source.samefile(target):
        raise InputError(f"cannot restore {str(source)!r} over itself")
    if target.exists() and not replace:
        raise InputError(
            f"there is a store at {address!r} already: add --replace to put the backup in its place"
        )
    check_writable(target)
    with _part_of(target) as part:
        sessions, events = _copy(source, part)
        with _to_itself(target):
            aside = _set_aside(target)
            part.replace(target)
    _sync_folder(target)
    return Copied(target, sessions, events, aside)


def _path_of(address: str, what: str) -> Path:
    if address.startswith(_SCHEME):
        return Path(address.removeprefix(_SCHEME)).absolute()
    shown = without_password(address)
    if address.startswith(("postgres:", "postgresql:")):
        raise InputError(
            f"cannot {what} {shown!r}: PostgreSQL has tools of its own; use pg_dump and pg_restore, or "
            "pg_basebackup with archived WAL for points in time"
        )
    raise InputError(f"cannot {what} {shown!r}: only a store in a file, sqlite:///..., can be copied")


@contextmanager
def _part_of(target: Path) -> Iterator[Path]:
    """Lend a name beside a file for what is not complete yet."""
    part = target.with_name(f"{target.name}.part-{os.getpid()}")
    try:
        yield part
    finally:
        for each in (part, Path(f"{part}-journal"), Path(f"{part}-wal"), Path(f"{part}-shm")):
            each.unlink(missing_ok=True)


def _copy(source: Path, part: Path) -> tuple[int, int]:
    """Copy a store to a file of its own, check the copy, and return its numbers of sessions and events."""
    try:
        with closing(_connect(source, "rw")) as old, closing(_connect(part, "rwc")) as new:
            before = _heads(old, source)
            old.backup(new, pages=_PAGES)
            new.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
            counts = _check_copy(new, source, before)
    except sqlite3.Error as error:
        raise InputError(f"cannot copy {str(source)!r}: {error}") from error
    with part.open("rb+") as written:
        os.fsync(written.fileno())
    return counts


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?mode={mode}", uri=True, timeout=_PATIENCE, isolation_level=None
    )


def _heads(connection: sqlite3.Connection, path: Path) -> dict[str, int]:
    """Return the newest number of each session of a file of ours."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != schema.APPLICATION:
        raise InputError(f"cannot copy {str(path)!r}: it is not a store of this package")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    schema.check_version(str(path), version)
    return dict(connection.execute("SELECT name, last FROM frugal_sessions").fetchall())


def _check_copy(connection: sqlite3.Connection, source: Path, before: dict[str, int]) -> tuple[int, int]:
    trouble = [str(row[0]) for row in connection.execute("PRAGMA quick_check(1)")]
    if trouble != ["ok"]:
        raise InputError(f"cannot copy {str(source)!r}: it is damaged: {' '.join(trouble[0].split())}")
    after = _heads(connection, source)
    behind = [name for name, last in before.items() if after.get(name, 0) < last]
    if behind:
        raise InputError(f"cannot copy {str(source)!r}: the copy lacks events of session {behind[0]!r}")
    (events,) = connection.execute("SELECT count(*) FROM frugal_facts").fetchone()
    for name, last, newest in connection.execute(_NEWEST):
        if newest < last:
            raise InputError(
                f"cannot copy {str(source)!r}: it is damaged: of session {name!r} the events after "
                f"{newest:,} of {last:,} are missing"
            )
    return len([name for name in after if not name.startswith("$")]), int(events)


# The newest event of a session, or the event that its snapshot goes up to where older ones were deleted.
_NEWEST = """SELECT name, last, max(
        coalesce((SELECT max(seq) FROM frugal_facts WHERE session = id), 0),
        coalesce((SELECT upto FROM frugal_snapshots WHERE session = id), 0)
    ) FROM frugal_sessions"""


@contextmanager
def _to_itself(path: Path) -> Iterator[None]:
    """Hold SQLite's locks on a file, whatever is in it, so that nobody has it open or opens it."""
    if not path.exists():
        yield
        return
    with path.open("rb+") as held:
        first, length = _LOCKS
        try:
            fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB, length, first)
        except OSError as error:
            raise InputError(
                f"cannot replace {str(path)!r}: a process has it open; stop every service and program that "
                "uses it"
            ) from error
        yield


def _set_aside(path: Path) -> Path | None:
    """Move a file and its write-ahead log out of the way; its shared memory is of no use without them."""
    Path(f"{path}-shm").unlink(missing_ok=True)
    log = Path(f"{path}-wal")
    if not path.exists():
        log.unlink(missing_ok=True)  # of a file that is gone: it would be applied to the one that comes
        return None
    number = 1
    while (aside := path.with_name(f"{path.name}.before-restore-{number}")).exists():
        number += 1
    if log.exists():
        log.replace(f"{aside}-wal")
    path.replace(aside)
    return aside


def _sync_folder(path: Path) -> None:
    folder = os.open(path.absolute().parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
