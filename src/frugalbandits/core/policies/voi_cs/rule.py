"""Which arm to pull next, by what knowing more is worth: a function of counts and sums alone.

`beliefs` has p_k, S_k, D_k and the leader b.

- *Questions.* Is arm k good enough? Is the leader good enough for judge i? The answer is worth what knowing
  it would save at each of the pulls to come, and costs the regret of pulling whichever side of the question
  tells most for its regret. The question with the most worth for its price is asked, if that is above 1.
- *Caution.* A cheaper arm that bad luck ruled out is a loss at every pull, and nothing tells of it. So the
  chance that it is good enough counts more than once where a mistake would be large beside all that was
  spent on questions: 10 n_b (c_b - c_k) / spent times, at least once and at most 100 times. Under a fixed
  level the same holds for a leader that looks good enough: with what it lacks if it is not in place of
  c_b - c_k.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from frugalbandits.core.jit import inlined, inner
from frugalbandits.core.likelihood import TINY
from frugalbandits.core.policies.looking import floats, wholes
from frugalbandits.core.policies.voi_cs.beliefs import BLOCK, NOTHING, SAME, Beliefs, expect, weigh
from frugalbandits.core.policies.voi_cs.roots import SURE, expected_gap, phi, root_for_judge, root_for_level

__all__ = ["AGAIN", "CHEAPER", "DEARER", "FOR_JUDGE", "LEADER", "Choice", "choose"]

# What a pull is for.
LEADER = 0  # no question: the arm with the least expected regret
CHEAPER = 1  # is a cheaper arm good enough?
DEARER = 2  # is a dearer arm good enough, and so perhaps better than the leader?
FOR_JUDGE = 3  # is the leader good enough for this judge?
AGAIN = 4  # is a cheaper arm good enough? Asked only out of caution

EPS = 1e-4  # no pull is free
RATIO = 50.0  # what a question may save, over what it costs: more is not believed
SERVES = 0.3  # the share of the pulls to come that it serves to be sure: that takes long
HALF = math.sqrt(0.5)  # by so much doubt moves when twice as much is known
CAUTION = 10.0  # how many times a loss counts that is as large as all that was spent
MOST = 100.0  # and how many times at most
ROUNDING = 2e-15  # of a sum of regrets, for each arm: several times what rounding can do
LUCKY = 1e-3  # a leader with a root above this looks good enough, and may do so by luck


class Choice(NamedTuple):
    """The arm to pull, and what for."""

    arm: int
    what: int
    subject: int  # the arm in question
    judge: int
    leader: int
    gain: float  # what the answer would save a pull
    price: float  # what a pull costs
    worth: float  # of asking: above 1


@inlined
def tells(pulls: float, var: float, regret: float) -> float:
    """Return how much of the doubt a pull of an arm takes away for its regret."""
    return var / ((pulls + 1.0) * (regret + EPS))


@inlined
def judge_tells(beliefs: Any, handed: Any, keep: float, arm: int, judge: int) -> float:
    """Return how many times as much a pull of the judge says for its regret as one of the arm it judges."""
    there = tells(handed[judge], keep * keep * beliefs.var[judge], beliefs.regret[judge])
    return there / tells(handed[arm], beliefs.var[arm], beliefs.regret[arm])


@inner
def spent_so_far(leader: int, whole: Any, regret: Any) -> float:
    """Return the regret of all pulls beside that of as many of the leader, as it is believed now."""
    total = EPS
    for k in range(len(regret)):
        total += whole[k] * max(regret[k] - regret[leader], 0.0)
    return total


@inner
def saved_by(k: int, leader: int, looks: int, prices: Any, usable: Any, price: float, beliefs: Any) -> float:
    """Return what it would save a pull to know whether arm k, dearer than the leader, is good enough."""
    lack, share, paid, good = beliefs.lack, beliefs.share, beliefs.paid, beliefs.good[k]
    least = beliefs.before[k]
    if_so = min(least, share[k] * prices[k] - paid[k])
    if_so = min(if_so, beliefs.after[k + 1] - paid[k] - (1.0 - share[k]) * prices[k])
    up = 1.0 / (1.0 - good)
    if_not = min(least, lack[k] * up + share[k] * prices[k] - paid[k])
    # If k is not good enough, arm j loses at most what k costs less, times how likely k was the target.
    arms = len(prices)
    weight = share[k + 1] - share[k]
    slack = ROUNDING * (arms + 16) * up * (1.0 + prices[arms - 1])
    for block in range((k + 1) // BLOCK, (arms + BLOCK - 1) // BLOCK):
        end = min((block + 1) * BLOCK, arms)
        if beliefs.blocks[block] - weight * (prices[end - 1] - prices[k]) - slack > if_not:
            continue
        for j in range(max(k + 1, block * BLOCK), end):
            if usable[j]:
                shares = share[k] + (share[j] - share[k + 1]) * up
                pays = paid[k] + (paid[j] - paid[k + 1]) * up
                if_not = min(if_not, lack[j] + shares * prices[j] - pays)
    now = beliefs.regret[leader]
    gain = now - good * if_so - (1.0 - good) * if_not
    if k < looks:
        gain = max(gain, good * min(prices[looks] - prices[k], price, now))
    return gain


@inner
def ask_of_arms(
    leader: int,
    looks: int,
    handed: Any,
    prices: Any,
    usable: Any,
    keep: float,
    base: float,
    judgement: float,
    risk: float,
    beliefs: Any,
) -> Choice:
    """Return the question "is arm k good enough?" that is worth most for its price."""
    best = Choice(leader, LEADER, leader, beliefs.judge[leader], leader, 0.0, 0.0, 1.0)
    good, regret = beliefs.good, beliefs.regret
    for k in range(len(prices)):
        if k == leader or not usable[k] or good[k] >= 1 - 1e-9 or good[k] <= 1e-15:
            continue
        i = beliefs.judge[k]
        pulled = k
        if i >= 0 and usable[i] and judge_tells(beliefs, handed, keep, k, i) > 1 + SAME:
            pulled = i
        side = pulled if pulled != leader else k
        price = max(regret[side] - regret[leader], 0.0) + EPS + judgement
        caution = 1.0
        if k < leader:
            caution = min(max(risk * (prices[leader] - prices[k]), 1.0), MOST)
            gain = good[k] * min(prices[looks] - prices[k], RATIO * price)
        else:
            gain = saved_by(k, leader, looks, prices, usable, price, beliefs)
        worth = SERVES * base * caution * gain / ((handed[side] + 1.0) * price)
        if worth > best.worth * (1 + SAME):
            what = CHEAPER if k < leader else DEARER
            if worth <= caution:
                what = AGAIN
            best = Choice(pulled, what, k, i, leader, gain, price, worth)
    return best


@inlined
def saved_by_leaving(exact: float, other: float, spread: float) -> tuple[float, float]:
    """Return what it would save a pull to know how much the leader lacks, when another choice loses `other`.

    With twice as much known, doubt has moved a little; to be sure takes long and serves less. The second
    value is what a pull of the leader loses on average if it lacks more than `other`.
    """
    u = exact + other / spread
    gain = expected_gap(u / HALF, u / HALF, spread * HALF)
    lack = expected_gap(u, u, spread)
    return max(gain, SERVES * lack), lack / max(phi(-u), TINY)


@inner
def ask_for_judges(
    pulls: Any,
    sums: Any,
    handed: Any,
    prices: Any,
    usable: Any,
    judging: Any,
    keep: float,
    level: float,
    base: float,
    judgement: float,
    risk: float,
    beliefs: Any,
    best: Choice,
) -> Choice:
    """Return the question "is the leader good enough for judge i?" that is worth most, if it beats `best`.

    Under a fixed level, the leader is good enough for a judge if it reaches the level or the judge's mean.
    """
    leader = best.leader
    mean, var, z, regret, lack = beliefs.mean, beliefs.var, beliefs.z, beliefs.regret, beliefs.lack
    # "If the leader is not good enough, the judge is free": taken on trust only as far as it is likely.
    trust = math.exp(-0.5 * z[leader] * z[leader]) if z[leader] < 0 else 1.0
    deviation = math.sqrt(var[leader])
    at_level = root_for_level(level, pulls[leader], sums[leader]) if level >= 0 else 0.0
    share, paid, none, ahead = 0.0, 0.0, 1.0, NOTHING
    for i in range(len(prices)):
        spread = math.sqrt(var[leader] + keep * keep * var[i])
        exact = (mean[leader] - keep * mean[i]) / spread
        if i != leader and judging[i] and exact <= 8.0:
            if exact > -SURE:
                exact = root_for_judge(keep, pulls[leader], sums[leader], pulls[i], sums[i])
            # The regret of the best other choice, if this judge is good enough.
            other = ahead
            if usable[i]:
                rest = beliefs.without[i + 1]
                other = min(other, share * prices[i] - paid, rest - paid - (1.0 - share) * prices[i])
            else:
                other = min(other, beliefs.before[len(prices)])
            gain, loss = saved_by_leaving(exact, other, spread)
            caution = 1.0
            if level >= 0:
                # The leader lacks no more than the level asks for, however good the judge is.
                most, at_most = saved_by_leaving(at_level, other, deviation)
                gain, loss = min(gain, most), min(loss, at_most)
                if max(exact, at_level) > LUCKY:
                    caution = min(max(risk * loss, 1.0), MOST)
            pulled = leader
            if usable[i] and judge_tells(beliefs, handed, keep, leader, i) >= 1 - SAME:
                pulled = i
            price = max(regret[i] - regret[leader], 0.0)
            if i > leader:
                price = max(price, trust * (prices[i] - prices[leader]))
            price += EPS + judgement
            worth = base * caution * gain / ((handed[i] + 1.0) * price)
            if worth > best.worth * (1 + SAME):
                best = Choice(pulled, FOR_JUDGE, leader, i, leader, gain, price, worth)
        if usable[i]:
            if i != leader:
                ahead = min(ahead, lack[i] + share * prices[i] - paid)
            if mean[i] > mean[leader]:
                weight = none * beliefs.good[i]
                share += weight
                paid += weight * prices[i]
                none -= weight
    return best


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
) -> Choice:
    """Return which arm to pull, and what for.

    `pulls` and `sums` are what was told, `handed` is what pulls count towards balance, `whole` the same with
    those that were for no question. `base` is how many pulls are to come, and `judgement` the price of
    feedback. At least one arm is usable.
    """
    arms = len(pulls)
    beliefs = Beliefs(
        floats(arms),
        floats(arms),
        floats(arms),
        wholes(arms),
        floats(arms),
        floats(arms),
        floats(arms),
        floats(arms + 1),
        floats(arms + 1),
        floats(arms + 1),
        floats(arms + 1),
        floats(arms + 1),
        floats(arms // BLOCK + 1),
    )
    weigh(pulls, sums, judging, keep, level, beliefs)
    leader = expect(prices, usable, beliefs)
    best = 0.0
    for k in range(arms):
        if judging[k]:
            best = max(best, beliefs.mean[k])
    bar = min(level, best) if level >= 0 else keep * best
    looks = leader  # the cheapest that looks good enough, or the leader if that is dearer
    for k in range(arms):
        if usable[k] and beliefs.mean[k] >= bar:
            looks = max(k, leader)
            break
    risk = CAUTION * (whole[leader] + 1.0) / spent_so_far(leader, whole, beliefs.regret)
    choice = ask_of_arms(leader, looks, handed, prices, usable, keep, base, judgement, risk, beliefs)
    return ask_for_judges(
        pulls, sums, handed, prices, usable, judging, keep, level, base, judgement, risk, beliefs, choice
    )
