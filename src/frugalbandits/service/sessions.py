"""Routes of sessions as a whole: made, listed, explained, their log and their state."""

from __future__ import annotations

import asyncio
import threading
import warnings
from functools import partial
from typing import Annotated, Any

from fastapi import Query

from frugalbandits.core.contextual.context import context_of
from frugalbandits.core.contextual.session import ContextualSession
from frugalbandits.core.session import Session
from frugalbandits.errors import HorizonWarning, InputError, StoreUnavailable
from frugalbandits.service import limits
from frugalbandits.service.access import ADMIN, READER
from frugalbandits.service.answers import Answer, as_json, encoded
from frugalbandits.service.decisions import SessionName
from frugalbandits.service.hub import Hub, known_name
from frugalbandits.service.models import Context, NewSession
from frugalbandits.service.problems import Problem
from frugalbandits.service.routing import Call, Route
from frugalbandits.service.shapes import (
    ChangeList,
    LogPage,
    RoutesShape,
    SeriesShape,
    SessionList,
    SessionShape,
)
from frugalbandits.service.views import broken_view, entry_view, session_view, summary_view
from frugalbandits.stores.following import Following, check_session_name
from frugalbandits.stores.kinds import Stored
from frugalbandits.stores.outlook import options_of
from frugalbandits.stores.price_list import APPLY

__all__ = ["ROUTES"]

AfterName = Annotated[str, Query(description="Sessions whose names come after this one.", max_length=120)]
PageSize = Annotated[int, Query(description="How many at most.", ge=1, le=limits.SESSION_PAGE)]
AfterEntry = Annotated[int, Query(description="Entries with higher numbers.", ge=0, le=2**53)]
LogSize = Annotated[int, Query(description="How many at most.", ge=1, le=limits.LOG_PAGE)]

# Warnings are caught for a whole process, so by one at a time.
_warning = threading.Lock()


async def create(call: Call, name: SessionName, body: NewSession) -> Answer:
    """Make a session. The same again returns it; other settings, options or prices are a conflict.

    With `on_difference: apply`, other options and prices become those of the session.
    """
    call.note(name)
    check_session_name(name)
    hub = call.service.hub
    if name not in hub.sessions:
        names = await hub.names()
        if name not in names and len(names) >= limits.SESSIONS:
            raise Problem(
                422, "too-many", f"a store may have {limits.SESSIONS:,} sessions, and this one has as many"
            )
        taken = name in names
    else:
        taken = True
    if taken and body.on_difference == APPLY:
        await _check_room(hub, name, body)
    warned: list[str] = []
    make = partial(_session_of, body, warned)
    session, new = await hub.create(name, make, call.who.name, body.on_difference)
    view = await asyncio.to_thread(session_view, session)
    return as_json({**view, "warnings": warned}, 201 if new else 200)


async def _check_room(hub: Hub, name: str, body: NewSession) -> None:
    """Refuse a price list that would give a session too many options: those that it does not name stay."""
    options = {each.name for each in options_of(await hub.session(name))} | set(body.costs)
    if len(options) > limits.OPTIONS:
        raise Problem(
            422,
            "too-many",
            f"a session may have {limits.OPTIONS:,} options, and with these it would have {len(options):,}",
        )
    if body.context is not None:
        _check_size(len(options), body.context)


def _session_of(body: NewSession, warned: list[str]) -> Session | ContextualSession:
    """Return the session of a request, and add what its settings warn of to a list."""
    if body.context is not None:
        return _contextual_of(body, body.context)
    with _warning, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HorizonWarning)
        session = Session(**body.model_dump(exclude={"context", "on_difference"}))
        warned += [str(each.message) for each in caught]
    return session


def _check_size(options: int, context: Context) -> None:
    """Refuse what would make a state that takes too much memory in every worker."""
    numbers = 1 + (context.features or context.text or 0)
    numbers += 0 if context.segments is None else max(context.most_segments, len(context.segments))
    if options * numbers**2 > limits.STATE:
        raise Problem(
            422,
            "too-many",
            f"{options:,} options times the square of {numbers:,}, the features of a query and an entry for "
            f"each of most_segments, may be {limits.STATE:,} at most: take fewer of them",
        )


def _contextual_of(body: NewSession, context: Context) -> ContextualSession:
    for name in ("horizon", "worth", "learn_costs", "judge_price"):
        value = getattr(body, name)
        if value != NewSession.model_fields[name].default:
            raise InputError(f"a session that looks at queries has no {name}, but it is {value!r}")
    if body.over == "each":
        raise InputError("a session that looks at queries promises the average, so over cannot be 'each'")
    _check_size(len(body.costs), context)
    return ContextualSession(
        body.costs,
        body.alpha,
        context_of(**context.model_dump()),
        quality=body.quality,
        policy=body.policy or "dual-cof",
        memory=None if body.memory == "auto" else body.memory,
        time_to_live=body.time_to_live,
    )


async def listed(call: Call, after: AfterName = "", limit: PageSize = 100) -> Answer:
    """Return sessions by name, each in a few numbers; one that does not work has its `trouble` in words."""
    hub = call.service.hub
    names = sorted(name for name in await hub.names() if name.startswith(call.who.prefix))
    beyond = [name for name in names if name > after]
    sessions = {name: await _opened(hub, name) for name in beyond[:limit]}
    troubles = hub.troubles()

    def views() -> list[dict[str, Any]]:
        return [
            broken_view(name, troubles.get(name, "it was removed from the store meanwhile"))
            if session is None
            else summary_view(session, troubles.get(name))
            for name, session in sessions.items()
        ]

    body = await asyncio.to_thread(views)
    more = beyond[limit - 1] if len(beyond) > limit else None
    return as_json({"sessions": body, "total": len(names), "next": more})


async def _opened(hub: Hub, name: str) -> Stored | None:
    """Return a session, or None where it cannot be opened: `hub.troubles` says why."""
    try:
        return await hub.session(name)
    except StoreUnavailable:
        raise
    except Exception:
        return None


async def explained(call: Call, name: SessionName) -> Answer:
    """Return what is believed of each option, what was spent and saved, and what comes next."""
    return await _told(call, name, session_view)


async def series(call: Call, name: SessionName) -> Answer:
    """Return how a session went over time: for pictures."""
    return await _told(call, name, Following.series)


async def changes(call: Call, name: SessionName) -> Answer:
    """Return what was changed or noticed so far, when, in words."""
    return await _told(call, name, _changes)


def _changes(session: Stored) -> dict[str, Any]:
    found = session.changes()
    return {"changes": [each._asdict() for each in found], "total": found.total}


async def _told(call: Call, name: str, say: Any) -> Answer:
    session = await _named(call, name)
    return Answer(200, await asyncio.to_thread(lambda: encoded(say(session))))


async def _named(call: Call, name: str) -> Stored:
    call.note(name)
    hub: Hub = call.service.hub
    return await hub.session(known_name(name))


async def log(call: Call, name: SessionName, after: AfterEntry = 0, limit: LogSize = 1_000) -> Answer:
    """Return the log of a session: who said what, when."""
    session = await _named(call, name)
    hub = call.service.hub
    entries = await hub.ask_store(lambda: hub.store.read(session.name, after, limit))
    more = entries[-1].seq if len(entries) == limit else None
    return as_json({"entries": [entry_view(each) for each in entries], "next": more})


async def export(call: Call, name: SessionName) -> Answer:
    """Return a session as the text that `load` of `fb.Session`, or of `fb.ContextualSession`, reads."""
    session = await _named(call, name)
    text = await asyncio.to_thread(session.to_json)
    return Answer(200, text.encode())


ROUTES = [
    Route(
        "PUT",
        "/v1/sessions/{name}",
        ADMIN,
        create,
        "Make a session",
        {
            201: {"description": "It is new", "model": SessionShape | RoutesShape},
            200: {"description": "It was there, made alike", "model": SessionShape | RoutesShape},
        },
    ),
    Route(
        "GET",
        "/v1/sessions",
        READER,
        listed,
        "List sessions",
        {200: {"description": "Sessions by name", "model": SessionList}},
    ),
    Route(
        "GET",
        "/v1/sessions/{name}",
        READER,
        explained,
        "Explain a session",
        {200: {"description": "All that is known of it", "model": SessionShape | RoutesShape}},
    ),
    Route(
        "GET",
        "/v1/sessions/{name}/series",
        READER,
        series,
        "A session over time",
        {200: {"description": "Times, and values at each", "model": SeriesShape}},
    ),
    Route(
        "GET",
        "/v1/sessions/{name}/changes",
        READER,
        changes,
        "What was changed or noticed",
        {200: {"description": "Changes, oldest first", "model": ChangeList}},
    ),
    Route(
        "GET",
        "/v1/sessions/{name}/log",
        READER,
        log,
        "The log of a session",
        {200: {"description": "Entries, oldest first", "model": LogPage}},
    ),
    Route(
        "GET",
        "/v1/sessions/{name}/export",
        READER,
        export,
        "A session as a file",
        {
            200: {
                "description": "What fb.Session.load, or fb.ContextualSession.load, reads",
                "model": dict[str, Any],
            }
        },
    ),
]
