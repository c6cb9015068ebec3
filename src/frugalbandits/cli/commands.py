"""All commands, registered."""

from frugalbandits.cli import (
    bounds,
    catalogue,
    leaderboard,
    raw,
    reproduce,
    serving,
    session,
    simulate,
    warming,
)
from frugalbandits.cli.common import app

__all__ = [
    "app",
    "bounds",
    "catalogue",
    "leaderboard",
    "raw",
    "reproduce",
    "serving",
    "session",
    "simulate",
    "warming",
]
