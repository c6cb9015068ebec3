"""Markdown tables, and the few formats of their cells."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["count", "milliseconds", "ratio", "table"]


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table that also reads well as plain text; numbers are set to the right."""
    widths = [max(len(line[i]) for line in (headers, *rows)) for i in range(len(headers))]

    def line(cells: Sequence[str]) -> str:
        first = cells[0].ljust(widths[0])
        rest = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        return "| " + " | ".join([first, *rest]) + " |"

    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join([line(headers), line(rule), *(line(row) for row in rows)])


def ratio(value: float) -> str:
    """Return a ratio with two or three figures that count.

    >>> ratio(0.534), ratio(3.21), ratio(48.7), ratio(12345.6)
    ('0.53x', '3.2x', '49x', '12,300x')
    """
    if value < 1:
        return f"{value:.2f}x"
    if value < 10:
        return f"{value:.1f}x"
    if value < 1000:
        return f"{value:.0f}x"
    return f"{count(value)}x"


def count(value: float) -> str:
    """Return a large number with three figures that count.

    >>> count(17), count(1234567)
    ('17', '1,230,000')
    """
    whole = round(value)
    return f"{round(whole, 3 - len(str(whole))) if whole >= 1000 else whole:,}"


def milliseconds(seconds: float) -> str:
    """Return a time in milliseconds.

    >>> milliseconds(0.000123), milliseconds(0.0456), milliseconds(12.3)
    ('0.12', '45.6', '12,300')
    """
    value = 1000 * seconds
    if value < 10:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 1000 else count(value)
