"""Routes of sessions as a whole: made, listed, explained, their log and their state."""

from __future__ import annotations

import asyncio
import threading
import warnings
from typing import Annotated, Any

from fastapi import Query

from frugalbandits.core.session import Session
from frugalbandits.errors import HorizonWarning
from frugalbandits.service import limits
from frugalbandits.service.access import ADMIN, READER
from frugalbandits.service.answers import Answer, as_json, encoded
from frugalbandits.service.decisions import SessionName
from frugalbandits.service.hub import Hub, known_name
from frugalbandits.service.models import NewSession
from frugalbandits.service.problems import Problem
from frugalbandits.service.routing import Call, Route
from frugalbandits.service.shapes import ChangeList, LogPage, SeriesShape, SessionList, SessionShape
from frugalbandits.service.views import entry_view, session_view, summary_view
from frugalbandits.stores.following import check_session_name
from frugalbandits.stores.session import StoredSession

__all__ = ["ROUTES"]

AfterName = Annotated[str, Query(description="Sessions whose names come after this one.", max_length=120)]
PageSize = Annotated[int, Query(description="How many at most.", ge=1, le=limits.SESSION_PAGE)]
AfterEntry = Annotated[int, Query(description="Entries with higher numbers.", ge=0, le=2**53)]
LogSize = Annotated[int, Query(description="How many at most.", ge=1, le=limits.LOG_PAGE)]

# Warnings are caught for a whole process, so by one at a time.
_warning = threading.Lock()


async def create(call: Call, name: SessionName, body: NewSession) -> Answer:
    """Make a session; the same again is the same, and another one of that name is a conflict."""
    call.note(name)
    check_session_name(name)
    hub = call.service.hub
    if name not in hub.sessions:
        names = await hub.names()
        if name not in names and len(names) >= limits.SESSIONS:
            raise Problem(
                422, "too-many", f"a store may have {limits.SESSIONS:,} sessions, and this one has as many"
            )
    fresh, warned = await asyncio.to_thread(_session_of, body)
    session, new = await hub.create(name, fresh, call.who.name)
    view = await asyncio.to_thread(session_view, session)
    return as_json({**view, "warnings": warned}, 201 if new else 200)


def _session_of(body: NewSession) -> tuple[Session, list[str]]:
    with _warning, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HorizonWarning)
        return Session(**body.model_dump()), [str(each.message) for each in caught]


async def listed(call: Call, after: AfterName = "", limit: PageSize = 100) -> Answer:
    """Return sessions by name, each in a few numbers."""
    hub = call.service.hub
    names = sorted(name for name in await hub.names() if name.startswith(call.who.prefix))
    beyond = [name for name in names if name > after]
    sessions = [await hub.session(name) for name in beyond[:limit]]
    body = await asyncio.to_thread(lambda: [summary_view(each) for each in sessions])
    more = beyond[limit - 1] if len(beyond) > limit else None
    return as_json({"sessions": body, "total": len(names), "next": more})


async def explained(call: Call, name: SessionName) -> Answer:
    """Return what is believed of each option, what was spent and saved, and what comes next."""
    return await _told(call, name, session_view)


async def series(call: Call, name: SessionName) -> Answer:
    """Return how a session went over time: for pictures."""
    return await _told(call, name, StoredSession.series)


async def changes(call: Call, name: SessionName) -> Answer:
    """Return what was changed or noticed so far, when, in words."""
    return await _told(call, name, _changes)


def _changes(session: StoredSession) -> dict[str, Any]:
    found = session.changes()
    return {"changes": [each._asdict() for each in found], "total": found.total}


async def _told(call: Call, name: str, say: Any) -> Answer:
    session = await _named(call, name)
    return Answer(200, await asyncio.to_thread(lambda: encoded(say(session))))


async def _named(call: Call, name: str) -> StoredSession:
    call.note(name)
    hub: Hub = call.service.hub
    return await hub.session(known_name(name))


async def log(call: Call, name: SessionName, after: AfterEntry = 0, limit: LogSize = 1_000) -> Answer:
    """Return the log of a session: who said what, when."""
    session = await _named(call, name)
    entries = await asyncio.to_thread(call.service.hub.store.read, session.name, after, limit)
    more = entries[-1].seq if len(entries) == limit else None
    return as_json({"entries": [entry_view(each) for each in entries], "next": more})


async def export(call: Call, name: SessionName) -> Answer:
    """Return a session as the text that `fb.Session.from_json` and `load` read."""
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
            201: {"description": "It is new", "model": SessionShape},
            200: {"description": "It was there, made alike", "model": SessionShape},
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
        {200: {"description": "All that is known of it", "model": SessionShape}},
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
        {200: {"description": "What fb.Session.load reads", "model": dict[str, Any]}},
    ),
]
