"""The commands of the lab, registered."""

from frugalbandits.cli import (
    bounds,
    catalogue,
    leaderboard,
    raw,
    replay,
    reproduce,
    session,
    simulate,
    warming,
)

__all__ = [
    "bounds",
    "catalogue",
    "leaderboard",
    "raw",
    "replay",
    "reproduce",
    "session",
    "simulate",
    "warming",
]
