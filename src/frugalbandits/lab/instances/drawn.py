"""Problems at random, by a seed."""

from __future__ import annotations

import math
import operator
from typing import TypeAlias

import numpy as np

from frugalbandits.core.quality import check_alpha
from frugalbandits.errors import InputError
from frugalbandits.lab.problem import Problem

__all__ = [
    "random_problem",
    "random_problems",
]

_Ends: TypeAlias = tuple[float, float]


def random_problem(
    arms: int,
    alpha: float,
    seed: int,
    means: tuple[float, float] = (0.05, 0.95),
    costs: tuple[float, float] = (0.0, 1.0),
    decimals: int | None = None,
) -> Problem:
    """Draw means and costs uniformly from (lowest, highest); the arms stay in the order drawn.

    With `decimals`, draws are rounded to that many places, possibly past the ends of their range.

    Examples
    --------
    >>> random_problem(arms=4, alpha=0.1, seed=7, decimals=2).means.tolist()
    [0.61, 0.86, 0.75, 0.25]
    """
    rng = np.random.default_rng(_whole("seed", seed, least=0))
    return _draw(rng, _whole("arms", arms, least=2), alpha, means, costs, decimals)


def random_problems(
    count: int,
    arms: tuple[int, int] = (3, 12),
    alpha: tuple[float, float] = (0.02, 0.6),
    seed: int = 0,
    means: tuple[float, float] = (0.05, 0.95),
    costs: tuple[float, float] = (0.0, 1.0),
    decimals: int | None = None,
) -> list[Problem]:
    """Draw a family of problems with the number of arms and alpha drawn too, from (lowest, highest).

    Problem i depends on the seed, i and the ranges, not on `count`; the rest is as in `random_problem`.

    Examples
    --------
    >>> [problem.arms for problem in random_problems(4, seed=1)]
    [3, 12, 7, 4]
    >>> random_problems(2, seed=1) == random_problems(4, seed=1)[:2]
    True
    """
    _range("arms", arms)
    fewest, most = (_whole("arms", end, least=2) for end in arms)
    lowest, highest = (check_alpha(end) for end in _range("alpha", alpha))
    root = np.random.SeedSequence(_whole("seed", seed, least=0))
    family = []
    for child in root.spawn(_whole("count", count, least=0)):
        rng = np.random.default_rng(child)
        size = int(rng.integers(fewest, most, endpoint=True))
        family.append(_draw(rng, size, rng.uniform(lowest, highest), means, costs, decimals))
    return family


def _draw(
    rng: np.random.Generator, arms: int, alpha: float, means: _Ends, costs: _Ends, decimals: int | None
) -> Problem:
    drawn_means = rng.uniform(*_range("means", means, 0.0, 1.0), size=arms)
    drawn_costs = rng.uniform(*_range("costs", costs), size=arms)
    if decimals is not None:
        places = _whole("decimals", decimals, least=0)
        drawn_means, drawn_costs = np.round(drawn_means, places), np.round(drawn_costs, places)
    return Problem(drawn_means, drawn_costs, alpha)


def _whole(what: str, value: int, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{what} must be a whole number, but it is {value!r}") from None
    if number < least:
        raise InputError(f"{what} must be at least {least}, but it is {value!r}")
    return number


def _range(what: str, ends: _Ends, floor: float = -math.inf, ceiling: float = math.inf) -> _Ends:
    try:
        low, high = (float(end) for end in ends)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} must be a pair of numbers, but it is {ends!r}") from None
    if not (floor <= low <= high <= ceiling and math.isfinite(high - low)):
        within = f" within [{floor:g}, {ceiling:g}]" if math.isfinite(floor) else ""
        raise InputError(f"{what} must be (lowest, highest){within}, but it is {ends!r}")
    return low, high
