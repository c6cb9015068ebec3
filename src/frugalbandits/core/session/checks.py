"""Values of a stored session, checked one by one; whatever is wrong is a `StateFormatError`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NoReturn

from frugalbandits.errors import StateFormatError

__all__ = ["amount", "broken", "listed", "option", "rows", "short", "texts", "whole"]


def listed(what: str, value: Any) -> list[Any]:
    """Return a list."""
    if not isinstance(value, list):
        broken(f"the key {what!r} is missing" if value is None else f"{what!r} is {short(value)}")
    return value


def texts(what: str, value: Any) -> list[str]:
    """Return a list of texts."""
    for part in listed(what, value):
        if not isinstance(part, str):
            broken(f"{what!r} has the entry {short(part)}")
    found: list[str] = value
    return found


def rows(what: str, value: Any, width: int) -> Iterable[list[Any]]:
    """Return rows of so many entries."""
    found = listed(what, value)
    for row in found:
        if not isinstance(row, list) or len(row) != width:
            broken(f"{what!r} has the entry {short(row)}")
    return found


def option(what: str, value: Any, names: frozenset[str]) -> str:
    """Return the name of an option."""
    if not isinstance(value, str) or value not in names:
        broken(f"{what!r} has the option {short(value)}")
    return value


def whole(what: str, value: Any, low: int, high: int) -> int:
    """Return a whole number within its range."""
    # A store may have written a whole number with a point.
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        broken(f"{what} is {short(value)}")
    return value


def amount(what: str, value: Any, low: float, high: float) -> float:
    """Return a finite number within its range."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        broken(f"{what} is {short(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.nan
    # Written so that NaN is outside.
    if not (low <= number <= high) or not math.isfinite(number):
        broken(f"{what} is {short(value)}")
    return number


def short(value: Any) -> str:
    """Write a value in no more than a line or two."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


def broken(what: str) -> NoReturn:
    """Refuse the state."""
    raise StateFormatError(f"the session state is damaged: {what}")
