"""Exports of tools by name: which one a file is of, and its records as rows of a log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from frugalbandits.errors import unknown_name
from frugalbandits.lab.logs import langfuse, litellm, otel
from frugalbandits.lab.logs.records import Rows

__all__ = ["FORMATS", "check_format", "detect", "rows_of"]

_READERS: dict[str, Callable[[Iterable[Mapping[str, Any]]], Rows]] = {
    "litellm": litellm.rows_of,
    "langfuse": langfuse.rows_of,
    "otel": otel.rows_of,
}
_DETECTORS: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "otel": otel.is_record,
    "litellm": litellm.is_record,
    "langfuse": langfuse.is_record,
}
#: What may be asked for: found by itself, a table of columns, or the export of a tool.
FORMATS = ("auto", "table", *_READERS)


def check_format(name: str) -> str:
    """Return a format, or refuse its name."""
    if name not in FORMATS:
        raise unknown_name("format", str(name), FORMATS)
    return name


def detect(record: Mapping[str, Any]) -> str | None:
    """Return the format that a record is of; None where it is a row of a table."""
    return next((name for name, fits in _DETECTORS.items() if fits(record)), None)


def rows_of(name: str, records: Iterable[Mapping[str, Any]]) -> Rows:
    """Return records of a format as rows."""
    return _READERS[name](records)
