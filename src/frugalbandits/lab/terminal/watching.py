"""How many runs are done, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from frugalbandits.lab.text import printable

__all__ = [
    "progress",
]


@contextmanager
def progress(total: int) -> Iterator[Callable[[str, int], None]]:
    """Yield a function that shows what runs now and how many runs are done, on standard error.

    It shows nothing where standard error is not a terminal.
    """
    if not sys.stderr.isatty():
        yield lambda what, done: None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(20),
        MofNCompleteColumn(),
        TextColumn("runs, left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda what, done: bar.update(task, description=printable(what), completed=done)
