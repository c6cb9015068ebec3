"""Cells on disk: one file each, written whole or not at all, and never reused for another cell.

A file is an ordinary .npz archive. The comment that ends it is the SHA-256 of all bytes before, so a
file that was cut off or changed is known before any of it is read. Its name carries the cell's key:
another setting, another instance file or other code means another file.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import time
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.files import make_folder, written_whole
from frugalbandits.errors import InputError
from frugalbandits.lab.result import Result
from frugalbandits.lab.sweeps.cells import Cell, Outcome

__all__ = ["Record", "Store", "decode", "encode"]

_FORMAT = 1
_DIGEST = 64  # hexadecimal digits of a SHA-256
_SIZE_OF_COMMENT = 2  # bytes, the last ones of a zip archive without a comment
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
        with written_whole(path) as temporary, temporary.open("wb") as file:
            file.write(encode(outcome))
            file.flush()
            # Without this, the name may reach the disk before the bytes do.
            os.fsync(file.fileno())
        _sync_folder(self.folder)
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
    written = io.BytesIO()
    np.savez_compressed(
        written,
        about=np.frombuffer(json.dumps(about).encode(), np.uint8),
        times=result.times,
        steps=_steps(result.pulls),
        events=result.events,
        plans=result.plans,
    )
    content = bytearray(written.getvalue())
    content[-_SIZE_OF_COMMENT:] = _DIGEST.to_bytes(_SIZE_OF_COMMENT, "little")
    return bytes(content) + _digest(content)


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
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        result = Result(
            problem=cell.problem,
            policy=cell.policy,
            seed=cell.seed,
            times=arrays["times"],
            pulls=_pulls(arrays["steps"]),
            events=arrays["events"],
            plans=arrays["plans"],
        )
    return Outcome(cell, result, about["seconds"])


def _about(content: bytes) -> dict[str, Any]:
    """Return what a file says of itself, if it is whole and of this format."""
    if not content:
        raise InputError("is empty")
    if content[-_DIGEST:] != _digest(content[:-_DIGEST]):
        raise InputError("is damaged")
    # From here on the bytes are as they were written, so what fails to read was not written by `encode`.
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        about: dict[str, Any] = json.loads(
            np.lib.format.read_array(io.BytesIO(archive.read("about.npy"))).tobytes()
        )
    if about["format"] != _FORMAT:
        raise InputError(f"has format {about['format']}, and this version reads format {_FORMAT}")
    return about


def _digest(content: bytes | bytearray) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _steps(pulls: NDArray[np.int64]) -> NDArray[Any]:
    """Return what each checkpoint adds, in the smallest type that holds it.

    Unsigned numbers wrap around, so this loses nothing whatever the pulls are.
    """
    counts = np.ascontiguousarray(pulls).view(np.uint64)
    steps = np.diff(counts, axis=1, prepend=np.uint64(0))
    return steps.astype(np.min_scalar_type(steps.max(initial=0)))


def _pulls(steps: NDArray[Any]) -> NDArray[np.int64]:
    return np.cumsum(steps, axis=1, dtype=np.uint64).view(np.int64)


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
