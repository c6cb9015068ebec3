"""Which arm to pull next, by what knowing more is worth: a function of counts and sums alone.

Arms are in the order of their prices, which are scaled by what a unit of quality is worth. From the posterior
Beta(1 + s, 1 + n - s) of each mean:

- *How likely is arm k good enough?* z_k is the least signed root of twice the likelihood ratio for
  mu_k >= kappa mu_i over the arms i that judge it; p_k = Phi(z_k), and S_k is how much k lacks on average.
  Under a fixed level, an arm is good enough that reaches it or is as good as all others.
- *Expected regret of a pull*: D_k = S_k + the sum over j < k of (c_k - c_j) P(j is the cheapest that is good
  enough). The leader b is the usable arm with the least.
- *Questions.* Is arm k good enough? Is the leader good enough for judge i? The answer is worth what knowing
  it would save at each of the pulls to come, and costs the regret of pulling whichever side of the question
  tells most for its regret. The question with the most worth for its price is asked, if that is above 1.
- *The net.* With no question left, the leader is pulled, unless a cheaper arm was ruled out on so little
  that the leader's pulls since then have outgrown it: its evidence z^2 / 2 is below
  log(clock stakes n_b / n_x), x being the side of the question that would be pulled.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from frugalbandits.core.jit import inlined, inner, instead
from frugalbandits.core.likelihood import TINY, divergence

__all__ = [
    "AGAIN",
    "CHEAPER",
    "DEARER",
    "FOR_JUDGE",
    "LEADER",
    "choose",
    "floats",
    "wholes",
]

# What a pull is for.
LEADER = 0  # no question: the arm with the least expected regret
CHEAPER = 1  # is a cheaper arm good enough?
DEARER = 2  # is a dearer arm good enough, and so perhaps better than the leader?
FOR_JUDGE = 3  # is the leader good enough for this judge?
AGAIN = 4  # the net

EPS = 1e-4  # no pull is free
MARGIN = 1.5  # judges whose z is within so much of the least are looked at exactly
CLOCK = 0.3
RATIO = 10.0
SURE = 7.0  # beyond so many standard deviations the normal approximation does
ROOT_TWO = math.sqrt(2.0)
DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


def floats(count: int) -> Any:
    """Return so many zeros, in the form that is fastest in plain Python."""
    return [0.0] * count


@instead(floats)
def floats_as_array(count: int) -> Any:
    """Return the same for compiled code."""
    return np.zeros(count)


def wholes(count: int) -> Any:
    """Return so many whole zeros, in the form that is fastest in plain Python."""
    return [0] * count


@instead(wholes)
def wholes_as_array(count: int) -> Any:
    """Return the same for compiled code."""
    return np.zeros(count, np.int64)


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

    `judged` and `reached` are the pulls and the sum of the judge i. The level at which the two together are
    likeliest is a root of a quadratic; of the two roots the product is known, so a small one is precise.
    """
    n, s, n_i, s_i = pulls + 1.0, total + 0.5, judged + 1.0, reached + 0.5
    alpha, failures = 1.0 - keep, n_i - s_i
    d = (keep * n - s) + keep * failures - alpha * n_i
    whole, last = 2.0 * keep * (n + n_i), 2.0 * alpha * failures
    root = math.sqrt(d * d + whole * last)
    if d > 0:
        z, other = (d + root) / whole, -last / (d + root)
    else:
        z, other = (last / (root - d) if root > d else 0.0), (d - root) / whole
    y, z = min(2.0 * (s + s_i) / whole / (1.0 - other), 1.0), min(z, 1.0)
    value = divergence(n, s, keep * y, alpha + keep * z) + divergence(n_i, s_i, y, z)
    return math.sqrt(2.0 * value) if s * n_i >= keep * s_i * n else -math.sqrt(2.0 * value)


@inner
def root_for_level(level: float, pulls: float, total: float) -> float:
    """Return the signed root of twice the likelihood ratio for mu >= level, with half a pseudo-count."""
    n, s = pulls + 1.0, total + 0.5
    value = math.sqrt(2.0 * divergence(n, s, level, 1.0 - level))
    return value if s >= level * n else -value


@inner
def believe(
    pulls: Any, sums: Any, judging: Any, keep: float, level: float, mean: Any, var: Any, z: Any, lack: Any
) -> Any:
    """Set mean and variance of each posterior, z_k and S_k; return the strongest judge of each arm.

    `judging` tells which arms judge. An arm that nothing stands against has z = 1e9; one whose only judge is
    the fixed level has the judge -1.
    """
    arms = len(pulls)
    judge = wholes(arms)
    near = floats(arms)
    spread = floats(arms)
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
                    gap = spread[i] * shortfall(exact) if exact > -6.0 else -near[i] * spread[i]
                    most = max(most, gap)
        if level >= 0:
            # As good as all others, or at the level: whichever is likelier.
            exact = root_for_level(level, pulls[k], sums[k])
            if exact >= least or strongest < 0:
                deviation = math.sqrt(var_k)
                gap = deviation * shortfall(exact) if exact > -6.0 else level - mean_k
                least, strongest, most = exact, -1, min(most, gap) if strongest >= 0 else gap
        judge[k], z[k], lack[k] = strongest, least, most
    return judge


@inlined
def tells_most(pulls: float, var: float, regret: float) -> float:
    """Return how much of the doubt a pull of an arm takes away for its regret."""
    return var / ((pulls + 1.0) * (regret + EPS))


@inner
def choose(
    pulls: Any,
    sums: Any,
    handed: Any,
    whole: Any,
    prices: Any,
    usable: Any,
    judging: Any,
    keep: float,
    level: float,
    base: float,
    judgement: float,
) -> tuple[int, int, int, int, int, float, float, float]:
    """Return the arm to pull, what for, the arm in question, its judge, the leader, gain, price and worth.

    `pulls` and `sums` are what was told, `handed` is what pulls count towards balance, `whole` the same with
    those that were for no question. `base` is how many pulls to come an answer serves, and `judgement` the
    price of feedback. At least one arm is usable.
    """
    arms = len(pulls)
    k2 = keep * keep
    mean, var, z, lack = floats(arms), floats(arms), floats(arms), floats(arms)
    judge = believe(pulls, sums, judging, keep, level, mean, var, z, lack)
    good = floats(arms)  # p_k
    share, paid, none = floats(arms + 1), floats(arms + 1), 1.0
    regret = floats(arms)  # D_k
    leader = -1
    best = 0.0
    for k in range(arms):
        good[k] = phi(z[k]) if z[k] > -30.0 else 0.0
        if judging[k]:
            best = max(best, mean[k])
        regret[k] = lack[k] + share[k] * prices[k] - paid[k]
        # An arm that may not be pulled now is nobody's target.
        weight = none * good[k] if usable[k] else 0.0
        share[k + 1] = share[k] + weight
        paid[k + 1] = paid[k] + weight * prices[k]
        none -= weight
        if usable[k] and (leader < 0 or regret[k] < regret[leader]):
            leader = k
    bar = min(level, best) if level >= 0 else keep * best
    looks = leader
    for k in range(arms):
        if usable[k] and mean[k] >= bar:
            looks = max(k, leader)
            break
    # Least regret among the arms before, and least lack and price among those after.
    before, after = floats(arms + 1), floats(arms + 1)
    before[0] = 1e9
    after[arms] = 1e9
    for k in range(arms):
        before[k + 1] = min(before[k], regret[k]) if usable[k] else before[k]
    for k in range(arms - 1, -1, -1):
        after[k] = min(after[k + 1], lack[k] + prices[k]) if usable[k] else after[k + 1]
    arm, what, subject, against = leader, LEADER, leader, judge[leader]
    worth, its_gain, its_price = 1.0, 0.0, 0.0
    for k in range(arms):
        # Is arm k good enough?
        if k == leader or not usable[k] or good[k] >= 1 - 1e-9 or good[k] <= 1e-15:
            continue
        i = judge[k]
        pulled = k
        if i >= 0 and usable[i]:
            its_share = tells_most(handed[i], k2 * var[i], regret[i])
            if its_share > tells_most(handed[k], var[k], regret[k]):
                pulled = i
        side = pulled if pulled != leader else k
        price = max(regret[side] - regret[leader], 0.0) + EPS + judgement
        if k < leader:
            gain = good[k] * min(prices[looks] - prices[k], RATIO * price)
        else:
            # With k good enough, and with k not good enough.
            if_so = min(
                before[k],
                share[k] * prices[k] - paid[k],
                after[k + 1] - paid[k] - (1.0 - share[k]) * prices[k],
            )
            up = 1.0 / (1.0 - good[k])
            if_not = min(before[k], lack[k] * up + share[k] * prices[k] - paid[k])
            for j in range(k + 1, arms):
                if usable[j]:
                    shares = share[k] + (share[j] - share[k + 1]) * up
                    pays = paid[k] + (paid[j] - paid[k + 1]) * up
                    if_not = min(if_not, lack[j] + shares * prices[j] - pays)
            gain = regret[leader] - good[k] * if_so - (1.0 - good[k]) * if_not
            if k < looks:
                gain = max(gain, good[k] * min(prices[looks] - prices[k], price, regret[leader]))
        score = base * gain / ((handed[side] + 1.0) * price)
        if score > worth:
            arm, what, subject, against, worth = pulled, CHEAPER if k < leader else DEARER, k, i, score
            its_gain, its_price = gain, price
    # Is the leader good enough for judge i? If not, the best other choice has its own regret.
    trust = math.exp(-0.5 * z[leader] * z[leader]) if z[leader] < 0 else 1.0
    none = 1.0
    shared, spent = 0.0, 0.0
    ahead = 1e9
    for i in range(arms):
        surely = good[i] if mean[i] > mean[leader] and usable[i] else 0.0
        if i != leader and judging[i] and level < 0:
            spread = math.sqrt(var[leader] + k2 * var[i])
            exact = (mean[leader] - keep * mean[i]) / spread
            if exact <= 8.0:
                if exact > -SURE:
                    exact = root_for_judge(keep, pulls[leader], sums[leader], pulls[i], sums[i])
                other = ahead
                if usable[i]:
                    other = min(other, shared * prices[i] - spent)
                    tail = after_without(after, lack, prices, usable, i + 1, leader)
                    other = min(other, tail - spent - (1.0 - shared) * prices[i])
                else:
                    other = min(other, before[arms])
                u = exact + other / spread
                gain = spread * shortfall(u) if u > -6.0 else -u * spread
                own = tells_most(handed[leader], var[leader], regret[leader])
                pulled = i
                if not usable[i] or own > tells_most(handed[i], k2 * var[i], regret[i]):
                    pulled = leader
                price = max(regret[i] - regret[leader], 0.0)
                if i > leader:
                    price = max(price, trust * (prices[i] - prices[leader]))
                price += EPS + judgement
                score = base * gain / ((handed[i] + 1.0) * price)
                if score > worth:
                    arm, what, subject, against, worth = pulled, FOR_JUDGE, leader, i, score
                    its_gain, its_price = gain, price
        if i != leader and usable[i]:
            ahead = min(ahead, lack[i] + shared * prices[i] - spent)
        weight = none * surely
        shared += weight
        spent += weight * prices[i]
        none -= weight
    if arm == leader:
        for k in range(leader):
            if z[k] < 0 and usable[k]:
                i = judge[k]
                pulled = k
                own = tells_most(handed[k], var[k], regret[k])
                if (
                    i >= 0
                    and i != leader
                    and usable[i]
                    and tells_most(handed[i], k2 * var[i], regret[i]) > own
                ):
                    pulled = i
                price = max(regret[pulled] - regret[leader], 0.0) + EPS + judgement
                stakes = min((prices[leader] - prices[k]) / price, RATIO)
                often = stakes * CLOCK * (whole[leader] + 1.0) / (handed[pulled] + 1.0)
                if often > 0 and 0.5 * z[k] * z[k] < math.log(often):
                    return pulled, AGAIN, k, i, leader, stakes * price, price, often
    return arm, what, subject, against, leader, its_gain, its_price, worth


@inlined
def after_without(after: Any, lack: Any, prices: Any, usable: Any, start: int, left_out: int) -> float:
    """Return the least lack and price of the usable arms from `start` on, one of them left out."""
    if left_out < start:
        return after[start]
    least = after[left_out + 1]
    for j in range(start, left_out):
        if usable[j]:
            least = min(least, lack[j] + prices[j])
    return least
