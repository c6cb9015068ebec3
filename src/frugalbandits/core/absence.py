"""Who stands in for an arm that may not be pulled now, and how long an arm rests that nothing is heard of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.jit import inlined, inner

__all__ = ["LONGEST_REST", "rest_after", "stand_in"]

LONGEST_REST = 1_023


@inner
def stand_in(tally: Any, keep: float, reference: int, level: float, usable: NDArray[np.bool_]) -> int:
    """Return the cheapest usable arm that looks good enough, or the best usable one where none does.

    Arms are ranked by cost. The bar is that of all arms: a share `keep` of the best mean, or of that of the
    `reference`, unless it is -1, or the fixed `level`, unless it is -1. An arm of which nothing was handed
    out yet is given the benefit of the doubt. At least one arm must be usable.
    """
    arms = len(usable)
    bar = level
    if level < 0:
        best = 0.0
        for k in range(arms):
            if tally.pulls[k] > 0 and (reference < 0 or k == reference):
                best = max(best, tally.sums[k] / tally.pulls[k])
        bar = keep * best
    found, most = -1, -1.0
    for k in range(arms):
        if usable[k]:
            mean = tally.sums[k] / tally.pulls[k] if tally.pulls[k] > 0 else 0.0
            if mean >= bar or tally.pulls[k] + tally.pending[k] + tally.lost[k] == 0:
                return k
            if mean > most:
                found, most = k, mean
    return found


@inlined
def rest_after(own: int, lost: int, told: int) -> int:
    """Return for how many decisions an arm rests of which no feedback has come, and `own` were lost.

    After n looks without feedback it is 2^n - 1; where feedback is rare anyway, n is less by as much: `lost`
    and `told` count the decisions of all arms whose feedback was lost and has come.
    """
    looks = own * (told + 1) / (told + 1 + lost - own)
    return int(2.0 ** min(looks, 10.0)) - 1
