"""The options of a choice: their costs, names and order, checked where they enter.

What is true of them is not known here; `lab.problem` has the truth.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from frugalbandits.core.quality import (
    Quality,
    RelativeTo,
    finite_number,
)
from frugalbandits.errors import InputError, unknown_name

__all__ = [
    "check_horizon",
    "check_names",
    "check_options",
    "check_reference",
    "cost_order",
    "entry",
    "frozen",
    "vector",
]

D = TypeVar("D", bound=np.generic)
_NO_NUMBERS = (str, bytes, bool, np.bool_)
# What ends a line, moves a cursor, or has no form in UTF-8. Emoji and blanks of any kind may stand in a name.
_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def cost_order(costs: NDArray[np.float64]) -> NDArray[np.int64]:
    """Arms from cheapest to most expensive; equal costs stay in the given order."""
    return np.argsort(costs, kind="stable").astype(np.int64)


def check_options(
    costs: ArrayLike, names: Iterable[str] | None = None, any_text: bool = False
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return the costs of at least two options, read-only, and their names.

    `any_text` is for names that an earlier release has let in: it took any characters.

    Examples
    --------
    >>> check_options([0.2, 3.0], ["small", "large"])[1]
    ('small', 'large')
    """
    given = _listed(names)
    values = vector("costs", costs, given)
    if values.size < 2:
        raise InputError(f"a choice needs at least two arms, but there are {values.size}")
    checked = check_names(given, values.size, any_text)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise InputError(f"costs must be finite, but {entry('costs', bad[0], given)} is {values[bad[0]]}")
    return frozen(values), checked


def check_horizon(horizon: float, arms: int) -> int:
    """Return the horizon as a whole number greater than the number of arms."""
    value = finite_number("horizon", horizon)
    if not value.is_integer():
        raise InputError(f"horizon must be a whole number of pulls, but it is {horizon!r}")
    if value <= arms:
        raise InputError(
            f"horizon must be greater than the number of arms, {arms}, because each arm is pulled at least "
            f"once, but it is {horizon!r}"
        )
    if value > 2**53:
        raise InputError(f"horizon must be at most 2**53, but it is {horizon!r}")
    return int(value)


def check_names(names: Iterable[str] | None, arms: int, any_text: bool = False) -> tuple[str, ...]:
    """Return one distinct, non-empty name per arm; a1, a2, ... where none are given."""
    given = _listed(names)
    if given is None:
        return tuple(f"a{k + 1}" for k in range(arms))
    if len(given) != arms:
        raise InputError(f"there must be one name per arm, but there are {len(given)} names and {arms} arms")
    for name in given:
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"a name must be a non-empty string, but one is {name!r}")
        if not any_text and _UNFIT.search(name):
            raise InputError(
                f"a name must have no line ends, control characters or lone surrogates, but one is {name!r}"
            )
    if len(set(given)) < len(given):
        name, times = Counter(given).most_common(1)[0]
        raise InputError(f"names must differ, but {name!r} stands {times} times")
    return tuple(given)


def check_reference(quality: Quality, names: tuple[str, ...]) -> int | None:
    """Return the arm that a bar relative to one arm names, None for other bars."""
    if not isinstance(quality, RelativeTo):
        return None
    if quality.reference not in names:
        raise unknown_name("option", quality.reference, names)
    return names.index(quality.reference)


def vector(what: str, values: ArrayLike, names: Sequence[str] | None = None) -> NDArray[np.float64]:
    """Return a flat list of numbers as an array; an error names the entry as `entry` does."""
    try:
        # numpy takes texts and truth values for numbers, which is hardly what the caller meant.
        wrong = _has_other_than_numbers(values)
        array = np.array([] if wrong else values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        wrong = True
    if wrong:
        raise InputError(f"{what} must be {_numbers_but(what, values, names)}")
    if array.ndim != 1:
        raise InputError(f"{what} must be a flat list of numbers, but its shape is {array.shape}")
    # numpy takes None for nan, which is not what the caller wrote.
    if np.isnan(array).any() and any(value is None for value in np.asarray(values, dtype=object)):
        raise InputError(f"{what} must be {_numbers_but(what, values, names)}")
    return array


def entry(what: str, place: int, names: Sequence[str] | None) -> str:
    """Name an entry as the caller knows it: by its option where options have names, by its place otherwise.

    Examples
    --------
    >>> entry("costs", 1, None), entry("costs", 1, ["small", "large"])
    ('costs[1]', "that of 'large'")
    """
    return f"{what}[{place}]" if names is None or place >= len(names) else f"that of {names[place]!r}"


def _has_other_than_numbers(values: Any) -> bool:
    if isinstance(values, np.ndarray) and values.dtype != object:
        return values.dtype.kind not in "iuf"
    return isinstance(values, Iterable) and any(isinstance(value, _NO_NUMBERS) for value in values)


def _numbers_but(what: str, values: Any, names: Sequence[str] | None) -> str:
    if isinstance(values, Sequence) and not isinstance(values, str):
        for place, value in enumerate(values):
            try:
                float(value)
                other = False
            except (TypeError, ValueError, OverflowError):
                other = not isinstance(value, Sequence)
            if other or isinstance(value, _NO_NUMBERS):
                return f"numbers, but {entry(what, place, names)} is {value!r}"
    return f"a list of numbers, but it is {values!r}"


def _listed(names: Iterable[str] | None) -> list[str] | None:
    if names is None:
        return None
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"names must be a list of strings, but it is {names!r}")
    return list(names)


def frozen(array: NDArray[D]) -> NDArray[D]:
    """Return an array that nobody can write to."""
    array.setflags(write=False)
    return array
