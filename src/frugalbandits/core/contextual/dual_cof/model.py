"""Ridge models by option: the inverse of A_k kept by updates of rank one, a prior mean fitted on the pool.

A_k = sum of phi phi' + diag(ridge), theta_k = A_k^-1 (sum of phi r + ridge * prior_k). The prior is a fit on
all options together that differ in their level alone, so an option or a segment of which little was seen
borrows from the others. Features are held back in units of their own variance, so none needs scaling.

Every function is made of operations entry by entry, in one order, so that numpy and machine code agree to the
last bit; where a loop is slow in plain Python there are two forms of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.jit import inner, instead

__all__ = ["fit_pool", "invert", "means", "solve_all", "spreads", "take_in"]

Floats = NDArray[np.float64]

LEVEL = 2.0  # rewards that the prior mean is worth, for the level of an option
SLOPE = 20.0  # and for each feature of unit variance, and each segment


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
    for p in range(width):
        pivot = 1.0 / matrix[p, p]
        row, column = matrix[p] * pivot, matrix[:, p].copy()
        for i in range(width):
            if i != p:
                for j in range(width):
                    matrix[i, j] -= column[i] * row[j]
                matrix[i, p] = -(column[i] * pivot)
        matrix[p] = row
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
    add_square(inverse, step / np.sqrt(1.0 + spread), -1.0)
    add_square(state.gram[arm], phi, 1.0)
    state.moments[arm] += phi * reward
    state.theta[arm] = applied(inverse, state.moments[arm] + state.ridge * state.prior[arm])


@inner
def solve_all(state: Any) -> None:
    """Compute inverses and coefficients of all options anew, exactly."""
    for arm in range(len(state.gram)):
        inverse = state.inverse[arm]
        inverse[:] = state.gram[arm]
        for j in range(len(state.ridge)):
            inverse[j, j] += state.ridge[j]
        invert(inverse)
        state.theta[arm] = applied(inverse, state.moments[arm] + state.ridge * state.prior[arm])


@inner
def fit_pool(state: Any, count: float) -> None:
    """Set ridge and prior by what was seen of all options: common slopes, and a level for each.

    `count` is the number of queries in `state.queries`.
    """
    sums, squares = state.queries[0], state.queries[1]
    for j in range(1, 1 + state.features):
        mean = sums[j] / count
        # A feature that hardly moves must not be blown up.
        state.ridge[j] = SLOPE * max(squares[j] / count - mean * mean, 1e-6 * (1.0 + mean * mean))
    arms, width = state.moments.shape
    pool, right = np.zeros((width, width)), np.zeros(width)
    for arm in range(arms):
        told = state.gram[arm, 0, 0]
        if told > 0.0:
            total = state.gram[arm, 0].copy()
            pool += state.gram[arm]
            add_square(pool, total / np.sqrt(told), -1.0)
            right += state.moments[arm] - total * (state.moments[arm, 0] / told)
    # The level is each option's own.
    pool[0] = 0.0
    pool[:, 0] = 0.0
    right[0] = 0.0
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
        state.prior[arm] = slopes
        state.prior[arm, 0] = (rest[arm] + LEVEL * common) / (state.gram[arm, 0, 0] + LEVEL)
