"""Processes that are forked: a child makes its own connections, and leaves those of its parent alone."""

from __future__ import annotations

import os
import weakref
from typing import Any, Protocol

__all__ = ["in_each_child", "left_alone"]


class _Forked(Protocol):
    def _in_child(self) -> None: ...


_known: weakref.WeakSet[_Forked] = weakref.WeakSet()
# To let go of a connection may be to end it for the parent too, so a child never does.
_inherited: list[Any] = []


def in_each_child(client: _Forked) -> None:
    """Have a client begin anew in every process that is forked from here on."""
    _known.add(client)


def left_alone(*things: Any) -> None:
    """Keep what is of the parent, and never touch it."""
    _inherited.append(things)


def _forked() -> None:
    # Only one thread is there now, and locks that others held are never let go of: so all is made anew.
    for client in list(_known):
        client._in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
