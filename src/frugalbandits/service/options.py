"""Routes of the options of a session: added, priced anew, paused, resumed, retired, while it goes on."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Path

from frugalbandits.service import limits
from frugalbandits.service.access import ADMIN, READER
from frugalbandits.service.answers import NOTHING, Answer, as_json
from frugalbandits.service.decisions import SessionName
from frugalbandits.service.hub import known_name
from frugalbandits.service.models import Add, Change
from frugalbandits.service.problems import Problem
from frugalbandits.service.routing import Call, Route
from frugalbandits.service.shapes import OptionShape
from frugalbandits.service.views import find_option, option_view
from frugalbandits.stores.kinds import Stored
from frugalbandits.stores.outlook import OptionNow, options_of

__all__ = ["ROUTES"]

OptionName = Annotated[
    str,
    Path(
        description="The name of an option; it may have slashes.",
        examples=["small"],
        max_length=limits.OPTION_NAME,
        min_length=1,
    ),
]


async def shown(call: Call, name: SessionName, option: OptionName) -> Answer:
    """Return an option as it stands."""
    return as_json(option_view(_there(await _session(call, name), option)))


async def add(call: Call, name: SessionName, option: OptionName, body: Add) -> Answer:
    """Take in a new option. The same again is the same; a name is used once, also of a retired option."""
    session = await _session(call, name)
    found = find_option(session, option)
    if found is not None:
        if found.standing == "retired" or found.cost != body.cost:
            raise Problem(
                409,
                "conflict",
                f"an option called {option!r} is there, {found.standing} at {found.cost:g}: take another "
                "name, or change its price",
            )
        return as_json(option_view(found))
    if len(options_of(session)) >= limits.OPTIONS:
        raise Problem(
            422, "too-many", f"a session may have {limits.OPTIONS:,} options, and this one has as many"
        )
    if len(option) > limits.OPTION_NAME:
        raise Problem(422, "input", f"the name of an option has at most {limits.OPTION_NAME} characters")
    await _make(call, session, "add", option, body.cost)
    return as_json(option_view(_there(session, option)), 201)


async def change(call: Call, name: SessionName, option: OptionName, body: Change) -> Answer:
    """Set the price of an option, pause it, or resume it."""
    session = await _session(call, name)
    found = _there(session, option)
    if body.cost is None and body.paused is None:
        raise Problem(422, "input", "a cost or paused is to be given, but neither is")
    if found.standing == "retired":
        raise Problem(409, "retired", f"the option {option!r} was retired, and stays so")
    if body.cost is not None:
        await _make(call, session, "set_cost", option, body.cost)
    if body.paused is not None:
        await _make(call, session, "pause" if body.paused else "resume", option, None)
    return as_json(option_view(_there(session, option)))


async def retire(call: Call, name: SessionName, option: OptionName) -> Answer:
    """Take an option out for good; feedback on its decisions may still be told."""
    session = await _session(call, name)
    if _there(session, option).standing != "retired":
        await _make(call, session, "retire", option, None)
    return NOTHING


async def _session(call: Call, name: str) -> Stored:
    call.note(name)
    return await call.service.hub.session(known_name(name))


def _there(session: Stored, option: str) -> OptionNow:
    found = find_option(session, option)
    if found is None:
        raise Problem(
            404, "unknown-option", f"session {session.name!r} has no option called {option[:200]!r}"
        )
    return found


async def _make(call: Call, session: Stored, do: str, option: str, cost: float | None) -> None:
    # On a copy first, which takes a while: so in a thread.
    facts = await asyncio.to_thread(session.draft_change, do, option, cost, call.who.name)
    if facts:
        session.settle(await call.service.hub.submit(session, facts))


_ONE = {"description": "The option as it stands", "model": OptionShape}
_PATH = "/v1/sessions/{name}/options/{option:path}"
ROUTES = [
    Route("GET", _PATH, READER, shown, "An option", {200: _ONE}),
    Route("PUT", _PATH, ADMIN, add, "Add an option", {201: _ONE, 200: _ONE}),
    Route("PATCH", _PATH, ADMIN, change, "Price, pause or resume an option", {200: _ONE}),
    Route("DELETE", _PATH, ADMIN, retire, "Retire an option", {204: {"description": "It is out, for good"}}),
]
