"""Ridge models by option: the inverse of A_k kept by updates of rank one, a prior mean fitted on the pool.

A_k = sum of phi phi' + diag(ridge), theta_k = A_k^-1 (sum of phi r + ridge * prior_k). The prior is a fit on
all options together that differ in their level alone, so an option or a segment of which little was seen
borrows from the others. Features are held back in units of their own variance, so none needs scaling.

Every function is made of operations entry by entry, in one order, so that numpy and machine code agree to the
last bit; where a loop is slow in plain Python there are two forms of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.jit import inner, instead

__all__ = ["add_to", "fit_pool", "invert", "means", "scale", "solve_all", "spreads", "take_in"]

Floats = NDArray[np.float64]

LEVEL = 2.0  # rewards that the prior mean is worth, for the level of an option
SLOPE = 20.0  # and for each feature of unit variance, and each segment
WILD = 1e6  # a query of a larger spread would leave no digits of an updated inverse
FIRM = 1e-10  # of the sum of squares of a feature is its ridge at least, so that there is an inverse


def spreads(inverse: Floats, phi: Floats) -> Floats:
    """Return phi' A_k^-1 phi for each option."""
    arms, width, _ = inverse.shape
    product, total = np.zeros((arms, width)), np.zeros(arms)
    places = [j for j in range(width) if phi[j] != 0.0]
    for j in places:
        product += inverse[:, j] * phi[j]
    for j in places:
        total += product[:, j] * phi[j]
    return total


@instead(spreads)
def _spreads(inverse: Floats, phi: Floats) -> Floats:
    arms, width, _ = inverse.shape
    total, product = np.zeros(arms), np.zeros(width)
    for k in range(arms):
        product[:] = 0.0
        for j in range(width):
            if phi[j] != 0.0:
                for i in range(width):
                    product[i] += inverse[k, j, i] * phi[j]
        for j in range(width):
            if phi[j] != 0.0:
                total[k] += product[j] * phi[j]
    return total


def means(theta: Floats, phi: Floats) -> Floats:
    """Return what each option is expected to be worth on a query, within [0, 1]."""
    total = np.zeros(len(theta))
    for j in range(len(phi)):
        if phi[j] != 0.0:
            total += theta[:, j] * phi[j]
    return np.minimum(np.maximum(total, 0.0), 1.0)


@instead(means)
def _means(theta: Floats, phi: Floats) -> Floats:
    total = np.zeros(len(theta))
    for k in range(len(theta)):
        for j in range(len(phi)):
            if phi[j] != 0.0:
                total[k] += theta[k, j] * phi[j]
        total[k] = min(max(total[k], 0.0), 1.0)
    return total


def applied(matrix: Floats, vector: Floats) -> Floats:
    """Return a symmetric matrix times a vector."""
    total = np.zeros(len(vector))
    for j in range(len(vector)):
        if vector[j] != 0.0:
            total += matrix[j] * vector[j]
    return total


@instead(applied)
def _applied(matrix: Floats, vector: Floats) -> Floats:
    total = np.zeros(len(vector))
    for j in range(len(vector)):
        if vector[j] != 0.0:
            for i in range(len(vector)):
                total[i] += matrix[j, i] * vector[j]
    return total


def add_square(matrix: Floats, vector: Floats, sign: float) -> None:
    """Add a vector times itself to a matrix, or take it away."""
    matrix += sign * (vector.reshape(-1, 1) * vector)


@instead(add_square)
def _add_square(matrix: Floats, vector: Floats, sign: float) -> None:
    for i in range(len(vector)):
        if vector[i] != 0.0:
            for j in range(len(vector)):
                matrix[i, j] += sign * (vector[i] * vector[j])


def add_to(target: Floats, vector: Floats, factor: float) -> None:
    """Add a multiple of a vector to another one."""
    target += vector * factor


@instead(add_to)
def _add_to(target: Floats, vector: Floats, factor: float) -> None:
    for j in range(len(target)):
        target[j] += vector[j] * factor


def scale(array: Floats, factor: float) -> None:
    """Multiply an array that lies in one piece."""
    array *= factor


@instead(scale)
def _scale(array: Floats, factor: float) -> None:
    flat = array.reshape(-1)
    for j in range(len(flat)):
        flat[j] *= factor


def invert(matrix: Floats) -> None:
    """Put the inverse of a symmetric positive definite matrix in its place."""
    for p in range(len(matrix)):
        pivot = 1.0 / matrix[p, p]
        row, column = matrix[p] * pivot, matrix[:, p].copy()
        column[p] = 0.0
        matrix -= column.reshape(-1, 1) * row
        matrix[:, p] = -(column * pivot)
        matrix[p] = row
        matrix[p, p] = pivot
    matrix[:] = 0.5 * (matrix + matrix.T)


@instead(invert)
def _invert(matrix: Floats) -> None:
    width = len(matrix)
    row, column = np.empty(width), np.empty(width)
    for p in range(width):
        pivot = 1.0 / matrix[p, p]
        for j in range(width):
            row[j] = matrix[p, j] * pivot
            column[j] = matrix[j, p]
        for i in range(width):
            if i != p:
                for j in range(width):
                    matrix[i, j] -= column[i] * row[j]
                matrix[i, p] = -(column[i] * pivot)
        for j in range(width):
            matrix[p, j] = row[j]
        matrix[p, p] = pivot
    for i in range(width):
        for j in range(i):
            matrix[i, j] = 0.5 * (matrix[i, j] + matrix[j, i])
            matrix[j, i] = matrix[i, j]


@inner
def take_in(state: Any, arm: int, phi: Floats, reward: float) -> None:
    """Fold one reward of an option into its model: an update of rank one of the inverse."""
    inverse = state.inverse[arm]
    step = applied(inverse, phi)
    spread = 0.0
    for j in range(len(phi)):
        spread += phi[j] * step[j]
    add_square(state.gram[arm], phi, 1.0)
    add_to(state.moments[arm], phi, reward)
    if not abs(spread) <= WILD:
        # A feature is far larger than ever before.
        make_firm(state)
        solve_all(state)
        return
    scale(step, 1.0 / math.sqrt(1.0 + spread))
    add_square(inverse, step, -1.0)
    solve(state, arm)


@inner
def make_firm(state: Any) -> None:
    """Raise the ridge of features where it is too small beside what was summed up to have an inverse."""
    for j in range(1, 1 + state.features):
        for arm in range(len(state.gram)):
            state.ridge[j] = max(state.ridge[j], FIRM * state.gram[arm, j, j])


@inner
def solve(state: Any, arm: int) -> None:
    """Compute the coefficients of an option by the inverse that is kept."""
    right = state.moments[arm].copy()
    for j in range(len(right)):
        right[j] += state.ridge[j] * state.prior[arm, j]
    found = applied(state.inverse[arm], right)
    for j in range(len(right)):
        state.theta[arm, j] = found[j]


@inner
def solve_all(state: Any) -> None:
    """Compute inverses and coefficients of all options anew, exactly."""
    for arm in range(len(state.gram)):
        inverse = state.inverse[arm]
        scale(inverse, 0.0)
        for j in range(len(inverse)):
            add_to(inverse[j], state.gram[arm, j], 1.0)
        for j in range(len(state.ridge)):
            inverse[j, j] += state.ridge[j]
        invert(inverse)
        solve(state, arm)


@inner
def fit_pool(state: Any, count: float) -> None:
    """Set ridge and prior by what was seen of all options: common slopes, and a level for each.

    `count` is the number of queries in `state.queries`.
    """
    for j in range(1, 1 + state.features):
        mean = state.queries[0, j] / count
        square = state.queries[1, j] / count
        # A feature that hardly moves must not be blown up.
        state.ridge[j] = SLOPE * max(square - mean * mean, 1e-6 * (1.0 + mean * mean))
    make_firm(state)
    arms, width = state.moments.shape
    pool, right = np.zeros((width, width)), np.zeros(width)
    for arm in range(arms):
        told = state.gram[arm, 0, 0]
        if told > 0.0:
            total = state.gram[arm, 0].copy()
            for j in range(width):
                add_to(pool[j], state.gram[arm, j], 1.0)
            add_to(right, state.moments[arm], 1.0)
            add_to(right, total, -state.moments[arm, 0] / told)
            scale(total, 1.0 / math.sqrt(told))
            add_square(pool, total, -1.0)
    # The level is each option's own.
    right[0] = 0.0
    for j in range(width):
        pool[0, j] = 0.0
        pool[j, 0] = 0.0
    for j in range(width):
        pool[j, j] += state.ridge[j]
    invert(pool)
    slopes = applied(pool, right)
    slopes[0] = 0.0
    rest, told = np.zeros(arms), 0.0
    common = 0.0
    for arm in range(arms):
        rest[arm] = state.moments[arm, 0]
        for j in range(1, width):
            rest[arm] -= state.gram[arm, 0, j] * slopes[j]
        common += rest[arm]
        told += state.gram[arm, 0, 0]
    common = common / told if told > 0.0 else 0.5
    for arm in range(arms):
        for j in range(1, width):
            state.prior[arm, j] = slopes[j]
        state.prior[arm, 0] = (rest[arm] + LEVEL * common) / (state.gram[arm, 0, 0] + LEVEL)
