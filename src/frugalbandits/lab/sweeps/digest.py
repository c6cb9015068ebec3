"""A digest of the code that computes results, so that a result of other code is never taken for one."""

from __future__ import annotations

import functools

from frugalbandits.core.closure import source_digest

__all__ = ["SIMULATION", "code_digest"]

SIMULATION = "frugalbandits.lab.simulation"
# Progress, the look of a result, and measures that are taken of stored pulls have no part in the pulls.
_SHOWN = ("frugalbandits.lab.shown", "frugalbandits.lab.watching", "frugalbandits.lab.promise")


@functools.cache
def code_digest() -> str:
    """Return a digest of the simulation and of all that it imports of the package, policies included."""
    return source_digest([SIMULATION], without=_SHOWN)
