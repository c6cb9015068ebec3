"""What a session gets to see of a request before it decides: its segment, its text, numbers of yours.

Texts are made numbers here, at once, so that what waits for an answer is small, and no text of a user's goes
to a store or a service. What a request will cost is guessed from the length of its prompt.
"""

from __future__ import annotations

import base64
import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from frugalbandits.core.contextual.context import (
    Context,
    Features,
    Joined,
    Segments,
    TextFeatures,
    check_context,
)
from frugalbandits.core.contextual.registry import resolve_contextual
from frugalbandits.errors import InputError
from frugalbandits.integrations.litellm.judges import Query

if TYPE_CHECKING:
    from frugalbandits.integrations.litellm.settings import Settings

__all__ = [
    "NOTHING",
    "UNNAMED",
    "Asked",
    "asked_of",
    "by_numbers",
    "check_looking",
    "looks_alike",
    "messages_in",
    "system_in",
    "unpacked",
]

#: The segment of a request whose metadata names none.
UNNAMED = "unnamed"


class Asked(NamedTuple):
    """What is known of a request: its segment, its numbers, and about how many tokens its prompt has."""

    segment: str | None
    numbers: Any
    tokens: float

    @property
    def context(self) -> Any:
        """The request as a session takes it."""
        if self.segment is None or self.numbers is None:
            return self.numbers if self.segment is None else self.segment
        return self.segment, self.numbers

    @property
    def packed(self) -> str | None:
        """The same as a short text, to travel with a ticket; None: nothing is known.

        Examples
        --------
        >>> Asked("sums", [0.5, -1.0], 7.0).packed, Asked("sums", None, 7.0).packed
        ('AAAAPwAAgL8|sums', '|sums')
        """
        if self.segment is None and self.numbers is None:
            return None
        data = np.asarray([] if self.numbers is None else self.numbers, "<f4").tobytes()
        numbers = base64.urlsafe_b64encode(data).decode().rstrip("=")
        return numbers if self.segment is None else f"{numbers}|{self.segment}"


#: What is known where a session does not look.
NOTHING = Asked(None, None, 0.0)


def unpacked(text: str) -> Any:
    """Return the context that was packed, to seven digits.

    Examples
    --------
    >>> unpacked("AAAAPwAAgL8|sums"), unpacked("|sums")
    (('sums', [0.5, -1.0]), 'sums')
    """
    packed, bar, segment = text.partition("|")
    data = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
    numbers = np.frombuffer(data, "<f4").tolist() if packed else None
    return Asked(segment if bar else None, numbers, 0.0).context


def messages_in(messages: Any, call: Mapping[str, Any], system: Any = None) -> list[Any]:
    """Return the messages of a call, under whichever name LiteLLM has them, its system prompt first.

    Examples
    --------
    >>> messages_in(None, {"input": "hello", "instructions": "Be short."})
    [{'role': 'system', 'content': 'Be short.'}, 'hello']
    """
    found = messages or call.get("messages") or call.get("input") or call.get("prompt") or []
    turns = list(found) if isinstance(found, list | tuple) else [found]
    system = system or system_in(call)
    return [{"role": "system", "content": system}, *turns] if system else turns


def system_in(call: Mapping[str, Any]) -> Any:
    """Return the system prompt that Anthropic's messages and the Responses API have beside the messages."""
    return call.get("system") or call.get("instructions")


def asked_of(settings: Settings, messages: Sequence[Any], metadata: Mapping[str, Any]) -> Asked:
    """Return what is known of a request, checked; errors of the user's function come through."""
    context = settings.context
    segment = None
    if isinstance(context, Segments | Joined):
        reader = settings.segment
        found = reader(metadata) if callable(reader) else metadata.get(str(reader))
        segment = UNNAMED if found is None else str(found)
    query = Query(messages, metadata, settings.group, segment)
    kind = context.features if isinstance(context, Joined) else context
    if isinstance(kind, Segments):
        return Asked(segment, None, query.tokens)
    value = query.text if settings.features is None else settings.features(query)
    if inspect.iscoroutine(value):
        value.close()
        raise InputError("features must be a plain function: decisions do not wait for a coroutine")
    return Asked(segment, kind.numbers(value), query.tokens)


def by_numbers(context: Context) -> Context:
    """Return what a session is told that it looks at: numbers, where they are made of a text here."""
    if isinstance(context, TextFeatures):
        return Features(context.size)
    if isinstance(context, Joined):
        return Joined(context.segments, Features(context.features.size))
    return context


def looks_alike(one: Context, other: Context) -> bool:
    """Tell whether what is known of a request by one context can be read by the other."""
    return _shape(one) == _shape(other)


def _shape(context: Context) -> tuple[bool, int]:
    kind = context.features if isinstance(context, Joined) else context
    size = 0 if isinstance(kind, Segments) else kind.size
    return isinstance(context, Segments | Joined), size


def check_looking(given: Mapping[str, Any]) -> None:
    """Refuse settings that a session which looks at the request has no use for, or cannot do without."""
    context, features = given["context"], given["features"]
    if context is None:
        if features is not None:
            raise InputError("features makes numbers for a context, but there is none: context=Features(3)")
        return
    check_context(context)
    _check_readers(context, features, given["segment"])
    for name in ("horizon", "worth", "judge_price"):
        if given[name] is not None:
            raise InputError(f"a session that looks at the request has no use for {name}={given[name]!r}")
    if given["over"] == "each":
        raise InputError("a session that looks at the request promises an average: over must be 'queries'")
    if given["policy"] is None:
        return
    policy = resolve_contextual(given["policy"])
    for name in ("store", "service_url"):
        if given[name] is not None and type(policy).count is None:
            raise InputError(
                f"{given['policy']!r} decides in one process only, so leave {name} out, or take "
                "policy='dual-cof'"
            )


def _check_readers(context: Context, features: Any, segment: Any) -> None:
    segmented = isinstance(context, Segments | Joined)
    if segmented and segment is None:
        raise InputError(f"say which key of the metadata is the segment, segment=..., for {context!r}")
    if segment is not None and not segmented:
        raise InputError(
            f"segment={segment!r} is given, but the context is {context!r}: add Segments([...]) to it"
        )
    kind = context.features if isinstance(context, Joined) else context
    if isinstance(kind, Segments) and features is not None:
        raise InputError(f"features makes numbers, but the context is {context!r}: add Features(number)")
    if isinstance(kind, Features) and features is None:
        raise InputError(f"{kind!r} needs features=..., a function of a request that returns its numbers")
    if features is not None and (not callable(features) or inspect.iscoroutinefunction(features)):
        raise InputError(f"features must be a plain function of a request, but it is {features!r}")
