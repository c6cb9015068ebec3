"""Drifts by name: changes drawn for a problem with a seed, so that a world is explicit about them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from frugalbandits.core.quality import AtLeast
from frugalbandits.errors import InputError, unknown_name
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.worlds.happenings import Drift

__all__ = ["DRIFTS", "drift_of", "random_changes"]

# Means that are drawn stay off the ends, where rewards say nothing or all.
_LEAST, _MOST = 0.02, 0.98
_BEYOND = 0.1  # how far beyond the lowest and the highest mean new ones may lie
_WORSE = 0.7  # of the bar: what an option that gets worse falls to


def drift_of(name: str | int, problem: Problem, seed: int) -> tuple[Drift, ...]:
    """Return the changes of a drift by name, or a number of random ones.

    Examples
    --------
    >>> problem = Problem([0.3, 0.7, 0.8], [1, 2, 9], alpha=0.2)
    >>> [(change.at, change.option) for change in drift_of("worse", problem, seed=0)]
    [(0.3333333333333333, 'a2'), (0.6666666666666666, 'a3')]
    """
    rng = np.random.default_rng([seed, 1])
    if isinstance(name, str) and name in DRIFTS:
        return DRIFTS[name](problem, rng)
    number = int(name) if isinstance(name, int) or (isinstance(name, str) and name.isdecimal()) else -1
    if isinstance(name, bool) or number < 0:
        if isinstance(name, str):
            raise unknown_name("drift", name, (*DRIFTS, "a number of changes"))
        raise InputError(f"a drift is a list of changes, a number of them or a name, but it is {name!r}")
    return random_changes(problem, number, rng)


def random_changes(problem: Problem, number: int, rng: np.random.Generator) -> tuple[Drift, ...]:
    """Return changes spread over the run: each gives a random option a new random mean.

    Each falls into the middle half of its share of the run, so that there is time to notice it.
    """
    return tuple(
        Drift(
            float((place + 0.25 + 0.5 * rng.random()) / number),
            problem.names[rng.integers(problem.arms)],
            _new_mean(problem, rng),
        )
        for place in range(number)
    )


def _new_mean(problem: Problem, rng: np.random.Generator) -> float:
    low, high = float(problem.means.min()) - _BEYOND, float(problem.means.max()) + _BEYOND
    return float(np.clip(rng.uniform(low, high), _LEAST, _MOST))


def _worse(problem: Problem, rng: np.random.Generator) -> tuple[Drift, ...]:
    """Return changes by which the option to use gets worse, and then the one to use after it."""
    found: list[Drift] = []
    now = problem
    for moment in (1 / 3, 2 / 3):
        mean = _WORSE * now.threshold
        found.append(Drift(moment, now.names[now.optimal_arm], mean))
        now = _with_mean(now, now.optimal_arm, mean)
    return tuple(found)


def _slow(problem: Problem, rng: np.random.Generator) -> tuple[Drift, ...]:
    """Return changes by which every mean moves to another one, in a straight line over the whole run."""
    return tuple(Drift(0.0, name, _new_mean(problem, rng), over=1.0) for name in problem.names)


def _better(problem: Problem, rng: np.random.Generator) -> tuple[Drift, ...]:
    """Return a change by which an option that is not in use becomes the one to use.

    The cheapest option that is not good enough becomes as good as the best. Where every cheaper option than
    the one in use is missing, the next dearer one becomes so good that the one in use no longer is; under a
    bar that this cannot move, nothing changes.
    """
    cheaper = [
        arm for arm in problem.order.tolist() if problem.costs[arm] < problem.costs[problem.optimal_arm]
    ]
    if cheaper:
        return (Drift(0.5, problem.names[cheaper[0]], float(problem.means.max())),)
    others = [arm for arm in problem.order.tolist() if arm != problem.optimal_arm]
    if isinstance(problem.quality, AtLeast) or not others:
        return ()
    wanted = float(problem.means[problem.optimal_arm]) / (1.0 - problem.quality.alpha) + _BEYOND
    return (Drift(0.5, problem.names[others[0]], min(wanted, 1.0)),)


def _with_mean(problem: Problem, arm: int, mean: float) -> Problem:
    means = problem.means.copy()
    means[arm] = mean
    return Problem(means, problem.costs, names=problem.names, quality=problem.quality)


#: Drifts that have a name of their own.
DRIFTS: dict[str, Callable[[Problem, np.random.Generator], tuple[Drift, ...]]] = {
    "worse": _worse,
    "slow": _slow,
    "better": _better,
}
