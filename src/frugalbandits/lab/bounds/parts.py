"""The parts that arms play in the bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.quality import AtLeast
from frugalbandits.lab.instances.catalogue import as_problem
from frugalbandits.lab.problem import Problem

__all__ = ["Roles", "roles"]


@dataclass(frozen=True, eq=False)
class Roles:
    """Who is who, in the caller's arm order.

    Attributes
    ----------
    optimal
        a*, the cheapest feasible arm.
    best
        i*, the arm of highest mean.
    dagger
        The cheap arm of highest mean, the hardest to rule out; None where there is no cheap arm.
    cheap, expensive
        Which arms stand before and after a* in the order of costs. Arms that cost the same stand in the
        caller's order, as in COF, so that an arm with the cost of a* is one or the other.
    judges
        Which arms could make another one infeasible, were they better: all of them, the reference of a bar
        relative to one arm, none under a fixed level. A level that no arm reaches leaves the best arm to look
        for, which is a bar relative to the best arm with nothing given up.
    keep
        The share of a judge's mean that is good enough, 1 - alpha.
    """

    problem: Problem
    optimal: int
    best: int
    dagger: int | None
    cheap: NDArray[np.bool_]
    expensive: NDArray[np.bool_]
    judges: NDArray[np.bool_]
    keep: float

    def label(self, arm: int) -> str:
        """Say what part an arm plays.

        Examples
        --------
        >>> problem = Problem([0.2, 0.5, 0.7, 0.8], [1, 1, 2, 9], alpha=0.2)
        >>> [roles(problem).label(arm) for arm in range(4)]
        ['cheap', 'a† cheap', 'a*', 'i* expensive']
        """
        stars = {"a*": self.optimal, "i*": self.best, "a†": self.dagger}
        parts = [star for star, place in stars.items() if place == arm]
        if arm == self.problem.reference:
            parts.append("ref")
        if self.cheap[arm]:
            parts.append("cheap")
        if self.expensive[arm]:
            same = self.problem.costs[arm] == self.problem.costs[self.optimal]
            parts.append("same cost" if same else "expensive")
        return " ".join(parts)


def roles(problem: Problem | str) -> Roles:
    """Return the parts that the arms of a problem play.

    Examples
    --------
    >>> problem = Problem([0.8, 0.2, 0.5, 0.7], [9, 1, 1.5, 2], alpha=0.2)
    >>> who = roles(problem)
    >>> who.optimal, who.best, who.dagger, who.cheap.tolist()
    (3, 0, 2, [False, True, True, False])
    """
    problem = as_problem(problem)
    rank = np.empty(problem.arms, np.int64)
    rank[problem.order] = np.arange(problem.arms)
    star = rank[problem.optimal_arm]
    before = problem.order[:star]
    dagger = int(before[np.argmax(problem.means[before])]) if star else None
    bar = problem.quality
    judges = np.ones(problem.arms, np.bool_)
    if isinstance(bar, AtLeast):
        judges[:] = not problem.attainable
    elif problem.reference is not None:
        judges = np.arange(problem.arms) == problem.reference
    keep = 1.0 if isinstance(bar, AtLeast) else 1.0 - bar.alpha
    return Roles(
        problem, problem.optimal_arm, problem.best_arm, dagger, rank < star, rank > star, judges, keep
    )
