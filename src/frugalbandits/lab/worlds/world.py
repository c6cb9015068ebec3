"""A world: a problem in which not everything stands still, and not everything is known.

A world is what is true and what happens; `simulate` runs policies in it. It is frozen and explicit: what is
drawn at random once, such as which options change, is drawn with its seed when it is made, and can be looked
at. What differs from run to run (rewards, bills, which options are down at a call, which feedback comes) is
drawn with the seed of the simulation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.options import frozen
from frugalbandits.core.quality import finite_number
from frugalbandits.errors import InputError, unknown_name
from frugalbandits.lab.instances.catalogue import as_problem
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.worlds.drifts import drift_of
from frugalbandits.lab.worlds.happenings import (
    Arrival,
    Bills,
    Departure,
    Drift,
    Happening,
    Outage,
    Price,
    decisions_at,
)

__all__ = ["World"]

_LONGEST = 10_000_000  # decisions that feedback may take


@dataclass(frozen=True, init=False)
class World:
    """A problem whose feedback is sparse or late, whose costs are learned, and whose options move.

    With nothing but a problem it is the paper's world: nothing moves.

    Parameters
    ----------
    problem
        The options, their means and costs at the start, and what is good enough; or the name of a built-in
        instance. An option that comes later is in it too.
    feedback
        The share of decisions that are judged, drawn at random. "wanted": those whose feedback the policy
        says is worth a judgement, and all for a policy that has no say in it.
    delay
        Further decisions that are made before the feedback of one is known; ``("geometric", mean)`` for
        delays that vary. 0: it is known before the next decision.
    costs
        "known": what the problem says. `Bills` (or "lognormal", for ``Bills()``): each use has a bill of its
        own, and what is told beforehand is off. A policy that cannot learn costs goes by what it was told.
    drift
        A list of `Drift`, a number of random changes (drawn with the seed), or a name: "worse" (the option
        to use gets worse, twice), "slow" (all means move all the time), "better" (an option out of use
        becomes the one to use).
    outages
        The chance of each option to be down at a call, or a list of `Outage`, or both in one list. At least
        one option is up at each call.
    options
        A list of `Arrival`, `Departure` and `Price`.
    seed
        Of what is drawn when the world is made: random changes, and how far off the told costs are.
    memory
        What policies that notice changes are told: "auto", that there may be some; None, that there are
        none; a number of decisions within which all fades. See `Session`.
    judge_price
        What policies that say which feedback they want are told of its price.

    Examples
    --------
    >>> problem = Problem([0.3, 0.7, 0.8], [1, 2, 9], alpha=0.2, names=["tiny", "small", "large"])
    >>> world = World(problem, feedback=0.1, drift=[Drift(0.5, "small", mean=0.4)])
    >>> world
    World(3 options, alpha=0.2, 10% judged, 1 change)
    >>> World(problem, drift=2, seed=1).drift[0].option
    'small'
    >>> World(problem, feedback=1.5)
    Traceback (most recent call last):
    ...
    frugalbandits.errors.InputError: feedback must be a share in (0, 1] or 'wanted', but it is 1.5
    """

    problem: Problem
    feedback: float | Literal["wanted"]
    delay: float | tuple[Literal["geometric"], float]
    costs: Bills | Literal["known"]
    drift: tuple[Drift, ...]
    outages: tuple[float | Outage, ...]
    options: tuple[Arrival | Departure | Price, ...]
    seed: int
    memory: int | Literal["auto"] | None
    judge_price: float

    def __init__(
        self,
        problem: Problem | str,
        *,
        feedback: float | Literal["wanted"] = 1.0,
        delay: float | tuple[Literal["geometric"], float] = 0,
        costs: Bills | Literal["known", "lognormal"] = "known",
        drift: Iterable[Drift] | int | str = (),
        outages: float | Iterable[float | Outage] = (),
        options: Iterable[Arrival | Departure | Price] = (),
        seed: int = 0,
        memory: int | Literal["auto"] | None = "auto",
        judge_price: float = 0.0,
    ) -> None:
        known = as_problem(problem)
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise InputError(f"seed must be a whole number, 0 or more, but it is {seed!r}")
        fields = {
            "problem": known,
            "seed": int(seed),
            "feedback": _feedback(feedback),
            "delay": _delay(delay),
            "costs": _costs(costs, known),
            "drift": _drift(drift, known, int(seed)),
            "outages": _outages(outages, known),
            "options": _options(options, known, costs != "known"),
            "memory": _memory(memory),
            "judge_price": _judge_price(judge_price),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        _check_comings_and_goings(self)

    @property
    def bills(self) -> Bills | None:
        """How bills vary; None where costs are known."""
        return None if self.costs == "known" else self.costs

    @cached_property
    def told_costs(self) -> NDArray[np.float64]:
        """What policies are told that each option costs, in the caller's order."""
        return frozen(self.problem.costs * self.error)

    @cached_property
    def error(self) -> NDArray[np.float64]:
        """What is told of each option's cost, over the truth."""
        arms = self.problem.arms
        if self.bills is None:
            return frozen(np.ones(arms))
        drawn = np.random.default_rng([self.seed, 2]).uniform(-1.0, 1.0, arms)
        return frozen(self.bills.off**drawn)

    @property
    def down_share(self) -> float:
        """The chance of each option to be down at a call."""
        return next((part for part in self.outages if not isinstance(part, Outage)), 0.0)

    @property
    def scheduled(self) -> tuple[Outage, ...]:
        """The outages that have a start and an end."""
        return tuple(part for part in self.outages if isinstance(part, Outage))

    @property
    def happenings(self) -> tuple[Happening, ...]:
        """All that happens to single options."""
        return (*self.drift, *self.scheduled, *self.options)

    @property
    def moving(self) -> bool:
        """Whether anything differs from the paper's world."""
        return bool(
            self.happenings
            or self.down_share
            or self.feedback != 1.0
            or self.delay != 0
            or self.bills is not None
        )

    @property
    def worth(self) -> float:
        """What a unit of quality is worth, in units of cost: the range of the costs by default."""
        return self.problem.worth

    def has_changed(self, option: int, after: int, until: int, horizon: int) -> bool:
        """Tell whether the mean of an option has moved between two moments of a run, in decisions."""
        for change in self.drift:
            start = decisions_at(change.at, horizon)
            end = max(start + 1, start + decisions_at(change.over, horizon))
            if change.option == self.problem.names[option] and start < until and end > after:
                return True
        return False

    @property
    def about(self) -> str:
        """What moves, in a few words."""
        parts = []
        if self.feedback != 1.0:
            parts.append("wanted feedback" if self.feedback == "wanted" else f"{self.feedback:.3g} judged")
            if isinstance(self.feedback, float):
                parts[-1] = f"{100 * self.feedback:.3g}% judged"
        if isinstance(self.delay, tuple):
            parts.append(f"feedback about {self.delay[1]:g} decisions late")
        elif self.delay:
            parts.append(f"feedback {self.delay:g} decisions late")
        if self.bills is not None:
            parts.append(f"bills (sigma {self.bills.sigma:g}, prior off by up to {self.bills.off:g})")
        slow = sum(1 for change in self.drift if change.over)
        for count, noun in ((len(self.drift) - slow, "change"), (slow, "slow change")):
            if count:
                parts.append(f"{count} {noun}{'' if count == 1 else 's'}")
        if self.down_share:
            parts.append(f"{100 * self.down_share:.3g}% down at each call")
        for kind, noun in (
            (Outage, "outage"),
            (Arrival, "arrival"),
            (Departure, "departure"),
            (Price, "price change"),
        ):
            count = sum(isinstance(each, kind) for each in self.happenings)
            if count:
                parts.append(f"{count} {noun}{'' if count == 1 else 's'}")
        return ", ".join(parts) or "nothing moves"

    def __repr__(self) -> str:
        quality = self.problem.quality
        bar = f"alpha={quality.alpha:g}" if hasattr(quality, "alpha") else f"quality={str(quality)!r}"
        return f"World({self.problem.arms} options, {bar}, {self.about})"


def _feedback(value: float | str) -> float | Literal["wanted"]:
    if value == "wanted":
        return "wanted"
    share = value if isinstance(value, int | float | np.floating) and not isinstance(value, bool) else np.nan
    if not 0.0 < share <= 1.0:
        raise InputError(f"feedback must be a share in (0, 1] or 'wanted', but it is {value!r}")
    return float(share)


def _delay(value: object) -> float | tuple[Literal["geometric"], float]:
    if isinstance(value, tuple | list):
        if len(value) != 2 or value[0] != "geometric":
            raise InputError(f"delay must be a number or ('geometric', mean), but it is {value!r}")
        mean = finite_number("the mean delay", value[1])
        if not 0.0 <= mean <= _LONGEST / 100:
            raise InputError(f"the mean delay must lie in [0, {_LONGEST // 100:,}], but it is {value[1]!r}")
        return "geometric", mean
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError(
            f"delay must be a whole number of decisions or ('geometric', mean), but it is {value!r}"
        )
    if not 0 <= value <= _LONGEST:
        raise InputError(f"delay must lie in [0, {_LONGEST:,}], but it is {value!r}")
    return int(value)


def _costs(value: object, problem: Problem) -> Bills | Literal["known"]:
    if value == "known":
        return "known"
    bills = Bills() if value == "lognormal" else value
    if not isinstance(bills, Bills):
        raise InputError(f"costs must be 'known', 'lognormal' or Bills(...), but it is {value!r}")
    bad = np.flatnonzero(problem.costs <= 0)
    if bad.size:
        raise InputError(
            f"lognormal bills need costs above 0, but that of {problem.names[bad[0]]!r} is "
            f"{problem.costs[bad[0]]:g}"
        )
    return bills


def _drift(value: Iterable[Drift] | int | str, problem: Problem, seed: int) -> tuple[Drift, ...]:
    if isinstance(value, int | str):
        return drift_of(value, problem, seed)
    return tuple(_named(each, problem, (Drift,)) for each in _items("drift", value))


def _outages(value: float | Iterable[float | Outage], problem: Problem) -> tuple[float | Outage, ...]:
    single = isinstance(value, int | float | np.floating | Outage)
    found: list[float | Outage] = []
    listed: Sequence[Any] = [value] if single else _items("outages", value)
    for each in listed:
        if isinstance(each, Outage):
            found.append(_named(each, problem, (Outage,)))
            continue
        share = finite_number("the share of options that are down", each)
        if not 0.0 <= share < 1.0:
            raise InputError(f"the share of options that are down must lie in [0, 1), but it is {each!r}")
        if any(isinstance(other, float) for other in found):
            raise InputError(f"outages have one share of options that are down, but a second one is {each!r}")
        found.append(share)
    return tuple(each for each in found if isinstance(each, Outage) or each > 0)


def _options(
    value: Iterable[Arrival | Departure | Price], problem: Problem, bills: bool
) -> tuple[Arrival | Departure | Price, ...]:
    kinds = (Arrival, Departure, Price)
    found = tuple(_named(each, problem, kinds) for each in _items("options", value))
    for each in found:
        if isinstance(each, Price) and bills and each.cost <= 0:
            raise InputError(
                f"lognormal bills need prices above 0, but one of {each.option!r} is {each.cost:g}"
            )
    return found


def _items(what: str, value: object) -> Sequence[Any]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InputError(f"{what} must be a list, but it is {value!r}")
    return list(value)


def _named(value: Any, problem: Problem, kinds: tuple[type[Any], ...]) -> Any:
    """Return a happening with its option by name."""
    if not isinstance(value, kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise InputError(f"a {wanted} is wanted, but this is {value!r}")
    option = value.option
    if isinstance(option, int | np.integer) and not isinstance(option, bool):
        if not 0 <= option < problem.arms:
            raise InputError(f"there are {problem.arms} options, 0 the first, but one is named by {option!r}")
        return replace(value, option=problem.names[option])
    if not isinstance(option, str) or option not in problem.names:
        raise unknown_name("option", str(option), problem.names)
    return value


def _memory(value: object) -> int | Literal["auto"] | None:
    if value is None or value == "auto":
        return None if value is None else "auto"
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(
            f"memory must be 'auto', None or a number of decisions, 1 or more, but it is {value!r}"
        )
    return int(value)


def _judge_price(value: float) -> float:
    price = finite_number("judge_price", value)
    if price < 0:
        raise InputError(f"judge_price must not be negative, but it is {value!r}")
    return price


def _check_comings_and_goings(world: World) -> None:
    """Refuse what no order of events can make sense of."""
    reference = world.problem.reference
    for kind in (Arrival, Departure):
        named = [each.option for each in world.options if isinstance(each, kind)]
        for option in named:
            if named.count(option) > 1:
                raise InputError(f"{option!r} {kind.verb} more than once")
            if reference is not None and option == world.problem.names[reference]:
                raise InputError(f"{option!r} {kind.verb}, but the bar is relative to it")
