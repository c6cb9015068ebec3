"""The command line: parses, calls the library, prints. Every error is one line and exit code 2."""

from __future__ import annotations

import io
import sys

from frugalbandits.cli import bounds, catalogue, leaderboard, raw, reproduce, simulate
from frugalbandits.cli.common import app
from frugalbandits.lab.paper.experiments import PAPER_POLICIES

__all__ = [
    "PAPER_POLICIES",
    "app",
    "bounds",
    "catalogue",
    "leaderboard",
    "main",
    "raw",
    "reproduce",
    "simulate",
]


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        # An arm's name may hold characters that the terminal's encoding lacks.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app(prog_name="frugal")
