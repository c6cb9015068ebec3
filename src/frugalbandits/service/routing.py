"""Routes that document themselves as FastAPI's do, and answer without its machinery in between.

A handler names its path and query parameters and its body by its own parameters; FastAPI reads them for the
contract, and `Bound` reads them from the request. Who asks is checked first, then the size of the body, then
its form.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints
from urllib.parse import parse_qsl

from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.types import Receive, Scope, Send

from frugalbandits.service import limits
from frugalbandits.service.access import Holder
from frugalbandits.service.answers import Answer
from frugalbandits.service.problems import Problem, of_validation, problem_of

if TYPE_CHECKING:
    from frugalbandits.service.app import Service

__all__ = ["Call", "Handler", "Route", "add_route", "read_body"]

Handler = Callable[..., Awaitable[Answer]]
_PROBLEM = {"description": "A problem", "content": {"application/problem+json": {}}}


class Call(NamedTuple):
    """A request, as a handler sees it."""

    service: Service
    scope: Scope
    who: Holder

    def note(self, session: str) -> None:
        """Say which session this is about, once it is known, and refuse whoever has no right to it."""
        self.scope["session"] = session
        if not session.startswith(self.who.prefix):
            raise Problem(
                403,
                "forbidden",
                f"the token {self.who.name!r} is for sessions whose names begin with {self.who.prefix!r}",
            )


class Route(NamedTuple):
    """A handler, and what the contract says of it."""

    method: str
    path: str
    role: int  # 0: whoever comes
    handler: Handler
    summary: str
    responses: dict[int | str, dict[str, Any]]


class _Query(NamedTuple):
    adapter: TypeAdapter[Any]
    default: Any


class Bound(APIRoute):
    """A handler with what it takes from a request."""

    def __init__(self, service: Service, route: Route) -> None:
        self._service, self._role, self._handler = service, route.role, route.handler
        hints = get_type_hints(route.handler, include_extras=True)
        given = inspect.signature(route.handler).parameters
        parameters = [
            each.replace(annotation=hints[each.name]) for each in given.values() if each.name != "call"
        ]
        self._queries: dict[str, _Query] = {}
        self._body: TypeAdapter[Any] | None = None
        self._body_needed = False
        self._path_names: list[str] = []
        for each in parameters:
            if each.name == "body":
                self._body = TypeAdapter(each.annotation)
                self._body_needed = each.default is inspect.Parameter.empty
            elif f"{{{each.name}" in route.path:
                self._path_names.append(each.name)
            else:
                self._queries[each.name] = _Query(TypeAdapter(each.annotation), each.default)

        def documented() -> None:
            """Stand in for the handler."""

        documented.__name__ = route.handler.__name__
        documented.__doc__ = route.handler.__doc__
        documented.__dict__["__signature__"] = inspect.Signature(parameters)
        super().__init__(
            route.path,
            documented,
            methods=[route.method],
            summary=route.summary,
            status_code=next((code for code in route.responses if isinstance(code, int)), 200),
            responses={**route.responses, "default": _PROBLEM},
            openapi_extra={"security": [{"bearer": []}, {}]} if route.role else {"security": []},
        )
        self.app = self._run

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self._answer(scope, receive)
        except Exception as error:
            problem = problem_of(error)
            if problem.status == 500:
                self._service.report(scope, error)
            answer = problem.answer(scope["path"])
        await answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        headers = dict(scope["headers"])
        who = await self._service.admit(headers, self._role)
        scope["who"] = who.name
        call = Call(self._service, scope, who)
        values = [scope["path_params"][name] for name in self._path_names]
        if self._queries:
            return await self._handler(call, *values, **self._asked(scope))
        if self._body is None:
            return await self._handler(call, *values)
        raw = await read_body(headers, receive, self._service.settings.patience)
        if not raw and not self._body_needed:
            return await self._handler(call, *values)
        return await self._handler(call, *values, self._body.validate_json(raw))

    def _asked(self, scope: Scope) -> dict[str, Any]:
        """Return query parameters, checked."""
        given = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        found: dict[str, Any] = {}
        for name, value in given.items():
            query = self._queries.get(name)
            if query is None:
                known = ", ".join(self._queries)
                raise Problem(422, "input", f"there is no query parameter {name[:100]!r}; known: {known}")
            try:
                found[name] = query.adapter.validate_strings(value)
            except ValidationError as error:
                raise of_validation(error, (name,)) from None
        return found


async def read_body(headers: dict[bytes, bytes], receive: Receive, patience: float) -> bytes:
    """Return the body of a request, unless it is too large, or too slow, or of another kind."""
    length = headers.get(b"content-length")
    if length is None and b"transfer-encoding" not in headers:
        return b""
    if length is not None and not (length.isdigit() and int(length) <= limits.BODY):
        raise _too_large(f"{length[:20].decode('latin-1')}")
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if length != b"0" and kind != b"application/json":
        shown = kind[:100].decode("latin-1") or "not there"
        raise Problem(415, "content-type", f"the Content-Type must be application/json, but it is {shown}")
    try:
        async with asyncio.timeout(patience):
            body = bytearray()
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise Problem(400, "gone", "whoever sent the request went away before its end")
                body += message.get("body", b"")
                if len(body) > limits.BODY:
                    raise _too_large("more")
                if not message.get("more_body"):
                    return bytes(body)
    except TimeoutError:
        raise Problem(
            408,
            "too-slow",
            f"the body did not come within {patience:g} s",
            headers=[(b"connection", b"close")],
        ) from None


def _too_large(size: str) -> Problem:
    return Problem(
        413,
        "too-large",
        f"a body may have {limits.BODY:,} bytes, but this one has {size}",
        headers=[(b"connection", b"close")],
    )


def add_route(app: FastAPI, service: Service, route: Route) -> None:
    """Have the application answer a route."""
    app.router.routes.append(Bound(service, route))
