"""Logs: JSON, one line an event, on standard error; never a body, a token, or the whole id of a decision."""

from __future__ import annotations

import contextlib
import logging
import sys
from typing import Any, TextIO

import structlog

__all__ = ["configure", "logger"]


class _Lines:
    """Standard error, which may be on a disk that is full: what cannot be logged stops no request."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        """Write a line, if that is possible."""
        with contextlib.suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        """See that it is out."""
        with contextlib.suppress(OSError):
            self._stream.flush()


def configure(level: str) -> None:
    """Have everything of this process logged as lines of JSON from a level on."""
    number = logging.getLevelNamesMapping()[level.upper()]
    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    lines: Any = _Lines(sys.stderr)  # it writes and flushes, which is all that is asked of it
    structlog.configure(
        processors=[*shared, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(file=lines),
        cache_logger_on_first_use=True,
    )
    # What others log goes the same way: the keeper of sessions, the store, the server.
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.JSONRenderer(),
        ],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(number)


def logger() -> Any:
    """Return the logger of the service."""
    return structlog.get_logger()
