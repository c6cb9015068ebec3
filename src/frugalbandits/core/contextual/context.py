"""What a session may look at before it decides: the segment of a query, its features, or its text.

An encoded query is 1, then the features, then an entry for each segment that is 1 for the query's own.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.options import vector
from frugalbandits.errors import InputError

__all__ = [
    "Context",
    "Encoder",
    "Features",
    "Joined",
    "Segments",
    "TextFeatures",
    "check_context",
    "context_of",
    "plain_context",
]

Floats = NDArray[np.float64]

LARGEST = 1e6  # a feature beyond it would drown all others
_SHAPE = 3  # entries of a text's features that are not hashed
_TOKEN = re.compile(rb"[a-z0-9\x80-\xff]+|[^\sa-z0-9\x80-\xff]")


def _whole(what: str, value: Any, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not low <= value <= high:
        raise InputError(f"{what} must be a whole number from {low} to {high:,}, but it is {value!r}")
    return int(value)


@dataclass(frozen=True)
class Features:
    """A query is so many numbers: an embedding, a length, a guess of how hard it is.

    Any scale will do, as each feature is held against its own variance. Fewer are learned faster: of an
    embedding take some 8 to 64 principal components.

    Examples
    --------
    >>> Features(2).numbers([0.5, -1.0])
    array([ 0.5, -1. ])
    """

    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", _whole("the number of features", self.size, 1, 1_000))

    def numbers(self, value: Any) -> Floats:
        """Return the features of a query, checked."""
        if isinstance(value, np.ndarray) and value.dtype == np.float64 and value.ndim == 1:
            features = value.copy()
        elif isinstance(value, str | Mapping) or not isinstance(value, Iterable):
            raise InputError(f"the context must be {self.size} numbers, but it is {value!r}")
        else:
            features = vector("features", value if isinstance(value, np.ndarray | list) else list(value))
        if len(features) != self.size:
            raise InputError(f"the context must have {self.size} features, but it has {len(features)}")
        # Written so that NaN is outside.
        if not (features.min() >= -LARGEST and features.max() <= LARGEST):
            bad = np.flatnonzero(~(np.abs(features) <= LARGEST))
            raise InputError(
                f"features must be numbers up to {LARGEST:,.0f}, but features[{bad[0]}] is {features[bad[0]]}"
            )
        return features

    def __add__(self, other: Any) -> Joined:
        return _joined(self, other)

    __radd__ = __add__


@dataclass(frozen=True)
class TextFeatures:
    """A query is a text: its length, digits and signs, and its words, hashed into so many numbers.

    It needs nothing but the text and is the same in every process and release. An embedding of a small
    language model says more, where there is one.

    Examples
    --------
    >>> TextFeatures(8).numbers("What is 2 + 2?").round(2).tolist()
    [0.33, 0.14, 0.14, 0.41, 0.0, -0.41, 0.82, 0.0]
    """

    size: int = 32

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", _whole("the number of features", self.size, _SHAPE + 1, 1_000))

    def numbers(self, value: Any) -> Floats:
        """Return the features of a text."""
        if not isinstance(value, str):
            raise InputError(f"the context must be a text, but it is {value!r}")
        # Bytes, because what a letter is changes from one release of Unicode to the next.
        data = value.encode("utf-8", "replace").lower()
        length = max(len(data), 1)
        features, slots = np.zeros(self.size), self.size - _SHAPE
        signs = 0
        for token in _TOKEN.findall(data):
            if len(token) == 1 and not token.isalnum() and token[0] < 128:
                signs += 1
                continue
            digest = zlib.crc32(token)
            features[_SHAPE + (digest >> 1) % slots] += 1.0 if digest & 1 else -1.0
        norm = math.sqrt(sum(each * each for each in features.tolist()))
        if norm > 0:
            features /= norm
        features[0] = math.log(length) / 8.0
        features[1] = sum(48 <= each < 58 for each in data) / length
        features[2] = signs / length
        return features

    def __add__(self, other: Any) -> Joined:
        return _joined(self, other)

    __radd__ = __add__


@dataclass(frozen=True)
class Segments:
    """A query belongs to a segment that has a name: a language, a task, a customer.

    Segments of which little was seen borrow from the others. Names that were not given may turn up later;
    beyond `most` they have no entry of their own, and are decided by what all have in common.

    Examples
    --------
    >>> Segments(["de", "fr"]) + Features(3)
    Joined(segments=Segments(names=('de', 'fr'), most=200), features=Features(size=3))
    """

    names: tuple[str, ...] = ()
    most: int = 200

    def __post_init__(self) -> None:
        given: Any = self.names
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise InputError(f"segments must be a list of names, but it is {given!r}")
        names = tuple(self.segment(name) for name in given)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"names of segments must differ, but {twice!r} stands twice")
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "most", _whole("most", self.most, max(len(names), 1), 10_000))

    def segment(self, value: Any) -> str:
        """Return the name of a segment, checked."""
        if not isinstance(value, str) or not value.strip() or len(value) > 200:
            raise InputError(f"a segment is a name of up to 200 characters, but it is {value!r}")
        return value

    def __add__(self, other: Any) -> Joined:
        return _joined(self, other)

    __radd__ = __add__


@dataclass(frozen=True)
class Joined:
    """Segment and features together: the context of a query is the pair of them, the segment first."""

    segments: Segments
    features: Features | TextFeatures

    def parts(self, value: Any) -> tuple[Any, Any]:
        """Return segment and features of a query: a pair, or a mapping with these two keys."""
        if isinstance(value, Mapping) and set(value) == {"segment", self._second}:
            return value["segment"], value[self._second]
        if isinstance(value, tuple | list) and len(value) == 2:
            return value[0], value[1]
        raise InputError(
            f"the context must be a pair of segment and {self._second}, or a dictionary with 'segment' and "
            f"{self._second!r}, but it is {value!r}"
        )

    @property
    def _second(self) -> str:
        return "text" if isinstance(self.features, TextFeatures) else "features"


Context = Segments | Features | TextFeatures | Joined


def _joined(one: Any, other: Any) -> Joined:
    for segments, features in ((one, other), (other, one)):
        if isinstance(segments, Segments) and isinstance(features, Features | TextFeatures):
            return Joined(segments, features)
    raise InputError(f"segments go together with features or with a text, but this is {one!r} and {other!r}")


def check_context(context: Any) -> Context:
    """Return what a session is to look at, or say what it may be."""
    if not isinstance(context, Context):
        raise InputError(
            "context must be Segments([...]), Features(number), TextFeatures(number) or the sum of segments "
            f"and one of the others, but it is {context!r}"
        )
    return context


def plain_context(context: Context) -> dict[str, Any]:
    """Return what a session looks at in a few plain values; `context_of` reads them.

    Examples
    --------
    >>> plain_context(Segments(["de", "fr"]) + TextFeatures(32))
    {'segments': ['de', 'fr'], 'most_segments': 200, 'text': 32}
    """
    if isinstance(context, Joined):
        return {**plain_context(context.segments), **plain_context(context.features)}
    if isinstance(context, Segments):
        return {"segments": list(context.names), "most_segments": context.most}
    return {"text" if isinstance(context, TextFeatures) else "features": context.size}


def context_of(
    segments: Iterable[str] | None = None,
    features: int | None = None,
    text: int | None = None,
    most_segments: int = 200,
) -> Context:
    """Return what a session is to look at, from plain values.

    Examples
    --------
    >>> context_of(segments=["de", "fr"], features=3)
    Joined(segments=Segments(names=('de', 'fr'), most=200), features=Features(size=3))
    """
    if features is not None and text is not None:
        raise InputError(f"a query has features or a text, but both are given: {features!r} and {text!r}")
    numbers: Features | TextFeatures | None = None if features is None else Features(features)
    if text is not None:
        numbers = TextFeatures(text)
    if segments is None:
        if numbers is None:
            raise InputError("the context must have segments, features or text, but it has none of them")
        return numbers
    named = Segments(tuple(segments), most_segments)
    return named if numbers is None else named + numbers


class Encoder:
    """Queries as arrays; it knows the segments that have turned up."""

    def __init__(self, context: Context, names: Iterable[str] | None = None) -> None:
        self.context = context
        self._segments = context if isinstance(context, Segments) else getattr(context, "segments", None)
        features = getattr(context, "features", context)
        self._features = features if isinstance(features, Features | TextFeatures) else None
        given = self._segments.names if self._segments is not None else ()
        self.features = 0 if self._features is None else self._features.size  # entries that are numbers
        self.names: dict[str, int] = {}
        for name in given if names is None else names:
            self.names[name] = len(self.names)

    @property
    def width(self) -> int:
        """The length of an encoded query."""
        return 1 + self.features + len(self.names)

    @property
    def has_segments(self) -> bool:
        """Whether queries have segments."""
        return self._segments is not None

    def read(self, value: Any) -> tuple[Floats, str | None]:
        """Return features and segment of a query, checked; nothing is changed."""
        if value is None:
            raise InputError(f"say which query it is: the context is missing, and {self.context!r} is wanted")
        segment, numbers = value, value
        if isinstance(self.context, Joined):
            segment, numbers = self.context.parts(value)
        name = None if self._segments is None else self._segments.segment(segment)
        features = np.zeros(0) if self._features is None else self._features.numbers(numbers)
        return features, name

    def admit(self, segment: str | None) -> bool:
        """Take in a segment that was not seen before; tell whether queries are wider now."""
        if self._segments is None or segment is None or segment in self.names:
            return False
        if len(self.names) >= self._segments.most:
            return False
        self.names[segment] = len(self.names)
        return True

    def encode(self, features: Floats, segment: str | None) -> Floats:
        """Return a query as policies see it."""
        phi = np.zeros(self.width)
        phi[0] = 1.0
        phi[1 : 1 + len(features)] = features
        if segment is not None and segment in self.names:
            phi[1 + len(features) + self.names[segment]] = 1.0
        return phi
