"""Many asks and tells in one request; what is told goes to the store together."""

from __future__ import annotations

import asyncio

from frugalbandits.core.session import Decision
from frugalbandits.service import limits
from frugalbandits.service.access import WRITER
from frugalbandits.service.answers import Answer
from frugalbandits.service.decisions import asked, author, observed, routed
from frugalbandits.service.hub import Hub, known_name
from frugalbandits.service.models import Batch, BatchAsk, BatchForget, BatchObserve, BatchTell
from frugalbandits.service.problems import Problem, problem_of
from frugalbandits.service.routing import Call, Route
from frugalbandits.service.shapes import BatchResult
from frugalbandits.service.views import decision_view
from frugalbandits.stores.contextual_session import StoredContextualSession
from frugalbandits.stores.contract import CONFLICT, Fact, Outcome
from frugalbandits.stores.kinds import Stored

__all__ = ["ROUTES"]

Item = BatchAsk | BatchTell | BatchForget | BatchObserve
_DONE = b'{"status":204}'
_DECIDED = b'{"status":201,"body":%b}'


class _Told:
    """Facts of one item, and what became of them."""

    __slots__ = ("decision", "facts", "place", "session")

    def __init__(
        self, place: int, session: Stored, facts: list[Fact], decision: Decision | None = None
    ) -> None:
        self.place, self.session, self.facts, self.decision = place, session, facts, decision


async def batch(call: Call, body: Batch) -> Answer:
    """Do many things, each as its own route does it; one that fails leaves the others as they are.

    What is told is submitted before anything is waited for. One item of a wrong form spoils the whole.
    """
    _check_sum(call, body)
    results: list[bytes] = [_DONE] * len(body)
    told: list[_Told] = []
    for place, item in enumerate(body):
        try:
            if isinstance(item, BatchAsk):
                session = await _named(call, item.session)
                if isinstance(session, StoredContextualSession):
                    decision, facts = await routed(call, session, item)
                    told.append(_Told(place, session, facts, decision))
                else:
                    results[place] = _DECIDED % await asked(call, session, item)
            else:
                told.append(await _drafted(call, place, item))
        except Exception as error:
            results[place] = _refused(call, error)
    await _tell(call, told, results)
    call.scope["session"] = None
    return Answer(200, b"[%b]" % b",".join(results))


def _check_sum(call: Call, body: Batch) -> None:
    """Refuse a batch that asks for too many decisions, and count what it is worth."""
    decisions = sum(item.count or 1 for item in body if isinstance(item, BatchAsk))
    if decisions > limits.COUNT:
        raise Problem(
            422,
            "too-many",
            f"a request may ask for {limits.COUNT:,} decisions, but the items of this one ask for "
            f"{decisions:,} together",
        )
    others = sum(not isinstance(item, BatchAsk) for item in body)
    call.service.rates.charge(call.who.name, decisions + others - 1)


async def _named(call: Call, name: str) -> Stored:
    call.note(name)
    found = call.service.hub.sessions.get(name)
    return found if found is not None else await call.service.hub.session(known_name(name))


async def _drafted(call: Call, place: int, item: BatchTell | BatchForget | BatchObserve) -> _Told:
    if isinstance(item, BatchObserve):
        session = await _named(call, item.session)
        return _Told(place, session, observed(session, item, author(call.who, item.source)))
    session = await call.service.hub.of_decision(item.id)
    call.note(session.name)
    await call.service.hub.catch_up_with(session, item.id)
    if isinstance(item, BatchForget):
        return _Told(place, session, session.draft_forget(item.id, call.who.name, item.used))
    by = author(call.who, item.source)
    return _Told(place, session, session.draft_tell(item.id, item.reward, item.cost, by))


async def _tell(call: Call, told: list[_Told], results: list[bytes]) -> None:
    """Submit all of a session as one; where a part of it is in conflict, each by itself."""
    hub = call.service.hub
    groups: dict[str, list[_Told]] = {}
    for each in told:
        groups.setdefault(each.session.name, []).append(each)
    # A store may refuse at once, so each is a call of its own; all begin before any is waited for.
    waiting = [
        _appended(hub, group[0].session, [fact for each in group for fact in each.facts])
        for group in groups.values()
    ]
    ends = await asyncio.gather(*waiting, return_exceptions=True)
    for group, outcomes in zip(groups.values(), ends, strict=True):
        if isinstance(outcomes, BaseException):
            for each in group:
                _settle(call, each, outcomes, results)
            continue
        if any(outcome.what == CONFLICT for outcome in outcomes):
            # Then nothing of it was added.
            alone = [_appended(hub, each.session, each.facts) for each in group]
            ended = await asyncio.gather(*alone, return_exceptions=True)
            for each, end in zip(group, ended, strict=True):
                _settle(call, each, end, results)
            continue
        start = 0
        for each in group:
            _settle(call, each, outcomes[start : start + len(each.facts)], results)
            start += len(each.facts)


async def _appended(hub: Hub, session: Stored, facts: list[Fact]) -> list[Outcome]:
    return await hub.submit(session, facts)


def _settle(call: Call, told: _Told, end: list[Outcome] | BaseException, results: list[bytes]) -> None:
    try:
        if isinstance(end, BaseException):
            raise end
        told.session.settle(end)
        service, name = call.service, told.session.name
        if told.decision is None:
            service.metrics.told(told.session, end)
            return
        service.metrics.decided(name, told.decision.option)
        results[told.place] = _DECIDED % decision_view(told.decision, name, service.standby.of(told.session))
    except Exception as error:
        results[told.place] = _refused(call, error)


def _refused(call: Call, error: Exception) -> bytes:
    problem = problem_of(error)
    if problem.status == 500:
        call.service.report(call.scope, error)
    return b'{"status":%d,"body":%b}' % (problem.status, problem.answer().body)


ROUTES = [
    Route(
        "POST",
        "/v1/batch",
        WRITER,
        batch,
        "Many of these at once",
        {200: {"description": "An answer to each item, in order", "model": list[BatchResult]}},
    ),
]
