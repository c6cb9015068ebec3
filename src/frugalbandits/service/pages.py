"""The pages for people."""

from __future__ import annotations

from frugalbandits.service.answers import Answer
from frugalbandits.service.routing import Call, Route

__all__ = ["ROUTES"]

_PAGE = b"""<!doctype html><html lang="en"><meta charset="utf-8"><title>frugalbandits</title>
<p>The decision service runs. Its contract: <a href="/openapi.json">/openapi.json</a></p></html>"""


async def home(call: Call) -> Answer:
    """Return the first page."""
    return Answer(200, _PAGE, b"text/html; charset=utf-8")


ROUTES = [
    Route(
        "GET", "/", 0, home, "The dashboard", {200: {"description": "A page", "content": {"text/html": {}}}}
    ),
]
