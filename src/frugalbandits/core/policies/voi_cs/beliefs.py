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

from frugalbandits.core.jit import inner
from frugalbandits.core.policies.looking import floats, wholes
from frugalbandits.core.policies.voi_cs.judges import DEPTH, Found, build_tree, group, strongest_judge
from frugalbandits.core.policies.voi_cs.roots import (
    MARGIN,
    SURE,
    expected_gap,
    phi,
    root_for_judge,
    root_for_level,
)

__all__ = ["BLOCK", "NOTHING", "SAME", "Beliefs", "expect", "weigh"]

SAME = 1e-9  # ties must not hang on rounding
NOTHING = 1e9  # more than any regret
MANY = 64  # from so many arms on, judges are found in a tree
BLOCK = 32  # so many arms in a row are passed over together


class Beliefs(NamedTuple):
    """What is believed of each arm, cheapest first; lists in plain Python, arrays in compiled code.

    `share` and `paid` have one entry more: up to arm k, how likely one of the arms before is the target, and
    its expected price. `before` is the least expected regret of the usable arms before k, `after` the least
    lack and price together of those from k on, `without` the same with the leader left out. `blocks` has the
    least expected regret of the usable arms among each `BLOCK` in a row.
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
    without: Any
    blocks: Any


@inner
def weigh(pulls: Any, sums: Any, judging: Any, keep: float, level: float, beliefs: Any) -> None:
    """Set mean and variance of each posterior, the strongest judge of each arm, z_k and S_k.

    `judging` tells which arms judge. An arm that nothing stands against has z = 1e9.
    """
    arms = len(pulls)
    mean, var = beliefs.mean, beliefs.var
    judges, count = wholes(arms), 0
    for k in range(arms):
        mean[k] = (1.0 + sums[k]) / (2.0 + pulls[k])
        var[k] = mean[k] * (1.0 - mean[k]) / (3.0 + pulls[k])
        if judging[k]:
            judges[count] = k
            count += 1
    if MANY <= arms == count:
        weigh_by_tree(pulls, sums, keep, beliefs)
    else:
        weigh_by_pairs(pulls, sums, judges, count, keep, beliefs)
    if level >= 0:
        for k in range(arms):
            # As good as all others, or at the level: whichever is likelier.
            exact = root_for_level(level, pulls[k], sums[k])
            if exact >= beliefs.z[k] or beliefs.judge[k] < 0:
                deviation = math.sqrt(var[k])
                gap = expected_gap(exact, (mean[k] - level) / deviation, deviation)
                beliefs.lack[k] = gap if beliefs.judge[k] < 0 else min(beliefs.lack[k], gap)
                beliefs.z[k], beliefs.judge[k] = exact, -1


@inner
def weigh_by_pairs(pulls: Any, sums: Any, judges: Any, count: int, keep: float, beliefs: Any) -> None:
    """Set z_k, S_k and the strongest judge: compare each arm with the first `count` of `judges`."""
    arms = len(pulls)
    mean, var = beliefs.mean, beliefs.var
    near, spread = floats(arms), floats(arms)
    for k in range(arms):
        low = 1e9
        mean_k, var_k = mean[k], var[k]
        for place in range(count):
            i = judges[place]
            if i != k:
                spread[i] = math.sqrt(var_k + keep * keep * var[i])
                near[i] = (mean_k - keep * mean[i]) / spread[i]
                low = min(low, near[i])
        least, most, strongest = 1e9, 0.0, -1
        for place in range(count):
            i = judges[place]
            if i != k and near[i] <= low + MARGIN:
                exact = near[i]
                if -SURE < exact < SURE:
                    exact = root_for_judge(keep, pulls[k], sums[k], pulls[i], sums[i])
                if exact < least:
                    least, strongest = exact, i
                if exact < SURE:
                    most = max(most, expected_gap(exact, near[i], spread[i]))
        beliefs.judge[k], beliefs.z[k], beliefs.lack[k] = strongest, least, most


@inner
def weigh_by_tree(pulls: Any, sums: Any, keep: float, beliefs: Any) -> None:
    """Do the same where all arms judge, and there are many (`judges`)."""
    members, start, number = group(pulls, sums, beliefs.mean, beliefs.var)
    tree, leaves = build_tree(members, start, number, pulls, sums, beliefs.mean, beliefs.var)
    stack = wholes(DEPTH)
    found = Found(0.0, -1, 0.0, 0.0, -1, -1, -1)
    for place in range(number):
        begin, end = start[place], start[place + 1]
        found = strongest_judge(place, end - begin == 1, tree, leaves, keep, found, stack)
        for at in range(begin, end):
            k = members[at]
            least, strongest = found.least, found.judge
            if found.within < 1e9:
                # Arms of a group judge each other, and all have the same root for that.
                other = members[begin] if at > begin else members[begin + 1]
                if found.within < least or (found.within == least and other < strongest):
                    least, strongest = found.within, other
            beliefs.judge[k], beliefs.z[k], beliefs.lack[k] = strongest, least, found.most


@inner
def expect(prices: Any, usable: Any, beliefs: Any) -> int:
    """Set what follows from z_k and S_k; return the leader."""
    arms = len(prices)
    good, regret, lack = beliefs.good, beliefs.regret, beliefs.lack
    share, paid, before, after = beliefs.share, beliefs.paid, beliefs.before, beliefs.after
    without, blocks = beliefs.without, beliefs.blocks
    none = 1.0
    leader = -1
    before[0], after[arms], without[arms] = NOTHING, NOTHING, NOTHING
    for k in range(arms):
        good[k] = phi(beliefs.z[k]) if beliefs.z[k] > -30.0 else 0.0
        regret[k] = lack[k] + share[k] * prices[k] - paid[k]
        # An arm that may not be pulled now is nobody's target.
        weight = none * good[k] if usable[k] else 0.0
        share[k + 1] = share[k] + weight
        paid[k + 1] = paid[k] + weight * prices[k]
        none -= weight
        before[k + 1] = min(before[k], regret[k]) if usable[k] else before[k]
        if k % BLOCK == 0:
            blocks[k // BLOCK] = math.inf
        if usable[k]:
            blocks[k // BLOCK] = min(blocks[k // BLOCK], regret[k])
        if usable[k] and (leader < 0 or regret[k] < regret[leader] - 1e-12):
            leader = k
    for k in range(arms - 1, -1, -1):
        after[k], without[k] = after[k + 1], without[k + 1]
        if usable[k]:
            after[k] = min(after[k], lack[k] + prices[k])
            if k != leader:
                without[k] = min(without[k], lack[k] + prices[k])
    return leader
