"""The state of DualCOF for wider queries, and for other options or prices."""

from __future__ import annotations

import math

import numpy as np

from frugalbandits.core.contextual.dual_cof.model import SLOPE, solve_all
from frugalbandits.core.contextual.dual_cof.state import (
    DUE,
    FIRST_PRICE,
    HIGH,
    LOW,
    NUMBERS,
    PRICE,
    SPENT,
    DualCOFState,
)

__all__ = ["carried_state", "widened_state"]


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


def carried_state(state: DualCOFState, fresh: DualCOFState, origin: list[int]) -> DualCOFState:
    """Fill a fresh state with what was seen of the options that stay; lambda is the same in units of cost."""
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
    rescaled = state.unit / fresh.unit
    shift = math.log(rescaled)
    for entry in (PRICE, LOW, HIGH):
        fresh.numbers[entry] += shift
    fresh.numbers[SPENT] *= rescaled
    fresh.numbers[FIRST_PRICE] = first
    fresh.numbers[DUE] = 0.0
    solve_all(fresh)
    return fresh
