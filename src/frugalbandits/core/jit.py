"""Hot code: plain Python at once, machine code by numba where that is installed and when it is ready.

`compiled`, `inner` and `inlined` only mark functions, and return them as they are: called from Python, each
runs as plain Python. `machine_code` compiles a marked function, with every marked function that it calls:
without the GIL, without fastmath, and with a cache on disk that cannot go stale. `core.planner` is
for those who cannot wait: it answers in plain Python until machine code is there.
Both make the same decisions, bit for bit.

numba's own cache looks only at the file that a function stands in. Here the cache folder carries a digest of
all source that the function stands on: a change of a helper means another folder, and a change of anything
else does not. Functions from elsewhere, such as a policy of yours, are compiled anew in each process: nothing
here could know when they have changed.

Set ``NUMBA_DISABLE_JIT=1`` to run everything as plain Python, for a debugger.
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
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple, TypeVar, cast

from frugalbandits.core.closure import source_digest
from frugalbandits.core.jit_parts import compile_root, part_options

__all__ = [
    "CacheFolder",
    "announced",
    "cache_folder",
    "compile_for",
    "compiled",
    "fits_this_machine",
    "has_compiler",
    "inlined",
    "inner",
    "instead",
    "is_on_disk",
    "machine_code",
    "note_on_disk",
    "specialised",
]

F = TypeVar("F", bound=Callable[..., Any])

_PACKAGE = __name__.partition(".")[0]
_PATIENCE = 300.0  # seconds that one process waits for another to compile
# Nothing here is called from C: without the entry points for that, a tenth less is compiled.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

# Marked functions with the function that is compiled in their place and numba's options, in the order of
# marking; numba learns of them when it is first needed.
_marked: dict[Callable[..., Any], tuple[Callable[..., Any], dict[str, Any]]] = {}
_known_to_numba = 0
_lock = threading.RLock()


def compiled(function: F) -> F:
    """Mark a function that Python calls, and that has machine code of its own."""
    return _mark(function, **_OPTIONS)


def inner(function: F) -> F:
    """Mark a function that becomes part of the machine code of those that call it."""
    return _mark(function, **_OPTIONS)


def inlined(function: F) -> F:
    """Mark a function as `inner` does, but for inner loops: to pass on a state of many arrays takes time."""
    return _mark(function, **_OPTIONS, forceinline=True)


def instead(function: Callable[..., Any]) -> Callable[[F], F]:
    """Mark a function that machine code calls in place of `function`, which is for plain Python.

    For data that has one form that is fast in plain Python and another that is fast in machine code; the
    formulas work on both.
    """

    def mark(replacement: F) -> F:
        _marked[function] = replacement, dict(_OPTIONS)
        return replacement

    return mark


def _mark(function: F, **options: Any) -> F:
    _marked[function] = function, options
    return function


@functools.cache
def has_compiler() -> bool:
    """Tell whether numba is installed and not switched off."""
    return find_spec("numba") is not None and os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


def machine_code(function: F) -> F:
    """Return the machine code of a marked function, or the function itself where there is no compiler.

    It is made, or loaded from disk, when it is first called with arguments of some types.
    """
    return _dispatcher(function, _modules(function)) if has_compiler() else function


def specialised(template: F, name: str, **functions: Any) -> F:
    """Return the machine code of a copy of `template` in which the named globals are the given functions.

    A compiled function cannot be cached when it takes another one as an argument or closes over it,
    but it can when it finds the other one among its globals. So each policy gets its own copy of the
    driver, under its own name, with its own `plan` inlined.
    """
    code = template.__code__.replace(co_name=name, co_qualname=name)
    copy = FunctionType(code, {**template.__globals__, **functions}, name, template.__defaults__)
    copy.__qualname__ = name
    copy.__module__ = template.__module__
    made = cast(F, copy)
    modules = tuple(module for each in (template, *functions.values()) for module in _modules(each))
    return _dispatcher(made, modules) if has_compiler() else made


def _modules(function: Any) -> tuple[str, ...]:
    return (function.__module__,)


@functools.cache
def _dispatcher(function: F, modules: tuple[str, ...]) -> F:
    numba = _numba()
    folder = cache_folder(modules) if _is_ours(modules) else None
    if folder is None or folder.trouble is not None:
        code = numba.njit(**_OPTIONS)(function)
        code.compile = functools.partial(compile_root, code.compile)
        return cast(F, code)
    # numba reads its cache folder when a function is decorated: ours is set for that moment only.
    with _lock:
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(folder.path)
        try:
            code = numba.njit(cache=True, **_OPTIONS)(function)
        finally:
            numba.config.CACHE_DIR = before
    # Whoever calls it first compiles it.
    code.compile = functools.partial(_compile_once, code, code.compile)
    return cast(F, code)


def _numba() -> Any:
    """Return numba, which takes half a second to load, with all marked functions known to it."""
    global _known_to_numba
    import numba
    from numba.extending import overload

    declare: Any = overload  # its type stubs do not list all options

    with _lock:
        for function, (replacement, options) in list(_marked.items())[_known_to_numba:]:
            declare(function, jit_options=options | part_options(), strict=False)(_giving(replacement))
        _known_to_numba = len(_marked)
    return numba


def _giving(function: Any) -> Any:
    # numba wants a function of the same arguments that returns the one to compile.
    def choose(*arguments: Any) -> Any:
        return function

    return choose


def compile_for(code: Any, *arguments: Any) -> Any:
    """Make machine code for arguments of these types, or load it from disk, without running it.

    Returns its entry point, for arguments of exactly these types: nothing looks at them again, which for a
    state of many arrays would take longer than most plans do.
    """
    return code.compile(tuple(map(_numba().typeof, arguments)))


def _compile_once(code: Any, compile: Callable[[Any], Any], types: Any) -> Any:
    """Compile for these types; processes that want the same at the same time wait and load what is kept."""
    with _by_one_process(code):
        return compile_root(compile, types)


@contextmanager
def _by_one_process(code: Any) -> Iterator[None]:
    """Keep other processes that use the same cache from compiling the same function; not for ever."""
    place = code.stats.cache_path
    if sys.platform == "win32" or place is None:  # on Windows every process compiles for itself
        yield
        return
    with ExitStack() as opened:
        # Where nothing can be kept there is nothing to wait for.
        with suppress(OSError):
            file = opened.enter_context(Path(place, f"{code.__name__}.lock").open("ab"))
            until = time.monotonic() + _PATIENCE
            while not _taken(file) and time.monotonic() < until:
                time.sleep(0.05)
        yield


def _taken(file: Any) -> bool:
    import fcntl  # there is none on Windows

    # Locks of this kind end with their process, and a forked child does not have them.
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


class CacheFolder(NamedTuple):
    """Where machine code is kept, and why it cannot be, if it cannot."""

    path: Path
    trouble: str | None


@functools.cache
def cache_folder(modules: tuple[str, ...]) -> CacheFolder:
    """Return the folder for the machine code of these modules' functions; it is made if need be.

    ``FRUGALBANDITS_CACHE_DIR`` overrides the place; ``XDG_CACHE_HOME`` is respected.
    """
    folder = _folder_of(modules)
    try:
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            _forget_old_ones(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return CacheFolder(folder, error.strerror or str(error))
    return CacheFolder(folder, None)


def _folder_of(modules: tuple[str, ...]) -> Path:
    return cache_root() / f"compiled-{source_digest(modules)[:16]}"


# numba's index of what it keeps can be read by numba alone, which takes half a second to load. So a small
# file beside it says which functions were compiled, for which forms of arguments.


def _is_ours(modules: tuple[str, ...]) -> bool:
    return all(module.partition(".")[0] == _PACKAGE for module in modules)


def _marker(folder: Path, what: str) -> Path:
    return folder / f"kept-{hashlib.sha256(what.encode()).hexdigest()[:24]}"


def _build() -> str:
    """Return what machine code depends on beside its source: the versions of numba and of the processor."""
    from numba.core.registry import cpu_target

    magic = cpu_target.target_context.codegen().magic_tuple()
    return f"{_numba().__version__} {sys.version_info[:2]} {magic}"


def is_on_disk(modules: tuple[str, ...], what: str) -> bool:
    """Tell whether machine code called `what` is kept on disk, as far as can be told without the compiler."""
    if not (has_compiler() and _is_ours(modules) and cache_root().is_dir()):
        return False
    return _marker(_folder_of(modules), what).is_file()


def fits_this_machine(modules: tuple[str, ...], what: str) -> bool:
    """Tell whether machine code that is on disk was made by this compiler for this processor."""
    try:
        return _marker(_folder_of(modules), what).read_text(encoding="utf-8") == _build()
    except OSError:
        return False


def note_on_disk(modules: tuple[str, ...], what: str) -> None:
    """Note that machine code called `what` was compiled and kept; see `is_on_disk`."""
    if not _is_ours(modules) or cache_folder(modules).trouble is not None:
        return
    # The note only saves time: without it the code is found all the same, after some plans.
    with suppress(OSError):
        marker = _marker(_folder_of(modules), what)
        with tempfile.NamedTemporaryFile("w", dir=marker.parent, encoding="utf-8", delete=False) as file:
            file.write(_build())
        Path(file.name).replace(marker)


def cache_root() -> Path:
    """Return the folder that machine code is kept below."""
    base = os.environ.get("FRUGALBANDITS_CACHE_DIR")
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(base) if base else caches / "frugalbandits"


def _forget_old_ones(current: Path) -> None:
    """Remove what other versions of the source compiled, if it was not used for a month or more."""
    for folder in current.parent.glob("compiled-*"):
        if folder != current and folder.stat().st_mtime < time.time() - 30 * 24 * 3600:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def announced(what: str, modules: tuple[str, ...], after: float = 4.0) -> Iterator[None]:
    """Say on standard error that `what` is being compiled if the block takes longer than `after` s."""

    def say() -> None:
        folder = cache_folder(modules)
        kept = (
            "this happens once and is kept on disk"
            if folder.trouble is None
            else f"it cannot be kept in {str(folder.path)!r}: {folder.trouble}"
        )
        sys.stderr.write(f"frugalbandits: compiling {what} for this machine; {kept}\n")
        sys.stderr.flush()

    timer = threading.Timer(after, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
