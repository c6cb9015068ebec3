"""Routes for those who look after the service: alive, ready, metrics."""

from __future__ import annotations

import asyncio

from frugalbandits.service.access import READER
from frugalbandits.service.answers import Answer, as_json
from frugalbandits.service.problems import Problem
from frugalbandits.service.routing import Call, Route
from frugalbandits.service.shapes import ReadyShape, StatusShape

__all__ = ["ROUTES", "metrics_route"]

_ALIVE = as_json({"status": "alive"})
_READY = as_json({"status": "ready"})


async def alive(call: Call) -> Answer:
    """Answer, if the process is alive."""
    return _ALIVE


async def ready(call: Call) -> Answer:
    """Answer, if the store can be written to; say how many sessions do not work while the others do.

    Anybody may ask, so no session is named: metrics and the list of sessions do that.
    """
    await call.service.readiness.check()
    broken = len(call.service.hub.troubles())
    return as_json({"status": "degraded", "broken_sessions": broken}) if broken else _READY


async def metrics(call: Call) -> Answer:
    """Return numbers for Prometheus: of requests, and of each session."""
    if call.who.prefix:
        raise Problem(403, "forbidden", "metrics are of all sessions, and the token is for some")
    body, kind = await asyncio.to_thread(call.service.metrics.written)
    return Answer(200, body, kind)


def metrics_route(free: bool) -> Route:
    """Return the route of metrics; `free`: for whoever comes."""
    return Route(
        "GET",
        "/metrics",
        0 if free else READER,
        metrics,
        "Metrics for Prometheus",
        {200: {"description": "The text format of Prometheus", "content": {"text/plain": {}}}},
    )


ROUTES = [
    Route(
        "GET",
        "/healthz",
        0,
        alive,
        "Is the process alive?",
        {200: {"description": "It is", "model": StatusShape}},
    ),
    Route(
        "GET",
        "/readyz",
        0,
        ready,
        "Can the store be reached?",
        {200: {"description": "It can", "model": ReadyShape}},
    ),
]
