"""Which arm GLR-COF pulls next, relative to the best arm or to one arm: by the evidence of the moment.

At time t an arm of n pulls is worth another one while the evidence about it is below log(t / n), as in IMED
(Honda and Takemura, 2015): what is likely with probability exp(-Z) is worth about t exp(-Z) pulls, and more
would cost more than being wrong does. So the episodes are gone through once more in thought, from the
candidate on: l is the first arm with W < log(t / n_l), its gating arms are those with Z_i < log(t / n_i), and
if there is none, l is pulled. This is without tolerance and penalties, which are for conclusions. Only where
conclusions are the goal, l is the candidate and c stands in place of log(t / n).

With gating arms, l or one of them is pulled: the one that promises to settle l at the least regret, in the
ratio in which the two settle it at the least regret. The estimated regret of a pull is
w_k = (c_k - c_b)^+ + (bar - m_k)^+, with costs scaled to their range, bar = (1 - alpha) max m (or, relative
to one arm, its m in place of max m), and b the cheapest arm from l on with m_b >= bar; w_l has no cost. To
tell two normal arms apart whose means differ by d takes a certain n_l n_i / (n_l + n_i) * d^2. The regret
w_l n_l + w_i n_i is then least at n_l / n_i = r = sqrt(w_i / w_l), and is w_l (1 + r)^2 / d^2 times that. So

- r, kept within 1/4 and 32, is the ratio of pulls; an l that looks feasible costs nothing and has the
  greatest;
- the gating arm with the greatest (u_i - m_l / (1 - alpha))^2 / (1 + r_i)^2 is taken, where u_i is an upper
  bound of its mean, so that an arm with an unlucky start is found out; it is the mean itself where b is
  good enough for the arm beyond doubt;
- an arm that may be b, had two more pulls paid 1, is pulled first: which pulls are regretted hangs on it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.jit import inlined, inner
from frugalbandits.core.policies.glr_cof.evidence import evidence_against, evidence_for, evidence_of_one

__all__ = ["arm_to_pull"]

LEAST_RATIO = 1 / 4
GREATEST_RATIO = 32.0
DOUBT = 2.0  # pulls that might have paid 1
SAME = 1e-9  # early on, evidence is often log(t / n) exactly: rounding must not have a say in that


@inlined
def upper_bound(mean: float, pulls: float, level: float) -> float:
    """Upper end of Wilson's interval, at the pulls handed out and the mean so far."""
    if mean >= 1:
        return 1.0
    part = level / pulls
    return (mean + part + math.sqrt(part * (2 * mean * (1 - mean) + part))) / (1 + 2 * part)


@inlined
def regret_ratio(loss: float, price: float, gap: float) -> float:
    """Return r = sqrt(w_i / w_l) within its limits."""
    regret = max(price, 0.0) + max(gap, 0.0)
    if loss > 0:
        return min(max(math.sqrt(regret / loss), LEAST_RATIO), GREATEST_RATIO)
    return GREATEST_RATIO if regret > 0 else 1.0


@inner
def surely_good(arms: Any) -> int:
    """Return the judge whose mean is high for sure."""
    found = 0
    most = -np.inf
    for k in range(len(arms)):
        if arms[k].judge and arms[k].pulls > 0:
            low = arms[k].average - 1 / math.sqrt(arms[k].pulls)
            if low > most:
                found, most = k, low
    return found


@inner
def first_in_doubt(arms: Any, candidate: int, last: int, keep: float) -> int:
    """Return the arm l whose episode it would be by the evidence of the moment."""
    witness = surely_good(arms)
    while candidate < last:
        level = arms[candidate].enough
        # Mostly one arm shows it: a shortcut that changes nothing.
        shown = arms[witness].judge and evidence_of_one(arms, candidate, witness, keep) >= level
        if not shown and evidence_against(arms, candidate, keep, 0.0) < level:
            break
        candidate += 1
    return candidate


@inner
def arm_to_pull(
    arms: Any,
    prices: NDArray[np.float64],
    candidate: int,
    last: int,
    keep: float,
    tolerance: float,
    limit: float,
    concluding: bool,
) -> int:
    """Return the arm to pull: l, the gating arm that promises most, or one in doubt.

    `last` is the most expensive arm that can be of use.
    """
    time = 0.0
    for k in range(last + 1):
        time += arms[k].handed
    for k in range(last + 1):
        arms[k].enough = limit if concluding else math.log(time / arms[k].handed) - SAME
        if not concluding:
            arms[k].penalty = 0.0
    slack = tolerance if concluding else 0.0
    if not concluding:
        candidate = first_in_doubt(arms, candidate, last, keep)
    gating = np.zeros(last + 1, np.bool_)
    best = arms[candidate].average if arms[candidate].judge else 0.0
    for i in range(candidate + 1, last + 1):
        if arms[i].judge:
            evidence_for(arms, candidate, i, keep, slack)
            gating[i] = arms[i].evidence < arms[i].enough
            best = max(best, arms[i].average)
    if not gating.any():
        return candidate
    bar = keep * best
    b = candidate
    while arms[b].average < bar:
        # In doubt: two more pulls might have shown it to be good enough.
        if b > candidate and arms[b].total + DOUBT >= bar * (arms[b].handed + DOUBT):
            return b
        b += 1
    loss = max(bar - arms[candidate].average, 0.0)
    floor = arms[candidate].average / keep
    partner = candidate
    most = -np.inf
    ratio = 1.0
    for i in range(candidate + 1, last + 1):
        if gating[i]:
            if b > candidate and i > b:
                evidence_for(arms, b, i, keep, slack)
            doubted = arms[i].evidence < arms[i].enough  # as every gating arm up to b
            high = (
                upper_bound(arms[i].average, arms[i].handed, arms[i].enough) if doubted else arms[i].average
            )
            lead = high - floor
            r = regret_ratio(loss, prices[i] - prices[b], bar - arms[i].average)
            promise = lead * abs(lead) / ((1 + r) * (1 + r))
            if promise > most:
                partner, most, ratio = i, promise, r
    return candidate if arms[candidate].handed < ratio * arms[partner].handed else partner
