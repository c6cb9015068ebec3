"""The options of a choice: their costs, names and order, checked where they enter.

What is true of them is not known here; `lab.problem` has the truth.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from frugalbandits.core.quality import (
    Quality,
    RelativeTo,
    finite_number,
)
from frugalbandits.errors import InputError, unknown_name

__all__ = [
    "check_costs",
    "check_horizon",
    "check_names",
    "check_reference",
    "cost_order",
    "frozen",
    "vector",
]

D = TypeVar("D", bound=np.generic)


def cost_order(costs: NDArray[np.float64]) -> NDArray[np.int64]:
    """Arms from cheapest to most expensive; equal costs stay in the given order."""
    return np.argsort(costs, kind="stable").astype(np.int64)


def check_costs(costs: ArrayLike) -> NDArray[np.float64]:
    """Return at least two finite costs as a read-only array."""
    values = vector("costs", costs)
    if values.size < 2:
        raise InputError(f"a choice needs at least two arms, but there are {values.size}")
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise InputError(f"costs must be finite, but costs[{bad[0]}] is {values[bad[0]]}")
    values.setflags(write=False)
    return values


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


def check_names(names: Iterable[str] | None, arms: int) -> tuple[str, ...]:
    """Return one distinct, non-empty name per arm; a1, a2, ... where none are given."""
    if names is None:
        return tuple(f"a{k + 1}" for k in range(arms))
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"names must be a list of strings, but it is {names!r}")
    given = list(names)
    if len(given) != arms:
        raise InputError(f"there must be one name per arm, but there are {len(given)} names and {arms} arms")
    for name in given:
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"a name must be a non-empty string, but one is {name!r}")
        if given.count(name) > 1:
            raise InputError(f"names must differ, but {name!r} stands {given.count(name)} times")
    return tuple(given)


def check_reference(quality: Quality, names: tuple[str, ...]) -> int | None:
    """Return the arm that a bar relative to one arm names, None for other bars."""
    if not isinstance(quality, RelativeTo):
        return None
    if quality.reference not in names:
        raise unknown_name("option", quality.reference, names)
    return names.index(quality.reference)


def vector(what: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return a flat list of numbers as an array."""
    try:
        vector = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} must be a list of numbers, but it is {values!r}") from None
    if vector.ndim != 1:
        raise InputError(f"{what} must be a flat list of numbers, but its shape is {vector.shape}")
    return vector


def frozen(array: NDArray[D]) -> NDArray[D]:
    """Return an array that nobody can write to."""
    array.setflags(write=False)
    return array
