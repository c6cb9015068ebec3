"""Feedback on the disk that the service has not heard yet: a small SQLite file.

Several processes may share one. Each delivers what it put there, and whoever starts delivers what it finds:
what is delivered twice counts once.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from frugalbandits.errors import InputError

__all__ = ["Spool"]

_MARK = 0x46524753  # says that the file is one of these
_PATIENCE = 5.0  # seconds to wait for another process
_TABLE = """
CREATE TABLE IF NOT EXISTS undelivered (
    number INTEGER PRIMARY KEY AUTOINCREMENT, service TEXT NOT NULL, body TEXT NOT NULL
) STRICT
"""


class Spool:
    """What is kept for one service in a file; safe to use from several threads."""

    def __init__(self, path: Path, service: str) -> None:
        self.path, self._service = path, service
        self._lock = threading.Lock()
        try:
            self._open = sqlite3.connect(
                path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise InputError(f"cannot open the spool {str(path)!r}: {error}") from error
        try:
            self._prepare()
        except (sqlite3.Error, InputError) as error:
            self._open.close()
            raise InputError(f"cannot use the spool {str(path)!r}: {error}") from error

    def _prepare(self) -> None:
        [mark] = self._open.execute("PRAGMA application_id").fetchone()
        [tables] = self._open.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if mark != _MARK and tables:
            raise InputError("it is a database of something else")
        self._open.execute("PRAGMA journal_mode = WAL")
        # What `add` returns from is on the disk.
        self._open.execute("PRAGMA synchronous = FULL")
        self._open.execute(f"PRAGMA application_id = {_MARK}")
        self._open.execute(_TABLE)

    def all(self) -> list[tuple[int, str]]:
        """Return what is there, oldest first."""
        with self._lock:
            return self._open.execute(
                "SELECT number, body FROM undelivered WHERE service = ? ORDER BY number", (self._service,)
            ).fetchall()

    def add(self, bodies: Sequence[str]) -> list[int]:
        """Keep texts, all or none, and return their numbers."""
        with self._lock:
            self._open.execute("BEGIN IMMEDIATE")
            try:
                numbers = [self._added(body) for body in bodies]
                self._open.execute("COMMIT")
            except BaseException:
                # A disk that is full may have ended it already.
                if self._open.in_transaction:
                    self._open.execute("ROLLBACK")
                raise
            return numbers

    def _added(self, body: str) -> int:
        done = self._open.execute(
            "INSERT INTO undelivered (service, body) VALUES (?, ?)", (self._service, body)
        )
        assert done.lastrowid is not None
        return done.lastrowid

    def remove(self, numbers: Iterable[int]) -> None:
        """Let go of what was delivered."""
        with self._lock:
            self._open.execute("BEGIN IMMEDIATE")
            try:
                self._open.executemany(
                    "DELETE FROM undelivered WHERE number = ?", [(number,) for number in numbers]
                )
                self._open.execute("COMMIT")
            except BaseException:
                if self._open.in_transaction:
                    self._open.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._open.close()
