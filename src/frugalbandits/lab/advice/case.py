"""What advice is asked about: options, what is believed of them, the bar, the volume; all of it checked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.options import check_horizon, check_options, check_reference, cost_order
from frugalbandits.core.quality import Quality, check_quality, finite_number
from frugalbandits.core.settings import check_worth
from frugalbandits.errors import InputError, unknown_name
from frugalbandits.lab.advice.beliefs import UNKNOWN, Belief, Guess, Range, guess_of, logged
from frugalbandits.lab.draws import Draws
from frugalbandits.lab.logs import read_log
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.rewards import finite_draws

__all__ = ["Case", "Feedback", "Truth", "case_of", "check_feedback", "feedback_words"]

Feedback = float | Literal["wanted"]
_LONGEST = 3_650  # days


class Truth(NamedTuple):
    """What may be true: means of the options, and how their rewards are spread."""

    problem: Problem
    draws: Draws


@dataclass(frozen=True, eq=False)
class Case:
    """What advice is asked about.

    Attributes
    ----------
    names, costs
        The options, and what one decision for each costs.
    quality
        What is good enough.
    beliefs
        What is believed of each option's quality.
    volume, days
        Decisions a day, and for how many days.
    now
        The option that is in use now, by its place; None where nothing is said.
    feedback
        The share of decisions that are judged, or "wanted".
    judge_price
        What a judgement costs.
    given_worth
        What a unit of quality is worth, None for the range of the costs.
    """

    names: tuple[str, ...]
    costs: NDArray[np.float64]
    quality: Quality
    beliefs: tuple[Belief, ...]
    volume: int
    days: int
    now: int | None
    feedback: Feedback
    judge_price: float
    given_worth: float | None

    @property
    def horizon(self) -> int:
        """Decisions in all."""
        return self.volume * self.days

    @property
    def worth(self) -> float:
        """What a unit of quality is worth, in units of cost."""
        return self.expected.worth

    @cached_property
    def expected(self) -> Problem:
        """The problem in which every quality is the expected one."""
        return self._problem([belief.mean for belief in self.beliefs])

    @property
    def safe(self) -> int:
        """The option that one would take without learning: the reference of the bar, or the best guess."""
        reference = self.expected.reference
        return self.expected.best_arm if reference is None else reference

    @property
    def anchor(self) -> int:
        """What savings are measured against: what is used now, or the safe option."""
        return self.safe if self.now is None else self.now

    @property
    def certain(self) -> bool:
        """Whether every quality is given as one number: a question of what would be if that were true."""
        return all(belief.width == 0 for belief in self.beliefs)

    def truth(self, rng: np.random.Generator) -> Truth:
        """Draw what may be true."""
        laws = [belief.draw(rng) for belief in self.beliefs]
        means = [min(max(float(values @ chances), 0.0), 1.0) for values, chances in laws]
        order = cost_order(self.costs)
        return Truth(self._problem(means), finite_draws([laws[arm] for arm in order]))

    def _problem(self, means: list[float]) -> Problem:
        return Problem(means, self.costs, names=self.names, quality=self.quality, worth=self.given_worth)


def case_of(
    costs: Mapping[str, float] | None,
    volume: float,
    alpha: float | None,
    quality: Quality | str | None,
    guesses: Mapping[str, Guess] | None,
    log: str | os.PathLike[str] | None,
    columns: tuple[str, str, str | None],
    days: float,
    now: str | None,
    feedback: Feedback,
    judge_price: float,
    worth: float | None,
    log_format: str = "auto",
) -> Case:
    """Return the case that is meant, or say in a line what is wrong with it."""
    known: Mapping[str, Belief] = {}
    prices = _costs(costs)
    if log is not None:
        option, reward, cost = columns
        # Costs that are given stand in for those of the log.
        rewards, paid = read_log(log, option, reward, None if prices else cost, log_format)
        known = logged({name: observed for name, observed in rewards.items() if len(observed)})
        prices = prices or dict(zip(rewards, paid or [], strict=True))
        for name in rewards:
            if name not in prices:
                raise InputError(f"the log uses {name!r}, but there is no cost of it")
    if not prices:
        raise InputError("give costs, or a log that has them")
    values, names = check_options(list(prices.values()), prices)
    for name, price in prices.items():
        if price < 0:
            raise InputError(f"costs must not be negative, but that of {name!r} is {price!r}")
    given = dict(guesses or {})
    for name in given:
        if name not in prices:
            raise unknown_name("option", str(name), names)
    bar = check_quality(alpha, quality)
    check_reference(bar, names)
    period = _whole("days", days, _LONGEST)
    decisions = _whole("volume", volume, 2**53)
    check_horizon(decisions * period, len(names))
    if now is not None and now not in names:
        raise unknown_name("option", str(now), names)
    price = finite_number("judge_price", judge_price)
    if price < 0:
        raise InputError(f"judge_price must not be negative, but it is {judge_price!r}")
    return Case(
        names=names,
        costs=values,
        quality=bar,
        beliefs=tuple(_belief(name, given, known) for name in names),
        volume=decisions,
        days=period,
        now=None if now is None else names.index(now),
        feedback=check_feedback(feedback),
        judge_price=price,
        given_worth=None if worth is None else check_worth(worth),
    )


def _belief(name: str, given: Mapping[str, Guess], known: Mapping[str, Belief]) -> Belief:
    # What the caller says of an option counts more than what a log does.
    if name in given:
        return guess_of(name, given[name])
    return known.get(name) or Range(*UNKNOWN, given=False)


def _costs(costs: Any) -> dict[str, float]:
    if costs is None:
        return {}
    if not isinstance(costs, Mapping):
        raise InputError(f"costs must be a mapping from option to cost, but it is {costs!r}")
    return {name: finite_number(f"the cost of {name!r}", cost) for name, cost in costs.items()}


def _whole(what: str, value: float, most: int) -> int:
    number = finite_number(what, value)
    if not (number.is_integer() and 1 <= number <= most):
        raise InputError(f"{what} must be a whole number from 1 to {most:,}, but it is {value!r}")
    return int(number)


def check_feedback(value: object) -> Feedback:
    """Return a share of decisions that are judged."""
    if value == "wanted":
        return "wanted"
    share = value if isinstance(value, int | float | np.number) and not isinstance(value, bool) else np.nan
    if not 0.0 < share <= 1.0:
        raise InputError(f"feedback must be a share in (0, 1] or 'wanted', but it is {value!r}")
    return float(share)


def feedback_words(feedback: Feedback) -> str:
    """Say how much is judged.

    Examples
    --------
    >>> feedback_words(1.0), feedback_words(0.05), feedback_words("wanted")
    ('all judged', '5% judged', 'what is wanted is judged')
    """
    if feedback == "wanted":
        return "what is wanted is judged"
    return "all judged" if feedback == 1.0 else f"{100 * float(feedback):.3g}% judged"
