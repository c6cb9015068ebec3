"""A server that runs: one process, or several that share a socket and a store."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import uvicorn

from frugalbandits.core.session import Session
from frugalbandits.errors import InputError, StoreUnavailable
from frugalbandits.service import limits
from frugalbandits.service.access import Access
from frugalbandits.service.app import CLOSE, create_app
from frugalbandits.service.logs import configure, logger
from frugalbandits.service.metrics import FOLDER
from frugalbandits.service.patience import patient_for
from frugalbandits.service.settings import Settings, is_loopback
from frugalbandits.stores.opening import open_store

__all__ = ["serve"]

GRACE = 10  # seconds that requests have to end in
_MARGIN = 3.0  # seconds beyond all that is waited for after which a process that should end is killed
_FILES = 200  # that a worker has open beside its connections
_LOAD = 5.0  # seconds that a server waits for its machine code before it answers
_RESTART = 1.0  # seconds until a worker that died is started again
_BACKLOG = 2_048


def serve(settings: Settings, say: Callable[[str], None]) -> None:
    """Serve until a signal says to stop; `say` is called once with where it listens."""
    store = open_store(settings.store)
    try:
        access = Access(store)
        access.refresh()
        address, is_open = store.address, access.open
    finally:
        store.close()
    if is_open and not is_loopback(settings.host):
        raise InputError(
            f"without tokens the service is for this machine only, but --host is {settings.host}: make one "
            "with `frugal token add NAME --role admin`, or leave --host at 127.0.0.1"
        )
    listening = _bound(settings)
    with listening:
        stop = _Stop()
        line = _line(settings, listening, address, is_open)
        if settings.workers == 1:
            work(settings, listening, stop, lambda: say(line))
        else:
            say(line)
            _supervise(settings, listening, stop)


class _Stop:
    """Whether a signal said to stop: that ends the loop of a server; it is no error, and kills nothing.

    It may come before there is a server, which then stops as soon as it has started.
    """

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.server: uvicorn.Server | None = None
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._take)

    def _take(self, *_: Any) -> None:
        self.asked.set()
        if self.server is not None:
            self.server.should_exit = True


def _bound(settings: Settings) -> socket.socket:
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, place = found[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(place)
            listening.listen(_BACKLOG)
        except BaseException:
            listening.close()
            raise
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot listen on {settings.host}, port {settings.port}: {why}") from error
    return listening


def _line(settings: Settings, listening: socket.socket, address: str, is_open: bool) -> str:
    port = listening.getsockname()[1]
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    count = f"{settings.workers} workers" if settings.workers > 1 else "1 worker"
    doors = "no tokens: for this machine only" if is_open else "tokens needed"
    return f"frugal: listening on http://{host}:{port} ({address}, {count}, {doors})"


def work(
    settings: Settings, listening: socket.socket, stop: _Stop, ready: Callable[[], None] | None = None
) -> None:
    """Serve in this process until a signal comes; `ready` is called when the store is open."""
    configure(settings.log_level)
    _load_machine_code()
    app = create_app(open_store(settings.store), settings)
    config = uvicorn.Config(
        app,
        http=patient_for(settings.patience, _connections()),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        # uvicorn takes any number, though it says int.
        timeout_keep_alive=settings.keep_alive,  # type: ignore[arg-type]
        timeout_graceful_shutdown=GRACE,
        backlog=_BACKLOG,
    )
    if ready is not None:
        ready()
    stop.server = server = _Server(config)
    server.should_exit = stop.asked.is_set()
    server.run(sockets=[listening])


def _load_machine_code() -> None:
    """Load the default policy's machine code before the first request is read; it never compiles here.

    That takes about a second. Where another process compiles the same code it takes longer, and goes on
    while the server answers.
    """
    load = threading.Thread(target=Session([1.0, 2.0], 0.1).load_machine_code, daemon=True)
    load.start()
    load.join(_LOAD)


class _Server(uvicorn.Server):
    """uvicorn's server, which ends in any case some time after it was told to."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish the requests in hand, and end."""
        threading.Thread(target=_end_anyway, daemon=True).start()
        await super().shutdown(sockets)


def _end_anyway() -> None:
    time.sleep(GRACE + CLOSE + _MARGIN)
    logger().error("the process did not end by itself, and is ended: something hangs")
    os._exit(1)


def _connections() -> int:
    """Return how many connections a worker can hold; raise its limit of open files where that is allowed."""
    if sys.platform == "win32":
        return limits.CONNECTIONS
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.CONNECTIONS + _FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        if most > soft:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    return (
        limits.CONNECTIONS
        if soft == resource.RLIM_INFINITY
        else max(min(limits.CONNECTIONS, soft - _FILES), 1)
    )


# Several processes.


def _worker(settings: Settings, listening: socket.socket, parent: Connection) -> None:
    stop = _Stop()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        work(settings, listening, stop)
    except (StoreUnavailable, InputError) as error:
        # The one that supervises starts another worker, so this one says why in a line and ends.
        logger().error("a worker cannot start", why=str(error))
        sys.exit(1)


def _end_with(parent: Connection) -> None:
    """Stop when whoever started this process is gone: nobody else would."""
    try:
        parent.recv()
    except (EOFError, OSError):
        os.kill(os.getpid(), signal.SIGTERM)


class _Crew:
    """The workers."""

    def __init__(self, settings: Settings, listening: socket.socket) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._given = settings, listening
        self._reading, self._writing = self._context.Pipe(duplex=False)
        self.processes = [self._start() for _ in range(settings.workers)]

    def _start(self) -> multiprocessing.process.BaseProcess:
        process = self._context.Process(target=_worker, args=(*self._given, self._reading), daemon=False)
        process.start()
        return process

    def replace_dead(self) -> None:
        """Start a worker for each that died."""
        for place, process in enumerate(self.processes):
            if not process.is_alive():
                logger().error("a worker died", process=process.pid, code=process.exitcode)
                process.join()
                time.sleep(_RESTART)
                self.processes[place] = self._start()

    def end(self) -> None:
        """Have all of them finish their requests, and wait for it."""
        for process in self.processes:
            if process.pid is not None and process.is_alive():
                os.kill(process.pid, signal.SIGTERM)
        until = time.monotonic() + GRACE + CLOSE + 2 * _MARGIN
        for process in self.processes:
            process.join(max(until - time.monotonic(), 0.1))
            if process.is_alive():
                process.kill()
                process.join()
        self._writing.close()


def _supervise(settings: Settings, listening: socket.socket, stop: _Stop) -> None:
    configure(settings.log_level)
    folder = tempfile.mkdtemp(prefix="frugal-metrics-")
    os.environ[FOLDER] = folder
    try:
        crew = _Crew(dataclasses.replace(settings), listening)
        try:
            while not stop.asked.wait(0.2):
                crew.replace_dead()
        finally:
            crew.end()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        sys.stderr.flush()
