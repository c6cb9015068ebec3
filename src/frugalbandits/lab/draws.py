"""Sums of rewards, drawn by compiled code: all that the driver has to know of a reward model.

It stands apart so that machine code is made anew when this changes, and not when a table does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.jit import compiled

__all__ = ["Draws", "draw_finite_sum", "draw_sum"]


class Draws(NamedTuple):
    """Rewards as numbers, cheapest arm first.

    Arm k takes `values[starts[k]:starts[k + 1]]`; `chances` are the probabilities of each value given
    that none of the values before it came. `shapes` (arms x 2) holds Beta parameters instead; it has no
    rows when the rewards are finite.
    """

    starts: NDArray[np.int64]
    values: NDArray[np.float64]
    chances: NDArray[np.float64]
    shapes: NDArray[np.float64]


@compiled
def draw_sum(draws: Any, arm: int, pulls: int, rng: Any) -> float:
    """Draw the sum of the rewards of `pulls` pulls of one arm."""
    if len(draws.shapes) > 0:
        total = 0.0
        for _ in range(pulls):
            total += rng.beta(draws.shapes[arm, 0], draws.shapes[arm, 1])
        return total
    return draw_finite_sum(draws, arm, pulls, rng)


@compiled
def draw_finite_sum(draws: Any, arm: int, pulls: int, rng: Any) -> float:
    """Draw the same where rewards take finitely many values."""
    total = 0.0
    left = pulls
    for i in range(draws.starts[arm], draws.starts[arm + 1]):
        if left == 0:
            break
        chance = draws.chances[i]
        count = left if chance >= 1.0 else rng.binomial(left, chance)
        total += count * draws.values[i]
        left -= count
    return total
