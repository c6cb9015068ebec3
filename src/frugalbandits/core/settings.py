"""Settings of policies, checked where they enter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from frugalbandits.core.quality import finite_number
from frugalbandits.errors import InputError

__all__ = ["check_choice", "check_delta", "check_flag", "check_tolerance", "check_worth"]


def check_delta(delta: float | None) -> float | None:
    """Return the error tolerance, which lies between 0 and 1, or None."""
    if delta is None:
        return None
    value = finite_number("delta", delta)
    if not 0.0 < value < 1.0:
        raise InputError(f"delta must lie strictly between 0 and 1, but it is {delta!r}")
    return value


def check_tolerance(tolerance: float) -> float:
    """Return what counts as close enough to the threshold, which lies in [0, 1]."""
    value = finite_number("tolerance", tolerance)
    if not 0.0 <= value <= 1.0:
        raise InputError(f"tolerance must lie in [0, 1], but it is {tolerance!r}")
    return value


def check_worth(worth: float) -> float:
    """Return what a unit of quality is worth, a number above 0.

    Examples
    --------
    >>> check_worth(0)
    Traceback (most recent call last):
    ...
    frugalbandits.errors.InputError: worth must be above 0, but it is 0
    """
    value = finite_number("worth", worth)
    if value <= 0.0:
        raise InputError(f"worth must be above 0, but it is {worth!r}")
    return value


def check_flag(what: str, value: bool) -> bool:
    """Return a truth value; nothing else is taken for one.

    Examples
    --------
    >>> check_flag("combine", "no")
    Traceback (most recent call last):
    ...
    frugalbandits.errors.InputError: combine must be True or False, but it is 'no'
    """
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{what} must be True or False, but it is {value!r}")
    return bool(value)


def check_choice(what: str, value: str, choices: Sequence[str]) -> None:
    """Raise an InputError unless the value is one of some words.

    Examples
    --------
    >>> check_choice("goal", "glory", ("regret", "conclusion"))
    Traceback (most recent call last):
    ...
    frugalbandits.errors.InputError: goal must be 'regret' or 'conclusion', but it is 'glory'
    """
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{what} must be {' or '.join(map(repr, choices))}, but it is {value!r}")
