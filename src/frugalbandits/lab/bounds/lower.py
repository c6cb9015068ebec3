"""Lower bounds on the pulls of every consistent policy: Theorems lb_low_cost, lb_high_cost and lb_joint.

The theorems speak of the limit of E[n] / log T. At a horizon T the numbers here are the limit times log T.

The paper's quality bar is relative to the best arm. Under another one the same change of measure needs fewer
arms: a dearer arm, or one of the set A^k, must be a judge (see `roles`). Under a fixed level that some arm
reaches, only cheap arms must be pulled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from frugalbandits.core.options import check_horizon
from frugalbandits.errors import InputError
from frugalbandits.lab.bounds.divergence import Rewards, check_family, d_inf, reverse_d_inf
from frugalbandits.lab.bounds.parts import Roles, roles
from frugalbandits.lab.instances.catalogue import as_problem
from frugalbandits.lab.problem import Problem

__all__ = ["Joint", "best_arm_pulls", "joint", "joints", "lower_pulls"]


def lower_pulls(
    problem: Problem | str, horizon: float, rewards: Rewards = "bernoulli", sigma: float = 1.0
) -> NDArray[np.float64]:
    """Return how often each arm must be pulled at least, in the caller's order; 0 for a*.

    A cheap arm must be told from one that is good enough, an expensive arm from one so good that a* would
    not be. The bound is infinite where that gap is zero: then log T pulls, times any constant, are too
    few. It is 0 where no Bernoulli mean could be so good, and where the bar does not hang on the arm.

    Parameters
    ----------
    problem
        The arms, their true means and costs, and alpha.
    horizon
        T; greater than the number of arms.
    rewards
        "bernoulli", or "gaussian" with standard deviation sigma.
    sigma
        Standard deviation of Gaussian rewards.

    Examples
    --------
    >>> problem = Problem([0.2, 0.7, 0.8], [1, 2, 9], alpha=0.2)
    >>> lower_pulls(problem, 10_000).round(1).tolist()
    [22.7, 0.0, 412.8]
    >>> lower_pulls(problem, 10_000, "gaussian", sigma=0.5).round(1).tolist()
    [23.8, 0.0, 818.7]
    """
    problem = as_problem(problem)
    level = math.log(check_horizon(horizon, problem.arms))
    check_family(rewards, sigma)
    who = roles(problem)
    bars = np.where(who.cheap, problem.threshold, float(problem.means[who.optimal]) / who.keep)
    with np.errstate(divide="ignore"):
        pulls = level / d_inf(problem.means, bars, rewards, sigma)
    pulls[~(who.cheap | who.judges)] = 0.0
    pulls[who.optimal] = 0.0
    return pulls


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint bound: pulls of several arms, weighted, reach a level together.

    Attributes
    ----------
    arm
        The cheap arm k that must be ruled out.
    weights
        What one pull of each arm says against k: the least divergence from the arm's rewards to rewards
        that k would be good enough for. Positive for the arms of the set A^k only.
    level
        What is needed, log T.
    optimal
        The arm a*.
    """

    arm: int
    weights: NDArray[np.float64]
    level: float
    optimal: int

    @property
    def arms(self) -> NDArray[np.int64]:
        """The set A^k: the arms that can rule k out."""
        return np.flatnonzero(self.weights > 0)

    @property
    def free(self) -> bool:
        """Whether the bound costs nothing: a* is in the set, or a single pull may settle it."""
        return bool(self.weights[self.optimal] > 0 or np.isinf(self.weights).any())

    def evidence(self, pulls: ArrayLike) -> float:
        """Return the weighted sum of pulls."""
        counts = np.asarray(pulls, np.float64)
        return float(self.weights[self.arms] @ counts[self.arms])


def joint(
    problem: Problem | str,
    horizon: float,
    rewards: Rewards = "bernoulli",
    sigma: float = 1.0,
    arm: int | None = None,
) -> Joint | None:
    """Return the joint bound for a cheap arm: by default for the best of them, which is the tightest.

    The sum of weights times expected pulls is at least the level. The paper's form for Gaussian rewards
    is this one times 2 (1 - alpha)^2 on both sides.

    Returns
    -------
    Joint or None
        None where no arm is cheap: then nothing has to be ruled out. None, too, under a fixed level that some
        arm reaches: then no other arm can speak against a cheap one.

    Examples
    --------
    >>> problem = Problem([0.2, 0.5, 0.7, 0.9], [1, 1.5, 2, 9], alpha=0.3)
    >>> bound = joint(problem, 10_000, "gaussian")
    >>> bound.arm, bound.arms.tolist(), bound.weights.round(6).tolist(), round(bound.level, 3)
    (1, [3], [0.0, 0.0, 0.0, 0.017245], 9.21)
    >>> joint(problem, 10_000, arm=0).arms.tolist()
    [1, 2, 3]
    """
    problem = as_problem(problem)
    level = math.log(check_horizon(horizon, problem.arms))
    check_family(rewards, sigma)
    who = roles(problem)
    if arm is not None:
        whole = isinstance(arm, int | np.integer) and not isinstance(arm, bool)
        if not whole or not 0 <= arm < problem.arms or not who.cheap[arm]:
            cheap = ", ".join(map(str, np.flatnonzero(who.cheap))) or "none"
            raise InputError(
                f"arm must be the number of a cheap arm, one before a*, but it is {arm!r}; "
                f"the cheap ones are: {cheap}"
            )
    chosen = who.dagger if arm is None else int(arm)
    return None if chosen is None or not who.judges.any() else _joint(who, level, rewards, sigma, chosen)


def joints(
    problem: Problem | str, horizon: float, rewards: Rewards = "bernoulli", sigma: float = 1.0
) -> tuple[Joint, ...]:
    """Return the joint bounds of all cheap arms, from the cheapest on.

    Examples
    --------
    >>> problem = Problem([0.2, 0.5, 0.7, 0.9], [1, 1.5, 2, 9], alpha=0.3)
    >>> [bound.arm for bound in joints(problem, 10_000)]
    [0, 1]
    """
    problem = as_problem(problem)
    level = math.log(check_horizon(horizon, problem.arms))
    check_family(rewards, sigma)
    who = roles(problem)
    if not who.judges.any():
        return ()
    return tuple(_joint(who, level, rewards, sigma, arm) for arm in problem.order.tolist() if who.cheap[arm])


def best_arm_pulls(
    problem: Problem | str, horizon: float, rewards: Rewards = "bernoulli", sigma: float = 1.0
) -> float:
    """Return the earlier lower bound on the pulls of i* alone, a special case of the joint bound.

    It is what Juneja, Joe-Wong and Yagan (2025) prove where no arm but i* can rule the best cheap arm out,
    and 0 where another arm can, or where no arm is cheap.

    Examples
    --------
    >>> problem = Problem([0.2, 0.5, 0.7, 0.9], [1, 1.5, 2, 9], alpha=0.3)
    >>> round(best_arm_pulls(problem, 10_000, "gaussian"), 2)
    534.09
    """
    problem = as_problem(problem)
    bound = joint(problem, horizon, rewards, sigma)
    if bound is None or bound.arms.tolist() != [problem.best_arm]:
        return 0.0
    return bound.level / float(bound.weights[problem.best_arm])


def _joint(who: Roles, level: float, rewards: Rewards, sigma: float, arm: int) -> Joint:
    means = who.problem.means
    weights = reverse_d_inf(means, float(means[arm]) / who.keep, rewards, sigma)
    weights[~who.judges] = 0.0
    weights.setflags(write=False)
    return Joint(arm, weights, level, who.optimal)
