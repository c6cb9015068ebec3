"""How many runs are done, on standard error: a bar on a terminal, a line in a notebook, nothing elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Protocol, TextIO, TypeAlias

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from frugalbandits.errors import InputError
from frugalbandits.lab.text import counted, printable

__all__ = ["PATIENCE", "Progress", "advance", "in_notebook", "listener", "progress"]

#: A function that is told runs done and runs in all, or whether to show a bar.
Progress: TypeAlias = Callable[[int, int], None] | bool | None

#: What is over within so many seconds needs no progress bar.
PATIENCE = 2.0
# Seconds between two pictures in a notebook.
_PAUSE = 0.5


def listener(wanted: Progress, total: int) -> AbstractContextManager[Callable[[str, int], None]]:
    """Return a context that gives what is to be told of runs: the caller's function, a bar, or nobody."""
    if not isinstance(wanted, bool | None) and not callable(wanted):
        raise InputError(f"progress must be True, False or a function, but it is {wanted!r}")
    if wanted is True:
        return progress(total, PATIENCE)
    return nullcontext(partial(_tell, wanted or None, total))


def _tell(heard: Callable[[int, int], None] | None, total: int, what: str, done: int) -> None:
    # Of nothing done there is nothing to tell.
    if heard is not None and done:
        heard(done, total)


class _Shown(Protocol):
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def show(self, what: str, done: int) -> None: ...


@contextmanager
def progress(
    total: int, patience: float = 0.0, stream: TextIO | None = None, notebook: bool | None = None
) -> Iterator[Callable[[str, int], None]]:
    """Yield a function that shows what runs now and how many runs are done.

    Parameters
    ----------
    total
        Runs in all.
    patience
        Seconds before anything is shown; what ends earlier shows nothing.
    stream
        Standard error by default.
    notebook
        Whether the stream is shown in a notebook; found out by default.
    """
    stream = sys.stderr if stream is None else stream
    shown: _Shown
    if stream.isatty():
        shown = _Bar(total, stream)
    elif in_notebook() if notebook is None else notebook:
        shown = _Line(total, stream)
    else:
        yield lambda what, done: None
        return
    # In a thread, because a first run may take longer than anybody's patience.
    starter = threading.Timer(patience, shown.start)
    starter.daemon = True
    if patience > 0:
        starter.start()
    else:
        shown.start()
    try:
        yield shown.show
    finally:
        starter.cancel()
        if patience > 0:
            starter.join()  # it may be starting just now
        shown.stop()


def advance(show: Callable[[str, int], None], what: str, before: int, done: int, total: int) -> None:
    """Show how many runs are done, those of earlier simulations included."""
    show(what, before + done)


def in_notebook() -> bool:
    """Tell whether output goes to a notebook."""
    return Console(stderr=True).is_jupyter


class _Bar:
    """A bar that vanishes at the end."""

    def __init__(self, total: int, stream: TextIO) -> None:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(20),
            MofNCompleteColumn(),
            TextColumn("runs, left"),
            TimeRemainingColumn(),
        )
        console = Console(file=stream, force_jupyter=False)
        self._progress = Bar(*columns, console=console, transient=True)
        self._task = self._progress.add_task("", total=total)

    def start(self) -> None:
        self._progress.start()

    def stop(self) -> None:
        if self._progress.live.is_started:
            self._progress.stop()

    def show(self, what: str, done: int) -> None:
        self._progress.update(self._task, description=printable(what), completed=done)


class _Line:
    """A line that is written over, which every notebook can show, and is blank at the end."""

    def __init__(self, total: int, stream: TextIO) -> None:
        self._total, self._stream = total, stream
        self._what, self._done = "", 0
        self._began, self._widest = time.monotonic(), 0
        self._over = threading.Event()
        self._drawer = threading.Thread(target=self._draw, daemon=True)

    def start(self) -> None:
        self._drawer.start()

    def stop(self) -> None:
        self._over.set()
        if self._drawer.ident is not None:
            self._drawer.join()
            self._write("")

    def show(self, what: str, done: int) -> None:
        self._what, self._done = printable(what), done

    def _draw(self) -> None:
        while True:
            spent = time.monotonic() - self._began
            words = f"{self._done:,} of {counted(self._total)}, {spent:.0f} s"
            if self._done:
                words += f", about {spent / self._done * (self._total - self._done):.0f} s left"
            self._write(f"{self._what}: {words}")
            if self._over.wait(_PAUSE):
                return

    def _write(self, line: str) -> None:
        self._widest = max(self._widest, len(line))
        self._stream.write(f"\r{line.ljust(self._widest)}" + ("" if line else "\r"))
        self._stream.flush()
