"""Asking and telling: the routes where time counts."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated

from fastapi import Path

from frugalbandits.core.session import Decision
from frugalbandits.service.access import WRITER, Holder
from frugalbandits.service.answers import NOTHING, Answer
from frugalbandits.service.hub import known_name
from frugalbandits.service.models import Ask, Feedback, Observation
from frugalbandits.service.routing import Call, Route
from frugalbandits.service.shapes import DecisionList, DecisionShape
from frugalbandits.service.views import decision_view
from frugalbandits.stores.session import StoredSession
from frugalbandits.stores.tokens import LONGEST

__all__ = ["ROUTES", "SessionName", "asked", "author", "decisions_of"]

SessionName = Annotated[
    str, Path(description="The name of a session.", min_length=1, max_length=120, examples=["shop"])
]
DecisionId = Annotated[str, Path(description="The id of a decision.", min_length=1, max_length=LONGEST)]

_SLOW = 0.005  # seconds of planning beyond which a session is asked in a thread of its own
_QUICK = 100  # quick answers after which it is so no more: the first plan after a start takes longest
_MANY = 50  # decisions that are asked for in a thread
_NOTHING_ASKED = Ask()


async def ask(call: Call, name: SessionName, body: Ask | None = None) -> Answer:
    """Return the next decision of a session, or the next `count` as a list. Nothing is written."""
    call.note(name)
    session = call.service.hub.sessions.get(name) or await call.service.hub.session(known_name(name))
    return Answer(201, await asked(call, session, body or _NOTHING_ASKED))


async def asked(call: Call, session: StoredSession, ask: Ask) -> bytes:
    """Return decisions as JSON."""
    service = call.service
    if session.name in service.slow or (ask.count or 1) > _MANY:
        decisions, took = await asyncio.to_thread(_timed, session, ask)
    else:
        decisions, took = _timed(session, ask)
    if took > _SLOW * len(decisions):
        # Whoever plans for long would make everybody else wait.
        service.slow[session.name] = 0
    elif session.name in service.slow:
        service.slow[session.name] += 1
        if service.slow[session.name] > _QUICK:
            del service.slow[session.name]
    standby = service.standby.of(session)
    if ask.count is None:
        return decision_view(decisions[0], session.name, standby)
    told = b",".join([decision_view(each, session.name, standby) for each in decisions])
    return b'{"decisions":[%b]}' % told


def _timed(session: StoredSession, ask: Ask) -> tuple[list[Decision], float]:
    """Ask a session, and say how long this thread was at work: others may keep the machine busy."""
    began = time.thread_time()
    decisions = decisions_of(session, ask)
    return decisions, time.thread_time() - began


def decisions_of(session: StoredSession, ask: Ask) -> list[Decision]:
    """Ask a session as a body says."""
    if ask.count is None:
        return [session.ask(metadata=ask.metadata, among=ask.among, exclude=ask.exclude, after=ask.after)]
    return session.ask(
        ask.count, metadata=ask.metadata, among=ask.among, exclude=ask.exclude, after=ask.after
    )


def author(who: Holder, source: str | None) -> str:
    """Return who says something: whose token it is, and who judged."""
    return who.name if source is None else f"{who.name}/{source}"


async def tell(call: Call, id: DecisionId, body: Feedback) -> Answer:
    """Tell how good a decision was, or what it cost, or both. It is durable when this answers."""
    hub = call.service.hub
    session = await hub.of_decision(id)
    call.note(session.name)
    facts = session.draft_tell(id, body.reward, body.cost, author(call.who, body.source))
    session.settle(await hub.submit(session, facts))
    call.service.metrics.told(session.name, facts[0])
    return NOTHING


async def forget(call: Call, id: DecisionId) -> Answer:
    """Say that the feedback of a decision will never come."""
    hub = call.service.hub
    session = await hub.of_decision(id)
    call.note(session.name)
    session.settle(await hub.submit(session, session.draft_forget(id, call.who.name)))
    return NOTHING


async def observe(call: Call, name: SessionName, body: Observation) -> Answer:
    """Tell of a use of an option that was no decision."""
    call.note(name)
    hub = call.service.hub
    session = await hub.session(known_name(name))
    facts = session.draft_observe(body.option, body.reward, body.cost, body.id, author(call.who, body.source))
    session.settle(await hub.submit(session, facts))
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
