"""Every bound of a problem side by side: what a table or a figure shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.options import check_horizon
from frugalbandits.core.quality import RelativeToBest
from frugalbandits.lab.bounds.divergence import Rewards
from frugalbandits.lab.bounds.lower import Joint, joint, lower_pulls
from frugalbandits.lab.bounds.parts import Roles, roles
from frugalbandits.lab.bounds.programme import LeastRegret, Objective, least_regret
from frugalbandits.lab.bounds.upper import CofUpper, cof_upper
from frugalbandits.lab.instances.catalogue import as_problem
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.shown import Shown

__all__ = ["FAMILIES", "OBJECTIVES", "Overview", "overview"]

FAMILIES: tuple[Rewards, ...] = ("gaussian", "bernoulli")
OBJECTIVES: tuple[Objective, ...] = ("cost", "quality", "sum")


@dataclass(frozen=True, eq=False)
class Overview(Shown):
    """All bounds of one problem at one horizon; arrays are in the caller's order.

    Attributes
    ----------
    lower
        Lower bounds on pulls, for each kind of rewards.
    joint
        The joint bound of the best cheap arm, for each kind of rewards.
    least
        The least regret, for each kind of rewards and each objective.
    upper
        COF's upper bounds; None where the bar is not relative to the best arm.
    sigma
        Standard deviation of the Gaussian rewards.
    """

    problem: Problem
    horizon: int
    roles: Roles
    lower: dict[Rewards, NDArray[np.float64]]
    joint: dict[Rewards, Joint | None]
    least: dict[tuple[Rewards, Objective], LeastRegret]
    upper: CofUpper | None
    sigma: float


def overview(
    problem: Problem | str, horizon: float, sigma: float = 1.0, delta: float | None = None
) -> Overview:
    """Return all bounds of a problem.

    Examples
    --------
    >>> problem = Problem([0.2, 0.7, 0.8], [1, 2, 9], alpha=0.2)
    >>> shown = overview(problem, 10_000)
    >>> round(shown.least["bernoulli", "sum"].value, 1), round(shown.upper.summed_regret)
    (2899.7, 286901)
    """
    problem = as_problem(problem)
    return Overview(
        problem,
        check_horizon(horizon, problem.arms),
        roles(problem),
        {family: lower_pulls(problem, horizon, family, sigma) for family in FAMILIES},
        {family: joint(problem, horizon, family, sigma) for family in FAMILIES},
        {
            (family, objective): least_regret(problem, horizon, family, objective, sigma)
            for family in FAMILIES
            for objective in OBJECTIVES
        },
        cof_upper(problem, horizon, delta) if isinstance(problem.quality, RelativeToBest) else None,
        sigma,
    )
