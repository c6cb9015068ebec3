"""What is known of the requests of a log before they are answered: a segment, numbers, or a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from frugalbandits.core.contextual.context import LARGEST, TextFeatures
from frugalbandits.core.contextual.contract import ContextualSetting
from frugalbandits.core.quality import Quality
from frugalbandits.errors import InputError, unknown_name
from frugalbandits.lab.contextual import ContextualProblem
from frugalbandits.lab.contextual.oracle import fitted_rewards
from frugalbandits.lab.logs import Scan
from frugalbandits.lab.replay.data import Floats, Ints, Past, Table
from frugalbandits.lab.replay.reading import Columns
from frugalbandits.lab.text import counted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MOST", "TEXT_SIZE", "Queries", "Wanted", "read_queries", "wanted_of"]

#: Requests that policies may look at, so that all fit into memory and time; of more, some are drawn.
MOST = 50_000
#: Numbers that a text is hashed into.
TEXT_SIZE = 32
# As a session allows.
_MOST_SEGMENTS = 200
_MOST_FEATURES = 1_000


@dataclass(frozen=True, eq=False)
class Queries:
    """Requests as policies that look at them see them.

    Attributes
    ----------
    past
        Their rewards and costs.
    features
        Requests x features.
    segment
        The segment of each request, by its place among `segments`; None where there are none.
    words
        What is known of a request, in words.
    """

    past: Past
    features: Floats
    segment: Ints | None
    segments: tuple[str, ...]
    words: str

    @cached_property
    def encoded(self) -> Floats:
        """Each request as 1, the features, and an entry for each segment."""
        parts = [np.ones((len(self.features), 1)), self.features]
        if self.segment is not None:
            parts.append(np.eye(len(self.segments))[self.segment])
        return np.ascontiguousarray(np.hstack(parts))

    def setting(self, costs: Floats, quality: Quality, reference: int | None) -> ContextualSetting:
        """Return what a policy is told before it starts."""
        width, features = self.encoded.shape[1], self.features.shape[1]
        return ContextualSetting(costs, quality, -1 if reference is None else reference, width, features)

    def problem(self, table: Table, requests: Ints, quality: Quality) -> ContextualProblem:
        """Return some requests of the full table, some more than once, as what oracles know.

        Costs are their least-squares fit by what is known of a request: an oracle knows as much of what a
        request will cost as can be seen beforehand. Means over all requests, and over those of a segment,
        are what they were.
        """
        pairs = table.pairs[:, requests]
        rewards, costs = pairs[:, :, 0].T, pairs[:, :, 1].T
        if np.ptp(costs, axis=0).max() > 0:
            costs = fitted_rewards(self.encoded[requests], costs)
        labels = None if self.segment is None else np.array(self.segments)[self.segment[requests]]
        return ContextualProblem(
            self.features[requests], labels, rewards, costs, quality, table.names, realised=True
        )


@dataclass(frozen=True)
class Wanted:
    """Columns that say something of a request; `given` where the first was asked for by its name."""

    segment: str | None
    given: bool
    features: tuple[str, ...]
    text: str | None

    @property
    def any(self) -> bool:
        """Whether there is anything to look at."""
        return self.segment is not None or bool(self.features) or self.text is not None


def wanted_of(scan: Scan, columns: Columns, features: Sequence[str] | str | None, text: str | None) -> Wanted:
    """Return the columns that say something of a request; refuse those that say how it was answered."""
    if features is not None and text is not None:
        raise InputError(
            f"features and text are both given, {features!r} and {text!r}, but a session looks at one of them"
        )
    used = {columns.name(what) for what in Columns._fields if what != "context"}
    answers = tuple(f"{columns.name(what)}:" for what in ("reward", "cost"))
    taken = [each for each in scan.columns if each in used or each.startswith(answers)]
    if text is not None:
        scan.require([text])
        _not_an_answer(scan, text, taken)
    found = _matching(scan, features, taken)
    if len(found) > _MOST_FEATURES:
        raise InputError(f"{scan.name}: a request has up to {_MOST_FEATURES:,} features, but {len(found):,}")
    return Wanted(columns.there(scan, "context"), columns.context is not None, found, text)


def _matching(scan: Scan, features: Sequence[str] | str | None, taken: Sequence[str]) -> tuple[str, ...]:
    """Return columns by name or by pattern, each once; patterns leave out what has another meaning."""
    if features is None:
        return ()
    asked = [features] if isinstance(features, str) else list(features)
    if not asked:
        raise InputError("features must be columns, such as 'x*', but there is none")
    found: list[str] = []
    for each in asked:
        if each in scan.columns:
            _not_an_answer(scan, each, taken)
            found.append(each)
            continue
        names = [name for name in scan.columns if fnmatchcase(name, each) and name not in taken]
        if not names:
            raise InputError(f"{scan.name}: {unknown_name('column', each, scan.columns)}")
        found += names
    return tuple(dict.fromkeys(found))


def _not_an_answer(scan: Scan, column: str, taken: Sequence[str]) -> None:
    if column in taken:
        raise InputError(f"{scan.name}: {column!r} is not known before a request is answered")


def read_queries(scan: Scan, wanted: Wanted, past: Past, seed: int) -> tuple[Queries | None, tuple[str, ...]]:
    """Return what is known of the requests, or of a part of them, and what is to be said of that."""
    told: list[str] = []
    if past.requests > MOST:
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(4,)))
        past = past.part(np.sort(rng.choice(past.requests, MOST, replace=False)))
        told.append(
            f"what looks at the request was run on {MOST:,} of the requests, drawn at random: it learns less "
            "than on all of them"
        )
    rows = past.place
    assert rows is not None
    others = [each for each in (wanted.segment, wanted.text) if each is not None]
    frame = scan.frame(wanted.features, others, rows)
    features, words = _features(scan, wanted, frame, rows)
    segments: tuple[str, ...] = ()
    segment = None
    if wanted.segment is not None:
        labels = scan.names(frame, wanted.segment, rows)
        trouble = _too_many(labels)
        if trouble is None:
            segments, segment = _segments(labels)
            words.insert(0, f"{counted(len(segments), 'segment')} from {wanted.segment!r}")
        elif wanted.given:
            raise InputError(f"{scan.name}: {trouble}")
        else:
            told = [f"the column {wanted.segment!r} is not used: {trouble}", *told]
    if not words:
        return None, tuple(told[:1])
    return Queries(past, features, segment, segments, " and ".join(words)), tuple(told)


def _features(scan: Scan, wanted: Wanted, frame: pl.DataFrame, rows: Ints) -> tuple[Floats, list[str]]:
    import polars as pl

    if wanted.text is not None:
        texts, hashed = frame[wanted.text].cast(pl.String), TextFeatures(TEXT_SIZE)
        scan.refuse(texts.is_null(), wanted.text, "is no text", rows)
        features = np.array([hashed.numbers(text) for text in texts.to_list()])
        return features, [f"{TEXT_SIZE} features of the text {wanted.text!r}"]
    if not wanted.features:
        return np.zeros((frame.height, 0)), []
    for column in wanted.features:
        scan.refuse(frame[column].abs() > LARGEST, column, f"is beyond {LARGEST:,.0f}", rows)
    features = frame.select(wanted.features).to_numpy().astype(np.float64)
    return features, [counted(len(wanted.features), "feature")]


def _too_many(labels: pl.Series) -> str | None:
    """Say what speaks against taking a column for segments; None where nothing does."""
    kinds, count = labels.n_unique(), labels.len()
    most = min(max(2, count // 20), _MOST_SEGMENTS)
    if kinds <= most:
        return None
    return (
        f"segments are up to {_MOST_SEGMENTS}, with at least 20 requests each or so, but "
        f"{labels.name!r} has {counted(kinds, 'value')} in {counted(count, 'request')}"
    )


def _segments(labels: pl.Series) -> tuple[tuple[str, ...], Ints]:
    names, places = np.unique(labels.to_numpy(), return_inverse=True)
    return tuple(map(str, names.tolist())), places.astype(np.int64)
