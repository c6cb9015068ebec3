"""Populations of queries from files and to files: NumPy's `.npz`, which keeps tables of numbers as they are.

The arrays are `rewards` (queries x options) and `costs` (options, or queries x options), and where there are
any `features` (queries x features), `segments` (a label a query) and `names` (of the options). `realised`
says that rewards are handed out as they are, and is false where it is missing.
"""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.files import written_whole
from frugalbandits.core.quality import Quality
from frugalbandits.errors import InputError
from frugalbandits.lab.contextual.problem import ContextualProblem

__all__ = ["read_routing", "write_routing"]

_NEEDED = ("rewards", "costs")
_KNOWN = (*_NEEDED, "features", "segments", "names", "realised")


def read_routing(path: str | os.PathLike[str], quality: Quality | str) -> ContextualProblem:
    """Read a population of queries from a `.npz` file.

    Parameters
    ----------
    path
        The file, with the arrays `rewards` and `costs`, and where there are any `features`, `segments`,
        `names` and `realised`, each as `ContextualProblem` takes it.
    quality
        The quality bar: no file has one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "queries.npz")
    ...     np.savez(path, rewards=[[0.9, 1.0], [0.2, 0.9]], costs=[1.0, 10.0], segments=["chat", "code"])
    ...     read_routing(path, "relative-to-best:0.1")
    ContextualProblem(2 queries, 2 options, 0 features, 2 segments, relative-to-best:0.1, bar=0.855)
    """
    arrays = _arrays(Path(path))
    names = arrays.get("names")
    try:
        return ContextualProblem(
            arrays.get("features"),
            arrays.get("segments"),
            arrays["rewards"],
            arrays["costs"],
            quality,
            None if names is None else [str(name) for name in names.ravel().tolist()],
            realised=bool(np.any(arrays.get("realised", False))),
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        # Read first: numpy leaves a broken file open. Pickles are refused, as they can run anything.
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            there = list(file)
            found = {name: file[name] for name in _KNOWN if name in file}
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (EOFError, ValueError, TypeError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{path} is no .npz file with the arrays {', '.join(_KNOWN)}, as numpy.savez writes it: {error}"
        ) from error
    lacking = [name for name in _NEEDED if name not in found]
    if lacking:
        raise InputError(f"{path} has no array called {lacking[0]!r}; it has {', '.join(there) or 'none'}")
    return found


def write_routing(problem: ContextualProblem, path: str | os.PathLike[str]) -> None:
    """Write a population of queries to a `.npz` file, whole or not at all; `read_routing` reads it."""
    arrays: dict[str, Any] = {
        "rewards": problem.rewards,
        "costs": problem.costs[0] if len(problem.costs) == 1 else problem.costs,
        "names": np.array(problem.names),
        "realised": problem.realised,
    }
    if problem.features.shape[1]:
        arrays["features"] = problem.features
    if problem.segmented:
        arrays["segments"] = np.array(problem.segment_names)[problem.segment]
    with written_whole(Path(path)) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)
