"""The two tests of GLR-COF: generalised likelihood ratios of Bernoulli arms, in closed form.

Both ask how far the data are from the nearest means that would make the opposite true. With kl the
Bernoulli divergence, kappa = 1 - alpha, n pulls, reward sum s and mean m of each arm, candidate l:

- *for* the candidate, against a more expensive arm i:
  Z_i = min over y of n_l kl(m_l, kappa y) + n_i kl(m_i, y) if kappa m_i < m_l, else 0;
- *against* the candidate, all arms together:
  W = min over y of n_l kl(m_l, kappa y) + sum over k with m_k > y of n_k kl(m_k, y).

Where the derivative of n_l kl(m_l, kappa y) + n kl(m, y) is 0, a quadratic in y is 0. In z = 1 - y it reads

    kappa (n_l + n) z^2 - D z - alpha (n - s) = 0,   D = (kappa n_l - s_l) + kappa (n - s) - alpha n,

whose only root that is not negative needs no difference of nearly equal numbers under the square root.
For W the arms above y count as one arm. Arms below y are dropped until none is left to drop; y only rises,
and ends at the minimum.

With a tolerance eps the candidate needs to be within eps only, so Z_i has kappa y - eps in place of kappa y.
That is a cubic, and its root is found by Newton's method.

Under a fixed level x the other arms have no part in it: Z = n_l kl(m_l, x - eps) if m_l > x - eps, and
W = n_l kl(m_l, x) if m_l < x. Relative to one arm, W has that arm alone in its sum.

The functions take records, one an arm: compiled code counts the references of every array it is handed. In
plain Python, where a record of an array is slow, each is an `Arm`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from frugalbandits.core.jit import inlined, inner
from frugalbandits.core.likelihood import divergence, nearest

__all__ = [
    "ARM",
    "Arm",
    "above_level",
    "below_level",
    "evidence_against",
    "evidence_for",
    "evidence_of_one",
    "penalty",
]


class Arm:
    """All that the tests and the sampling look at of an arm."""

    __slots__ = (
        "active",
        "average",
        "enough",
        "evidence",
        "handed",
        "judge",
        "penalty",
        "pulls",
        "total",
        "usable",
    )

    def __init__(self, pulls: float, handed: float, total: float, judge: bool, usable: bool = True) -> None:
        self.pulls = pulls
        self.handed = handed  # pulls with those whose feedback is out, as `facts` counts them
        self.total = total  # sum of the rewards
        self.average = total / pulls if pulls > 0 else 0.0
        self.judge = judge  # whether it may disqualify a candidate
        self.usable = usable  # whether it may be pulled now
        self.active = False  # whether it has a part in W
        self.penalty = 0.0  # what the proven threshold takes off this arm's evidence
        self.evidence = 0.0  # Z_i
        self.enough = 0.0  # evidence beyond which it is not worth a pull now


# The same as a record.
ARM = np.dtype(
    [(name, np.bool_ if name in ("active", "judge", "usable") else np.float64) for name in Arm.__slots__],
    align=True,
)


@inlined
def penalty(pulls: float) -> float:
    """Return what a mixture over all means pays for not knowing the mean, log(1 + pi n) / 2."""
    return 0.5 * math.log(1 + math.pi * pulls)


@inner
def nearest_within(
    keep: float, tolerance: float, pulls_l: float, total_l: float, pulls: float, total: float
) -> float:
    """Return y where n_l kl(m_l, kappa y - eps) + n kl(m, y) is least.

    The derivative has the sign of a cubic between the means, which changes it once: Newton's steps,
    and bisection where they lead out of the bracket.
    """
    mean_l = total_l / pulls_l
    mean = total / pulls if pulls > 0 else 0.0
    low = max(mean, tolerance / keep)
    high = min((mean_l + tolerance) / keep, 1.0)
    y = 0.5 * (low + high)
    for _ in range(200):
        x = keep * y - tolerance
        value = pulls_l * keep * (x - mean_l) * y * (1 - y) + pulls * (y - mean) * x * (1 - x)
        slope_l = keep * y * (1 - y) + (x - mean_l) * (1 - 2 * y)
        slope = x * (1 - x) + (y - mean) * keep * (1 - 2 * x)
        if value < 0:
            low = y
        else:
            high = y
        following = y - value / (pulls_l * keep * slope_l + pulls * slope)
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - y) <= 1e-13:
            break
        y = following
    return y


@inner
def evidence_for(arms: Any, candidate: int, i: int, keep: float, tolerance: float) -> None:
    """Set Z_i: how sure it is that the candidate l is good enough for arm i."""
    pulls_l, total_l = arms[candidate].pulls, arms[candidate].total
    pulls, total = arms[i].pulls, arms[i].total
    value = 0.0
    mean = total / pulls if pulls > 0 else 0.0
    if pulls_l > 0 and tolerance >= keep:
        value = np.inf  # within eps of any bar
    elif pulls_l > 0 and keep * mean - tolerance < total_l / pulls_l:
        if tolerance > 0:
            y = nearest_within(keep, tolerance, pulls_l, total_l, pulls, total)
            z = 1 - y
        else:
            y, z = nearest(keep, pulls_l, total_l, pulls, total)
        x = keep * y - tolerance
        value = divergence(pulls_l, total_l, x, (1 - keep) + keep * z + tolerance)
        value += divergence(pulls, total, y, z)
        value -= arms[candidate].penalty + arms[i].penalty
    arms[i].evidence = max(value, 0.0)


@inner
def drop_to_level(arms: Any, candidate: int, keep: float) -> tuple[float, float]:
    """Drop active arms below the level at which their joint evidence is least, until none is; return it.

    Dropping an arm below the level can only raise the level, so no arm would have to come back. An arm at
    the level stays: with a mean of 1 it is what holds the level there. Returns y and z = 1 - y, and for y
    the value -1 where no arm is active.
    """
    pulls_l, total_l = arms[candidate].pulls, arms[candidate].total
    y, z = -1.0, 0.0
    while True:
        pulls = 0.0
        total = 0.0
        for k in range(len(arms)):
            if arms[k].active:
                pulls += arms[k].pulls
                total += arms[k].total
        if pulls == 0:
            return y, z
        y, z = nearest(keep, pulls_l, total_l, pulls, total)
        dropped = False
        for k in range(len(arms)):
            if arms[k].active and arms[k].total < arms[k].pulls * y:
                arms[k].active = False
                dropped = True
        if not dropped:
            return y, z


@inner
def evidence_against(arms: Any, candidate: int, keep: float, entry: float) -> float:
    """Return W: how sure it is that the candidate l is not good enough for all arms.

    With the proven threshold every arm pays its penalty and `entry`, and the arms that are not worth it
    are left out.
    """
    pulls_l, total_l = arms[candidate].pulls, arms[candidate].total
    for k in range(len(arms)):
        judge = arms[k].judge and k != candidate
        arms[k].active = judge and keep * arms[k].total * pulls_l > total_l * arms[k].pulls
    y, z = drop_to_level(arms, candidate, keep)
    if y < 0:
        return 0.0
    value = -arms[candidate].penalty
    if entry > 0:
        best = 0
        most = -np.inf
        for k in range(len(arms)):
            if arms[k].active:
                net = divergence(arms[k].pulls, arms[k].total, y, z) - arms[k].penalty - entry
                arms[k].active = net > 0
                if net > most:
                    best, most = k, net
        arms[best].active = True
        y, z = drop_to_level(arms, candidate, keep)
        value -= 1
    value += divergence(pulls_l, total_l, keep * y, (1 - keep) + keep * z)
    for k in range(len(arms)):
        if arms[k].active:
            value += divergence(arms[k].pulls, arms[k].total, y, z) - arms[k].penalty - entry
    return max(value, 0.0)


@inner
def evidence_of_one(arms: Any, candidate: int, k: int, keep: float) -> float:
    """Return W with arm k alone in its sum and nothing taken off: never more than with all arms."""
    pulls_l, total_l = arms[candidate].pulls, arms[candidate].total
    pulls, total = arms[k].pulls, arms[k].total
    if k == candidate or keep * total * pulls_l <= total_l * pulls:
        return 0.0
    y, z = nearest(keep, pulls_l, total_l, pulls, total)
    return divergence(pulls_l, total_l, keep * y, (1 - keep) + keep * z) + divergence(pulls, total, y, z)


@inner
def above_level(arms: Any, candidate: int, level: float) -> float:
    """Return Z under a fixed level: how sure it is that the candidate is above it."""
    pulls, total = arms[candidate].pulls, arms[candidate].total
    if pulls == 0 or total <= pulls * level:
        return 0.0
    if level < 0:
        return np.inf  # within eps of it whatever the mean
    return max(divergence(pulls, total, level, 1 - level) - arms[candidate].penalty, 0.0)


@inner
def below_level(arms: Any, candidate: int, level: float) -> float:
    """Return W under a fixed level: how sure it is that the candidate is below it."""
    pulls, total = arms[candidate].pulls, arms[candidate].total
    if pulls == 0 or total >= pulls * level:
        return 0.0
    return max(divergence(pulls, total, level, 1 - level) - arms[candidate].penalty, 0.0)
