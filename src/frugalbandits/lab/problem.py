"""A bandit problem with cost subsidy: what is true, what is optimal, what a pull costs.

This is the only place that validates means, costs and names; `quality` validates what is good enough.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from frugalbandits.core.options import check_options, check_reference, cost_order, entry, frozen, vector
from frugalbandits.core.quality import (
    AtLeast,
    Quality,
    RelativeToBest,
    check_quality,
)
from frugalbandits.core.settings import check_worth
from frugalbandits.errors import InputError
from frugalbandits.lab.mix import Mix, cheapest_mix
from frugalbandits.lab.promise import LEAST_ALPHA, LEVEL_ALLOWANCE
from frugalbandits.lab.shown import Shown

__all__ = [
    "Problem",
]

# Two quantities that differ by less than this share are the same number written in floating point:
# 0.9 * 0.8 and 0.72 must not make an arm infeasible.
_SAME = 1e-12


@dataclass(frozen=True, eq=False)
class Problem(Shown):
    """K arms with known costs and true mean rewards, and the quality that is good enough.

    Arms stay in the caller's order everywhere in the public interface.

    Parameters
    ----------
    means
        True mean reward of each arm, in [0, 1].
    costs
        Cost of one pull of each arm; any finite numbers, ties allowed.
    alpha
        Subsidy factor in [0, 1): an arm is feasible when its mean is at least (1 - alpha) times the
        best mean.
        Short for ``quality=RelativeToBest(alpha)``.
    names
        One name per arm; "a1", "a2", ... by default.
    quality
        The quality bar, in place of alpha: `RelativeToBest`, `RelativeTo` or `AtLeast`, or its written form,
        such as "at-least:0.8". Under a level that no arm reaches the best arm counts as the one that is good
        enough; see `attainable`.
    worth
        What a unit of quality is worth, in units of cost: `Result.scaled_regret` and policies that weigh cost
        against quality go by it. By default the range of the costs, or 1 where all cost the same.

    Examples
    --------
    >>> problem = Problem(means=[0.70, 0.78, 0.80], costs=[1, 2, 9], alpha=0.05)
    >>> problem.optimal_arm, problem.best_arm
    (1, 2)
    >>> problem.feasible.tolist()
    [False, True, True]
    >>> problem.cost_gaps.tolist()
    [0.0, 0.0, 7.0]
    >>> Problem([0.70, 0.78, 0.80], [1, 2, 9], quality=AtLeast(0.7)).optimal_arm
    0
    >>> problem.worth, Problem([0.70, 0.78, 0.80], [1, 2, 9], alpha=0.05, worth=20).worth
    (8.0, 20.0)
    """

    means: NDArray[np.float64]
    costs: NDArray[np.float64]
    quality: Quality
    names: tuple[str, ...]
    given_worth: float | None  # what `worth` was given as, None for the range of the costs

    def __init__(
        self,
        means: ArrayLike,
        costs: ArrayLike,
        alpha: float | None = None,
        names: Iterable[str] | None = None,
        *,
        quality: Quality | str | None = None,
        worth: float | None = None,
    ) -> None:
        checked_costs, checked_names = check_options(costs, names)
        given = None if names is None else checked_names
        checked_means = vector("means", means, given)
        if checked_means.size != checked_costs.size:
            raise InputError(
                f"means and costs must have one entry per arm, but there are {checked_means.size} "
                f"means and {checked_costs.size} costs"
            )
        outside = np.flatnonzero(~((checked_means >= 0) & (checked_means <= 1)))
        if outside.size:
            arm = int(outside[0])
            raise InputError(
                f"means must lie in [0, 1], but {entry('means', arm, given)} is {checked_means[arm]}"
            )
        checked_quality = check_quality(alpha, quality)
        check_reference(checked_quality, checked_names)
        object.__setattr__(self, "means", frozen(checked_means))
        object.__setattr__(self, "costs", checked_costs)
        object.__setattr__(self, "quality", checked_quality)
        object.__setattr__(self, "names", checked_names)
        object.__setattr__(self, "given_worth", None if worth is None else check_worth(worth))

    @property
    def arms(self) -> int:
        """Number of arms, K."""
        return int(self.means.size)

    @property
    def alpha(self) -> float:
        """The subsidy factor; an InputError where the bar is not relative to the best arm."""
        if not isinstance(self.quality, RelativeToBest):
            raise InputError(f"alpha is a bar relative to the best arm, but this one is {self.quality!r}")
        return self.quality.alpha

    @cached_property
    def worth(self) -> float:
        """What a unit of quality is worth, in units of cost: the range of the costs unless it was given."""
        return self.cost_range if self.given_worth is None else self.given_worth

    @cached_property
    def cost_range(self) -> float:
        """The range of the costs, or 1 where all cost the same."""
        # Halves, because the range itself may be beyond the largest float.
        half = float(self.costs.max() / 2 - self.costs.min() / 2)
        return min(2.0 * half, sys.float_info.max) if half > 0 else 1.0

    @cached_property
    def reference(self) -> int | None:
        """The arm that a bar relative to one arm names; None for other bars."""
        return check_reference(self.quality, self.names)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Arms from cheapest to most expensive; equal costs stay in the caller's order."""
        return frozen(cost_order(self.costs))

    @cached_property
    def best_arm(self) -> int:
        """The arm i* with the highest mean; the cheapest of them if several share it."""
        return int(self.order[np.argmax(self.means[self.order])])

    @cached_property
    def threshold(self) -> float:
        """The quality that is good enough (mu_CS in the paper).

        It is (1 - alpha) times the best mean or the reference's, or the level, or the best mean below that.
        """
        if isinstance(self.quality, AtLeast):
            return min(self.quality.level, float(self.means.max()))
        return (1.0 - self.quality.alpha) * self._reference_mean

    @cached_property
    def allowance(self) -> float:
        """The quality that may be given up: alpha times the best mean or the reference's.

        An alpha below 0.01 counts as 0.01. Under a fixed level it is 0.05.

        Examples
        --------
        >>> problem = Problem(means=[0.6, 0.8], costs=[1, 10], alpha=0.1)
        >>> round(problem.allowance, 6), problem.with_quality("at-least:0.7").allowance
        (0.08, 0.05)
        """
        if isinstance(self.quality, AtLeast):
            return LEVEL_ALLOWANCE
        return max(self.quality.alpha, LEAST_ALPHA) * self._reference_mean

    @property
    def _reference_mean(self) -> float:
        """The mean of the arm that sets a relative bar."""
        return float(self.means.max() if self.reference is None else self.means[self.reference])

    @cached_property
    def attainable(self) -> bool:
        """Whether some arm is good enough: not so only where no mean reaches a fixed level."""
        if isinstance(self.quality, AtLeast):
            return bool(self.means.max() >= self.quality.level * (1.0 - _SAME))
        return True

    @cached_property
    def feasible(self) -> NDArray[np.bool_]:
        """Which arms are good enough."""
        return frozen(self.means >= self.threshold * (1.0 - _SAME))

    @cached_property
    def optimal_arm(self) -> int:
        """The cheapest feasible arm, a*."""
        return int(self.order[np.argmax(self.feasible[self.order])])

    @cached_property
    def cost_gaps(self) -> NDArray[np.float64]:
        """Cost regret of one pull of each arm, (c - c_a*)^+."""
        return frozen(np.maximum(self.costs - self.costs[self.optimal_arm], 0.0))

    @cached_property
    def quality_gaps(self) -> NDArray[np.float64]:
        """Quality regret of one pull of each arm, (threshold - mu)^+."""
        return frozen(np.where(self.feasible, 0.0, np.maximum(self.threshold - self.means, 0.0)))

    @cached_property
    def mix(self) -> Mix:
        """The cheapest mix of arms that is good enough on average; it costs no more than the optimal arm.

        Examples
        --------
        >>> mix = Problem(means=[0.6, 0.9], costs=[1, 10], alpha=0.1).mix
        >>> mix.cheap, mix.dear, round(mix.share, 6), round(mix.cost, 6), round(mix.price, 6)
        (0, 1, 0.7, 7.3, 30.0)
        """
        return cheapest_mix(self.means, self.costs, self.threshold * (1.0 - _SAME))

    def regrets(self, pulls: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return cost and quality regret of pull counts whose last axis is the arms."""
        counts = np.asarray(pulls)
        if counts.shape[-1:] != (self.arms,):
            raise InputError(
                f"pulls must have {self.arms} entries along the last axis, but its shape is {counts.shape}"
            )
        return counts @ self.cost_gaps, counts @ self.quality_gaps

    def with_alpha(self, alpha: float) -> Problem:
        """Return the same arms under another subsidy factor."""
        return Problem(self.means, self.costs, alpha, self.names, worth=self.given_worth)

    def with_quality(self, quality: Quality | str) -> Problem:
        """Return the same arms under another quality bar."""
        return Problem(self.means, self.costs, names=self.names, quality=quality, worth=self.given_worth)

    def with_worth(self, worth: float | None) -> Problem:
        """Return the same arms with another worth of a unit of quality; None is the range of the costs."""
        return Problem(self.means, self.costs, names=self.names, quality=self.quality, worth=worth)

    def scaled(self) -> Problem:
        """Return the same arms with costs in units of quality: above the least one, over `worth`.

        Summed regret there is scaled regret here.
        """
        # Halves, because a difference of costs may be beyond the largest float.
        above = (self.costs / 2 - self.costs.min() / 2) / (self.worth / 2)
        return Problem(self.means, above, names=self.names, quality=self.quality, worth=1.0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Problem):
            return NotImplemented
        return (
            np.array_equal(self.means, other.means)
            and np.array_equal(self.costs, other.costs)
            and self.quality == other.quality
            and self.names == other.names
            and self.worth == other.worth
        )

    def __hash__(self) -> int:
        # Over the values, not the bytes: 0.0 and -0.0 are equal.
        return hash((*self.means.tolist(), *self.costs.tolist(), self.quality, self.names))

    def __repr__(self) -> str:
        bar = (
            f"alpha={self.quality.alpha:g}"
            if isinstance(self.quality, RelativeToBest)
            else f"quality={str(self.quality)!r}"
        )
        worth = "" if self.given_worth is None else f", worth={self.given_worth:g}"
        return (
            f"Problem({self.arms} arms, {bar}{worth}, threshold={self.threshold:.4g}, "
            f"optimal={self.names[self.optimal_arm]!r}, best={self.names[self.best_arm]!r})"
        )
