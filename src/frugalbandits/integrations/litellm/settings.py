"""The settings of a group, checked where they enter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any, Literal

from frugalbandits.core.quality import Quality, check_quality
from frugalbandits.core.session.waiting import duration
from frugalbandits.core.settings import check_flag
from frugalbandits.errors import InputError, unknown_name
from frugalbandits.integrations.litellm.judges import Thumbs
from frugalbandits.integrations.litellm.looking import check_looking
from frugalbandits.integrations.litellm.pricing import check_costs, check_tokens

__all__ = ["DAY", "Settings", "made_settings"]

DAY = 86_400.0  # seconds
_SHORTEST_KEY = 16  # characters
_FAILURES = ("forget", "zero")

Reader = str | Callable[[Mapping[str, Any]], Any] | None


@dataclass(frozen=True)
class Settings:
    """What `FrugalRouter` is told; see there."""

    group: str
    quality: Quality
    judge: Any
    policy: str | None
    over: str | None
    horizon: float | None
    worth: float | None
    memory: int | Literal["auto"] | None
    learn_costs: bool
    costs: Mapping[str, float]
    expected_tokens: tuple[float, float]
    failure: str
    sticky: Reader
    segment: Reader
    context: Any
    features: Any
    most_segments: int
    pooled: int
    shadow: bool
    baseline: str | None
    time_to_live: float
    judge_price: float | None
    service_url: str | None
    name: str
    store: Any = field(repr=False)
    token: str | None = field(repr=False)
    ticket_keys: tuple[str, ...] = field(repr=False)

    def differences(self, other: Settings) -> list[str]:
        """Return the names of settings in which two differ; functions and open stores cannot be compared."""
        found = []
        for each in fields(self):
            mine, theirs = getattr(self, each.name), getattr(other, each.name)
            plain = not callable(mine) and not hasattr(mine, "append")
            if plain and mine != theirs:
                found.append(each.name)
        return found


def made_settings(
    group: Any,
    *,
    quality: Quality | str | None,
    alpha: float | None,
    judge: Any,
    failure: str,
    time_to_live: float | timedelta,
    **more: Any,
) -> Settings:
    """Return the settings, or say which of them cannot be."""
    if not isinstance(group, str) or not group:
        raise InputError(f"group must be the name of a model group of LiteLLM, but it is {group!r}")
    if judge is not None and not callable(judge):
        raise InputError(
            f"judge must be a function of a request and a response, or None, but it is {judge!r}"
        )
    if failure not in _FAILURES:
        raise unknown_name("way to take a failure", str(failure), _FAILURES)
    lives = duration(time_to_live)
    if lives is None:
        raise InputError("time_to_live must be a number of seconds: abandoned streams end in no other way")
    if isinstance(judge, Thumbs) and judge.hold >= lives:
        raise InputError(
            f"a thumb is held for {judge.hold:g} s, but its decision lives for {lives:g} s alone: make "
            "time_to_live longer than hold"
        )
    for name in ("sticky", "segment"):
        _check_reader(name, more[name])
    for name in ("most_segments", "pooled"):
        value = more[name]
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 10_000:
            raise InputError(f"{name} must be a whole number from 0 to 10,000, but it is {value!r}")
    if more["store"] is not None and more["service_url"] is not None:
        raise InputError("store and service_url exclude each other: the service has a store of its own")
    ticket_keys = _check_keys(more.pop("ticket_key"), more["store"], more["service_url"])
    check_looking(more)
    if quality is None and alpha is None:
        raise InputError("say what is good enough: quality='relative-to-best:0.05', or alpha=0.05")
    return Settings(
        group=group,
        quality=check_quality(alpha, quality),
        judge=judge,
        failure=failure,
        time_to_live=lives,
        **{
            **more,
            "costs": check_costs(more["costs"]),
            "expected_tokens": check_tokens(more["expected_tokens"]),
            "shadow": check_flag("shadow", more["shadow"]),
            "learn_costs": check_flag("learn_costs", more["learn_costs"]),
            "name": more["name"] or group,
            "ticket_keys": ticket_keys,
        },
    )


def _check_reader(name: str, reader: Any) -> None:
    if reader is not None and not isinstance(reader, str) and not callable(reader):
        raise InputError(f"{name} must be a key of the metadata or a function of it, but it is {reader!r}")


def _check_keys(given: Any, store: Any, service_url: Any) -> tuple[str, ...]:
    """Return the keys of tickets: the first signs, and all of them are accepted."""
    if given is None:
        return ()
    keys = [given] if isinstance(given, str) else given
    fits = isinstance(keys, Sequence) and len(keys) > 0
    if not fits or not all(isinstance(key, str) and len(key) >= _SHORTEST_KEY for key in keys):
        raise InputError(
            f"ticket_key must be a text of {_SHORTEST_KEY} characters or more, or a list of such texts, the "
            "newest first"
        )
    if store is None and service_url is None:
        # Decisions in memory are numbered anew after a restart: an old id would name another decision.
        raise InputError("ticket_key needs a store or a service_url: sessions in memory end with the process")
    return tuple(keys)
