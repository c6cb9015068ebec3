"""Compile in less time: once for all callers, and with fewer calls of the garbage collector.

numba optimises each function with all that it calls, makes machine code of it, and does the same once more
for each of its callers. Of a tree of calls that is seven deep, the leaves are compiled seven times. What is
called by other compiled code alone needs none of that: it is optimised, and becomes machine code, as a part
of the function at the root. That takes a quarter off the time to compile VOI-CS.

The compiler makes millions of objects that live on. Python's garbage collector goes over them again and
again, and finds nothing: a tenth of the time. While the compiler works it is called less often.
"""

from __future__ import annotations

import functools
import gc
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["collected_rarely", "compile_root", "part_options"]

_OBJECTS = 20_000  # more than before, until the garbage collector is called

_environments: dict[str, tuple[Any, Any]] = {}  # of functions that are parts, with the code generator
_lock = threading.Lock()
_before: list[tuple[int, int, int]] = []  # the collector's thresholds, once for each thread that compiles


@contextmanager
def collected_rarely() -> Iterator[None]:
    """Call the garbage collector less often while the block runs, in any number of threads."""
    with _lock:
        _before.append(gc.get_threshold())
        if len(_before) == 1 and 0 < gc.get_threshold()[0] < _OBJECTS:  # 0: it is switched off
            gc.set_threshold(_OBJECTS)
    try:
        yield
    finally:
        with _lock:
            first = _before[0]
            _before.pop()
            if not _before and gc.get_threshold()[0] == _OBJECTS:
                gc.set_threshold(*first)


@functools.cache
def part_options() -> dict[str, Any]:
    """Return numba's options for such functions; none for a numba that is built in another way."""
    # numba ships types, but these of its functions have none: hence the ignored calls below.
    try:
        from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
        from numba.core.compiler import CompilerBase, DefaultPassBuilder
        from numba.core.compiler_machinery import AnalysisPass, register_pass
        from numba.core.typed_passes import AnnotateTypes
    except ImportError:
        return {}
    steps = ("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals")
    made_alike = all(hasattr(JITCodeLibrary, step) for step in steps)
    if not made_alike or "_engine" not in inspect.getsource(JITCPUCodegen):
        return {}

    class PartLibrary(JITCodeLibrary):
        """Code that is linked into that of its callers, and never runs on its own."""

        @property
        def codegen(self) -> Any:
            return _LaterEnvironment(super().codegen)

        def get_pointer_to_function(self, name: str) -> int:
            return 0  # what numba says of a function that it has no machine code of

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
            self._finalized = True

    @register_pass(mutates_CFG=False, analysis_only=True)  # type: ignore[no-untyped-call]
    class LinkAsPart(AnalysisPass):
        """Give the function that is compiled a library of this kind; without one, numba makes its own."""

        _name = "link_as_part"

        def __init__(self) -> None:
            AnalysisPass.__init__(self)  # type: ignore[no-untyped-call]

        def run_pass(self, state: Any) -> bool:
            library: Any = PartLibrary
            state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
            return False

    class PartCompiler(CompilerBase):
        """numba's compiler, with that step before machine code is made."""

        def define_pipelines(self) -> list[Any]:
            passes: Any = DefaultPassBuilder.define_nopython_pipeline(self.state)  # type: ignore[no-untyped-call]
            passes.add_pass_after(LinkAsPart, AnnotateTypes)
            passes.finalize()
            return [passes]

    return {"pipeline_class": PartCompiler}


class _LaterEnvironment:
    """The code generator, to a function that has no place in memory yet where its environment can stand."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def set_env(self, name: str, environment: Any) -> None:
        """Keep it until a function is compiled that this one is a part of."""
        _environments[name] = self._codegen, environment

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)


def compile_root(compile: Callable[[Any], Any], types: Any) -> Any:
    """Compile a function that Python calls, by numba's `compile`."""
    with collected_rarely():
        made = compile(types)
    # An error whose message is put together at run time looks there for its words.
    for name, (codegen, environment) in list(_environments.items()):
        if codegen._engine.is_symbol_defined(name):
            codegen.set_env(name, environment)
    return made
