"""What hangs on an arm: which beliefs are worth a pull, and the regret that a pull is expected to have.

Beliefs are those of a uniform prior: mean a = (s + 1) / (n + 2) and variance a (1 - a) / (n + 2).

*Stakes.* Let b be the cheapest arm that looks good enough, and costs be over what a unit of quality is worth.
An arm j that costs more can be wrongly believed in by about its standard deviation, and a pull of it costs
(c_j - c_b) + (bar - m_j)^+. A cheaper arm can save c_b - c_j a pull, and a pull of it costs bar - m_j. Where
what is to be gained a pull is less than what a pull costs, log(t / n) is less by the logarithm of the ratio.

*Expected regret.* Arm l is good enough with a probability of about Phi(-z), where z = (bar - m_l) / sd and
sd^2 is the variance of m_l - (1 - alpha) max m; on average it falls short by sd (phi(z) + z Phi(z)).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.jit import inlined, inner

__all__ = ["chance_and_shortfall", "weigh_stakes"]


@inlined
def variance(pulls: float, total: float) -> float:
    """Return the variance of what is believed of a mean."""
    mean = (total + 1) / (pulls + 2)
    return mean * (1 - mean) / (pulls + 2)


@inlined
def discount(gain: float, cost: float) -> float:
    """Return min(0, log(gain / cost))."""
    if gain >= cost:
        return 0.0
    return math.log(gain / cost) if gain > 0 else -np.inf


@inner
def weigh_stakes(
    arms: Any, prices: NDArray[np.float64], candidate: int, last: int, b: int, bar: float
) -> None:
    """Lower the evidence that is enough for arms that little hangs on."""
    for j in range(candidate, last + 1):
        gap = bar - arms[j].average
        if j > b:
            gain = math.sqrt(variance(arms[j].pulls, arms[j].total))
            arms[j].enough += discount(gain, prices[j] - prices[b] + max(gap, 0.0))
        elif j < b:
            arms[j].enough += discount(prices[b] - prices[j], gap)


@inner
def chance_and_shortfall(arms: Any, arm: int, best: int, keep: float) -> tuple[float, float]:
    """Return how likely an arm is to be good enough, and by how much it falls short on average."""
    own = variance(arms[arm].pulls, arms[arm].total)
    sd = math.sqrt(own + keep * keep * variance(arms[best].pulls, arms[best].total))
    z = (keep * arms[best].average - arms[arm].average) / sd
    short = 0.5 * math.erfc(-z / math.sqrt(2.0))
    density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return 0.5 * math.erfc(z / math.sqrt(2.0)), sd * (density + z * short)
