"""Cells on disk: one file each, written whole or not at all, and never reused for another cell.

A file is an archive of runs (see `lab.archive`). Its name carries the cell's key: another setting, another
instance file or other code means another file.
"""

from __future__ import annotations

import os
import re
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from frugalbandits.core.files import make_folder
from frugalbandits.errors import InputError
from frugalbandits.lab import archive
from frugalbandits.lab.result import Result
from frugalbandits.lab.sweeps.cells import Cell, Outcome

__all__ = ["Record", "Store", "decode", "encode"]

_FORMAT = 1
_LEFTOVER_AGE = 24 * 3600.0


class Record(NamedTuple):
    """The settings of a stored cell, of whatever version of the code, and the seconds that it took."""

    cell: Cell
    seconds: float


class Store:
    """The cells in a folder.

    Parameters
    ----------
    folder
        Where the files are; made if it is not there.

    Examples
    --------
    >>> import tempfile
    >>> import frugalbandits as fb
    >>> cell = Cell("nu1", 0.3, "pe-cs", horizon=500, runs=2, seed=0, checkpoints=5)
    >>> result = fb.simulate(cell.problem, cell.policy, cell.horizon, cell.runs, cell.seed, cell.checkpoints)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(folder)
    ...     path = store.save(Outcome(cell, result, seconds=0.25))
    ...     loaded = store.load(cell)
    >>> loaded.seconds, (loaded.result.pulls == result.pulls).all().item()
    (0.25, True)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = make_folder(folder)

    def path(self, cell: Cell) -> Path:
        """Return where the cell is, or would be."""
        # A policy may have settings in its name, with signs that a file's name must not have everywhere.
        policy = re.sub(r"[^\w.=-]", "-", cell.policy)
        return self.folder / f"{cell.instance}-{cell.alpha:g}-{policy}-{cell.key}.npz"

    def __contains__(self, cell: Cell) -> bool:
        return self.load(cell, warn=lambda line: None) is not None

    def load(self, cell: Cell, warn: Callable[[str], None] = warnings.warn) -> Outcome | None:
        """Return what was saved for the cell, or None if there is nothing that can be used.

        `warn` is told, in one line, of a file that is there and cannot be used: damaged, or not this cell's.
        """
        path = self.path(cell)
        try:
            return decode(cell, path.read_bytes())
        except FileNotFoundError:
            return None
        except InputError as error:
            warn(f"{str(path)!r} {error}: {cell.label} is computed again")
            return None

    def save(self, outcome: Outcome) -> Path:
        """Save a cell and return its file, which survives a power cut from then on."""
        path = self.path(outcome.cell)
        archive.write(path, encode(outcome))
        return path

    def records(self) -> list[Record]:
        """Return settings and seconds of every cell in the folder, those of other versions too."""
        found = []
        for path in sorted(self.folder.glob("*.npz")):
            try:
                about = _about(path.read_bytes())
            except (InputError, FileNotFoundError):
                # Whoever wants such a cell is told by `load`; another process may have replaced it.
                continue
            if about["cell"].keys() == Cell.__dataclass_fields__.keys():
                found.append(Record(Cell(**about["cell"]), about["seconds"]))
        return found

    def tidy(self) -> None:
        """Remove what processes that were killed while they saved left behind, a day ago or more."""
        for path in self.folder.glob(".frugal-*"):
            try:
                if path.stat().st_mtime < time.time() - _LEFTOVER_AGE:
                    path.unlink()
            except FileNotFoundError:
                # Another process was faster.
                continue


def encode(outcome: Outcome) -> bytes:
    """Return a cell as the bytes of its file."""
    cell, result, seconds = outcome
    if (result.policy, result.seed, result.problem) != (cell.policy, cell.seed, cell.problem):
        raise InputError(f"this is no result of {cell.label}: {result!r}")
    about = {"format": _FORMAT, "cell": asdict(cell), "key": cell.key, "seconds": seconds}
    return archive.pack(about, result.stored)


def decode(cell: Cell, content: bytes) -> Outcome:
    """Return the cell that these bytes hold.

    Raises
    ------
    InputError
        If the bytes are damaged or hold something else; the message goes on from "this file".
    """
    about = _about(content)
    if (about["cell"], about["key"]) != (asdict(cell), cell.key):
        raise InputError("holds another cell")
    runs = archive.runs_of(content)
    result = Result(cell.problem, cell.policy, cell.seed, *runs)
    return Outcome(cell, result, about["seconds"])


def _about(content: bytes) -> dict[str, Any]:
    """Return what a file says of itself, if it is whole and of this format."""
    about = archive.about_of(content)
    if about["format"] != _FORMAT:
        raise InputError(f"has format {about['format']}, and this version reads format {_FORMAT}")
    return about
