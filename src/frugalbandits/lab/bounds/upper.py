"""COF's upper bounds: Lemmas cheap_arms_ub and expensive_overall_ub, Theorem cof_regret_ub.

All of them are the lemmas' form for a general delta, with log(1 / delta) where the theorem, whose delta is
T^-2, has 2 log T, and T^2 delta where it has 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.options import check_horizon
from frugalbandits.core.quality import RelativeToBest
from frugalbandits.errors import InputError
from frugalbandits.lab.bounds.parts import Roles, roles
from frugalbandits.lab.instances.catalogue import as_problem
from frugalbandits.lab.problem import Problem

__all__ = ["CofUpper", "Rounds", "cof_upper", "rounds"]

# Gaps below this share of the means are zero, as where a `Problem` decides what is feasible.
_SAME = 1e-12


class Rounds(NamedTuple):
    """A candidate tau_{l,p}: rounds after which the p arms of highest mean rule a cheap arm out.

    Attributes
    ----------
    arms
        p, how many arms share the work.
    pulls
        tau_{l,p}, pulls of each of them.
    feasible
        Whether all p of them count until then: none is paused by the BAI-filter before, by its own bound,
        and none has so small a gap that its confidence radius swallows it.
    """

    arms: int
    pulls: float
    feasible: bool


@dataclass(frozen=True, eq=False)
class CofUpper:
    """COF's upper bounds on pulls and on regret.

    Attributes
    ----------
    pulls
        Upper bounds on expected pulls, in the caller's order; the horizon for a*. They may exceed the
        horizon, and are infinite where a gap is zero: then they say nothing.
    cost_regret, quality_regret
        The bounds of Theorem cof_regret_ub.
    dagger_pulls, optimal_pulls
        gamma^dagger and gamma^a* of each expensive arm, 0 for the others: what the episodes of the best
        cheap arm and of a* may take.
    combined
        A, how many arms share the work of ruling the best cheap arm out; 0 where no arm is cheap.
    delta
        COF's error tolerance.
    """

    pulls: NDArray[np.float64]
    cost_regret: float
    quality_regret: float
    dagger_pulls: NDArray[np.float64]
    optimal_pulls: NDArray[np.float64]
    combined: int
    delta: float

    @property
    def summed_regret(self) -> float:
        """Bound on cost regret plus quality regret."""
        return self.cost_regret + self.quality_regret


def cof_upper(
    problem: Problem | str, horizon: float, delta: float | None = None, combine: bool = True
) -> CofUpper:
    """Return COF's upper bounds.

    Parameters
    ----------
    problem
        The arms, their true means and costs, and alpha. Rewards lie in [0, 1].
    horizon
        T; greater than the number of arms.
    delta
        COF's error tolerance. By default the theorem's, T^-2. A simulated COF has K^2 / T^2 unless told
        otherwise: ``COF(delta=...)``.
    combine
        Let several arms share the work of ruling the best cheap arm out, with the paper's choice of how
        many. Without, i* does it alone: the part of the proof that stands without the BAI-filter.

    Examples
    --------
    >>> problem = Problem([0.2, 0.7, 0.8], [1, 2, 9], alpha=0.2)
    >>> upper = cof_upper(problem, 10_000)
    >>> upper.pulls.round(1).tolist()
    [763.2, 10000.0, 40937.8]
    >>> round(upper.cost_regret), round(upper.quality_regret, 1)
    (286565, 336.2)
    """
    problem = as_problem(problem)
    _check_bar(problem)
    total = check_horizon(horizon, problem.arms)
    tolerance = _delta(delta, total)
    limit = -math.log(tolerance)
    slack = float(total) ** 2 * tolerance
    who = roles(problem)
    keep, means = 1.0 - problem.alpha, problem.means
    star = float(means[who.optimal])
    best = float(means[who.best])

    pulls = np.zeros(problem.arms)
    pulls[who.cheap] = 8 * limit / problem.quality_gaps[who.cheap] ** 2 + 2 * slack
    combined, reach = _dagger(who, limit, combine)
    dagger_pulls = np.minimum(reach, _per_square(8 * limit, best - means, best))
    optimal_pulls = _per_square(8 * limit, star - keep * means, star)
    # The paper's K, where K is at least 3: what the lemmas leave over is the larger of K and 3.
    over = max(problem.arms, 3) * slack
    pulls[who.expensive] = np.maximum(dagger_pulls, optimal_pulls)[who.expensive] + over
    costs, qualities = problem.cost_gaps, problem.quality_gaps
    cost = _regret(costs, pulls)
    # The theorem gives cheap arms the larger constant too.
    quality = _regret(qualities, pulls) + float(qualities[who.cheap].sum()) * (over - 2 * slack)
    pulls[who.optimal] = total
    return CofUpper(
        pulls,
        cost,
        quality,
        np.where(who.expensive, dagger_pulls, 0.0),
        np.where(who.expensive, optimal_pulls, 0.0),
        combined,
        tolerance,
    )


def rounds(
    problem: Problem | str, horizon: float, delta: float | None = None, arm: int | None = None
) -> tuple[Rounds, ...]:
    """Return every candidate tau_{l,p} for a cheap arm l, p from 1 on; by default for the best of them.

    The least feasible one is the bound of Lemma expensive_in_episode_ell, and its p is the paper's A. The
    first is always feasible. Without a cheap arm there are none.

    Examples
    --------
    >>> problem = Problem([0.3, 0.8, 0.81, 0.79], [1, 2, 3, 9], alpha=0.1)
    >>> for candidate in rounds(problem, 10_000):
    ...     print(candidate.arms, round(candidate.pulls, 1), candidate.feasible)
    1 800.7 True
    2 702.3 True
    3 668.0 True
    """
    problem = as_problem(problem)
    _check_bar(problem)
    total = check_horizon(horizon, problem.arms)
    limit = -math.log(_delta(delta, total))
    who = roles(problem)
    if arm is not None and (arm not in range(problem.arms) or not who.cheap[arm]):
        raise InputError(f"arm must be the number of a cheap arm, one before a*, but it is {arm!r}")
    chosen = who.dagger if arm is None else int(arm)
    return () if chosen is None else _candidates(who, chosen, limit)


def _check_bar(problem: Problem) -> None:
    if not isinstance(problem.quality, RelativeToBest):
        raise InputError(
            "COF's upper bound is proved for a bar relative to the best arm only, but it is "
            f"{problem.quality!r}"
        )


def _candidates(who: Roles, arm: int, limit: float) -> tuple[Rounds, ...]:
    problem = who.problem
    # By mean from the highest on, equal ones from the cheapest on: i* comes first.
    ranked = problem.order[np.argsort(-problem.means[problem.order], kind="stable")]
    gaps = (1.0 - problem.alpha) * problem.means[ranked] - float(problem.means[arm])
    able = gaps > _SAME * float(problem.means[who.best])
    gaps, ranked = gaps[able], ranked[able]
    count = np.arange(1, gaps.size + 1)
    together = np.cumsum(gaps**2)
    # tau_{l,p} and the confidence radius there, (3 sqrt(p) + 1) beta = sqrt(sum of squares).
    pulls = (3 * np.sqrt(count) + 1) ** 2 / 2 * limit / together
    radius = np.sqrt(together) / (3 * np.sqrt(count) + 1)
    # Gaps fall and pauses come sooner along the ranking, so the last of p arms decides for all of them.
    best = float(problem.means[who.best])
    paused = _per_square(8 * limit, best - problem.means[ranked], best)
    feasible = (gaps >= 3 * radius) & (pulls <= paused)
    return tuple(Rounds(int(p), float(n), bool(ok)) for p, n, ok in zip(count, pulls, feasible, strict=True))


def _dagger(who: Roles, limit: float, combine: bool) -> tuple[int, float]:
    """Return A and tau_dagger; both 0 where no arm is cheap."""
    if who.dagger is None:
        return 0, 0.0
    candidates = _candidates(who, who.dagger, limit)
    chosen = candidates if combine else candidates[:1]
    least = min((one for one in chosen if one.feasible), key=lambda one: one.pulls)
    return least.arms, least.pulls


def _per_square(numerator: float, gaps: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Return numerator / gap^2, infinite for a gap of zero."""
    real = gaps > _SAME * scale
    return np.where(real, numerator / np.where(real, gaps, 1.0) ** 2, np.inf)


def _regret(gaps: NDArray[np.float64], pulls: NDArray[np.float64]) -> float:
    return float(gaps[gaps > 0] @ pulls[gaps > 0])


def _delta(delta: float | None, horizon: int) -> float:
    if delta is None:
        return float(horizon) ** -2
    if not isinstance(delta, int | float | np.number) or not 0.0 < float(delta) < 1.0:
        raise InputError(f"delta must lie strictly between 0 and 1, but it is {delta!r}")
    return float(delta)
