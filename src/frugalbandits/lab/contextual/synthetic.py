"""Routing problems at random, by a seed: queries with features and segments, options with their skills."""

from __future__ import annotations

import operator

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.quality import Quality, RelativeToBest
from frugalbandits.core.settings import check_flag
from frugalbandits.errors import InputError
from frugalbandits.lab.contextual.problem import ContextualProblem

__all__ = ["synthetic_routing"]

_LEAST, _MOST = 0.02, 0.98  # means stay within
_DEAREST = 40.0  # times the cost of the cheapest option


def synthetic_routing(
    seed: int,
    options: int = 4,
    features: int = 8,
    segments: int = 5,
    misspecified: bool = False,
    queries: int = 5_000,
    quality: Quality | str | None = None,
) -> ContextualProblem:
    """Draw a routing problem.

    Queries have a segment and normal features around a centre that the segment has. Options cost from 1 to
    about 40, and the dearer are the better, more or less; each has strengths of its own: directions of the
    features and segments on which it does better or worse.

    Parameters
    ----------
    seed
        The same seed gives the same problem.
    options, features, segments, queries
        How many of each; at least 2 options, 1 feature, 1 segment and 1 query.
    misspecified
        Mean rewards are linear in features and segments, as policies assume; with True they are a logistic
        function with products of features, so that no linear model is right.
    quality
        The bar; by default 0.05 below the best option.

    Examples
    --------
    >>> problem = synthetic_routing(seed=3)
    >>> problem
    ContextualProblem(5,000 queries, 4 options, 8 features, 5 segments, relative-to-best:0.05, bar=0.8131)
    """
    place = _whole("seed", seed, 0)
    count, width = _whole("options", options, 2), _whole("features", features, 1)
    groups, size = _whole("segments", segments, 1), _whole("queries", queries, 1)
    wrong = check_flag("misspecified", misspecified)
    rng = np.random.default_rng(np.random.SeedSequence(place, spawn_key=(1 if wrong else 0,)))
    segment = rng.choice(groups, size, p=rng.dirichlet(np.full(groups, 4.0)))
    centres = 0.7 * rng.standard_normal((groups, width))
    known = centres[segment] + rng.standard_normal((size, width))
    skill = np.clip(np.linspace(0.0, 1.0, count) + 0.15 * rng.standard_normal(count), 0.0, 1.05)
    effects = _effects(rng, known, segment, groups, count, wrong)
    # From weak to strong: weaker options are hurt more by what makes a query hard.
    score = effects * (1.2 - 0.7 * skill)
    if wrong:
        means = 1.0 / (1.0 + np.exp(-(0.2 + 1.9 * skill + 1.1 * score)))
    else:
        means = 0.52 + 0.32 * skill + 0.15 * score
    costs = _DEAREST ** np.linspace(0.0, 1.0, count) * np.exp(0.15 * rng.standard_normal(count))
    return ContextualProblem(
        known,
        [f"s{each + 1}" for each in segment],
        np.clip(means, _LEAST, _MOST),
        np.round(costs, 3),
        RelativeToBest(0.05) if quality is None else quality,
    )


def _effects(
    rng: np.random.Generator,
    known: NDArray[np.float64],
    segment: NDArray[np.int64],
    groups: int,
    count: int,
    wrong: bool,
) -> NDArray[np.float64]:
    """Return what features and segments do to each option on each query: of mean 0, of variance about 1."""
    width = known.shape[1]
    common = rng.standard_normal((width, 1))
    own = rng.standard_normal((width, count))
    weights = (common + 0.8 * own) / np.sqrt(1.64 * 1.5 * width)
    by_segment = 0.5 * rng.standard_normal((groups, 1)) + 0.5 * rng.standard_normal((groups, count))
    effects = known @ weights + by_segment[segment]
    if wrong:
        pairs = rng.integers(width, size=(2, count))
        effects = effects + 0.7 * known[:, pairs[0]] * known[:, pairs[1]]
    return np.asarray(effects - effects.mean(axis=0))


def _whole(what: str, value: int, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{what} must be a whole number, but it is {value!r}") from None
    if number < least:
        raise InputError(f"{what} must be at least {least}, but it is {value!r}")
    return number
