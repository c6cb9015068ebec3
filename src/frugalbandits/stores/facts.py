"""The kinds of facts that the log of a session has, and how each is written.

Feedback names its option, epoch of prices and time, all from the id of its decision, so that it means the
same to whoever reads it. The key of a reward and of giving it up are one: a decision has one or the other.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contextual.accounts import Waiter
from frugalbandits.core.contextual.context import plain_context
from frugalbandits.core.contextual.session import ContextualSession
from frugalbandits.core.quality import quality_to_dict
from frugalbandits.core.session import Session
from frugalbandits.core.session.stored import dump_policy
from frugalbandits.stores.contract import Fact, body_of
from frugalbandits.stores.tokens import Token

__all__ = [
    "ASKED",
    "CHANGE",
    "COST",
    "COUNT",
    "CREATED",
    "FORGET",
    "NOTICED",
    "OBSERVE",
    "REWARD",
    "asked",
    "billed",
    "changed",
    "contextual_settings_of",
    "counted",
    "created",
    "forgotten",
    "noticed",
    "observed",
    "query_of",
    "rewarded",
    "settings_of",
]

CREATED = "created"
ASKED = "asked"
REWARD = "reward"
FORGET = "forget"
COST = "cost"
OBSERVE = "observe"
COUNT = "count"
CHANGE = "change"
NOTICED = "noticed"


def settings_of(session: Session) -> dict[str, Any]:
    """Return what a session was told at its start: two of one name must agree on it."""
    terms = session._terms._asdict()
    return {
        "options": [[name, cost] for name, cost in zip(session._names, session._costs, strict=True)],
        "quality": quality_to_dict(session._quality),
        "policy": dump_policy(session._label, session._policy)["name"],
        "horizon": session._horizon,
        **terms,
    }


def contextual_settings_of(session: ContextualSession) -> dict[str, Any]:
    """Return what a contextual session was told at its start; `context` tells it from others."""
    return {
        "options": [[name, cost] for name, cost in zip(session._names, session._costs, strict=True)],
        "quality": quality_to_dict(session._quality),
        "context": plain_context(session.context),
        "policy": session._label,
        "memory": session._memory,
        "time_to_live": session._time_to_live,
    }


def created(settings: Mapping[str, Any], state: str, at: float, by: str) -> Fact:
    """Return the fact that a session begins, as it stands."""
    return Fact(CREATED, CREATED, body_of({"settings": settings, "state": state}), at, by)


def query_of(features: NDArray[np.float64], segment: str | None) -> dict[str, Any]:
    """Return a query as plain values."""
    query: dict[str, Any] = {} if segment is None else {"s": segment}
    return {**query, "x": features.tolist()} if len(features) else query


def asked(
    token: Token, waiter: Waiter, prices: list[float | None] | None, metadata: Any, at: float, by: str
) -> Fact:
    """Return the fact of a decision that looked at a query: all that its policy needs when it is told of it.

    `prices` are by option, where this query has others than the usual ones.
    """
    body = {
        "o": token.option,
        "t": token.issued,
        "p": waiter.propensity,
        "f": waiter.floors.tolist(),
        "c": waiter.cost,
        **query_of(waiter.features, waiter.segment),
        **({} if prices is None else {"k": prices}),
        **({} if metadata is None else {"m": metadata}),
    }
    return Fact(f"{token.key}a", ASKED, body_of(body), at, by)


def rewarded(token: Token, reward: float, at: float, by: str) -> Fact:
    """Return the fact of a decision's reward."""
    return Fact(f"{token.key}r", REWARD, body_of({**_of(token), "r": reward}), at, by)


def billed(token: Token, cost: float, at: float, by: str) -> Fact:
    """Return the fact of a decision's cost."""
    return Fact(f"{token.key}c", COST, body_of({**_of(token), "c": cost}), at, by)


def forgotten(token: Token, at: float, by: str, used: bool = True) -> Fact:
    """Return the fact that a decision's reward will never come, and whether its option was used."""
    body = _of(token) if used else {**_of(token), "u": 0}
    return Fact(f"{token.key}r", FORGET, body_of(body), at, by)


def _of(token: Token) -> dict[str, Any]:
    about: dict[str, Any] = {"o": token.option, "e": token.epoch, "t": token.issued}
    return about if token.metadata is None else {**about, "m": token.metadata}


def observed(
    option: int,
    reward: float | None,
    cost: float | None,
    id_: str | None,
    at: float,
    by: str,
    query: Mapping[str, Any] | None = None,
) -> Fact:
    """Return the fact of a use that was no decision; with an id of the caller's, it counts once."""
    told = {name: value for name, value in (("r", reward), ("c", cost)) if value is not None}
    key = secrets.token_urlsafe(12) if id_ is None else f"={id_}"
    return Fact(f"o:{key}", OBSERVE, body_of({"o": option, **told, **(query or {})}), at, by)


def counted(worker: str, turn: int, counts: Mapping[tuple[int, int, int], int], at: float, by: str) -> Fact:
    """Return how many decisions a worker has handed out since it last said so: by option, epoch, slot."""
    rows = sorted([*key, count] for key, count in counts.items())
    return Fact(f"n:{worker}:{turn}", COUNT, body_of({"w": worker, "n": rows}), at, by)


def changed(do: str, option: str, cost: float | None, at: float, by: str) -> Fact:
    """Return the fact of a change of options or prices."""
    body = {"do": do, "option": option, **({} if cost is None else {"cost": cost})}
    return Fact(f"c:{secrets.token_urlsafe(12)}", CHANGE, body_of(body), at, by)


def noticed(key: str, kind: str, option: str | None, words: str, decision: int, at: float, by: str) -> Fact:
    """Return what a worker has concluded or noticed; whoever notices the same takes the same key."""
    body = {"kind": kind, "option": option, "words": words, "decision": decision}
    return Fact(f"x:{key}", NOTICED, body_of(body), at, by)
