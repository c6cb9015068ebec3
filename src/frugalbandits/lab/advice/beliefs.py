"""What is believed of the quality of options before the first decision: guesses, ranges, logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.quality import finite_number
from frugalbandits.errors import InputError

__all__ = ["UNKNOWN", "Belief", "Guess", "Logged", "Range", "guess_of", "logged"]

#: What a caller may say of an option's quality: a number, or (lowest, highest).
Guess: TypeAlias = float | tuple[float, float]
#: Where nothing is said.
UNKNOWN = (0.3, 0.95)
# Values that a table of rewards is kept as; more are grouped.
_MOST_VALUES = 40

_Law: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class Range:
    """A mean that lies anywhere between two ends, all as likely; rewards are 0 or 1."""

    low: float
    high: float
    given: bool = True  # whether the caller said so

    @property
    def width(self) -> float:
        """How far the ends are apart."""
        return self.high - self.low

    @property
    def mean(self) -> float:
        """The expected mean."""
        return (self.low + self.high) / 2

    def draw(self, rng: np.random.Generator) -> _Law:
        """Draw what may be true: values of rewards, and their chances."""
        mean = float(rng.uniform(self.low, self.high)) if self.width > 0 else self.low
        return np.array([1.0, 0.0]), np.array([mean, 1.0 - mean])


@dataclass(frozen=True)
class Logged:
    """Rewards that were seen: their values, and how often each.

    What may be true is drawn as in the Bayesian bootstrap, with half a reward of 0 and half a reward of 1
    added. Where rewards are 0 or 1, the mean is then Beta(1/2 + ones, 1/2 + zeros).
    """

    values: NDArray[np.float64] = field(repr=False)
    counts: NDArray[np.float64] = field(repr=False)

    @property
    def rows(self) -> int:
        """How many rewards were seen."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """The expected mean."""
        return float((self.counts @ self.values + 0.5) / (self.counts.sum() + 1.0))

    @property
    def deviation(self) -> float:
        """The standard deviation of the mean."""
        whole = float(self.counts.sum()) + 1.0
        squares = float(self.counts @ self.values**2 + 0.5) / whole
        return float(np.sqrt(max(squares - self.mean**2, 0.0) / (whole + 1.0)))

    @property
    def low(self) -> float:
        """The lower end of the mean, give or take two standard deviations."""
        return max(self.mean - 2.0 * self.deviation, 0.0)

    @property
    def high(self) -> float:
        """The upper end of the same."""
        return min(self.mean + 2.0 * self.deviation, 1.0)

    @property
    def width(self) -> float:
        """How far the ends are apart."""
        return self.high - self.low

    def draw(self, rng: np.random.Generator) -> _Law:
        """Draw what may be true: values of rewards, and their chances."""
        weights = rng.gamma(np.concatenate([self.counts, [0.5, 0.5]]))
        return np.concatenate([self.values, [1.0, 0.0]]), weights / weights.sum()


Belief: TypeAlias = Range | Logged


def guess_of(name: str, guess: object) -> Range:
    """Return a guess, checked.

    Examples
    --------
    >>> guess_of("small", 0.7), guess_of("small", (0.6, 0.8)).mean
    (Range(low=0.7, high=0.7, given=True), 0.7)
    >>> guess_of("small", (0.8, 0.6))
    Traceback (most recent call last):
    ...
    frugalbandits.errors.InputError: the guess of 'small' must be a quality in [0, 1] or (lowest, ...
    """
    wanted = f"the guess of {name!r} must be a quality in [0, 1] or (lowest, highest), but it is {guess!r}"
    if isinstance(guess, tuple | list):
        if len(guess) != 2:
            raise InputError(wanted)
        low, high = (finite_number(f"the guess of {name!r}", end) for end in guess)
    elif isinstance(guess, int | float | np.number):
        low = high = finite_number(f"the guess of {name!r}", float(guess))
    else:
        raise InputError(wanted)
    if isinstance(guess, bool) or not 0.0 <= low <= high <= 1.0:
        raise InputError(wanted)
    return Range(low, high)


def logged(rewards: Mapping[str, NDArray[np.float64]]) -> dict[str, Logged]:
    """Return what tables of rewards tell; of many different values, neighbours are taken together."""
    found = {}
    for name, table in rewards.items():
        values, counts = np.unique(table, return_counts=True)
        if len(values) > _MOST_VALUES:
            groups = np.array_split(np.sort(table), min(_MOST_VALUES, len(table)))
            values = np.array([group.mean() for group in groups])
            counts = np.array([group.size for group in groups])
        found[name] = Logged(values, counts.astype(np.float64))
    return found
