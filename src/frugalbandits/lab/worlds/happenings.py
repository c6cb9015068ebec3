"""What may happen in a world, as small values that read well: `Drift(0.5, "large", mean=0.6)`.

A *moment* is a number of decisions, such as 20_000, or a share of the horizon, such as 0.5: whole numbers are
decisions, and 1.0 is the end of the run. An option is named, or given by its place in the problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from frugalbandits.core.quality import finite_number
from frugalbandits.errors import InputError

__all__ = ["Arrival", "Bills", "Departure", "Drift", "Happening", "Outage", "Price", "decisions_at"]


def check_moment(what: str, value: float) -> float:
    """Return a moment: a whole number of decisions, or a share of the horizon."""
    number = finite_number(what, value)
    if isinstance(value, int | np.integer):
        if number < 0:
            raise InputError(f"{what} must not lie before the first decision, but it is {value!r}")
        return int(value)
    if 0.0 <= number <= 1.0:
        return number
    if number > 1.0 and number.is_integer():
        return int(number)
    raise InputError(
        f"{what} must be a number of decisions or a share of the horizon in [0, 1], but it is {value!r}"
    )


def decisions_at(moment: float, horizon: int) -> int:
    """Return how many decisions were made at a moment; none lies beyond the horizon.

    Examples
    --------
    >>> decisions_at(0.25, 1000), decisions_at(250, 1000), decisions_at(1, 1000), decisions_at(1.0, 1000)
    (250, 250, 1, 1000)
    """
    made = moment if isinstance(moment, int) else round(moment * horizon)
    return min(int(made), horizon)


def _set(value: object, **fields: object) -> None:
    for name, field in fields.items():
        object.__setattr__(value, name, field)


def _check_cost(what: str, cost: float) -> float:
    return finite_number(what, cost)


@dataclass(frozen=True)
class Drift:
    """From a moment on, an option's mean reward is another one.

    Parameters
    ----------
    at
        The moment.
    option
        Whose quality changes.
    mean
        Its mean reward from then on.
    over
        How long it takes, as a number of decisions or a share of the horizon: the mean moves in a straight
        line. 0: at once.
    """

    at: float
    option: str | int
    mean: float
    over: float = 0
    verb: ClassVar[str] = "changes"

    def __post_init__(self) -> None:
        mean = finite_number("the mean of a change", self.mean)
        if not 0.0 <= mean <= 1.0:
            raise InputError(f"the mean of a change must lie in [0, 1], but it is {self.mean!r}")
        over = check_moment("how long a change takes", self.over)
        _set(self, at=check_moment("the moment of a change", self.at), mean=mean, over=over)


@dataclass(frozen=True)
class Outage:
    """An option is down from one moment to another: no call can use it. It still sets the bar."""

    option: str | int
    start: float
    end: float
    verb: ClassVar[str] = "is down"

    def __post_init__(self) -> None:
        start = check_moment("the start of an outage", self.start)
        end = check_moment("the end of an outage", self.end)
        if type(start) is type(end) and end <= start:
            raise InputError(
                f"an outage must end after its start, {self.start!r}, but its end is {self.end!r}"
            )
        _set(self, start=start, end=end)

    @property
    def at(self) -> float:
        """Its start."""
        return self.start


@dataclass(frozen=True)
class Arrival:
    """An option of the problem is not there before a moment."""

    option: str | int
    at: float
    verb: ClassVar[str] = "arrives"

    def __post_init__(self) -> None:
        _set(self, at=check_moment("the moment of an arrival", self.at))


@dataclass(frozen=True)
class Departure:
    """An option leaves for good at a moment; it no longer sets the bar."""

    option: str | int
    at: float
    verb: ClassVar[str] = "leaves"

    def __post_init__(self) -> None:
        _set(self, at=check_moment("the moment of a departure", self.at))


@dataclass(frozen=True)
class Price:
    """From a moment on, an option has another cost, and the policy is told so.

    Where bills vary, it is their mean that changes; what is told is as far off as the first price was.
    """

    option: str | int
    at: float
    cost: float
    verb: ClassVar[str] = "has another price"

    def __post_init__(self) -> None:
        cost = _check_cost("a price", self.cost)
        _set(self, at=check_moment("the moment of a price change", self.at), cost=cost)


@dataclass(frozen=True)
class Bills:
    """Each use of an option has a bill of its own, known after the call; its mean is the option's cost.

    Parameters
    ----------
    sigma
        Bills are lognormal: the standard deviation of their logarithm. 1 makes one in a hundred six times
        the mean.
    off
        What is told beforehand, the prior, is off by up to this factor, either way: the logarithm of the
        error is uniform. 1: it is right.
    """

    sigma: float = 1.0
    off: float = 2.0

    def __post_init__(self) -> None:
        sigma, off = finite_number("sigma", self.sigma), finite_number("off", self.off)
        if not 0.0 <= sigma <= 5.0:
            raise InputError(f"sigma must lie in [0, 5], but it is {self.sigma!r}")
        if off < 1.0:
            raise InputError(f"a prior is off by a factor of 1 or more, but off is {self.off!r}")
        _set(self, sigma=sigma, off=off)


#: What happens to one option.
Happening: TypeAlias = Drift | Outage | Arrival | Departure | Price
