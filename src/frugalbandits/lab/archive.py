"""Runs as one file: what a result and a cell of a sweep are stored as.

A file is an ordinary .npz archive. The comment that ends it is the SHA-256 of all bytes before, so a file
that was cut off or changed is known before any of it is read. Its array `about` is JSON: what the file says
of itself. Errors go on from the name of the file: "is damaged".
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.files import written_whole
from frugalbandits.core.quality import quality_from_dict, quality_to_dict
from frugalbandits.errors import InputError
from frugalbandits.lab.problem import Problem

__all__ = ["EVENT", "Runs", "about_of", "pack", "runs_of", "stored_runs", "to_store", "write"]

#: A conclusion: in which run, after how many pulls, of what kind, about which arm.
EVENT = np.dtype([("run", np.int64), ("time", np.int64), ("event", "U11"), ("arm", np.int64)])

_DIGEST = 64  # hexadecimal digits of a SHA-256
_SIZE_OF_COMMENT = 2  # bytes, the last ones of a zip archive without a comment
# What the readers of zip, numpy and JSON raise over bytes that are well-kept nonsense.
_UNREADABLE = (
    ArithmeticError,
    EOFError,
    KeyError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)
_FORMAT = "frugalbandits-result"
_VERSION = 1


class Runs(NamedTuple):
    """The arrays of a result."""

    times: NDArray[np.int64]
    pulls: NDArray[np.int64]
    events: NDArray[np.void]
    plans: NDArray[np.int64]


def pack(about: dict[str, Any], runs: Runs) -> bytes:
    """Return runs, and what is to be said of them, as the bytes of a file."""
    written = io.BytesIO()
    np.savez_compressed(
        written,
        about=np.frombuffer(json.dumps(about).encode(), np.uint8),
        times=runs.times,
        steps=_steps(runs.pulls),
        events=runs.events,
        plans=runs.plans,
    )
    content = bytearray(written.getvalue())
    content[-_SIZE_OF_COMMENT:] = _DIGEST.to_bytes(_SIZE_OF_COMMENT, "little")
    return bytes(content) + _digest(content)


def about_of(content: bytes) -> dict[str, Any]:
    """Return what a file says of itself, if it is whole and one of ours."""
    if not content:
        raise InputError("is empty")
    if content[-_DIGEST:] != _digest(content[:-_DIGEST]):
        raise InputError("is damaged, or no file of runs")
    # The bytes are as they were written; what is still wrong was not written by `pack`.
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            about = json.loads(np.lib.format.read_array(io.BytesIO(archive.read("about.npy"))).tobytes())
    except _UNREADABLE as error:
        raise InputError(f"is no file of runs ({error})") from error
    if not isinstance(about, dict) or "format" not in about:
        raise InputError("is no file of runs: it does not name its format")
    return about


def runs_of(content: bytes) -> Runs:
    """Return the runs in a file that `about_of` has read."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            pulls = np.cumsum(arrays["steps"], axis=1, dtype=np.uint64).view(np.int64)
            return Runs(arrays["times"], pulls, arrays["events"], arrays["plans"])
    except _UNREADABLE as error:
        raise InputError(f"is no file of runs ({error})") from error


def to_store(problem: Problem, policy: str, seed: int, runs: Runs) -> bytes:
    """Return a result as the bytes of its file."""
    about = {
        "format": _FORMAT,
        "version": _VERSION,
        "policy": policy,
        "seed": int(seed),
        "means": problem.means.tolist(),
        "costs": problem.costs.tolist(),
        "names": list(problem.names),
        "quality": quality_to_dict(problem.quality),
        "quality_worth": problem.given_worth,
    }
    return pack(about, runs)


def stored_runs(content: bytes) -> tuple[Problem, str, int, Runs]:
    """Return what `to_store` stored, in this version or any earlier one, with every value checked."""
    about = about_of(content)
    if about["format"] != _FORMAT:
        raise InputError(f"holds no result: its format is {about['format']!r}, not {_FORMAT!r}")
    version = about.get("version")
    if version != _VERSION:
        raise InputError(f"has version {version!r} of its format, and this one reads up to {_VERSION}")
    missing = {"policy", "seed", "means", "costs", "names", "quality"} - about.keys()
    if missing:
        raise InputError(f"lacks {', '.join(sorted(missing))}")
    policy, seed = about["policy"], about["seed"]
    if not isinstance(policy, str) or not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise InputError(f"has no policy and seed, but {policy!r} and {seed!r}")
    try:
        quality = quality_from_dict(about["quality"])
        problem = Problem(
            about["means"],
            about["costs"],
            names=about["names"],
            quality=quality,
            worth=about.get("quality_worth"),
        )
    except InputError as error:
        raise InputError(f"describes no problem: {error}") from error
    runs = runs_of(content)
    trouble = _trouble(problem.arms, runs)
    if trouble:
        raise InputError(f"contradicts itself: {trouble}")
    return problem, policy, seed, runs


def write(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file whole or not at all; it survives a power cut from then on."""
    with written_whole(path) as temporary, temporary.open("wb") as file:
        file.write(content)
        file.flush()
        # Without this, the name may reach the disk before the bytes do.
        os.fsync(file.fileno())
    _sync_folder(Path(path).parent)


def _trouble(arms: int, runs: Runs) -> str:
    """Say what is wrong with the runs of a problem with so many arms; nothing if all is well."""
    times, pulls, events, plans = runs
    if times.dtype != np.int64 or times.ndim != 1 or not times.size:
        return f"its times have the shape {times.shape}"
    if times[0] < 1 or np.any(np.diff(times) < 1):
        return "its times do not rise"
    if pulls.ndim != 3 or pulls.shape[1:] != (times.size, arms) or not pulls.shape[0]:
        return f"its pulls have the shape {pulls.shape} for {times.size} times and {arms} arms"
    if (pulls < 0).any() or (pulls > times[-1]).any() or np.any(np.diff(pulls, axis=1) < 0):
        return "its pulls do not rise from 0 to the horizon"
    if (pulls.sum(axis=2) != times).any():
        return "its pulls do not add up to its times"
    if plans.dtype != np.int64 or plans.shape != pulls.shape[:1]:
        return f"its plans have the shape {plans.shape} for {pulls.shape[0]} runs"
    if events.dtype != EVENT or events.ndim != 1:
        return f"its events have the type {events.dtype}"
    for field, most in (("run", len(pulls) - 1), ("arm", arms - 1), ("time", int(times[-1]))):
        if events.size and not (events[field].min() >= 0 and events[field].max() <= most):
            return f"the {field} of an event lies outside"
    return ""


def _digest(content: bytes | bytearray) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _steps(pulls: NDArray[np.int64]) -> NDArray[Any]:
    """Return what each checkpoint adds, in the smallest type that holds it.

    Unsigned numbers wrap around, so this loses nothing whatever the pulls are.
    """
    counts = np.ascontiguousarray(pulls).view(np.uint64)
    steps = np.diff(counts, axis=1, prepend=np.uint64(0))
    return steps.astype(np.min_scalar_type(steps.max(initial=0)))


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
