"""How unlikely counts make a mean: the divergence of Bernoulli laws, and the means that it leaves over."""

from __future__ import annotations

import math

from frugalbandits.core.jit import inlined

__all__ = ["TINY", "divergence", "greatest", "interval", "nearest"]

# A level that was rounded to 0 is taken for this: at a minimum no divergence is infinite.
TINY = 1e-300


@inlined
def divergence(pulls: float, total: float, level: float, rest: float) -> float:
    """Return n kl(m, q) for q = `level`; `rest` is 1 - q, which may be known better than the difference."""
    value = 0.0
    if total > 0:
        value += total * math.log(total / (pulls * max(level, TINY)))
    failures = pulls - total
    if failures > 0:
        value += failures * math.log(failures / (pulls * max(rest, TINY)))
    return max(value, 0.0)


@inlined
def nearest(keep: float, pulls_l: float, total_l: float, pulls: float, total: float) -> tuple[float, float]:
    """Return y and z = 1 - y, each precise, where n_l kl(m_l, kappa y) + n kl(m, y) is least.

    The product of the two roots is known, so a small y is had from the other root.
    """
    alpha = 1 - keep
    failures = pulls - total
    d = (keep * pulls_l - total_l) + keep * failures - alpha * pulls
    whole = 2 * keep * (pulls_l + pulls)
    last = 2 * alpha * failures
    root = math.sqrt(d * d + whole * last)
    if d > 0:
        z, other = (d + root) / whole, -last / (d + root)
    else:
        z, other = last / (root - d) if root > d else 0.0, (d - root) / whole
    return min(2 * (total_l + total) / whole / (1 - other), 1.0), min(z, 1.0)


@inlined
def greatest(pulls: float, total: float) -> float:
    """Return the greatest log-likelihood of rewards with this sum, s log m + (n - s) log(1 - m)."""
    value = 0.0
    if total > 0:
        value += total * math.log(total / pulls)
    if pulls - total > 0:
        value += (pulls - total) * math.log((pulls - total) / pulls)
    return value


def interval(pulls: float, total: float, limit: float) -> tuple[float, float]:
    """Return the means q with n kl(m, q) <= limit.

    Examples
    --------
    >>> [round(end, 4) for end in interval(100, 80, 3.0)]
    [0.6913, 0.8851]
    >>> interval(0, 0, 3.0)
    (0.0, 1.0)
    """

    def end(low: float, high: float, inside_is_low: bool) -> float:
        for _ in range(60):
            middle = 0.5 * (low + high)
            if (divergence(pulls, total, middle, 1 - middle) <= limit) == inside_is_low:
                low = middle
            else:
                high = middle
        return low if inside_is_low else high

    if pulls == 0:
        return 0.0, 1.0
    mean = total / pulls
    return end(0.0, mean, False), end(mean, 1.0, True)
