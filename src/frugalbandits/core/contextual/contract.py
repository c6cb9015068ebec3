"""The contract of policies that look at the query: a plan depends on it, so there are no batches.

A contextual policy answers one query at a time and learns from one reward at a time:

- ``start(setting)`` makes a fresh state, a named tuple of arrays that are changed in place;
- ``choose(state, phi, costs, usable, rng, floors)`` counts a decision and returns which option takes this
  query, and with which probability it did; in `floors` it may put down how likely each option was at least;
- ``learn(state, phi, arm, propensity, reward, floors)`` folds in one reward; it may come late, in any order,
  never. Propensity and floors are those of its own decision; the propensity of a use that was no decision of
  the policy is 0;
- ``count(state, phi, costs, arm, propensity)`` counts a decision that was taken on another copy of the state:
  where several workers share a session, each takes decisions `apart` and counts those of all. A policy
  without it decides in one process only.

`phi` is the encoded query: 1, then the features, then one entry for each segment (see `context`). The bar is
on the average over queries: minimise the mean cost subject to a mean quality of at least B, where B is the
level of `AtLeast`, (1 - a) times the mean quality of the named option, or of the best single option. Unlike
under the batch contract, options are in the caller's order: costs may differ from query to query.

These functions are compiled where numba is installed, so they read and write the state, their arguments and
nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contract import copied
from frugalbandits.core.quality import AtLeast, Quality

__all__ = ["Beliefs", "Choice", "ContextualPolicy", "ContextualSetting"]

Floats = NDArray[np.float64]


class Choice(NamedTuple):
    """Which option takes a query, how likely that was, and whether feedback is worth a judgement."""

    arm: int
    propensity: float
    wanted: bool


class ContextualSetting(NamedTuple):
    """What a contextual policy is told before it starts.

    `costs` are the usual costs, in the caller's order; those of a query may differ. `reference` is the option
    that the bar names, -1 for other bars. `width` is the length of an encoded query, the leading 1 included.
    `features` of these, after the 1, are numbers; what follows are segments. `memory` is the number of
    decisions within which what was seen fades, None for never.
    """

    costs: Floats
    quality: Quality
    reference: int
    width: int
    features: int
    memory: int | None = None

    @property
    def keep(self) -> float:
        """The share of another option's quality that is good enough, 1 - a; 1 for a fixed level."""
        return 1.0 if isinstance(self.quality, AtLeast) else 1.0 - self.quality.alpha

    @property
    def level(self) -> float:
        """The fixed level, -1 for other bars."""
        return self.quality.level if isinstance(self.quality, AtLeast) else -1.0


class Beliefs(NamedTuple):
    """What a policy holds of the average over queries so far, for `explain`; intervals are of 95%."""

    bar: float
    bar_interval: tuple[float, float]
    quality: float  # of what was handed out
    quality_interval: tuple[float, float]
    price: float  # lambda: what a unit of quality is worth, in units of cost
    option_quality: Floats  # the mean quality of each option, had it taken every query
    option_error: Floats  # and the standard errors of these


@dataclass(frozen=True)
class ContextualPolicy(ABC):
    """A contextual policy's settings: small, frozen, validated when made. The data lives in the state."""

    #: One line for the list of policies, ending with the source.
    title: ClassVar[str]
    #: The compiled function ``choose(state, phi, costs, usable, rng, floors) -> Choice``.
    choose: ClassVar[Any]
    #: The compiled function ``learn(state, phi, arm, propensity, reward, floors) -> None``.
    learn: ClassVar[Any]
    #: The compiled function ``count(state, phi, costs, arm, propensity) -> None``; None: it cannot be shared.
    count: ClassVar[Any] = None

    @abstractmethod
    def start(self, setting: ContextualSetting) -> Any:
        """Return a fresh state, or raise an InputError where the setting does not suit the policy."""

    @abstractmethod
    def beliefs(self, state: Any) -> Beliefs:
        """Say what is held of the average over queries so far."""

    def apart(self, state: Any) -> Any:
        """Return a state to choose on that leaves no trace in this one."""
        return copied(state)

    def from_version_1(self, arrays: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        """Return the arrays of a stored state of format 1 as those of format 2, and floors for what waits."""
        return arrays, None

    def from_version_2(self, arrays: dict[str, Any]) -> dict[str, Any]:
        """Return the arrays of a stored state of format 2 as they are today."""
        return arrays

    def reason(self, state: Any, arm: int, propensity: float) -> str:
        """Say in a few words why an option takes the query that was chosen for last."""
        return "chosen for this query"

    def range_of(self, setting: ContextualSetting) -> dict[str, tuple[float, float]]:
        """Return the least and the greatest value of each array of the state, by name, for stored states."""
        return {}

    def contradiction(self, state: Any) -> str | None:
        """Say what is wrong with a stored state whose values are in range; None: nothing."""
        return None

    def pending_contradiction(self, propensity: float, floors: list[float]) -> str | None:
        """Say what is wrong with the propensity and the floors of a stored decision; None: nothing."""
        return None

    @abstractmethod
    def widened(self, state: Any, width: int) -> Any:
        """Return the state for encoded queries of a greater width: segments that were not seen before."""

    @abstractmethod
    def carried(self, state: Any, setting: ContextualSetting, origin: list[int]) -> Any:
        """Return a state for other options or usual costs, with what was seen of the options that stay.

        `origin` has, for each option of the new setting, its place in the earlier one; -1 for a new one.
        """
