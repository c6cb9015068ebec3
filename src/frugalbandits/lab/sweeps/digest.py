"""A digest of the code that computes results, so that a result of other code is never taken for one."""

from __future__ import annotations

import functools

from frugalbandits.core.closure import source_digest

__all__ = ["code_digest"]


@functools.cache
def code_digest() -> str:
    """Return a digest of the simulation and of all that it imports of the package, policies included."""
    return source_digest(["frugalbandits.lab.simulation"])
