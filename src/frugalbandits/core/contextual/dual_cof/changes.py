"""The state of DualCOF for wider queries, and for other options or prices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from frugalbandits.core.contextual.dual_cof.model import SLOPE, solve_all
from frugalbandits.core.contextual.dual_cof.state import (
    CLOCK,
    DRIFT,
    DUE,
    FIRST_PRICE,
    HEARD,
    HIGH,
    LOW,
    NUMBERS,
    PRICE,
    QUALITY,
    RATE,
    ROBUST,
    ROWS,
    SPENT,
    WANTED,
    DualCOFState,
)

__all__ = ["carried_state", "contradiction", "widened_state", "without_floors", "without_wishes"]

# Limits of what a change of prices may do to a state, so that it can always be stored.
_RESCALED = 1e200
_FARTHEST = 550.0  # ln of lambda; `contradiction` allows for 600
_MOST_SPENT = 1e240


def widened_state(state: DualCOFState, width: int) -> DualCOFState:
    """Return the state for queries with more segments at their end."""
    arms, before = state.moments.shape
    if width <= before:
        return state
    inverse, gram = np.zeros((arms, width, width)), np.zeros((arms, width, width))
    inverse[:, :before, :before], gram[:, :before, :before] = state.inverse, state.gram
    for j in range(before, width):
        inverse[:, j, j] = 1.0 / SLOPE
    more = width - before
    return state._replace(
        inverse=inverse,
        gram=gram,
        moments=np.pad(state.moments, ((0, 0), (0, more))),
        prior=np.pad(state.prior, ((0, 0), (0, more))),
        theta=np.pad(state.theta, ((0, 0), (0, more))),
        ridge=np.pad(state.ridge, (0, more), constant_values=SLOPE),
        queries=np.pad(state.queries, ((0, 0), (0, more))),
    )


def dearer(state: DualCOFState, fresh: DualCOFState, origin: list[int]) -> float:
    """Return how many times as dear most of the options that stay are by now: the median; 1 if none costs."""
    ratios = [
        fresh.costs[option] * fresh.unit / (state.costs[place] * state.unit)
        for option, place in enumerate(origin)
        if place >= 0 and min(fresh.costs[option] * fresh.unit, state.costs[place] * state.unit) > 1e-200
    ]
    ratio = math.exp(float(np.median(np.log(ratios)))) if ratios else 1.0
    return 1.0 if math.isclose(ratio, 1.0, rel_tol=1e-9) else ratio


def carried_state(state: DualCOFState, fresh: DualCOFState, origin: list[int]) -> DualCOFState:
    """Fill a fresh state with what was seen of the options that stay.

    Lambda is the same in units of cost, but where these are other ones: it goes along with most prices.
    """
    fresh.ridge[:] = state.ridge
    # Of an option that is new, the pool says what can be said: slopes, and the mean of the levels.
    fresh.prior[:] = state.prior.mean(axis=0)
    for option, place in enumerate(origin):
        if place >= 0:
            fresh.gram[option] = state.gram[place]
            fresh.moments[option] = state.moments[place]
            fresh.prior[option] = state.prior[place]
            fresh.arms[:, option] = state.arms[:, place]
    first = fresh.numbers[FIRST_PRICE]
    fresh.queries[:] = state.queries
    fresh.numbers[:NUMBERS] = state.numbers
    rescaled = min(max(state.unit / fresh.unit * dearer(state, fresh, origin), 1.0 / _RESCALED), _RESCALED)
    shift = math.log(rescaled)
    for entry in (PRICE, LOW, HIGH):
        fresh.numbers[entry] = min(max(fresh.numbers[entry] + shift, -_FARTHEST), _FARTHEST)
    fresh.numbers[SPENT] = min(fresh.numbers[SPENT] * rescaled, _MOST_SPENT)
    fresh.numbers[FIRST_PRICE] = first
    fresh.numbers[DUE] = 0.0
    solve_all(fresh)
    return fresh


def without_floors(arrays: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Return the arrays of format 1 in the form of format 2, and the floors of the latest query."""
    rows = arrays.get("arms")
    if not isinstance(rows, list) or len(rows) != ROWS + 1:
        return arrays, None
    return {**arrays, "arms": [*rows[:RATE], rows[-1], *rows[RATE + 1 : -1]]}, rows[RATE]


def without_wishes(arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the arrays of format 2 in the present form: every decision was wanted, and stands for itself."""
    numbers = arrays.get("numbers")
    if not isinstance(numbers, list) or len(numbers) != WANTED:
        return arrays
    handed, told = numbers[CLOCK], numbers[HEARD]
    return {**arrays, "numbers": [*numbers, 1.0, told, handed, told, 0.0, 0.0, 0.0, told]}


def contradiction(state: DualCOFState) -> str | None:
    """Say what in a stored state cannot be: decisions would go astray, or numbers run out of range."""
    numbers, arms = state.numbers, state.arms
    if np.abs(numbers[[PRICE, LOW, HIGH, FIRST_PRICE]]).max() > 600.0 or abs(numbers[DRIFT]) > 1.0 + 1e-9:
        return f"'numbers' of the state has a price of e to the {numbers[PRICE]}"
    others = [entry for entry in range(NUMBERS) if entry not in (PRICE, LOW, HIGH, FIRST_PRICE, DRIFT)]
    if numbers[others].min() < 0.0:
        return f"'numbers' of the state has the value {numbers[others].min()}"
    if arms[[row for row in range(ROWS) if row != ROBUST]].min() < 0.0 or arms[QUALITY].max() > 1.0:
        return "'arms' of the state has a count below 0, or a quality above 1"
    if arms[RATE].sum() > 0.5 * numbers[WANTED] or numbers[WANTED] > 1.0:
        return "'arms' of the state tries options more often than that can be"
    if not np.array_equal(state.gram, state.gram.transpose(0, 2, 1)):
        return "'gram' of the state is not symmetric"
    for matrix, kept in zip(state.gram, state.inverse, strict=True):
        exact = matrix + np.diag(state.ridge)
        if exact.diagonal().min() <= 0.0:
            return "'gram' of the state is no sum of squares"
        # In units of each entry's own size, because features may differ by many orders of magnitude.
        size = np.sqrt(exact.diagonal())
        units = size.reshape(-1, 1) * size
        scaled = exact / units
        try:
            np.linalg.cholesky(scaled + 1e-12 * np.eye(len(size)))
            inverse = np.linalg.inv(scaled)
        except np.linalg.LinAlgError:
            return "'gram' of the state is no sum of squares"
        largest = np.abs(inverse).max()
        # Updates lose digits where features nearly depend on each other.
        if not np.abs(kept * units - inverse).max() <= (1e-4 + 1e-12 * largest) * largest:
            return "'inverse' of the state is not that of 'gram'"
    return None
