"""A population of queries: what is known of each, what each option costs and gives on it, and the bar.

This is the only place that validates features, segments, rewards and costs of queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from frugalbandits.core.contextual.contract import ContextualSetting
from frugalbandits.core.options import check_names, check_reference, cost_order, frozen
from frugalbandits.core.quality import AtLeast, Quality, check_quality
from frugalbandits.core.settings import check_flag
from frugalbandits.errors import InputError
from frugalbandits.lab.contextual.oracle import KINDS, Oracle, Rule, Walk, best_rule, fitted_rewards, walk
from frugalbandits.lab.shown import Shown

__all__ = ["ContextualProblem"]

Floats = NDArray[np.float64]

_SAME = 1e-12  # as in `Problem`
#: What the one segment is called where none are given.
_EVERYTHING = "all queries"


@dataclass(frozen=True, eq=False)
class ContextualProblem(Shown):
    """Queries from which a router draws, with what every option would have given on each of them.

    The bar is on the average over queries: the mean cost is to be as low as it can while the mean quality is
    at least B. B is the level of `AtLeast`, (1 - alpha) times the mean quality of the named option, or of the
    best single option.

    Parameters
    ----------
    features
        Numbers that are known of each query before it is answered: queries x features. None for none.
    segments
        A label for each query, text or number. None for none.
    rewards
        The mean reward of each option on each query, in [0, 1]: queries x options.
    costs
        The cost of each option, or of each option on each query.
    quality
        The quality bar: `RelativeToBest`, `RelativeTo` or `AtLeast`, or its written form.
    names
        One name per option; "a1", "a2", ... by default.
    realised
        Whether `rewards` are handed out as they are. By default they are means, and a simulation draws 0 or 1
        with that mean; for rewards that are all 0 or 1 it makes no difference.

    Examples
    --------
    >>> problem = ContextualProblem(
    ...     features=None,
    ...     segments=["easy", "easy", "hard", "easy"],
    ...     rewards=[[0.9, 1.0], [0.9, 1.0], [0.1, 0.9], [0.9, 1.0]],
    ...     costs=[1.0, 10.0],
    ...     quality="relative-to-best:0.1",
    ...     names=["small", "large"],
    ... )
    >>> problem
    ContextualProblem(4 queries, 2 options, 0 features, 2 segments, relative-to-best:0.1, bar=0.8775)
    >>> oracle = problem.oracle()
    >>> [round(rule.cost, 2) for rule in (oracle.single, oracle.mix, oracle.segments)]
    [10.0, 6.81, 3.0]
    """

    features: Floats
    segment: NDArray[np.int64]
    segment_names: tuple[str, ...]
    segmented: bool
    rewards: Floats
    costs: Floats
    quality: Quality
    names: tuple[str, ...]
    realised: bool

    def __init__(
        self,
        features: ArrayLike | None,
        segments: Sequence[Any] | NDArray[Any] | None,
        rewards: ArrayLike,
        costs: ArrayLike,
        quality: Quality | str,
        names: Iterable[str] | None = None,
        *,
        realised: bool = False,
    ) -> None:
        given = _matrix("rewards", rewards)
        queries, options = given.shape
        if queries < 1 or options < 2:
            raise InputError(
                f"rewards must have a row a query and a column an option, at least 1 x 2, but its shape is "
                f"{given.shape}"
            )
        _within("rewards", given, 0.0, 1.0)
        known = np.zeros((queries, 0)) if features is None else _matrix("features", features)
        _same_length("features", len(known), queries)
        labels, segment = _segments(segments, queries)
        bar = check_quality(None, quality)
        called = check_names(names, options)
        check_reference(bar, called)
        values = {
            "features": frozen(known),
            "segment": frozen(segment),
            "segment_names": labels,
            "segmented": segments is not None,
            "rewards": frozen(given),
            "costs": frozen(_costs(costs, queries, options)),
            "quality": bar,
            "names": called,
            "realised": check_flag("realised", realised),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def queries(self) -> int:
        """Number of queries."""
        return int(self.rewards.shape[0])

    @property
    def options(self) -> int:
        """Number of options."""
        return int(self.rewards.shape[1])

    @cached_property
    def encoded(self) -> Floats:
        """The queries as policies see them: 1, the features, and one entry for each segment."""
        parts = [np.ones((self.queries, 1)), self.features]
        if self.segmented:
            parts.append(np.eye(len(self.segment_names))[self.segment])
        return frozen(np.ascontiguousarray(np.hstack(parts)))

    @cached_property
    def option_quality(self) -> Floats:
        """The mean quality of each option, had it taken every query."""
        return frozen(self.rewards.mean(axis=0))

    @cached_property
    def option_cost(self) -> Floats:
        """The mean cost of each option, had it taken every query."""
        return frozen(self.costs.mean(axis=0))

    @cached_property
    def reference(self) -> int | None:
        """The option that the bar names, None for other bars."""
        return check_reference(self.quality, self.names)

    @cached_property
    def bar(self) -> float:
        """B: what the mean quality over queries has to be."""
        if isinstance(self.quality, AtLeast):
            return self.quality.level
        of = self.option_quality if self.reference is None else self.option_quality[self.reference]
        return (1.0 - self.quality.alpha) * float(np.max(of))

    @cached_property
    def best_option(self) -> int:
        """The single option of the highest mean quality; the cheapest of them if several share it."""
        order = cost_order(self.option_cost)
        return int(order[np.argmax(self.option_quality[order])])

    @cached_property
    def optimal_option(self) -> int:
        """The cheapest single option that reaches the bar, a*; the best one where none does."""
        order = cost_order(self.option_cost)
        enough = self.option_quality[order] >= self.bar * (1.0 - _SAME)
        return int(order[np.argmax(enough)]) if enough.any() else self.best_option

    @cached_property
    def cost_range(self) -> float:
        """From the least to the greatest mean cost of an option; 1 where all cost the same."""
        return float(np.ptp(self.option_cost)) or 1.0

    @cached_property
    def segment_share(self) -> Floats:
        """The share of the queries that each segment has."""
        return frozen(np.bincount(self.segment, minlength=len(self.segment_names)) / self.queries)

    def oracle(self) -> Oracle:
        """Return the best rule of each kind: a mix, one by segment, and a linear one; and a*.

        The linear one takes the option with the least c - lambda m, m the least-squares fit of each option's
        rewards on the encoded queries.
        """
        return self._oracle

    @cached_property
    def _oracle(self) -> Oracle:
        star = self.optimal_option
        single = Rule(
            "single",
            float(self.option_cost[star]),
            float(self.option_quality[star]),
            0.0,
            np.eye(self.options)[star],
            bool(self.option_quality[star] >= self.bar * (1.0 - _SAME)),
        )
        return Oracle(self.bar, single, *(best_rule(kind, self.rules(kind), self.bar) for kind in KINDS))

    def rules(self, kind: str) -> Walk:
        """Return the rules of one kind ("mix", "segments" or "linear") for all lambda.

        The frontier of quality and cost is made of their means, and of mixes of neighbours.
        """
        if kind not in KINDS:
            raise InputError(f"kind must be {', '.join(map(repr, KINDS))}, but it is {kind!r}")
        costs = np.broadcast_to(self.costs, self.rewards.shape)
        if kind == "linear":
            weights = np.full(self.queries, 1.0 / self.queries)
            return walk(costs, fitted_rewards(self.encoded, self.rewards), self.rewards, weights)
        groups = np.zeros(self.queries, np.int64) if kind == "mix" else self.segment
        sizes = np.bincount(groups).astype(float)
        truth, paid = np.zeros((2, len(sizes), self.options))
        np.add.at(truth, groups, self.rewards / sizes[groups][:, None])
        np.add.at(paid, groups, costs / sizes[groups][:, None])
        return walk(paid, truth, truth, sizes / self.queries)

    def setting(self) -> ContextualSetting:
        """Return what a policy is told before it starts."""
        return ContextualSetting(
            self.option_cost,
            self.quality,
            -1 if self.reference is None else self.reference,
            int(self.encoded.shape[1]),
            int(self.features.shape[1]),
        )

    def with_quality(self, quality: Quality | str) -> ContextualProblem:
        """Return the same queries and options under another quality bar."""
        labels = np.array(self.segment_names)[self.segment] if self.segmented else None
        costs = self.costs[0] if len(self.costs) == 1 else self.costs
        return ContextualProblem(
            self.features, labels, self.rewards, costs, quality, self.names, realised=self.realised
        )

    def __repr__(self) -> str:
        segments = len(self.segment_names) if self.segmented else 0
        return (
            f"ContextualProblem({self.queries:,} queries, {self.options} options, "
            f"{self.features.shape[1]} features, {segments} segments, {self.quality}, bar={self.bar:.4g})"
        )


def _matrix(what: str, values: ArrayLike) -> Floats:
    """Return a table of finite numbers as an array of its own."""
    try:
        found = np.asarray(values)
    except ValueError:
        raise InputError(f"{what} must be a table of numbers, with rows of one length") from None
    if found.dtype.kind not in "iufb":
        flat = found.ravel().tolist()
        wrong = [each for each in flat if isinstance(each, str) or not isinstance(each, int | float)]
        if wrong or found.dtype.kind != "O":
            raise InputError(f"{what} must be a table of numbers, but one entry is {(wrong or flat)[0]!r}")
    if found.ndim != 2:
        raise InputError(f"{what} must have rows and columns, but its shape is {found.shape}")
    table = np.array(found, dtype=np.float64, order="C")
    _within(what, table, -np.finfo(np.float64).max, np.finfo(np.float64).max)
    return table


def _within(what: str, table: Floats, low: float, high: float) -> None:
    outside = np.argwhere(~((table >= low) & (table <= high)))
    if outside.size:
        place = ", ".join(map(str, outside[0].tolist()))
        wanted = "be finite" if high > 1.0 else f"lie in [{low:g}, {high:g}]"
        raise InputError(f"{what} must {wanted}, but {what}[{place}] is {table[tuple(outside[0])]}")


def _same_length(what: str, length: int, queries: int) -> None:
    if length != queries:
        raise InputError(
            f"{what} must have a row for each query, but there are {length} of them and {queries} queries"
        )


def _costs(costs: ArrayLike, queries: int, options: int) -> Floats:
    """Return costs as rows: one for all queries, or one for each."""
    given = costs if isinstance(costs, np.ndarray) else np.asarray(costs, dtype=object)
    flat = given.ndim == 1
    table = _matrix("costs", given[None, :] if flat else given)
    if table.shape[1] != options:
        raise InputError(
            f"costs must have an entry for each option, but there are {table.shape[1]} of them and {options} "
            "options"
        )
    if not flat:
        _same_length("costs", len(table), queries)
    return table


def _segments(segments: Any, queries: int) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the segments' names, in order, and the segment of each query."""
    if segments is None:
        return (_EVERYTHING,), np.zeros(queries, np.int64)
    if isinstance(segments, str) or not isinstance(segments, Iterable):
        raise InputError(f"segments must be a list of labels, but it is {segments!r}")
    labels = list(segments.tolist() if isinstance(segments, np.ndarray) else segments)
    _same_length("segments", len(labels), queries)
    for place, label in enumerate(labels):
        if label is None or label != label or not isinstance(label, str | int | float | np.generic):
            raise InputError(f"a segment is a text or a number, but segments[{place}] is {label!r}")
    try:
        distinct = sorted(set(labels))
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels})
        raise InputError(f"segments must be texts or numbers, but there are {' and '.join(kinds)}") from None
    places = {label: place for place, label in enumerate(distinct)}
    names = check_names(list(map(str, distinct)), len(distinct))
    return names, np.array([places[label] for label in labels], np.int64)
