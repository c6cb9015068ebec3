"""The commands of the lab, registered."""

from frugalbandits.cli import (
    advise,
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
    "advise",
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
