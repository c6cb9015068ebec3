"""What the commands on a store share: its address, and how it is opened and let go of."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from frugalbandits.core.tables import fitted_text, printable
from frugalbandits.errors import InputError
from frugalbandits.stores.contract import Store
from frugalbandits.stores.keeping import keeper_of
from frugalbandits.stores.opening import open_store

__all__ = [
    "DEFAULT",
    "STORE",
    "StoreOption",
    "opened",
    "show_table",
    "store_in_environment",
    "when",
    "width_of_screen",
]

#: The variable of the environment that has the address of a store, and the one that names a file that has it.
STORE = "FRUGALBANDITS_STORE"
STORE_FILE = "FRUGALBANDITS_STORE_FILE"
DEFAULT = "sqlite:///decisions.db"
_PIPE = 250  # columns where there is no screen

StoreOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help=f"The store, as for `frugal serve`. Default: {STORE} in the environment, or {DEFAULT}.",
    ),
]


def store_in_environment() -> str | None:
    """Return the address of a store that the environment has, or a file that it names: a secret, say."""
    address, file = os.environ.get(STORE), os.environ.get(STORE_FILE)
    if not file:
        return address or None
    if address:
        raise InputError(f"{STORE} and {STORE_FILE} are both set: leave one of them out")
    try:
        found = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the file {file!r} that {STORE_FILE} names: {error}") from error
    if not found or len(found.splitlines()) > 1:
        raise InputError(
            f"the file {file!r} that {STORE_FILE} names must hold one line, the address of a store"
        )
    return found


@contextmanager
def opened(address: str | None, make: bool = False) -> Iterator[Store]:
    """Open a store for one command; `make`: also one that is not there yet."""
    address = address or store_in_environment() or DEFAULT
    if not make and address.startswith("sqlite:///"):
        path = Path(address.removeprefix("sqlite:///"))
        if not path.exists():
            raise InputError(f"there is no store at {address!r}: no file is called {str(path)!r}")
    store = open_store(address)
    try:
        yield store
    finally:
        keeper_of(store).close()
        store.close()


def width_of_screen() -> int:
    """Return how many columns a line may have; in a pipe a row stays one line."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return shutil.get_terminal_size().columns
    return _PIPE


def show_table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: frozenset[int]) -> None:
    """Print a table that fits the screen."""
    clean = [[printable(cell) for cell in row] for row in rows]
    typer.echo(fitted_text(heads, clean, width_of_screen(), left))


def when(at: float) -> str:
    """Write a time.

    Examples
    --------
    >>> when(0.0)
    '1970-01-01 00:00'
    """
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
