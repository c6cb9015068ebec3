"""Cost-biased sampling for COF: the same tests, fed by the arms that are cheap to learn from.

The joint lower bound leaves free which gating arms the samples come from (section 6 of the paper), and
COF's confidence bounds hold for any adaptive counts. So only lines 12-15 of Algorithm 1 change. Each
gating arm i is kept at the share s_i of the candidate's pulls: a pass brings the arms that are behind
nearer to it, by an eighth of what they have, or else the candidate a few per cent further.

- *The candidate looks infeasible.* Gating arms count by evidence per unit of cost: s_i is proportional
  to (mean_i - mean_l / (1 - alpha))^2 / price_i, the rate at which arm i drives the product of the
  epsilons down, and 1 for the best of them. Cheap arms of sufficient quality do the work, even if the
  BAI-filter would have paused them; a very expensive arm that is not needed is hardly touched.
- *The candidate looks feasible.* Then its own pulls cost nothing if it is indeed good enough, while each
  gating arm must still be cleared by (1 - alpha) UCB_i < LCB_l. At the separation of two confidence
  bounds the spending n_l price_l + n_i price_i is least at n_i / n_l = ((1 - alpha) price_l / price_i)^(2/3).
- No arm that may be the best one falls below the share `LEAST`, so that a gating arm with an unlucky
  start is found out.

Conclusions are drawn between passes, and a pass is planned arm by arm from `targets`, so the number of
plans of a run grows with the logarithm of the horizon.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.jit import inner
from frugalbandits.core.policies.episodes import is_judge
from frugalbandits.core.tally import handed, mean

__all__ = ["new_targets", "next_targets", "unmet_target"]

LEAST = 1 / 64
GROWTH = 1 / 32
CATCH_UP = 1 / 8


def new_targets(arms: int) -> NDArray[np.int64]:
    """Return targets that are met before the first pull."""
    return np.zeros(arms, np.int64)


@inner
def unmet_target(state: Any) -> int:
    """Return the first arm that was not handed out as often as it should be, the candidate first; or -1."""
    candidate = state.candidate[0]
    if handed(state, candidate) < state.targets[candidate]:
        return candidate
    for k in range(len(state.targets)):
        if handed(state, k) < state.targets[k]:
            return k
    return -1


@inner
def price(state: Any, arm: int) -> float:
    """Return the cost of a pull relative to the highest, as a positive weight: costs may be 0 or negative."""
    lowest = min(state.prices[0], 0.0)
    span = state.prices[-1] - lowest
    return max((state.prices[arm] - lowest) / span, 0.001) if span > 0 else 1.0


@inner
def shares_of(state: Any, filtered: NDArray[np.int64], gating: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return how often each gating arm is to be pulled for one pull of the candidate."""
    candidate = state.candidate[0]
    arms = len(gating)
    best = 0.0
    for k in range(arms):
        if is_judge(state.reference, k):
            best = max(best, mean(state, k))
    shares = np.zeros(arms)
    if mean(state, candidate) >= state.keep * best:
        for i in filtered[1:]:
            shares[i] = min(1.0, (state.keep * price(state, candidate) / price(state, i)) ** (2 / 3))
    else:
        level = mean(state, candidate) / state.keep
        most = 0.0
        for i in range(candidate + 1, arms):
            if gating[i]:
                gap = max(mean(state, i) - level, 0.0)
                shares[i] = gap * gap / price(state, i)
                most = max(most, shares[i])
        if most > 0:
            shares /= most
    for i in filtered[1:]:
        shares[i] = max(shares[i], LEAST)
    return shares


@inner
def next_targets(state: Any, filtered: NDArray[np.int64], gating: NDArray[np.bool_]) -> None:
    """Set the pulls that the next pass brings each arm to: the gating arms that are behind, or the candidate.

    `filtered` is what lines 12-15 would sample: the candidate and the gating arms that may be the best.
    """
    candidate = state.candidate[0]
    now = handed(state, candidate)
    behind = False
    if len(filtered) > 1:
        shares = shares_of(state, filtered, gating)
        for i in range(candidate + 1, len(gating)):
            due = int(np.ceil(shares[i] * now))
            have = handed(state, i)
            if have < due:
                state.targets[i] = min(due, have + max(1, int(have * CATCH_UP)))
                behind = True
    if not behind:
        state.targets[candidate] = now + max(1, int(now * GROWTH))
