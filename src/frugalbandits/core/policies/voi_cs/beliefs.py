"""What counts and sums say of each arm: how likely it is good enough, what it lacks, what a pull of it costs.

Arms are in the order of their prices, which are scaled by what a unit of quality is worth. From the posterior
Beta(1 + s, 1 + n - s) of each mean:

- *How likely is arm k good enough?* z_k is the least signed root of twice the likelihood ratio for
  mu_k >= kappa mu_i over the arms i that judge it; p_k = Phi(z_k), and S_k is how much k lacks on average.
  Under a fixed level, an arm is good enough that reaches it or is as good as all others.
- *Expected regret of a pull*: D_k = S_k + the sum over j < k of (c_k - c_j) P(j is the cheapest that is good
  enough). The leader b is the usable arm with the least.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from frugalbandits.core.jit import inlined, inner
from frugalbandits.core.likelihood import TINY, divergence, nearest
from frugalbandits.core.policies.looking import floats

__all__ = [
    "NOTHING",
    "SAME",
    "SURE",
    "Beliefs",
    "expect",
    "expected_gap",
    "phi",
    "root_for_judge",
    "root_for_level",
    "weigh",
]

MARGIN = 1.5  # judges whose z is within so much of the least are looked at exactly
SAME = 1e-9  # ties must not hang on rounding
NOTHING = 1e9  # more than any regret
SURE = 7.0  # beyond so many standard deviations the normal approximation does
ROOT_TWO = math.sqrt(2.0)
DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


@inlined
def phi(z: float) -> float:
    """Return the normal distribution function."""
    return 0.5 * math.erfc(-z / ROOT_TWO)


@inlined
def shortfall(z: float) -> float:
    """Return E (N(-z, 1))^+."""
    if z > 8.0:
        return math.exp(-0.5 * z * z) * DENSITY / (z * z)
    return max(math.exp(-0.5 * z * z) * DENSITY - z * phi(-z), TINY)


@inner
def root_for_judge(keep: float, pulls: float, total: float, judged: float, reached: float) -> float:
    """Return the signed root of twice the likelihood ratio for mu >= kappa mu_i, with half a pseudo-count.

    `judged` and `reached` are the pulls and the sum of the judge i.
    """
    n, s, n_i, s_i = pulls + 1.0, total + 0.5, judged + 1.0, reached + 0.5
    y, z = nearest(keep, n, s, n_i, s_i)
    value = divergence(n, s, keep * y, (1.0 - keep) + keep * z) + divergence(n_i, s_i, y, z)
    return math.sqrt(2.0 * value) if s * n_i >= keep * s_i * n else -math.sqrt(2.0 * value)


@inner
def root_for_level(level: float, pulls: float, total: float) -> float:
    """Return the signed root of twice the likelihood ratio for mu >= level, with half a pseudo-count."""
    n, s = pulls + 1.0, total + 0.5
    value = math.sqrt(2.0 * divergence(n, s, level, 1.0 - level))
    return value if s >= level * n else -value


class Beliefs(NamedTuple):
    """What is believed of each arm, cheapest first; lists in plain Python, arrays in compiled code.

    `share` and `paid` have one entry more: up to arm k, how likely one of the arms before is the target, and
    its expected price. `before` is the least expected regret of the usable arms before k, `after` the least
    lack and price together of those from k on.
    """

    mean: Any
    var: Any
    z: Any
    judge: Any  # the strongest one; -1: the fixed level, or none
    lack: Any  # S_k
    good: Any  # p_k
    regret: Any  # D_k
    share: Any
    paid: Any
    before: Any
    after: Any


@inner
def weigh(pulls: Any, sums: Any, judging: Any, keep: float, level: float, beliefs: Any) -> None:
    """Set mean and variance of each posterior, the strongest judge of each arm, z_k and S_k.

    `judging` tells which arms judge. An arm that nothing stands against has z = 1e9.
    """
    arms = len(pulls)
    mean, var = beliefs.mean, beliefs.var
    near, spread = floats(arms), floats(arms)
    for k in range(arms):
        mean[k] = (1.0 + sums[k]) / (2.0 + pulls[k])
        var[k] = mean[k] * (1.0 - mean[k]) / (3.0 + pulls[k])
    for k in range(arms):
        low = 1e9
        mean_k, var_k = mean[k], var[k]
        for i in range(arms):
            if judging[i] and i != k:
                spread[i] = math.sqrt(var_k + keep * keep * var[i])
                near[i] = (mean_k - keep * mean[i]) / spread[i]
                low = min(low, near[i])
        least, most, strongest = 1e9, 0.0, -1
        for i in range(arms):
            if judging[i] and i != k and near[i] <= low + MARGIN:
                exact = near[i]
                if -SURE < exact < SURE:
                    exact = root_for_judge(keep, pulls[k], sums[k], pulls[i], sums[i])
                if exact < least:
                    least, strongest = exact, i
                if exact < SURE:
                    most = max(most, expected_gap(exact, near[i], spread[i]))
        if level >= 0:
            # As good as all others, or at the level: whichever is likelier.
            exact = root_for_level(level, pulls[k], sums[k])
            if exact >= least or strongest < 0:
                deviation = math.sqrt(var_k)
                gap = expected_gap(exact, (mean_k - level) / deviation, deviation)
                most = gap if strongest < 0 else min(most, gap)
                least, strongest = exact, -1
        beliefs.judge[k], beliefs.z[k], beliefs.lack[k] = strongest, least, most


@inlined
def expected_gap(exact: float, near: float, spread: float) -> float:
    """Return how much is lacking on average, by the signed root, its normal approximation and the scale."""
    return spread * shortfall(exact) if exact > -6.0 else -near * spread


@inner
def expect(prices: Any, usable: Any, beliefs: Any) -> int:
    """Set what follows from z_k and S_k; return the leader."""
    arms = len(prices)
    good, regret, lack = beliefs.good, beliefs.regret, beliefs.lack
    share, paid, before, after = beliefs.share, beliefs.paid, beliefs.before, beliefs.after
    none = 1.0
    leader = -1
    before[0], after[arms] = NOTHING, NOTHING
    for k in range(arms):
        good[k] = phi(beliefs.z[k]) if beliefs.z[k] > -30.0 else 0.0
        regret[k] = lack[k] + share[k] * prices[k] - paid[k]
        # An arm that may not be pulled now is nobody's target.
        weight = none * good[k] if usable[k] else 0.0
        share[k + 1] = share[k] + weight
        paid[k + 1] = paid[k] + weight * prices[k]
        none -= weight
        before[k + 1] = min(before[k], regret[k]) if usable[k] else before[k]
        if usable[k] and (leader < 0 or regret[k] < regret[leader] - 1e-12):
            leader = k
    for k in range(arms - 1, -1, -1):
        after[k] = min(after[k + 1], lack[k] + prices[k]) if usable[k] else after[k + 1]
    return leader
