"""Which files of the package a module stands on: what a digest of computed things has to cover.

Imports are read from the source and not from what happens to be loaded, so the answer is the same in every
process. An import inside a function counts too.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

__all__ = ["import_closure", "source_digest"]

_PACKAGE = __name__.partition(".")[0]
_IMPORT = re.compile(
    rf"^[ \t]*(?:from[ \t]+|import[ \t]+)({_PACKAGE}(?:\.\w+)*)(?:[ \t]+import[ \t]+(\([^)]*\)|.*))?",
    re.MULTILINE,
)


def import_closure(*modules: str, without: Iterable[str] = ()) -> dict[str, Path]:
    """Return the modules of the package that some modules import, directly or not, and their files.

    Modules in `without` are left out, with what is imported through them alone.

    Examples
    --------
    >>> sorted(import_closure("frugalbandits.core.quality"))
    ['frugalbandits.core.quality', 'frugalbandits.errors']
    """
    found: dict[str, Path] = {}
    waiting = list(modules)
    closed = set(without)
    while waiting:
        name = waiting.pop()
        if name in found or name in closed:
            continue
        path = _file(name)
        if path is None:
            continue  # a name that is imported from a module, and no module itself
        found[name] = path
        waiting += _imports(path)
    return found


def source_digest(modules: Iterable[str], without: Iterable[str] = ()) -> str:
    """Return a digest of the source of the modules of `import_closure`."""
    digest = hashlib.sha256()
    for name, path in sorted(import_closure(*modules, without=without).items()):
        digest.update(name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


@functools.cache
def _file(module: str) -> Path | None:
    # The parents are packages, or there is no such module: finding it must not fail on that.
    parent, _, last = module.rpartition(".")
    if parent and ((above := _file(parent)) is None or above.name != "__init__.py"):
        return None
    if parent:
        assert above is not None
        for path in (above.parent / last / "__init__.py", above.parent / f"{last}.py"):
            if path.is_file():
                return path
        return None
    spec = find_spec(module)
    return None if spec is None or spec.origin is None else Path(spec.origin)


def _imports(path: Path) -> list[str]:
    # Not by `ast`: in Python 3.11 two threads that parse at once may break each other.
    names = []
    for module, imported in _IMPORT.findall(path.read_text(encoding="utf-8")):
        # What is imported may be a module of a package.
        names += [module, *(f"{module}.{name}" for name in re.findall(r"\w+", imported))]
    return names
