"""The command line: parses, calls the library, prints. Every error is one line on standard error.

Exit code 2 means that something given cannot be used, 1 that something is missing on this machine.
"""

from __future__ import annotations

import io
import sys

__all__ = ["main", "what_to_install"]

# What brings a package that is not of the lab.
_EXTRAS = {
    **dict.fromkeys(
        (
            "fastapi",
            "httptools",
            "prometheus_client",
            "pydantic",
            "starlette",
            "structlog",
            "uvicorn",
            "uvloop",
        ),
        "service",
    ),
    "psycopg": "postgres",
}


def main() -> None:
    """Run the command line; where a package that it needs is not installed, say what to install."""
    for stream in (sys.stdout, sys.stderr):
        # An arm's name may hold characters that the terminal's encoding lacks.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        from frugalbandits.cli.commands import app
    except ModuleNotFoundError as error:
        sys.stderr.write(f"frugal: error: {what_to_install(error)}\n")
        sys.exit(1)
    app(prog_name="frugal")


def what_to_install(error: ModuleNotFoundError) -> str:
    """Return in words what to do about a missing package; a missing part of our own is raised again."""
    missing = (error.name or "").partition(".")[0]
    if missing in ("", __name__.partition(".")[0]):
        raise error
    extra = _EXTRAS.get(missing, "lab")
    return f"the command line needs {missing}, which is not installed: pip install 'frugalbandits[{extra}]'"
