"""The pages for people: the dashboard and its assets, all of them in the package.

A page is the same for whoever comes and holds no data: what it shows, it asks the API for, with the token of
whoever looks at it. Nothing is loaded from anywhere else, and the browser is told to see to that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.types import Receive, Scope, Send

from frugalbandits.service.access import NOBODY, READER
from frugalbandits.service.answers import Answer, Header, as_json
from frugalbandits.service.decisions import SessionName
from frugalbandits.service.problems import Problem
from frugalbandits.service.routing import Call, Route
from frugalbandits.service.shapes import HolderShape

__all__ = ["POLICY", "ROUTES"]

#: What a browser may load for a page: its own assets, and nothing that is written into the page itself.
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_KINDS = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
}
_TEXT = b"text/plain; charset=utf-8"


class Asset(Answer):
    """A file; who has it already is told so. It is asked for each time, so that a new release is seen."""

    __slots__ = ("tag",)

    def __init__(self, name: str, body: bytes) -> None:
        super().__init__(200, body, next((kind for end, kind in _KINDS.items() if name.endswith(end)), _TEXT))
        self.tag = b'"%b"' % hashlib.sha256(body).hexdigest()[:24].encode()
        lasting: list[Header] = [
            (b"cache-control", b"no-cache"),
            (b"etag", self.tag),
            (b"content-security-policy", POLICY),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-opener-policy", b"same-origin"),
        ]
        self.headers = [each for each in self.headers if each[0] != b"cache-control"] + lasting

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, or only that nothing has changed."""
        known = next((value for name, value in scope["headers"] if name == b"if-none-match"), b"")
        if self.tag not in known:
            await super().__call__(scope, receive, send)
            return
        headers = [each for each in self.headers if not each[0].startswith(b"content-")]
        await send({"type": "http.response.start", "status": 304, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


@cache
def _assets() -> dict[str, Asset]:
    """Return all files by their paths; read once."""
    return {path: Asset(path, body) for path, body in _found(files("frugalbandits.service") / "static", "")}


def _found(folder: Traversable, above: str) -> Iterator[tuple[str, bytes]]:
    for each in folder.iterdir():
        if each.is_dir():
            yield from _found(each, f"{above}{each.name}/")
        else:
            yield f"{above}{each.name}", each.read_bytes()


async def home(call: Call) -> Answer:
    """Return the page that lists sessions."""
    return _assets()["sessions.html"]


async def session(call: Call, name: SessionName) -> Answer:
    """Return the page of a session; whether there is one, the API says to those who may know."""
    return _assets()["session.html"]


async def asset(call: Call, path: str) -> Answer:
    """Return a file that a page needs."""
    found = None if path.endswith(".html") else _assets().get(path)
    if found is None:
        raise Problem(404, "route", "there is nothing at this address")
    return found


async def holder(call: Call) -> Answer:
    """Return whose token this is, and what it is for; without tokens, whoever asks may do everything."""
    who = call.who
    return as_json(
        {"name": who.name, "role": who.role_name, "prefix": who.prefix, "tokens": who is not NOBODY}
    )


_NAMES = [kind.decode() for kind in (_TEXT, *_KINDS.values()) if b"html" not in kind]
_PAGE = {"description": "A page", "content": {"text/html": {}}}
ROUTES = [
    Route("GET", "/", 0, home, "The dashboard", {200: _PAGE}),
    Route("GET", "/sessions/{name}", 0, session, "The dashboard of a session", {200: _PAGE}),
    Route(
        "GET",
        "/static/{path:path}",
        0,
        asset,
        "What the dashboard consists of",
        {
            200: {"description": "A file", "content": {kind.split("; ")[0]: {} for kind in _NAMES}},
            304: {"description": "The file that is there already"},
        },
    ),
    Route(
        "GET",
        "/v1/holder",
        READER,
        holder,
        "Whose token this is",
        {200: {"description": "Whoever asks", "model": HolderShape}},
    ),
]
