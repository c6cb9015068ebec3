"""Cells on other machines: each is one task of a Dask cluster, and the outcome is the same to the bit.

The client alone saves. A worker returns a cell as the bytes of its file, which carry a checksum, so
nothing is lost on the way unseen; and a task only computes, so one that runs twice does no harm.
`distributed` is imported where it is used: most sweeps need no cluster.
"""

from __future__ import annotations

import importlib
import logging
import queue
import re
import socket
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numba
import numpy as np

from frugalbandits._version import __version__
from frugalbandits.errors import InputError
from frugalbandits.lab.sweeps.cells import Cell, Outcome
from frugalbandits.lab.sweeps.compute import compute, prepare
from frugalbandits.lab.sweeps.digest import code_digest
from frugalbandits.lab.sweeps.progress import Ledger
from frugalbandits.lab.sweeps.store import decode, encode

__all__ = ["check_address", "computed_by", "describe", "task"]

_ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9A-Fa-f:.]+\]|[^\s:/?#\[\]]+):(\d{1,5})")
_REACH = 5.0  # seconds to find the scheduler
_LOOK = 0.5  # seconds between looks at who runs what
_LEAVE = 2.0  # seconds to say goodbye
_LONGEST_GREETING = 1 << 20  # bytes
# A task that fails is tried again, since the fault may be the worker's.
_RETRIES = 2
# The scheduler gives a task up when it was on four workers that died. They may have been taken away, as
# machines hired by the minute are, so it is sent anew this often before the task itself is suspected.
_LIVES = 4


def check_address(address: str) -> str:
    """Return the address of a scheduler, if it can be one.

    Examples
    --------
    >>> check_address("tcp://10.0.0.1:8786")
    'tcp://10.0.0.1:8786'
    """
    match = _ADDRESS.fullmatch(address)
    if match is None or not 1 <= int(match[3]) <= 65535:
        raise InputError(f"--cluster must look like 'tcp://host:8786', but it is {address!r}")
    return address


def computed_by(address: str, cells: Sequence[Cell], ledger: Ledger) -> Generator[Outcome, None, None]:
    """Yield the outcomes of cells as the cluster's workers finish them, in no certain order.

    Closing the iterator, or an exception such as Ctrl-C, calls off what is outstanding.
    """
    distributed = _distributed()
    ledger.note(f"connecting to {address}")
    with _hushed():
        client = _connect(distributed, check_address(address))
        pending: dict[str, _Sent] = {}
        try:
            yield from _gathered(distributed, client, address, cells, pending, ledger)
        finally:
            client.cancel([sent.future for sent in pending.values()])
            client.close(timeout=_LEAVE)


def _gathered(
    distributed: Any,
    client: Any,
    address: str,
    cells: Sequence[Cell],
    pending: dict[str, _Sent],
    ledger: Ledger,
) -> Iterator[Outcome]:
    arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def send(cell: Cell, lives: int = _LIVES) -> None:
        future = client.submit(task, cell, cell.key, pure=False, retries=_RETRIES)
        pending[future.key] = _Sent(cell, future, lives)
        future.add_done_callback(arrived.put)

    checked: set[str] = set()
    _look(client, address, checked, pending, ledger)
    looked = time.monotonic()
    # What takes longest goes first, so that no machine is left with it at the end.
    for cell in sorted(cells, key=lambda cell: -(ledger.expected(cell) or 0.0)):
        send(cell)
    while pending:
        if time.monotonic() - looked >= _LOOK:
            _look(client, address, checked, pending, ledger)
            looked = time.monotonic()
        try:
            # With a time-out, because a wait without end may not hear Ctrl-C.
            future = arrived.get(timeout=_LOOK)
        except queue.Empty:
            continue
        cell, _, lives = pending.pop(future.key)
        if future.status == "finished":
            outcome = _outcome(cell, future, address)
            future.release()
            yield outcome
            continue
        error = _error_of(future, address)
        if not isinstance(error, distributed.KilledWorker):
            raise error
        if lives == 1:
            raise InputError(
                f"workers of {address} die again and again while they run {cell.label}: {error}"
            ) from error
        send(cell, lives - 1)


class _Sent(NamedTuple):
    cell: Cell
    future: Any
    lives: int


def describe() -> dict[str, str]:
    """Return what has to be the same on two machines for their results to be the same."""
    return {
        "frugalbandits": __version__,
        "numba": numba.__version__,
        "numpy": np.__version__,
        "code": code_digest(),
    }


def task(cell: Cell, key: str) -> bytes:
    """Compute a cell on a worker of the cluster, with as many threads as that has."""
    distributed = _distributed()
    worker = distributed.get_worker()
    if cell.key != key:
        raise _unlike(worker.address, {"code": ""})
    name = worker.get_current_task()
    prepare(cell)
    return encode(compute(cell, worker.state.nthreads, partial(_go_on, worker.state.tasks, name)))


def _go_on(tasks: dict[str, Any], name: str, done: int, runs: int) -> None:
    """Give up a task that was called off; a thread cannot be stopped from outside."""
    known = tasks.get(name)
    if known is None or known.state == "cancelled":
        raise CancelledError(name)


def _distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError as error:
        raise InputError("--cluster needs distributed: pip install 'frugalbandits[cluster]'") from error


def _connect(distributed: Any, address: str) -> Any:
    try:
        _knock(address)
        return distributed.Client(address, timeout=_REACH, set_as_default=False)
    except OSError as error:
        raise InputError(f"no Dask scheduler answers at {address!r}: {error.strerror or error}") from error


def _knock(address: str) -> None:
    """Make sure that a scheduler listens: a client would wait for ever for anything else to answer."""
    match = _ADDRESS.fullmatch(address)
    assert match is not None
    scheme, host, port = match.groups()
    with socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH) as connection:
        if scheme == "tls":  # where the client speaks first
            return
        # A scheduler speaks first. Its message begins with the length of it, which is not much.
        with connection.makefile("rb") as received:
            length = received.read(8)
    if len(length) < 8 or int.from_bytes(length, "little") > _LONGEST_GREETING:
        raise ConnectionError("what listens there is something else")


@contextmanager
def _hushed() -> Iterator[None]:
    """Keep what Dask logs of a lost connection, page after page, off the terminal: we say it in a line."""
    loggers = [
        logging.getLogger(name)
        for name in list(logging.root.manager.loggerDict)
        if name.startswith("distributed")
    ]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _look(client: Any, address: str, checked: set[str], pending: dict[str, _Sent], ledger: Ledger) -> None:
    """Note which cells run, and make sure that workers that have joined compute the same as we do."""
    try:
        processing = client.processing()
        _check_workers(client, processing.keys() - checked)
    except OSError as error:
        raise _lost(address) from error
    checked.update(processing)
    if not processing:
        ledger.run([])
        ledger.note("waiting for workers")
        return
    ledger.run([pending[key].cell for keys in processing.values() for key in keys if key in pending])


def _check_workers(client: Any, workers: set[str]) -> None:
    if not workers:
        return
    here = describe()
    for name, there in client.run(describe, workers=sorted(workers), on_error="return").items():
        if isinstance(there, OSError):
            # Gone since we asked who is there.
            continue
        if isinstance(there, Exception):
            raise InputError(
                f"worker {name} cannot run frugalbandits {__version__}: {type(there).__name__}: {there}"
            ) from there
        if there != here:
            raise _unlike(name, there)


def _unlike(worker: str, there: dict[str, str]) -> InputError:
    here = describe()
    what = next(name for name in here if name in there and there[name] != here[name])
    if what == "code":
        return InputError(
            f"worker {worker} has other code of frugalbandits than this machine: install the same on both"
        )
    return InputError(f"worker {worker} has {what} {there[what]}, but this machine has {here[what]}")


def _outcome(cell: Cell, future: Any, address: str) -> Outcome:
    try:
        content = future.result()
    except (OSError, CancelledError) as error:
        raise _lost(address) from error
    try:
        return decode(cell, content)
    except InputError as error:
        raise InputError(f"what {address} sent for {cell.label} {error}") from error


def _error_of(future: Any, address: str) -> BaseException:
    if future.status == "cancelled":
        return _lost(address)
    error: BaseException = future.exception()
    return error


def _lost(address: str) -> InputError:
    return InputError(
        f"the Dask scheduler at {address!r} is gone; finished cells are saved, and the same call goes on"
    )
