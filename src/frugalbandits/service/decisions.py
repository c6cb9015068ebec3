"""Asking and telling: the routes where time counts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Annotated, TypeVar

from fastapi import Path, Query

from frugalbandits.core.session import Decision
from frugalbandits.errors import InputError
from frugalbandits.service.access import WRITER, Holder
from frugalbandits.service.answers import NOTHING, Answer
from frugalbandits.service.hub import known_name
from frugalbandits.service.models import Ask, Feedback, Observation
from frugalbandits.service.routing import Call, Route
from frugalbandits.service.shapes import DecisionList, DecisionShape
from frugalbandits.service.views import decision_view
from frugalbandits.stores.contextual_session import StoredContextualSession
from frugalbandits.stores.contract import Fact
from frugalbandits.stores.kinds import Stored
from frugalbandits.stores.session import StoredSession
from frugalbandits.stores.tokens import LONGEST

__all__ = ["ROUTES", "SessionName", "asked", "author", "decisions_of", "observed", "routed"]

SessionName = Annotated[
    str, Path(description="The name of a session.", min_length=1, max_length=120, examples=["shop"])
]
DecisionId = Annotated[str, Path(description="The id of a decision.", min_length=1, max_length=LONGEST)]
Used = Annotated[
    bool,
    Query(description="False where the option was not used after all: then the decision cost nothing."),
]

_SLOW = 0.005  # seconds of planning beyond which a session is asked in a thread of its own
_QUICK = 100  # quick answers after which it is so no more: the first plan after a start takes longest
_MANY = 50  # decisions that are asked for in a thread
_NOTHING_ASKED = Ask()
_Found = TypeVar("_Found")


async def ask(call: Call, name: SessionName, body: Ask | None = None) -> Answer:
    """Return the next decision of a session, or the next `count` as a list.

    Nothing is written, unless the session looks at queries: such a decision is durable when this answers.
    """
    call.note(name)
    session = call.service.hub.sessions.get(name) or await call.service.hub.session(known_name(name))
    if body is not None and body.count is not None:
        call.service.rates.charge(call.who.name, body.count - 1)
    return Answer(201, await asked(call, session, body or _NOTHING_ASKED))


async def asked(call: Call, session: Stored, ask: Ask) -> bytes:
    """Return decisions as JSON; those that look at a query are in the log by then."""
    if ask.after is not None:
        await call.service.hub.catch_up_with(session, ask.after)
    if isinstance(session, StoredContextualSession):
        decision, facts = await routed(call, session, ask)
        session.settle(await call.service.hub.submit(session, facts))
        call.service.metrics.decided(session.name, decision.option)
        return decision_view(decision, session.name, call.service.standby.of(session))
    _no_query(session, ask)
    decisions = await _planned(call, session, partial(decisions_of, session, ask), ask.count or 1)
    for each in decisions:
        call.service.metrics.decided(session.name, each.option)
    standby = call.service.standby.of(session)
    if ask.count is None:
        return decision_view(decisions[0], session.name, standby)
    told = b",".join([decision_view(each, session.name, standby) for each in decisions])
    return b'{"decisions":[%b]}' % told


async def routed(call: Call, session: StoredContextualSession, ask: Ask) -> tuple[Decision, list[Fact]]:
    """Return a decision that looks at a query, and the facts that are to be in the log before it is told."""
    if ask.count is not None:
        raise InputError(
            f"session {session.name!r} looks at queries, so each decision is for one: leave count out"
        )
    draft = partial(
        session.draft_ask,
        ask.context,
        metadata=ask.metadata,
        among=ask.among,
        exclude=ask.exclude,
        after=ask.after,
        costs=ask.costs,
        by=call.who.name,
    )
    return await _planned(call, session, draft, 1)


def _no_query(session: StoredSession, body: Ask | Observation) -> None:
    """Refuse what only sessions that look at queries can take."""
    for name in ("context", "costs"):
        if getattr(body, name, None) is not None:
            raise InputError(
                f"session {session.name!r} looks at no query, so it takes no {name}: a session that does is "
                "made with a context"
            )


async def _planned(call: Call, session: Stored, plan: Callable[[], _Found], count: int) -> _Found:
    """Have something planned: here, or in a thread where it takes long or is much."""
    slow = call.service.slow
    if session.name in slow or count > _MANY:
        found, took = await asyncio.to_thread(_timed, plan)
    else:
        found, took = _timed(plan)
    if took > _SLOW * count:
        # Whoever plans for long would make everybody else wait.
        slow[session.name] = 0
    elif session.name in slow:
        slow[session.name] += 1
        if slow[session.name] > _QUICK:
            del slow[session.name]
    return found


def _timed(plan: Callable[[], _Found]) -> tuple[_Found, float]:
    """Plan, and say how long this thread was at work: others may keep the machine busy."""
    began = time.thread_time()
    found = plan()
    return found, time.thread_time() - began


def decisions_of(session: StoredSession, ask: Ask) -> list[Decision]:
    """Ask a session as a body says."""
    if ask.count is None:
        return [session.ask(metadata=ask.metadata, among=ask.among, exclude=ask.exclude, after=ask.after)]
    return session.ask(
        ask.count, metadata=ask.metadata, among=ask.among, exclude=ask.exclude, after=ask.after
    )


def observed(session: Stored, body: Observation, by: str) -> list[Fact]:
    """Return the facts of a use that was no decision."""
    if not isinstance(session, StoredContextualSession):
        _no_query(session, body)
        return session.draft_observe(body.option, body.reward, body.cost, body.id, by)
    if body.reward is None or body.cost is not None:
        raise InputError(
            f"session {session.name!r} looks at queries: a reward is to be told of an option, and no cost"
        )
    return session.draft_observe(body.context, body.option, body.reward, body.id, by)


def author(who: Holder, source: str | None) -> str:
    """Return who says something: whose token it is, and who judged."""
    return who.name if source is None else f"{who.name}/{source}"


async def tell(call: Call, id: DecisionId, body: Feedback) -> Answer:
    """Tell how good a decision was, or what it cost, or both. It is durable when this answers."""
    hub = call.service.hub
    session = await hub.of_decision(id)
    call.note(session.name)
    await hub.catch_up_with(session, id)
    facts = session.draft_tell(id, body.reward, body.cost, author(call.who, body.source))
    outcomes = await hub.submit(session, facts)
    session.settle(outcomes)
    call.service.metrics.told(session, outcomes)
    return NOTHING


async def forget(call: Call, id: DecisionId, used: Used = True) -> Answer:
    """Say that the feedback of a decision will never come, and whether its option was used."""
    hub = call.service.hub
    session = await hub.of_decision(id)
    call.note(session.name)
    await hub.catch_up_with(session, id)
    session.settle(await hub.submit(session, session.draft_forget(id, call.who.name, used)))
    return NOTHING


async def observe(call: Call, name: SessionName, body: Observation) -> Answer:
    """Tell of a use of an option that was no decision."""
    call.note(name)
    hub = call.service.hub
    session = await hub.session(known_name(name))
    outcomes = await hub.submit(session, observed(session, body, author(call.who, body.source)))
    session.settle(outcomes)
    call.service.metrics.told(session, outcomes)
    return NOTHING


ROUTES = [
    Route(
        "POST",
        "/v1/sessions/{name}/decisions",
        WRITER,
        ask,
        "Ask which option to use",
        {201: {"description": "A decision, or a list of them", "model": DecisionShape | DecisionList}},
    ),
    Route(
        "PUT",
        "/v1/decisions/{id}/feedback",
        WRITER,
        tell,
        "Tell how good a decision was",
        {204: {"description": "Told, and durable"}},
    ),
    Route(
        "DELETE",
        "/v1/decisions/{id}",
        WRITER,
        forget,
        "Forget a decision",
        {204: {"description": "Forgotten, and durable"}},
    ),
    Route(
        "POST",
        "/v1/sessions/{name}/observations",
        WRITER,
        observe,
        "Tell of a use that was no decision",
        {204: {"description": "Told, and durable"}},
    ),
]
