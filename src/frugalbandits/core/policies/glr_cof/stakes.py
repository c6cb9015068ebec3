"""What hangs on an arm: which beliefs are worth a pull, and the regret that a pull is expected to have.

Beliefs are those of a uniform prior: mean a = (s + 1) / (n + 2) and variance a (1 - a) / (n + 2).

*Stakes.* Let b be the cheapest arm that looks good enough, and costs be over what a unit of quality is worth.
An arm j that costs more can be wrongly believed in by about its standard deviation, and a pull of it costs
(c_j - c_b) + (bar - m_j)^+. A cheaper arm can save c_b - c_j a pull, and a pull of it costs bar - m_j. The
logarithm of what is to be gained over what a pull costs is added to log(t / n): for an arm that costs more
where it is negative, for a cheaper one up to log 3. Without that addition, of two arms that are almost
equally good enough and cost as differently as can be, an unlucky start of the cheap one lasts too long.

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

GREATEST_STAKES = 3.0  # of a cheaper arm: what it can save over what a pull of it costs


@inlined
def variance(pulls: float, total: float) -> float:
    """Return the variance of what is believed of a mean."""
    mean = (total + 1) / (pulls + 2)
    return mean * (1 - mean) / (pulls + 2)


@inlined
def log_stakes(gain: float, cost: float, most: float) -> float:
    """Return log(gain / cost), at most log(most)."""
    if gain >= most * cost:
        return math.log(most)
    return math.log(gain / cost) if gain > 0 else -np.inf


@inner
def weigh_stakes(
    arms: Any, prices: NDArray[np.float64], candidate: int, last: int, b: int, bar: float
) -> None:
    """Add the logarithms of stakes to the evidence that is enough."""
    for j in range(candidate, last + 1):
        gap = bar - arms[j].average
        if j > b:
            gain = math.sqrt(variance(arms[j].pulls, arms[j].total))
            arms[j].enough += log_stakes(gain, prices[j] - prices[b] + max(gap, 0.0), 1.0)
        elif j < b:
            arms[j].enough += log_stakes(prices[b] - prices[j], gap, GREATEST_STAKES)


@inner
def chance_and_shortfall(arms: Any, arm: int, best: int, keep: float) -> tuple[float, float]:
    """Return how likely an arm is to be good enough, and by how much it falls short on average."""
    own = variance(arms[arm].pulls, arms[arm].total)
    sd = math.sqrt(own + keep * keep * variance(arms[best].pulls, arms[best].total))
    z = (keep * arms[best].average - arms[arm].average) / sd
    short = 0.5 * math.erfc(-z / math.sqrt(2.0))
    density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return 0.5 * math.erfc(z / math.sqrt(2.0)), sd * (density + z * short)
