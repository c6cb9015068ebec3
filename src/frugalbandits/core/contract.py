"""The batch contract that every policy, the simulator and the session are built on.

A policy answers "which pulls next, whatever their outcomes?" with a `Batch`, and learns from sums:

- ``start(setting)`` makes a fresh state, a named tuple of arrays that are changed in place;
- ``observe(state, arm, pulls, reward_sum)`` only folds data into the state;
- ``plan(state, rng)`` draws the conclusions and returns the next batch.

Inside a policy arms are indexed from cheapest to most expensive, as in the paper; the simulator and
the session translate from and to the caller's order. `plan` is compiled, so it reads and writes the
state and nothing else. It may be called again with nothing observed in between: a deterministic policy
then returns the same batch and notes nothing twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, NoReturn, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from frugalbandits.core.jit import inlined, inner
from frugalbandits.core.options import cost_order
from frugalbandits.core.quality import AtLeast, Quality, RelativeToBest
from frugalbandits.core.tally import Tally
from frugalbandits.errors import InputError

__all__ = [
    "EACH",
    "EVENTS",
    "FOREVER",
    "INFEASIBLE",
    "OPTIMAL",
    "QUERIES",
    "UNREACHABLE",
    "Average",
    "Batch",
    "Bounds",
    "Journal",
    "Policy",
    "Question",
    "Ranges",
    "Setting",
    "State",
    "copied",
    "new_journal",
    "note",
    "single",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Ranges: TypeAlias = Mapping[str, tuple[ArrayLike, ArrayLike]]

# Repeats of a batch that ends only with the horizon.
FOREVER = 1 << 62

# Kinds of journal entries, and their public names. UNREACHABLE: no arm reaches a fixed level; the best one is
# looked for from then on.
INFEASIBLE = 0
OPTIMAL = 1
UNREACHABLE = 2
EVENTS = ("infeasible", "optimal", "unreachable")

# What a policy promises: that the option of each decision is good enough, or that all are on average.
EACH = "each"
QUERIES = "queries"


class Batch(NamedTuple):
    """Pull these arms in this order, and repeat that `repeats` times."""

    arms: Ints
    repeats: int


class Setting(NamedTuple):
    """What a policy is told before it starts: costs from cheapest to most expensive, the bar, the horizon.

    `horizon` is None where none was given; a policy that needs one says so in `start`. `reference` is the arm
    that a bar relative to one arm names, by rank of cost; -1 for other bars. `worth` is what a unit of
    quality is worth, in units of cost; None stands for the range of the costs. `memory` says how long what
    was seen counts: None for ever, 0 until a change is noticed, N that it fades within N decisions as well.
    `judge_price` is what feedback on one decision costs.
    """

    costs: Floats
    quality: Quality
    horizon: int | None
    reference: int = -1
    worth: float | None = None
    learn_costs: bool = False
    memory: int | None = None
    judge_price: float = 0.0

    @classmethod
    def of(
        cls,
        costs: Floats,
        quality: Quality,
        horizon: int | None,
        reference: int | None,
        worth: float | None = None,
        learn_costs: bool = False,
        memory: int | None = None,
        judge_price: float = 0.0,
    ) -> Setting:
        """Return the setting of arms in the caller's order."""
        order = cost_order(costs)
        rank = -1 if reference is None else int(np.flatnonzero(order == reference)[0])
        return cls(costs[order], quality, horizon, rank, worth, learn_costs, memory, judge_price)

    @property
    def alpha(self) -> float:
        """The share of the best quality that may be given up; other bars are refused."""
        if not isinstance(self.quality, RelativeToBest):
            raise InputError(f"alpha is a bar relative to the best option, but this is {self.quality!r}")
        return self.quality.alpha

    @property
    def keep(self) -> float:
        """The share of the quality of another arm that is good enough, 1 - alpha.

        A fixed level that no arm reaches leaves the best arm to look for: nothing is given up of that.
        """
        return 1.0 if isinstance(self.quality, AtLeast) else 1.0 - self.quality.alpha

    @property
    def level(self) -> float:
        """The fixed level, -1 for other bars."""
        return self.quality.level if isinstance(self.quality, AtLeast) else -1.0


class Journal(NamedTuple):
    """The conclusions drawn so far, in order; whoever calls `plan` knows the time and adds it."""

    length: Ints
    kinds: Ints
    arms: Ints


class State(Protocol):
    """What every policy's state has; a policy's own named tuple adds its settings and memory."""

    @property
    def tally(self) -> Tally: ...

    @property
    def journal(self) -> Journal: ...


class Question(NamedTuple):
    """What a policy is asking, for one that weighs what an answer is worth; arms by rank, cheapest first."""

    arm: int  # is this arm good enough?
    judge: int  # for this one; -1: for a fixed level
    pulled: int  # the arm that is pulled to find out
    gain: float  # what the answer would save a pull, in units of quality
    price: float  # what a pull that asks costs, in units of quality
    worth: float  # of asking, over its price; it is asked above 1
    again: bool  # whether it was answered before, on less


class Average(NamedTuple):
    """Where a policy stands that promises an average; arms by rank, cheapest first."""

    decided: Floats  # decisions for each arm that the average is over
    quality: float  # of these decisions, those without feedback counted as their arm's mean; NaN: unknown
    error: float  # its standard error
    bar: float
    debt: float  # quality that all these decisions are short of the bar; negative where they are above it
    low: int  # the arms of the mix that is aimed at; the same where one arm alone is the cheapest
    high: int
    share: float  # of `high` in it
    slope: float  # what a unit of quality more would cost there, in the range of the costs
    reached: bool  # whether any arm reaches the bar; where none does, `high` is the best one


class Bounds(NamedTuple):
    """Per arm, cheapest first: the interval that the policy works with, and the arm's part in it now."""

    lower: Floats
    upper: Floats
    status: tuple[str, ...]
    candidate: int  # the arm that is being considered or used; -1 for none
    evidence: Floats | None = None  # NaN: none for this arm
    needed: float | None = None  # evidence that a conclusion takes
    likely: int = -1  # the arm that looks optimal, where pulls do not follow the candidate; -1 for none
    question: Question | None = None
    average: Average | None = None  # for a policy that promises one


def copied(state: Any) -> Any:
    """Return a state that nobody else changes."""
    if isinstance(state, np.ndarray):
        return state.copy()
    return type(state)(*map(copied, state)) if hasattr(state, "_fields") else state


def new_journal(arms: int, fixed: bool = False) -> Journal:
    """Return an empty journal: each arm can be deemed infeasible or optimal once.

    Under a fixed level, all arms can be infeasible and one is optimal nevertheless.
    """
    entries = arms + 2 if fixed else arms + 1
    return Journal(np.zeros(1, np.int64), np.zeros(entries, np.int64), np.zeros(entries, np.int64))


@inner
def note(state: Any, kind: int, arm: int) -> None:
    """Add a conclusion to the journal; there is room for all that a policy can draw."""
    journal = state.journal
    if journal.length[0] < len(journal.kinds):
        journal.kinds[journal.length[0]] = kind
        journal.arms[journal.length[0]] = arm
        journal.length[0] += 1


@inlined
def single(arm: int) -> Ints:
    """Return the arms of a batch that pulls one arm."""
    arms = np.empty(1, np.int64)
    arms[0] = arm
    return arms


@dataclass(frozen=True)
class Policy(ABC):
    """A policy's settings: small, frozen, validated when made. The data lives in the state.

    A subclass sets `title` and `plan` and defines `start`, `bounds` and `reason`. See CONTRIBUTING.md
    for a skeleton to copy.
    """

    #: One line for the list of policies, ending with the source.
    title: ClassVar[str]
    #: What errors call it: the name under which its kind was registered first.
    registered_as: ClassVar[str]
    #: True when it knows every kind of quality bar, not only the one relative to the best arm.
    any_bar: ClassVar[bool] = False
    #: False when it never concludes that an arm is optimal, however much it pulls that one.
    concludes: ClassVar[bool] = True
    #: True when `plan` draws random numbers; only then is it given a generator.
    randomised: ClassVar[bool] = False
    #: True when its state has `usable`, one flag an arm, and only usable arms are planned; the bar is that of
    #: all arms. Where it is False, a stand-in is taken for an arm that may not be pulled now.
    minds_absence: ClassVar[bool] = False
    #: True when its state has `bills`, and it goes by what uses have cost where `learn_costs` is set.
    learns_costs: ClassVar[bool] = False
    #: True when its state has `past`, and it notices that an arm has changed where `memory` is set.
    forgets: ClassVar[bool] = False
    #: True when its state has `wanted`, in which `plan` says whether feedback on its batch is worth having.
    wants: ClassVar[bool] = False
    #: True when it is made for means that change. Tables of worlds that stand still leave it out by default.
    for_moving_means: ClassVar[bool] = False
    #: What it promises: "each" decision's option is good enough, or the average over "queries" is. Then its
    #: state may have `aside`, where rewards of uses are counted that were no decisions.
    promise: ClassVar[str] = EACH
    #: The compiled function ``plan(state, rng) -> Batch``.
    plan: ClassVar[Any]

    @abstractmethod
    def start(self, setting: Setting) -> State:
        """Return a fresh state, or raise an InputError where the setting does not suit the policy."""

    @abstractmethod
    def bounds(self, state: Any) -> Bounds:
        """Describe every arm for `Session.explain`."""

    @abstractmethod
    def reason(self, state: Any, arm: int) -> str:
        """Say in a few words why the planned batch pulls this arm."""

    def begin(self, setting: Setting) -> State:
        """Start, unless the quality bar is of a kind that this policy does not know."""
        if not self.any_bar and not isinstance(setting.quality, RelativeToBest):
            able = sorted(kind.called() for kind in Policy.__subclasses__() if kind.any_bar)
            raise InputError(
                f"{self.called()} knows a quality bar relative to the best option only, but it is "
                f"{setting.quality!r}; those that know others are: {', '.join(able)}"
            )
        if setting.learn_costs and not self.learns_costs:
            self._cannot("learn costs", "learns_costs")
        if setting.memory is not None and not self.forgets:
            self._cannot("notice that an option has changed", "forgets")
        return self.start(setting)

    @classmethod
    def called(cls) -> str:
        """Return the name that its kind was first registered under, or that of the class."""
        return str(vars(cls).get("registered_as", cls.__name__))

    def _cannot(self, what: str, flag: str) -> NoReturn:
        able = sorted(kind.called() for kind in Policy.__subclasses__() if vars(kind).get(flag))
        raise InputError(
            f"{self.called()} cannot {what}: its definition has no such thing; those that can are: "
            f"{', '.join(able)}"
        )

    def settings_checked(self, **values: Any) -> None:
        """Replace settings by their checked values; for `__post_init__`, as the class is frozen."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def ranges(self, setting: Setting) -> Ranges:
        """Return the least and greatest values of the arrays of the state that change, by name.

        A stored state is held against them before `plan` sees it, because compiled code trusts what it is
        given. Of a record array, each field is named, after a dot. The tally and the journal are checked for
        all policies. An array that is not named must be what `start` has made it.
        """
        return {}

    def contradiction(self, state: Any) -> str | None:
        """Say what in a stored state, each value of which is in its range, cannot be; None if nothing is."""
        return None

    def made_anew(self, version: int) -> tuple[str, ...]:
        """Name the parts of a state that a stored session of this format version has in no usable form.

        They start afresh when it is read, so only what a policy can do without may be among them.
        """
        return ()

    @classmethod
    def restored(cls, settings: Mapping[str, Any]) -> Policy:
        """Return the policy of stored settings; where a release had fewer of them, as it was then."""
        return cls(**settings)

    def cut_short(self, state: Any) -> None:
        """End the batch that was planned last; at least one decision of it was handed out.

        For a call in which not all arms were usable: the next plan is to be made afresh. By default, a state
        with `target`, an arm and the pulls that it is brought to, has reached it.
        """
        if hasattr(state, "target"):
            state.target[1] = min(int(state.target[1]), 1)

    def decisions_to_conclude(self, setting: Setting) -> float | None:
        """Return how many decisions a conclusion takes if every option is perfect; None if it cannot be said.

        A session warns where its horizon is shorter.
        """
        return None

    def needs_horizon(self, setting: Setting) -> int:
        """Return the horizon, or say that this policy cannot do without one."""
        if setting.horizon is None:
            name = self.called()
            if hasattr(self, "delta"):
                raise InputError(
                    f"{name} needs a horizon or a delta, but neither was given: say horizon=100_000, or "
                    f"policy={type(self).__name__}(delta=1e-4)"
                )
            raise InputError(f"{name} needs a horizon, but none was given: say horizon=100_000")
        return setting.horizon
