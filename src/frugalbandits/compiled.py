"""The one decorator for hot code: numba, without the GIL, with a cache on disk that cannot go stale.

numba's own cache looks only at the file a function stands in, so a change in a helper that the
function calls would go unseen. Here the cache folder carries a hash of every source file of the
package: any change of the package's source means another folder, hence a new compilation.

Set ``NUMBA_DISABLE_JIT=1`` to run the very same functions as plain Python, for a debugger.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import numba

__all__ = ["announced", "cache_folder", "compiled", "source_hash", "specialised"]

F = TypeVar("F", bound=Callable[..., Any])

_decorating = threading.Lock()


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
    if base is None:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        base = os.path.join(home, "frugalbandits")
    folder = Path(base) / f"compiled-{source_hash()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        return None
    return folder


def compiled(function: F) -> F:
    """Compile a function on first use, without the GIL and without fastmath, and cache it on disk."""
    folder = cache_folder()
    if folder is None:
        jitted = numba.njit(nogil=True)(function)
    else:
        # numba reads its cache folder when a function is decorated: ours is set for that moment only.
        with _decorating:
            before = numba.config.CACHE_DIR
            numba.config.CACHE_DIR = str(folder)
            try:
                jitted = numba.njit(nogil=True, cache=True)(function)
            finally:
                numba.config.CACHE_DIR = before
    return jitted  # type: ignore[no-any-return]  # numba is untyped; the signature is the function's


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
    return compiled(copy)  # type: ignore[return-value]  # a copy of F is an F


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
