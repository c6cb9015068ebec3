"""Which arm to pull so that the average quality is at the bar: a function of counts and sums, and of a draw.

Arms have prices c_k, scaled to their range. Of n_k rewards with the mean m_k:

- s_k = sd_k / sqrt(n_k), sd_k^2 = (n_k m_k (1 - m_k) + 1/2) / (n_k + 2), and
  U_k = min(1, m_k + s_k sqrt(2 log t) + log t / (3 (n_k + 1))). No prior moves m_k: the bar follows it.
- *The bar* B is the level, (1 - a) m_r of the reference, or (1 - a) times the best mean: the mean of all m_k
  with the weights erfc((m_top - m_k) / sqrt(2 (s_k^2 + s_top^2)))^2, because the largest of several means
  that are nearly the same is too large.
- *Evidence* is pulled of an arm that sets the bar while its mean, and so the bar, is known too little: n
  pulls of it lose w n, and an error of the bar by sd_k / sqrt(n) loses lambda (1 - a) sd_k t / sqrt(n) at t
  pulls. Both together are least at n = (lambda (1 - a) sd_k t / (2 w))^(2/3).
- *The mix* is the cheapest one at B, with m_k + s_k z_k / 2 for the means, z_k normal: an arm that had bad
  luck gets a chance. Its dear arm is pulled while the average so far is short of B (in *debt*), else its
  cheap one.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from frugalbandits.core.jit import inlined, inner
from frugalbandits.core.policies.looking import floats
from frugalbandits.core.policies.mix_cs.hull import Pair, cheapest_pair

__all__ = [
    "ALONE",
    "BEST",
    "CHEAP",
    "DEAR",
    "EVIDENCE",
    "LOOK",
    "Beliefs",
    "bar_of",
    "believe",
    "choose",
    "debt_of",
]

# What a pull is for.
LOOK = 0  # every arm is looked at a few times
EVIDENCE = 1  # how high is the bar?
CHEAP = 2  # the average is at the bar: the cheap arm of the mix
DEAR = 3  # the average is short of it: the dear one
ALONE = 4  # no mix is cheaper than this arm, which is good enough
BEST = 5  # no arm seems to reach the bar

LOOKS = 4  # at every arm, before anything else
UNKNOWN = 0.05  # the share of decisions that goes to an arm that no feedback comes of
MOST = 0.2  # and to one of which evidence is wanted
SPENT = 0.1  # the share of all spending that makes sure of a coarse bar
COARSE, FINE = 0.25, 0.1  # parts of what may be given up, to which the bar is known then, and at most
SPREAD = 0.5  # how far draws go
DEAREST = 5.0  # how many times the price of quality an arm's hope may count


class Beliefs(NamedTuple):
    """What counts and sums say of each arm."""

    mean: Any
    sd: Any  # of one reward
    error: Any  # of the mean
    upper: Any


class Choice(NamedTuple):
    """The arm to pull, what for, and the mix, the bar and the debt that it follows from."""

    arm: int
    what: int
    pair: Pair
    bar: float
    debt: float


@inner
def believe(pulls: Any, sums: Any, time: float) -> Beliefs:
    """Return what is believed of each arm; an arm without a reward may be anything."""
    arms = len(pulls)
    beliefs = Beliefs(floats(arms), floats(arms), floats(arms), floats(arms))
    log = math.log(max(time, 1.0))
    for k in range(arms):
        n = pulls[k]
        mean = min(sums[k] / n, 1.0) if n > 0 else 0.5
        sd = math.sqrt((n * mean * (1.0 - mean) + 0.5) / (n + 2.0))
        error = sd / math.sqrt(max(n, 1.0))
        upper = mean + error * math.sqrt(2.0 * log) + log / (3.0 * (n + 1.0))
        beliefs.mean[k], beliefs.sd[k], beliefs.error[k] = mean, sd, error
        beliefs.upper[k] = min(upper, 1.0) if n > 0 else 1.0
    return beliefs


@inner
def bar_of(pulls: Any, keep: float, reference: int, level: float, beliefs: Any) -> float:
    """Return what the average quality has to be."""
    if level >= 0:
        return level
    mean, error = beliefs.mean, beliefs.error
    if reference >= 0:
        return keep * mean[reference]
    top = best_of(pulls, mean)
    total, weights = 0.0, 0.0
    for k in range(len(mean)):
        if pulls[k] > 0 or k == top:
            apart = (mean[top] - mean[k]) / math.sqrt(2.0 * (error[k] * error[k] + error[top] * error[top]))
            weight = math.erfc(apart) ** 2
            total += weight * mean[k]
            weights += weight
    return keep * total / weights


@inlined
def best_of(pulls: Any, mean: Any) -> int:
    """Return the arm with the highest mean among those with rewards, or the first."""
    top = -1
    for k in range(len(mean)):
        if pulls[k] > 0 and (top < 0 or mean[k] > mean[top]):
            top = k
    return max(top, 0)


@inner
def debt_of(pulls: Any, decided: Any, mean: Any, bar: float) -> float:
    """Return what all decisions so far are short of the bar; those not judged count as their arm's mean."""
    debt = 0.0
    for k in range(len(mean)):
        if pulls[k] > 0:
            debt += decided[k] * (bar - mean[k])
    return debt


@inner
def first_looks(pulls: Any, pending: Any, counts: Any, usable: Any, time: float) -> int:
    """Return the arm that was looked at least, while one was looked at too little; -1 for none."""
    found = -1
    for k in range(len(counts)):
        if usable[k]:
            unheard = pulls[k] + pending[k] < LOOKS and counts[k] < UNKNOWN * time
            if (counts[k] < LOOKS or unheard) and (found < 0 or counts[k] < counts[found]):
                found = k
    return found


@inner
def needs_evidence(
    k: int, known: float, count: float, time: float, share: float, prices: Any, keep: float, bar: float,
    hopeful: float, pair: Pair, beliefs: Any,
) -> bool:  # fmt: skip
    """Tell whether an arm that sets the bar should be pulled because the bar is known too little.

    `known` is what counts of it, `count` how often it was decided on, `share` the share of feedback that
    comes, `hopeful` the price of quality at the bar that this arm would set with luck.
    """
    if count >= MOST * time:
        return False
    sd = beliefs.sd[k]
    regret = prices[k] - pair.cost - pair.slope * (beliefs.mean[k] - bar)
    regret = max(regret, 0.02 * pair.slope + 1e-4)
    worth = (keep * hopeful * sd * time * share / (2.0 * regret)) ** (2.0 / 3.0)
    given_up = max((1.0 - keep) * bar, 1e-9)
    if known < min(worth, (2.0 * sd / (FINE * given_up)) ** 2):
        return True
    return known < (2.0 * sd / (COARSE * given_up)) ** 2 and count * prices[k] < SPENT * time * pair.cost


@inner
def evidence(
    known: Any, counts: Any, time: float, share: float, prices: Any, usable: Any, keep: float,
    reference: int, bar: float, pair: Pair, top: int, beliefs: Any,
) -> int:  # fmt: skip
    """Return the arm of which evidence is wanted most, by how few pulls it has; -1 for none."""
    found = -1
    for k in range(len(counts)):
        if not usable[k] or (reference >= 0 and k != reference):
            continue
        if reference < 0 and beliefs.upper[k] < beliefs.mean[top]:
            continue
        # The stake is valued at the bar that the arm may set: at one that has fallen it would look small.
        hope = cheapest_pair(beliefs.mean, prices, usable, max(keep * beliefs.upper[k], bar))
        most = DEAREST * max(pair.slope, 1.0)
        hopeful = min(max(hope.slope, pair.slope), most) if hope.reached else most
        wanted = needs_evidence(
            k, known[k], counts[k], time, share, prices, keep, bar, hopeful, pair, beliefs
        )
        if wanted and (found < 0 or known[k] < known[found]):
            found = k
    return found


@inner
def choose(
    pulls: Any, sums: Any, pending: Any, counts: Any, decided: Any, share: float, prices: Any, usable: Any,
    keep: float, reference: int, level: float, rng: Any,
) -> Choice:  # fmt: skip
    """Return which arm to pull, and what for.

    `pulls` and `sums` are what counts of what was told, `pending` is still out, `counts` are decisions and
    `decided` those of them that the average is held over. At least one arm is usable.
    """
    arms = len(counts)
    time = 0.0
    for k in range(arms):
        time += counts[k]
    beliefs = believe(pulls, sums, time)
    bar = bar_of(pulls, keep, reference, level, beliefs)
    pair = cheapest_pair(beliefs.mean, prices, usable, bar)
    debt = debt_of(pulls, decided, beliefs.mean, bar)
    arm = first_looks(pulls, pending, counts, usable, time)
    if arm >= 0:
        return Choice(arm, LOOK, pair, bar, debt)
    if level < 0:
        known = floats(arms)
        for k in range(arms):
            known[k] = pulls[k] + share * pending[k]
        top = best_of(pulls, beliefs.mean)
        arm = evidence(known, counts, time, share, prices, usable, keep, reference, bar, pair, top, beliefs)
        if arm >= 0:
            return Choice(arm, EVIDENCE, pair, bar, debt)
    drawn = floats(arms)
    for k in range(arms):
        drawn[k] = beliefs.mean[k] + SPREAD * beliefs.error[k] * rng.standard_normal()
    mix = cheapest_pair(drawn, prices, usable, bar)
    if not mix.reached:
        best = mix.high
        for k in range(arms):
            if usable[k] and beliefs.upper[k] > beliefs.upper[best]:
                best = k
        return Choice(best, BEST, pair, bar, debt)
    if mix.low == mix.high:
        return Choice(mix.high, ALONE, pair, bar, debt)
    return Choice(mix.high if debt > 0 else mix.low, DEAR if debt > 0 else CHEAP, pair, bar, debt)
