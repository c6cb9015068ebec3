"""Plans for those who cannot wait: plain Python at once, machine code as soon as a thread has made it.

A `Planner` is called as a policy's ``plan(state, rng)`` is. Where numba is installed, a thread in the
background loads machine code that an earlier process left on disk, from the first plan on, or else compiles
it after `PATIENCE` plans. The planner uses it from the moment that it is there. No plan waits for that
thread, and it holds no lock that a plan needs. The decisions are the same either way.

`Planner.load` is for a caller who can wait: it loads machine code that is on disk, and never compiles.

Where the compiler fails, on a policy from elsewhere that it cannot take, planning goes on in plain Python and
the logger "frugalbandits" says why.
"""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np

from frugalbandits.core.contract import Batch, Policy, Setting
from frugalbandits.core.jit import (
    CacheFolder,
    cache_folder,
    compile_for,
    fits_this_machine,
    has_compiler,
    is_on_disk,
    machine_code,
    note_on_disk,
)
from frugalbandits.core.quality import RelativeToBest
from frugalbandits.core.registry import policies, resolve
from frugalbandits.core.tables import text_table

__all__ = [
    "PATIENCE",
    "How",
    "Planner",
    "WarmUp",
    "Warmed",
    "form",
    "made_ready",
    "planner_of",
    "shared_planner",
    "warm_up",
]

#: Plans in plain Python before machine code is ordered: short programs should not pay for a compiler.
PATIENCE = 20

_log = logging.getLogger("frugalbandits")
_log.addHandler(logging.NullHandler())


class Planner:
    """The plan of one kind of policy, for states of one form; shared by all sessions that have it."""

    def __init__(self, plan: Any, patience: int = PATIENCE) -> None:
        self._plain = plan
        self._code: Any = None
        self._left = patience if has_compiler() else 0  # plans until machine code is ordered; 0: never
        self._looked = False  # whether the first plan looked into the cache on disk
        self._missing = False  # whether there was nothing
        self._loading = threading.Lock()

    def __call__(self, state: Any, rng: Any) -> Batch:
        """Return the next batch, by whatever is fastest by now."""
        code = self._code
        if code is not None:
            batch: Batch = code(state, rng)
            return batch
        if self._left > 0:
            self._count(state, rng)
        plain: Batch = self._plain(state, rng)
        return plain

    def _count(self, state: Any, rng: Any) -> None:
        """Count a plan in plain Python; the last one of them orders machine code.

        The first one orders it too where it is on disk already.
        """
        self.load_soon(state, rng)
        self._left -= 1
        if self._left == 0:
            _workshop.order(self.make, state, rng)

    @property
    def compiled(self) -> bool:
        """Whether machine code is in use."""
        return self._code is not None

    def load_soon(self, state: Any, rng: Any) -> bool:
        """Have machine code that is on disk loaded in the background; tell whether it is in use now."""
        if not self._looked and self._left > 0:
            self._looked = True
            if self._is_on_disk(state, rng):
                _workshop.order(self.load, state, rng)
        return self.compiled

    def load(self, state: Any, rng: Any) -> bool:
        """Load machine code if it is on disk, and tell whether it is in use now; never compiles."""
        with self._loading:
            wanted = self._code is None and self._left > 0 and self._is_on_disk(state, rng)
            if wanted and all(fits_this_machine(*each) for each in self._kept_as(state, rng)):
                self.make(state, rng)
        return self.compiled

    def make(self, state: Any, rng: Any) -> tuple[float, How]:
        """Have machine code for arguments of these types, and use it from now on."""
        made = self._make(state, rng)
        for modules, what in self._kept_as(state, rng):
            note_on_disk(modules, what)
        return made

    def _make(self, state: Any, rng: Any) -> tuple[float, How]:
        code: Any = machine_code(self._plain)
        made = made_ready(code, state, rng)
        self._code = compile_for(code, state, rng)
        return made

    def _functions(self) -> tuple[Any, ...]:
        """Return the functions that have machine code."""
        return (self._plain,)

    def _kept_as(self, state: Any, rng: Any) -> list[tuple[tuple[str, ...], str]]:
        """Return under which modules and names the machine code is kept on disk."""
        given = repr((form(state), str(type(rng))))
        return [((each.__module__,), f"{each.__qualname__} {given}") for each in self._functions()]

    def _is_on_disk(self, state: Any, rng: Any) -> bool:
        if not self._missing:  # looked for once: a process may have a thousand sessions
            self._missing = not all(is_on_disk(*each) for each in self._kept_as(state, rng))
        return not self._missing


P = TypeVar("P", bound=Planner)
_planners: dict[Hashable, Planner] = {}
_registering = threading.Lock()


def planner_of(policy: Policy, state: Any, rng: Any) -> Planner:
    """Return the planner for a policy of this kind and states of this form."""
    return shared_planner(Planner, type(policy).plan, state, rng)


def shared_planner(kind: Callable[[Any, int], P], plan: Any, state: Any, rng: Any) -> P:
    """Return the one planner of a kind for this function and states of this form."""
    key = (kind, plan, form(state), type(rng))
    with _registering:
        if key not in _planners:
            _planners[key] = kind(plan, PATIENCE if _is_data(state) else 0)
        return cast(P, _planners[key])


def _is_data(value: Any) -> bool:
    """Tell whether machine code would change what it is given, and not a copy, as it would of a list."""
    if hasattr(value, "_fields"):
        return all(map(_is_data, value))
    return value is None or isinstance(value, np.ndarray | np.generic | bool | int | float | str)


def form(value: Any) -> Hashable:
    """Return what the compiler would tell states apart by: machine code is for states of one form."""
    if hasattr(value, "_fields"):
        return str(type(value)), *(form(part) for part in value)
    if isinstance(value, np.ndarray):
        flags = value.flags
        return value.dtype, value.ndim, flags.c_contiguous, flags.writeable, flags.aligned
    return str(type(value))


class _Workshop:
    """One thread that compiles, started when something is ordered."""

    def __init__(self) -> None:
        self._orders: queue.SimpleQueue[tuple[Callable[[Any, Any], Any], Any, Any]] = queue.SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self.busy = False  # whether the compiler may hold its lock

    def order(self, make: Callable[[Any, Any], Any], state: Any, rng: Any) -> None:
        """Have machine code made by a method of a planner; returns at once."""
        self.busy = True
        self._orders.put((make, state, rng))
        with self._starting:
            if self._thread is None:
                # A daemon, because a program that is done should not wait until all is compiled.
                self._thread = threading.Thread(target=self._work, name="frugalbandits-compiler", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while True:
            make, state, rng = self._orders.get()
            try:
                make(state, rng)
            except Exception as error:
                # Whatever went wrong, decisions go on in plain Python.
                _log.warning("%s cannot be compiled and stays plain Python: %s", make, error)
            self.busy = not self._orders.empty()

    def close(self) -> None:
        """End the thread at its next step in Python: the end of the program must not cut through LLVM."""
        thread = self._thread
        if thread is None or thread.ident is None:
            return
        before = sys.unraisablehook

        def all_but_ours(trouble: Any) -> None:
            # Where LLVM calls Python back, the exception cannot go through: it is dropped, and sent again.
            if trouble.exc_type is not SystemExit:
                before(trouble)

        sys.unraisablehook = all_but_ours
        give_up = time.monotonic() + 10
        while thread.is_alive() and time.monotonic() < give_up:
            self._orders.put((_nothing, None, None))  # wakes it up if it waits
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit)
            )
            thread.join(0.05)
        sys.unraisablehook = before


def _nothing(state: Any, rng: Any) -> None:
    pass


_workshop = _Workshop()
atexit.register(lambda: _workshop.close())


def _in_a_forked_child() -> None:
    # The thread is not there. If it was at work, the compiler's lock is held for ever: plain Python is left.
    global _workshop
    if _workshop.busy:
        for planner in _planners.values():
            planner._left = 0
    _workshop = _Workshop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_a_forked_child)


How: TypeAlias = Literal["compiled", "loaded from disk", "there already"]


def made_ready(code: Any, *arguments: Any) -> tuple[float, How]:
    """Make machine code for arguments of these types; return the seconds that it took, and how it came."""
    if not has_compiler():
        raise ModuleNotFoundError(
            "there is no compiler to warm up, numba is not installed or NUMBA_DISABLE_JIT is set: "
            "pip install 'frugalbandits[fast]' (sessions run without)",
            name="numba",
        )
    if code.signatures:
        return 0.0, "there already"
    start = time.perf_counter()
    compile_for(code, *arguments)
    return time.perf_counter() - start, "loaded from disk" if code.stats.cache_hits else "compiled"


class Warmed(NamedTuple):
    """A policy whose sessions are ready, the seconds that this took, and how its machine code came."""

    policy: str
    seconds: float
    how: How


class WarmUp(NamedTuple):
    """What `warm_up` did. `folder` holds the machine code; `trouble` says why it could not be kept there."""

    warmed: tuple[Warmed, ...]
    folder: Path
    trouble: str | None

    def __str__(self) -> str:
        rows = [[each.policy, f"{each.seconds:.1f}", each.how] for each in self.warmed]
        where = (
            f"kept below {str(self.folder)!r}"
            if self.trouble is None
            else f"kept nowhere: the folder {str(self.folder)!r} cannot be written: {self.trouble}"
        )
        return "\n".join([text_table(["policy", "seconds", "how"], rows, left={0, 2}), where])


def warm_up(*names: str) -> WarmUp:
    """Compile ahead what sessions run: for container images, and for measurements.

    Parameters
    ----------
    names
        Policies; all registered ones by default.

    Returns
    -------
    WarmUp
        What was compiled or loaded, and whether it could be kept on disk; prints as a table.
    """
    chosen = [(name, resolve(name)) for name in names or policies()]
    setting = Setting.of(np.array([1.0, 2.0, 3.0]), RelativeToBest(0.1), 1_000, None)
    warmed = []
    folders: list[CacheFolder] = []
    for name, policy in chosen:
        state = policy.begin(setting)
        rng = np.random.default_rng(0) if policy.randomised else None
        warmed.append(Warmed(name, *planner_of(policy, state, rng).make(state, rng)))
        folders.append(cache_folder((type(policy).plan.__module__,)))
    troubles = [folder.trouble for folder in folders if folder.trouble is not None]
    return WarmUp(tuple(warmed), folders[0].path.parent, troubles[0] if troubles else None)
