"""Tails of Beta posteriors: an envelope for each, its mass, and exact draws from the tail under it.

Beta densities with parameters of at least 1 are log-concave. So beyond a level x past the mode the
density lies below the exponential through its value and slope at x, and it lies below its own maximum
everywhere. The smaller of these two envelopes is used. With probability `mass` a point is drawn from
the envelope and accepted with probability density / envelope: acceptance has just the probability of
the tail, and an accepted point is a draw from it. No quantile and no distribution function is needed.

Log densities are differences of log gamma functions, good to about 1e-8 at millions of pulls; this is
the relative error of the tail probabilities. The log gamma function is our own: that of Python's library and
that of compiled code differ in the last digit, and the two must make the same draws.
"""

from __future__ import annotations

import math
from typing import Any

from frugalbandits.core.jit import inlined

__all__ = ["log_gamma", "log_norm", "mass", "steepness", "tail_point"]

ABOVE = 1
BELOW = -1


# Stirling's series is good to 1e-14 from here on.
STIRLING_FROM = 10.0
HALF_LOG_2_PI = 0.91893853320467274178


@inlined
def log_gamma(x: float) -> float:
    """Return log Gamma(x) for x >= 1: Stirling's series, after a shift by the recurrence where x is small."""
    shift = 1.0
    while x < STIRLING_FROM:
        shift *= x
        x += 1
    part = 1 / (x * x)
    series = 1 / 12 - part * (1 / 360 - part * (1 / 1260 - part * (1 / 1680 - part / 1188)))
    return (x - 0.5) * math.log(x) - x + HALF_LOG_2_PI + series / x - math.log(shift)


@inlined
def log_norm(a: float, b: float) -> float:
    """-log B(a, b)."""
    return log_gamma(a + b) - log_gamma(a) - log_gamma(b)


@inlined
def log_density(a: float, b: float, norm: float, x: float) -> float:
    """Log density at x; 0 log 0 is 0, so that the ends of the interval are allowed."""
    log_x = (a - 1) * math.log(x) if a > 1 else 0.0
    log_rest = (b - 1) * math.log1p(-x) if b > 1 else 0.0
    return norm + log_x + log_rest


@inlined
def steepness(a: float, b: float, x: float, side: int) -> float:
    """How fast the log density falls at x in the direction of the tail; negative before the mode."""
    return -side * ((a - 1) / x - (b - 1) / (1 - x))


@inlined
def mass(a: float, b: float, norm: float, x: float, log_x: float, log_rest: float, side: int) -> float:
    """Mass of the smaller envelope of the tail beyond x, at most 1.

    log x and log(1 - x) come from outside: one level serves many arms.
    """
    steep = steepness(a, b, x, side)
    width = 1 - x if side > 0 else x
    if steep * width > 1:
        return min(1.0, math.exp(norm + (a - 1) * log_x + (b - 1) * log_rest) / steep)
    peak = x if steep > 0 else (a - 1) / (a + b - 2)
    return min(1.0, math.exp(log_density(a, b, norm, peak)) * width)


@inlined
def tail_point(a: float, b: float, norm: float, x: float, side: int, rate: float, rng: Any) -> float:
    """Return a draw from the tail beyond x, or -1 if the point under the envelope was rejected.

    `rate`, at least the envelope's mass, is the probability that this is called with; a surplus is
    thinned out here.
    """
    steep = steepness(a, b, x, side)
    width = 1 - x if side > 0 else x
    if steep * width > 1:
        distance = rng.standard_exponential() / steep
        log_envelope = math.log(rate * steep) - steep * distance
    else:
        distance = rng.random() * width
        log_envelope = math.log(rate / width)
    point = x + side * distance
    if not 0.0 < point < 1.0:
        return -1.0
    accepted = math.log(1 - rng.random()) <= log_density(a, b, norm, point) - log_envelope
    return point if accepted else -1.0
