"""Which arm GLR-COF pulls next, relative to the best arm or to one arm: by the evidence of the moment.

At time t an arm of n pulls is worth another one while the evidence about it is below log(t / n), as in IMED
(Honda and Takemura, 2015): what is likely with probability exp(-Z) is worth about t exp(-Z) pulls, and more
would cost more than being wrong does. So the episodes are gone through once more in thought, from the
candidate on: l is the first arm with W < log(t / n_l), its gating arms are those with Z_i < log(t / n_i), and
if there is none, l is pulled. This is without tolerance and penalties, which are for conclusions. Only where
conclusions are the goal, l is the candidate and c stands in place of log(t / n).

With gating arms, l or one of them is pulled: the one that promises to settle l at the least regret, in the
ratio in which the two settle it at the least regret. The estimated regret of a pull is
w_k = (c_k - c_b)^+ + (bar - m_k)^+, with costs over what a unit of quality is worth, bar = (1 - alpha) max m
(or, relative to one arm, its m in place of max m), and b the cheapest arm from l on with m_b >= bar; w_l has
no cost. To tell two normal arms apart whose means differ by d takes a certain n_l n_i / (n_l + n_i) * d^2.
The regret w_l n_l + w_i n_i is then least at n_l / n_i = r = sqrt(w_i / w_l), and is w_l (1 + r)^2 / d^2
times that. So

- r, kept within 1/4 and 32, is the ratio of pulls; an l that looks feasible costs nothing and has the
  greatest;
- the gating arm with the greatest (u_i - m_l / (1 - alpha))^2 / (1 + r_i)^2 is taken, where u_i is an upper
  bound of its mean, so that an arm with an unlucky start is found out; it is the mean itself where b is
  good enough for the arm beyond doubt;
- an arm that may be b, had two more pulls paid 1, is pulled first: which pulls are regretted hangs on it.

That is the *first* rule. By itself it fails in some runs: while l is a near-tie, b counts as free, and the
arms between them, and what is at stake, are not looked at again. With *stakes*, where regret is the goal,
three things are added; see `stakes`:

- the logarithm of what is to be gained over what a pull costs is added to log(t / n), within limits;
- an arm between l and b is asked again while the evidence against it is below log(0.3 n_b / n);
- w_l and w_i are the regrets that are expected, l being good enough with some probability.

Where some arms may not be pulled now, l and b are among the others, while the bar and the evidence are those
of all arms: b is pulled in place of a gating arm that is away, and where every arm that may be pulled is
shown to be poor, the one of least estimated regret.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.jit import inlined, inner
from frugalbandits.core.likelihood import TINY
from frugalbandits.core.policies.glr_cof.evidence import (
    below_level,
    evidence_against,
    evidence_for,
    evidence_of_one,
)
from frugalbandits.core.policies.glr_cof.stakes import chance_and_shortfall, weigh_stakes

__all__ = ["arm_to_pull", "arm_under_level"]

LEAST_RATIO = 1 / 4
GREATEST_RATIO = 32.0
DOUBT = 2.0  # pulls that might have paid 1
SAME = 1e-9  # early on, evidence is often log(t / n) exactly: rounding must not have a say in that
CLOCK = 0.3  # the pulls of b that count against an arm between


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
def shown_poor(arms: Any, arm: int, witness: int, keep: float, level: float) -> bool:
    """Tell whether W of an arm is at least so much."""
    # Mostly one arm shows it: a shortcut that changes nothing.
    if arms[witness].judge and evidence_of_one(arms, arm, witness, keep) >= level:
        return True
    return evidence_against(arms, arm, keep, 0.0) >= level


@inner
def first_in_doubt(arms: Any, candidate: int, last: int, keep: float) -> int:
    """Return the arm l whose episode it would be by the evidence of the moment; -1 if all are poor."""
    witness = surely_good(arms)
    for k in range(candidate, last + 1):
        if arms[k].usable and (k == last or not shown_poor(arms, k, witness, keep, arms[k].enough)):
            return k
    return -1


@inner
def best_judge(arms: Any, first: int, last: int) -> int:
    """Return the judge of the highest mean from an arm on; relative to one arm, that one."""
    found = last
    most = -np.inf
    for k in range(first, last + 1):
        if arms[k].judge and arms[k].average > most:
            found, most = k, arms[k].average
    return found


@inner
def leader(arms: Any, prices: NDArray[np.float64], first: int, last: int, bar: float) -> int:
    """Return b: the cheapest arm from one on that looks good enough, or the one of least estimated regret."""
    for k in range(first, last + 1):
        if arms[k].usable and arms[k].average >= bar:
            return k
    found = -1
    least = np.inf
    for k in range(len(arms)):
        if arms[k].usable:
            # Of an arm that nothing is known of, nothing bad is known.
            gap = max(bar - arms[k].average, 0.0) if arms[k].pulls > 0 else 0.0
            if found < 0 or prices[k] + gap < least:
                found, least = k, prices[k] + gap
    return found


@inner
def set_enough(arms: Any, last: int, concluding: bool, staked: bool, limit: float) -> None:
    """Set the evidence beyond which an arm is not worth a pull now: c, or log(t / n)."""
    time = 0.0
    for k in range(last + 1):
        time += arms[k].handed
    for k in range(last + 1):
        if concluding:
            arms[k].enough = limit
        else:
            arms[k].enough = math.log(time / arms[k].handed) - SAME if arms[k].handed > 0 else np.inf
            if staked:
                # An arm that has nearly all pulls is in no doubt while there is no evidence against it.
                arms[k].enough = max(arms[k].enough, TINY)
            arms[k].penalty = 0.0


@inner
def asked_again(arms: Any, first: int, b: int, keep: float, bar: float, staked: bool) -> int:
    """Return the arm between l and b that has to be asked again; -1 if none has.

    By the clock of b, or because two more pulls might have shown it to be good enough.
    """
    witness = surely_good(arms)
    for k in range(first + 1, b):
        if staked and arms[k].usable and CLOCK * arms[b].handed > arms[k].handed:
            level = math.log(CLOCK * arms[b].handed / arms[k].handed) - SAME
            if not shown_poor(arms, k, witness, keep, level):
                return k
    for k in range(first + 1, b):
        if arms[k].usable and arms[k].total + DOUBT >= bar * (arms[k].handed + DOUBT):
            return k
    return -1


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
    staked: bool,
) -> int:
    """Return the arm to pull: l, the gating arm that promises most, or one in doubt.

    `last` is the most expensive arm that can be of use.
    """
    set_enough(arms, last, concluding, staked, limit)
    slack = tolerance if concluding else 0.0
    start = candidate
    if not concluding:
        bar = keep * arms[best_judge(arms, candidate, last)].average
        if staked:
            b = leader(arms, prices, candidate, last, bar)
            weigh_stakes(arms, prices, candidate, last, b, bar)
        start = first_in_doubt(arms, candidate, last, keep)
        if start < 0:
            return leader(arms, prices, candidate, last, bar)
    gating = np.zeros(last + 1, np.bool_)
    for i in range(start + 1, last + 1):
        if arms[i].judge and arms[i].handed > 0:
            evidence_for(arms, start, i, keep, slack)
            gating[i] = arms[i].evidence < arms[i].enough
    if not gating.any():
        return start
    best = best_judge(arms, start, last)
    bar = keep * arms[best].average
    b = leader(arms, prices, start, last, bar)
    again = asked_again(arms, start, b, keep, bar, staked)
    if again >= 0:
        return again
    chance, loss = 0.0, max(bar - arms[start].average, 0.0)
    if staked:
        chance, loss = chance_and_shortfall(arms, start, best, keep)
    floor = arms[start].average / keep
    partner = start
    most = -np.inf
    ratio = 1.0
    for i in range(start + 1, last + 1):
        if gating[i]:
            if b > start and i > b:
                evidence_for(arms, b, i, keep, slack)
            doubted = arms[i].evidence < arms[i].enough  # as every gating arm up to b
            high = (
                upper_bound(arms[i].average, arms[i].handed, arms[i].enough) if doubted else arms[i].average
            )
            lead = high - floor
            price = prices[i] - prices[b]
            if staked:
                price = chance * (prices[i] - prices[start]) + (1 - chance) * max(price, 0.0)
            r = regret_ratio(loss, price, bar - arms[i].average)
            promise = lead * abs(lead) / ((1 + r) * (1 + r))
            if promise > most:
                partner, most, ratio = i, promise, r
    if arms[start].handed < ratio * arms[partner].handed:
        return start
    return partner if arms[partner].usable else b


@inner
def arm_under_level(
    arms: Any, prices: NDArray[np.float64], candidate: int, level: float, limit: float
) -> int:
    """Return the arm to pull under a fixed level: the candidate, or the next one that may be pulled."""
    for k in range(candidate, len(arms)):
        if arms[k].usable and below_level(arms, k, level) < limit:
            return k
    return leader(arms, prices, candidate, len(arms) - 1, level)
