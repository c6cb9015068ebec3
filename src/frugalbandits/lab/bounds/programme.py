"""The least regret that the lower bounds allow: a linear programme over expected pulls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.options import check_horizon
from frugalbandits.errors import InputError, lab_needed
from frugalbandits.lab.bounds.divergence import Rewards
from frugalbandits.lab.bounds.lower import Joint, joints, lower_pulls
from frugalbandits.lab.bounds.parts import Roles, roles
from frugalbandits.lab.instances.catalogue import as_problem
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.shown import Shown

__all__ = ["LeastRegret", "Objective", "least_regret"]

Objective = Literal["sum", "cost", "quality"]

# A bound is tight when it is met up to this share: what the solver leaves open.
_TIGHT = 1e-6
# The solver takes no entries of any size; one cut down to this moves the solution by less than its inverse.
_LARGEST = 1e9


@dataclass(frozen=True, eq=False)
class LeastRegret(Shown):
    """The least regret, and pulls that have it.

    Attributes
    ----------
    value
        The least regret; infinite where an arm that adds to it has an infinite bound.
    pulls
        Expected pulls that reach it, in the caller's order; for a*, what the others leave of the horizon.
    tight
        The bounds that these pulls meet exactly, in words.
    objective
        Which regret is least: "sum", "cost" or "quality".
    horizon
        T.
    problem
        What it is the least regret of.
    """

    value: float
    pulls: NDArray[np.float64]
    tight: tuple[str, ...]
    objective: Objective
    horizon: int
    problem: Problem

    @property
    def too_early(self) -> bool:
        """Whether the pulls exceed the horizon: then the bounds say nothing at this horizon yet."""
        return bool(self.pulls.sum() > self.horizon * (1 + _TIGHT))


def least_regret(
    problem: Problem | str,
    horizon: float,
    rewards: Rewards = "bernoulli",
    objective: Objective = "sum",
    sigma: float = 1.0,
) -> LeastRegret:
    """Return the least regret over all expected pulls that meet every individual and every joint bound.

    It is the yardstick for a policy: no consistent policy has less in the limit. The value is a constant
    of the problem times log T, also where T is too small for it (see `LeastRegret.too_early`): pulls are
    not held to sum to T, because pulls of a* are without regret and, in the limit, without end. A joint
    bound that a* can meet is therefore free.

    Examples
    --------
    >>> problem = Problem([0.2, 0.5, 0.7, 0.9], [1, 1.5, 2, 9], alpha=0.3)
    >>> least = least_regret(problem, 10_000)
    >>> round(least.value, 1), least.pulls.round(1).tolist()
    (670.3, [23.8, 263.2, 9623.6, 89.4])
    >>> least.tight
    ('a1: own bound (cheap)', 'a2: own bound (a† cheap)', 'joint bound against a2 (a† cheap): a4')
    """
    problem = as_problem(problem)
    total = check_horizon(horizon, problem.arms)
    gaps = _gaps(problem, objective)
    who = roles(problem)
    lower = lower_pulls(problem, horizon, rewards, sigma)
    every = joints(problem, horizon, rewards, sigma)
    endless = np.isinf(lower)
    binding = [bound for bound in every if not bound.free and not endless[bound.arms].any()]

    # In the order of costs, so that the caller's order has no say where several solutions are least.
    arms = np.array([arm for arm in problem.order if arm != who.optimal and not endless[arm]], np.int64)
    pulls = lower.copy()
    pulls[arms] = _solve(gaps[arms], lower[arms], [(bound.weights[arms], bound.level) for bound in binding])
    value = float(gaps[gaps > 0] @ pulls[gaps > 0])
    tight = _tight(who, lower, pulls, binding)
    pulls[who.optimal] = max(0.0, total - float(pulls.sum()))
    return LeastRegret(value, pulls, tight, objective, total, problem)


def _gaps(problem: Problem, objective: str) -> NDArray[np.float64]:
    if objective == "sum":
        return problem.cost_gaps + problem.quality_gaps
    if objective == "cost":
        return problem.cost_gaps
    if objective == "quality":
        return problem.quality_gaps
    raise InputError(f"objective must be 'sum', 'cost' or 'quality', but it is {objective!r}")


def _solve(
    gaps: NDArray[np.float64],
    lower: NDArray[np.float64],
    bounds: Sequence[tuple[NDArray[np.float64], float]],
) -> NDArray[np.float64]:
    """Return pulls of least regret; where arms without regret leave a choice, with fewest of their pulls."""
    if all(weights @ lower >= level for weights, level in bounds):
        return lower.copy()
    weights = np.array([row / level for row, level in bounds])
    free = gaps == 0
    pulls = lower.copy()
    if free.any():
        # What the arms without regret can do, they do; what is left is for the others.
        reach = weights[:, free].max(axis=1) > 0
        pulls[~free] = _programme(gaps[~free], lower[~free], weights[~reach][:, ~free], 1.0)
        rest = 1.0 - weights[:, ~free] @ pulls[~free]
        pulls[free] = _programme(np.ones(int(free.sum())), lower[free], weights[reach][:, free], rest[reach])
    else:
        pulls = _programme(gaps, lower, weights, 1.0)
    return pulls


def _programme(
    gaps: NDArray[np.float64],
    lower: NDArray[np.float64],
    weights: NDArray[np.float64],
    needed: NDArray[np.float64] | float,
) -> NDArray[np.float64]:
    """Return the pulls >= lower of least regret with weights @ pulls >= needed; all gaps are positive."""
    short = np.asarray(needed - weights @ lower)
    open_rows = np.flatnonzero(short > 0)
    if not open_rows.size:
        return lower.copy()
    with lab_needed("the least regret"):
        from scipy.optimize import linprog

    # In regret beyond the lower bounds, each row as a share of what it lacks, in units of the dearest row:
    # all numbers are then near 1, and the solver's tolerances are shares.
    rates = weights[open_rows] / gaps / short[open_rows, None]
    unit = float((1.0 / rates.max(axis=1)).max())
    solved = linprog(
        np.ones(gaps.size),
        A_ub=-np.minimum(rates * unit, _LARGEST),
        b_ub=-np.ones(open_rows.size),
        bounds=(0, None),
        method="highs",
    )
    if solved.status != 0:
        raise AssertionError(f"a programme with a solution was not solved: {solved.message}")
    beyond: NDArray[np.float64] = np.maximum(np.asarray(solved.x, np.float64), 0.0)
    return lower + beyond * unit / gaps


def _tight(
    who: Roles, lower: NDArray[np.float64], pulls: NDArray[np.float64], bounds: Sequence[Joint]
) -> tuple[str, ...]:
    names = who.problem.names
    found = []
    for arm in who.problem.order.tolist():
        if math.isinf(lower[arm]):
            found.append(f"{names[arm]}: own bound ({who.label(arm)}), which is infinite")
        elif lower[arm] > 0 and pulls[arm] <= lower[arm] * (1 + _TIGHT):
            found.append(f"{names[arm]}: own bound ({who.label(arm)})")
    for bound in bounds:
        if bound.evidence(pulls) <= bound.level * (1 + _TIGHT):
            helpers = " + ".join(names[arm] for arm in who.problem.order if arm in bound.arms)
            found.append(f"joint bound against {names[bound.arm]} ({who.label(bound.arm)}): {helpers}")
    return tuple(found)
