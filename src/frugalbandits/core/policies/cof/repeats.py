"""Safe repeats of a COF pass: how many passes are sure to be planned the same, whatever comes.

Rewards lie in [0, 1], so j more pulls of an arm with n pulls and reward sum S leave its mean between
S / (n + j) and (S + j) / (n + j). If every comparison of Algorithm 1 has the same outcome at the worst
ends of these intervals for all j < m, then m passes can be planned at once: pull for pull this is the
one-pass algorithm. Only what decides the batch is asked for:

- a sampled gating arm must stay in the gating set and pass the BAI-filter;
- any other more expensive arm must stay out of the gating set, or stay filtered and not be ahead of
  the candidate (then it matters to nothing whether it is in the set);
- in an exclusive pass one gating arm must stay in the set and ahead of the candidate;
- the evidence against the candidate must stay below its limit;
- under a fixed level, the level must stay between the candidate's bounds, and that is all.

Ends are moved outward by `SLACK` so that rounding cannot turn a safe batch into an unsafe one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.jit import inlined, inner
from frugalbandits.core.policies.episodes import has_level, is_judge

__all__ = ["safe_repeats"]

SLACK = 1e-11
LONGEST = 1 << 40


@inlined
def lowest_ucb(total: float, pulls: int, more: int, width: float) -> float:
    """Return the least upper bound after up to `more` pulls: all of them, and every reward 0."""
    n = pulls + more
    return total / n + width / math.sqrt(n) - SLACK


@inlined
def highest_lcb(total: float, pulls: int, more: int, width: float) -> float:
    """Return the greatest lower bound after up to `more` pulls: all of them, and every reward 1."""
    n = pulls + more
    return (total + more) / n - width / math.sqrt(n) + SLACK


@inlined
def lowest_lcb(total: float, pulls: int, more: int, width: float) -> float:
    """Return the least lower bound after up to `more` pulls.

    With every reward 0 it is S / x - w / sqrt(x) at x pulls, which falls until sqrt(x) = 2 S / w and
    rises from there on.
    """
    turn = 2 * total / width
    x = min(max(turn * turn, float(pulls)), float(pulls + more))
    return total / x - width / math.sqrt(x) - SLACK


@inner
def evidence_stays_below(state: Any, sampled: NDArray[np.bool_], more: int, width: float) -> bool:
    """Tell whether the candidate cannot be deemed infeasible within `more` passes."""
    tally = state.tally
    candidate = state.candidate[0]
    level = lowest_ucb(tally.sums[candidate], tally.pulls[candidate], more, width) / state.keep
    total = 0.0
    for k in range(len(tally.pulls)):
        pulls = tally.pulls[k] + (more if sampled[k] else 0)
        most = tally.sums[k] + (more if sampled[k] else 0)
        gap = most / pulls - level if pulls > 0 else 0.0
        if gap > 0 and is_judge(state.reference, k):
            term = 2 * pulls * gap * gap
            if state.combine:
                total += term
            elif k > candidate:
                total = max(total, term)
    return total * (1 + SLACK) < state.limit


@inner
def exclusive_stays(state: Any, gating: NDArray[np.bool_], more: int, width: float) -> bool:
    """Tell whether some gating arm stays in the set and ahead of the candidate for `more` passes."""
    tally = state.tally
    candidate = state.candidate[0]
    floor = highest_lcb(tally.sums[candidate], tally.pulls[candidate], more, width) + state.tolerance
    for i in range(candidate + 1, len(gating)):
        if gating[i] and tally.pulls[i] > tally.pulls[candidate] + more:
            mean = tally.sums[i] / tally.pulls[i]
            if state.keep * (mean + width / math.sqrt(tally.pulls[i])) - SLACK >= floor:
                return True
    return False


@inner
def pass_stays(state: Any, sampled: NDArray[np.bool_], more: int, width: float) -> bool:
    """Tell whether the same arms are sampled in each of the next `more` passes."""
    tally = state.tally
    candidate = state.candidate[0]
    arms = len(sampled)
    floor_high = highest_lcb(tally.sums[candidate], tally.pulls[candidate], more, width) + state.tolerance
    floor_low = lowest_lcb(tally.sums[candidate], tally.pulls[candidate], more, width) + state.tolerance
    # The two highest LCBs that the sampled gating arms can reach: an arm is compared with the others.
    first = -np.inf
    second = -np.inf
    filter_low = -np.inf
    for i in range(candidate + 1, arms):
        if sampled[i]:
            high = highest_lcb(tally.sums[i], tally.pulls[i], more, width)
            if high > first:
                second = first
                first = high
            elif high > second:
                second = high
            filter_low = max(filter_low, lowest_lcb(tally.sums[i], tally.pulls[i], more, width))
    for i in range(candidate + 1, arms):
        if sampled[i]:
            low = lowest_ucb(tally.sums[i], tally.pulls[i], more, width)
            if state.keep * low < floor_high:
                return False
            high = highest_lcb(tally.sums[i], tally.pulls[i], more, width)
            if low <= (second if high == first else first):
                return False
        elif is_judge(state.reference, i):
            bound = tally.sums[i] / tally.pulls[i] + width / math.sqrt(tally.pulls[i]) + SLACK
            stays_out = state.keep * bound < floor_low
            stays_filtered = bound <= filter_low and (
                not state.exclusive or tally.pulls[i] <= tally.pulls[candidate]
            )
            if not (stays_out or stays_filtered):
                return False
    return True


@inner
def level_stays_between(state: Any, more: int, width: float) -> bool:
    """Tell whether the candidate cannot be told from the fixed level within `more` pulls."""
    tally = state.tally
    candidate = state.candidate[0]
    if lowest_ucb(tally.sums[candidate], tally.pulls[candidate], more, width) <= state.level:
        return False
    highest = highest_lcb(tally.sums[candidate], tally.pulls[candidate], more, width)
    return highest + state.tolerance <= state.level


@inner
def is_safe(
    state: Any, sampled: NDArray[np.bool_], gating: NDArray[np.bool_], alone: bool, more: int, width: float
) -> bool:
    """Tell whether the batch is planned the same after each of the next `more` passes."""
    if has_level(state):
        return level_stays_between(state, more, width)
    if not evidence_stays_below(state, sampled, more, width):
        return False
    if alone:
        return exclusive_stays(state, gating, more, width)
    return pass_stays(state, sampled, more, width)


@inner
def safe_repeats(state: Any, arms: NDArray[np.int64], gating: NDArray[np.bool_]) -> int:
    """Return a number of passes that is safe, found by doubling or halving the last one.

    It is a power of two, or one and a half times that, so that planning again with nothing new gives
    the same number. With feedback outstanding only one pass can be promised.
    """
    tally = state.tally
    for k in range(len(gating)):
        if tally.pending[k] > 0:
            return 1
    width = math.sqrt(state.limit / 2)
    alone = len(arms) == 1
    sampled = np.zeros(len(gating), np.bool_)
    for arm in arms:
        sampled[arm] = True
    repeats = state.stride[0]
    if is_safe(state, sampled, gating, alone, repeats - 1, width):
        while repeats < LONGEST and is_safe(state, sampled, gating, alone, 2 * repeats - 1, width):
            repeats *= 2
    else:
        repeats = max(1, repeats // 2)
        while repeats > 1 and not is_safe(state, sampled, gating, alone, repeats - 1, width):
            repeats //= 2
    state.stride[0] = repeats
    if repeats > 1 and is_safe(state, sampled, gating, alone, repeats + repeats // 2 - 1, width):
        return repeats + repeats // 2
    return repeats
