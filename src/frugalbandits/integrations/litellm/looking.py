"""What a session gets to see of a request before it decides: its segment, its text, numbers of yours.

Texts are made numbers here, at once, so that what waits for an answer is small. What a request will cost is
guessed from the length of its prompt.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from frugalbandits.core.contextual.context import (
    Context,
    Features,
    Joined,
    Segments,
    TextFeatures,
    check_context,
)
from frugalbandits.core.contextual.registry import resolve_contextual
from frugalbandits.core.contextual.session import ContextualSession
from frugalbandits.errors import InputError
from frugalbandits.integrations.litellm.judges import question_in, text_in

if TYPE_CHECKING:
    from frugalbandits.integrations.litellm.settings import Settings

__all__ = ["NOTHING", "UNNAMED", "Asked", "Query", "asked_of", "check_looking", "messages_in", "new_session"]

#: The segment of a request whose metadata names none.
UNNAMED = "unnamed"
_CHARACTERS = 4.0  # of a token; what is wrong with that is made up for when bills come in


@dataclass(frozen=True)
class Query:
    """What a function of yours gets to see of a request, to make features of it.

    Attributes
    ----------
    messages
        The messages of the request; a prompt or an input in another form stands alone in the list.
    metadata
        The metadata of the request, with what LiteLLM has added.
    group, segment
        The model group, and the segment where there are segments.
    """

    messages: Sequence[Any]
    metadata: Mapping[str, Any]
    group: str
    segment: str | None = None

    @property
    def text(self) -> str:
        """The text of the last message of a user."""
        return question_in(self.messages)

    @property
    def tokens(self) -> float:
        """About how many tokens the prompt has: a quarter of its characters."""
        return sum(len(text_in(each)) for each in self.messages) / _CHARACTERS


class Asked(NamedTuple):
    """What is known of a request: the context for a session, and about how many tokens its prompt has."""

    context: Any
    tokens: float


#: What is known where a session does not look.
NOTHING = Asked(None, 0.0)


def messages_in(messages: Any, call: Mapping[str, Any]) -> list[Any]:
    """Return the messages of a call, under whichever name LiteLLM has them."""
    found = messages or call.get("messages") or call.get("input") or call.get("prompt") or []
    return list(found) if isinstance(found, list | tuple) else [found]


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
        return Asked(segment, query.tokens)
    value = query.text if settings.features is None else settings.features(query)
    if inspect.iscoroutine(value):
        value.close()
        raise InputError("features must be a plain function: decisions do not wait for a coroutine")
    numbers = kind.numbers(value)
    return Asked(numbers if segment is None else (segment, numbers), query.tokens)


def new_session(settings: Settings, costs: Mapping[str, float]) -> ContextualSession:
    """Return the session of a group that looks at the request."""
    return ContextualSession(
        costs,
        context=_by_numbers(settings.context),
        quality=settings.quality,
        policy=settings.policy or "dual-cof",
        memory=None if isinstance(settings.memory, str) else settings.memory,
        time_to_live=settings.time_to_live,
    )


def _by_numbers(context: Context) -> Context:
    if isinstance(context, TextFeatures):
        return Features(context.size)
    if isinstance(context, Joined):
        return Joined(context.segments, Features(context.features.size))
    return context


def check_looking(given: Mapping[str, Any]) -> None:
    """Refuse settings that a session which looks at the request has no use for, or cannot do without."""
    context, features = given["context"], given["features"]
    if context is None:
        if features is not None:
            raise InputError("features makes numbers for a context, but there is none: context=Features(3)")
        return
    check_context(context)
    _check_readers(context, features, given["segment"])
    for name in ("store", "service_url"):
        if given[name] is not None:
            raise InputError(
                f"{name} is given, but a session that looks at the request is kept in this process alone"
            )
    for name in ("horizon", "worth", "judge_price"):
        if given[name] is not None:
            raise InputError(f"a session that looks at the request has no use for {name}={given[name]!r}")
    if given["over"] == "each":
        raise InputError("a session that looks at the request promises an average: over must be 'queries'")
    if given["policy"] is not None:
        resolve_contextual(given["policy"])


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
