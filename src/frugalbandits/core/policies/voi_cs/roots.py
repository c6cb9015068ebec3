"""How far an arm is from good enough: signed roots of likelihood ratios, and what is lacking on average."""

from __future__ import annotations

import math

from frugalbandits.core.jit import inlined, inner
from frugalbandits.core.likelihood import TINY, divergence, nearest

__all__ = [
    "MARGIN",
    "SURE",
    "expected_gap",
    "phi",
    "root_for_judge",
    "root_for_level",
    "shortfall",
]

MARGIN = 1.5  # judges whose z is within so much of the least are looked at exactly
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


@inlined
def expected_gap(exact: float, near: float, spread: float) -> float:
    """Return how much is lacking on average, by the signed root, its normal approximation and the scale."""
    return spread * shortfall(exact) if exact > -6.0 else -near * spread
