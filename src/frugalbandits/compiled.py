"""Hot code: numba, without the GIL and without fastmath, with a cache on disk that cannot go stale.

`compiled` is for what Python calls, `inner` and `inlined` are for what only compiled code calls, and
`uncompiled` gives the plain Python of any of them.

numba's own cache looks only at the file a function stands in, so a change in a helper that the
function calls would go unseen. Here the cache folder carries a hash of every source file of the
package: any change of the package's source means another folder, hence a new compilation. Functions
from elsewhere, such as a policy of yours, are compiled anew in each process: nothing here could know
when they have changed.

Set ``NUMBA_DISABLE_JIT=1`` to run the very same functions as plain Python, for a debugger.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
from numba.core.registry import CPUDispatcher

__all__ = [
    "announced",
    "cache_folder",
    "compiled",
    "inlined",
    "inner",
    "source_hash",
    "specialised",
    "uncompiled",
]

F = TypeVar("F", bound=Callable[..., Any])

_decorating = threading.Lock()
# numba fills this module with its settings at run time, so their types are not known.
_config: Any = numba.config
# Leaving out the wrappers for Python is an option of njit that its type stubs do not list.
_njit: Any = numba.njit


@functools.cache
def source_hash() -> str:
    """Hash every Python file of the package, so that a cache can be tied to exactly this source."""
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def cache_folder() -> Path | None:
    """Return the folder of compiled code for this source, or None where no folder can be written.

    ``FRUGALBANDITS_CACHE_DIR`` overrides the place; ``XDG_CACHE_HOME`` is respected.
    """
    base = os.environ.get("FRUGALBANDITS_CACHE_DIR")
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = (Path(base) if base else caches / "frugalbandits") / f"compiled-{source_hash()}"
    try:
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            _forget_old_ones(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        return None
    return folder


def _forget_old_ones(current: Path) -> None:
    """Remove what other versions of the source compiled, if it was a month ago or more."""
    for folder in current.parent.glob("compiled-*"):
        if folder != current and folder.stat().st_mtime < time.time() - 30 * 24 * 3600:
            shutil.rmtree(folder, ignore_errors=True)


def compiled(function: F) -> F:
    """Compile a function on first use; cache it on disk if it is ours."""
    return _compile(function, cached=_is_ours(function))


def inner(function: F) -> F:
    """Compile a function into those that call it; called from Python, it runs as plain Python.

    That saves much of the time to compile it: unpacking a state of many arrays is a lot of code.
    """
    return _inner(function, inlined=False)


def inlined(function: F) -> F:
    """Compile a function as `inner` does, but for inner loops: passing on such a state takes time, too."""
    return _inner(function, inlined=True)


def _inner(function: F, inlined: bool) -> F:
    jitted = _njit(
        nogil=True,
        error_model="numpy",
        forceinline=inlined,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
    )(function)
    if hasattr(jitted, "py_func"):  # not where numba is switched off
        jitted.__class__ = _PlainOutside
    return cast(F, jitted)


class _PlainOutside(CPUDispatcher):
    """A compiled function that has no wrapper for Python: called from there, it runs as plain Python."""

    def __call__(self, *arguments: Any) -> Any:
        return uncompiled(self)(*arguments)


@functools.cache
def uncompiled(function: F) -> F:
    """Return the plain Python of a function, down to everything that it calls."""
    plain = getattr(function, "py_func", function)
    scope = dict(plain.__globals__)
    for name in plain.__code__.co_names:
        if hasattr(scope.get(name), "py_func"):
            scope[name] = uncompiled(scope[name])
    return cast(F, FunctionType(plain.__code__, scope, plain.__name__, plain.__defaults__))


def _is_ours(function: Any) -> bool:
    code = getattr(function, "py_func", function).__code__
    return Path(code.co_filename).is_relative_to(Path(__file__).parent)


def _compile(function: F, cached: bool) -> F:
    folder = cache_folder() if cached else None
    if folder is None:
        jitted = numba.njit(nogil=True, error_model="numpy")(function)
    else:
        # numba reads its cache folder when a function is decorated: ours is set for that moment only.
        with _decorating:
            before = _config.CACHE_DIR
            _config.CACHE_DIR = str(folder)
            try:
                jitted = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
            finally:
                _config.CACHE_DIR = before
    return cast(F, jitted)


def specialised(template: F, name: str, **functions: Any) -> F:
    """Compile a copy of `template` in which the named globals are the given functions.

    A compiled function cannot be cached when it takes another one as an argument or closes over it,
    but it can when it finds the other one among its globals. So each policy gets its own copy of the
    driver, under its own name, with its own `plan` inlined.
    """
    code = template.__code__.replace(co_name=name, co_qualname=name)
    scope = {**template.__globals__, **functions}
    copy = FunctionType(code, scope, name, template.__defaults__)
    copy.__qualname__ = name
    copy.__module__ = template.__module__
    cached = all(map(_is_ours, [template, *functions.values()]))
    return cast(F, _compile(copy, cached))


@contextmanager
def announced(what: str, after: float = 4.0) -> Iterator[None]:
    """Say on standard error that `what` is being compiled if the block takes longer than `after` s."""

    def say() -> None:
        sys.stderr.write(
            f"frugalbandits: compiling {what} for this machine; this happens once and is kept on disk\n"
        )
        sys.stderr.flush()

    timer = threading.Timer(after, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
