"""Connections to PostgreSQL that are made when they are needed, and that give a silent database up."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

from frugalbandits.errors import InputError, StoreUnavailable

try:
    import psycopg
    from psycopg import conninfo
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"a store in PostgreSQL needs {missing.name}, which is not installed: "
        "pip install 'frugalbandits[postgres]'",
        name=missing.name,
    ) from missing

__all__ = ["Connection", "Link", "Silent", "conninfo", "psycopg"]

# A connection that fails is tried again after so many seconds, then after twice as many, and so on.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0

# Seconds beyond the timeout of a statement after which a database that says nothing is given up.
_MARGIN = 2.0

# A statement waits for a lock for this share of the time that it has, so that the error can say so.
_LOCK_SHARE = 0.8

_SETTINGS = """SELECT set_config('statement_timeout', %s, false),
    set_config('lock_timeout', %s, false),
    set_config('idle_in_transaction_session_timeout', '20s', false),
    CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')
         THEN set_config('synchronous_commit', 'on', false) END"""

_Result = TypeVar("_Result")
Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"


class Silent(psycopg.OperationalError):
    """The database did not answer in time."""


class _TimedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that is closed where the database does not answer in time.

    The timeouts of the database itself do not help where its process or machine is stopped, and those of TCP
    do not where the kernel still acknowledges what is sent.
    """

    patience = 0.0

    def wait(self, gen: Generator[Any, Any, _Result], *args: Any, **more: Any) -> _Result:
        """Wait as usual, but not for ever."""
        if self.patience <= 0:
            return super().wait(gen, *args, **more)
        return super().wait(self._timed(gen), *args, **more)

    def _timed(self, gen: Generator[Any, Any, _Result]) -> Generator[Any, Any, _Result]:
        until = time.monotonic() + self.patience
        try:
            state = next(gen)
            while True:
                # psycopg resumes this several times a second, also where nothing has come.
                ready = yield state
                if ready:
                    until = time.monotonic() + self.patience
                elif time.monotonic() >= until:
                    self.close()
                    raise Silent(f"the database has not answered for {self.patience:g} s")
                state = gen.send(ready)
        except StopIteration as end:
            result: _Result = end.value
            return result


class Link:
    """A connection that is made when it is needed, and made anew after it was lost, but not in a hurry."""

    def __init__(self, settings: Mapping[str, Any], address: str, patience: float, first: str = "") -> None:
        self._settings = settings
        self._address = address
        self._patience = patience
        self._first = first
        self._pause = 0.0
        self._again = 0.0
        self._trouble = ""
        self.connections = 0  # that were made so far
        self.connection: Connection | None = None

    def use(self) -> Connection:
        """Return the connection; where the last attempt has just failed, say so at once."""
        if self.connection is not None and not self.connection.closed:
            return self.connection
        self.drop()
        if time.monotonic() < self._again:
            raise StoreUnavailable(self._trouble)
        try:
            connection = _TimedConnection.connect(autocommit=True, **self._settings)
            connection.patience = self._patience + _MARGIN
            try:
                limits = [f"{share * self._patience * 1e3:.0f}ms" for share in (1.0, _LOCK_SHARE)]
                connection.execute(_SETTINGS, limits)
                if self._first:
                    connection.execute(self._first)
            except BaseException:
                connection.close()
                raise
        except psycopg.Error as error:
            self._rest(f"cannot reach {self._address!r}: {self.words(error)}")
            raise StoreUnavailable(self._trouble) from None
        self._pause = 0.0
        self.connections += 1
        self.connection = connection
        return connection

    def _rest(self, trouble: str) -> None:
        """Fail at once for a while, longer each time, before another connection is tried."""
        self._pause = min(max(2 * self._pause, _FIRST_PAUSE), _LONGEST_PAUSE)
        self._again = time.monotonic() + self._pause
        self._trouble = trouble

    def drop(self) -> None:
        """Close the connection."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    @contextmanager
    def told(self) -> Iterator[None]:
        """Say in words what went wrong, and begin with a new connection next time."""
        try:
            yield
        except psycopg.Error as error:
            self.drop()
            if isinstance(error, Silent):
                self._rest(f"cannot reach {self._address!r}: {self.words(error)}")
            raise StoreUnavailable(f"cannot use {self._address!r}: {self.words(error)}") from error
        except InputError:
            raise
        except BaseException:
            self.drop()
            raise

    def words(self, error: BaseException) -> str:
        """Return the first line of a message, without the password should it be in there."""
        line = (str(error).strip() or type(error).__name__).splitlines()[0]
        password = self._settings.get("password")
        return line.replace(password, "***") if password else line
