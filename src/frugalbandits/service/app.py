"""The application: sessions of a store over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from frugalbandits._version import __version__
from frugalbandits.errors import InputError, StoreUnavailable
from frugalbandits.service import batch, decisions, options, pages, probes, sessions
from frugalbandits.service.access import NOBODY, Access, Holder
from frugalbandits.service.contract import contract_route
from frugalbandits.service.hub import Hub
from frugalbandits.service.logs import logger
from frugalbandits.service.metrics import Metrics
from frugalbandits.service.problems import MEDIA_TYPE, Problem
from frugalbandits.service.rate_limits import RateLimits
from frugalbandits.service.readiness import Readiness
from frugalbandits.service.routing import add_route
from frugalbandits.service.settings import LOOPBACK, Settings
from frugalbandits.service.store_threads import StoreThreads, answered_within
from frugalbandits.service.views import Standby
from frugalbandits.service.wire import Wire
from frugalbandits.stores.contract import Store

__all__ = ["Service", "create_app"]

REFRESH = 1.0  # seconds between two looks at the tokens
OPEN_EVERY = 5.0  # seconds between two looks for sessions that other workers have made
CLOSE = 5.0  # seconds that the store has to close in when the service ends
_PAUSE = 1.0  # seconds until the sessions are listed again, where that failed
_MISS = 0.25  # seconds between two looks because somebody had an unknown one
#: Headers by which a proxy says that it passes on somebody's request; beside all that begin x-forwarded-.
_FORWARDED = frozenset(
    {b"forwarded", b"via", b"x-real-ip", b"x-client-ip", b"x-cluster-client-ip", b"true-client-ip"}
)
_WORDS = {1: "reader", 2: "writer", 3: "admin"}


class Service:
    """What all requests of a worker share."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.settings = settings
        self.hub = Hub(store, settings.store_patience)
        self.access = Access(store)
        self.access.refresh()
        self.metrics = Metrics(self.hub)
        self.readiness = Readiness(self.hub)
        self.rates = RateLimits(settings.rate_limit, settings.rate_burst)
        self.standby = Standby()
        self.slow: dict[str, int] = {}  # sessions that take long to plan, and how often they were quick since
        self.log = logger()
        self._tasks: list[asyncio.Task[None]] = []
        self._missed = float("-inf")
        self._refreshing: asyncio.Future[None] | None = None

    async def admit(self, headers: dict[bytes, bytes], role: int) -> Holder:
        """Return who asks, or refuse."""
        if self.access.open:
            _check_local(headers)
            if role:
                self.rates.take(NOBODY.name)
            return NOBODY
        if role == 0:
            return NOBODY
        kind, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if kind.lower() != "bearer" or not token:
            raise _unauthorised("a token is needed: Authorization: Bearer frugal_...")
        token = token.strip()
        holder = self.access.holder(token)
        if holder is None and time.monotonic() - self._missed > _MISS:
            # It may have been made just now.
            self._missed = time.monotonic()
            if self._refreshing is not None:
                await self.refresh()  # which may have read too early
                holder = self.access.holder(token)
            if holder is None:
                await self.refresh()
                holder = self.access.holder(token)
        if holder is None:
            raise _unauthorised("the token is not known here, or was revoked")
        if holder.role < role:
            needed = f"a token of the role {_WORDS[role]} is needed"
            raise Problem(403, "forbidden", f"{needed}, and {holder.name!r} is a {holder.role_name}")
        self.rates.take(holder.name)
        return holder

    async def refresh(self) -> None:
        """Read which tokens are new; callers that come during a read wait for that one."""
        if self._refreshing is None:
            self._refreshing = self.hub.begin(self.access.refresh)
            self._refreshing.add_done_callback(self._refreshed)
        await self.hub.within(self._refreshing)

    def _refreshed(self, _: object) -> None:
        self._refreshing = None

    def report(self, scope: Scope, error: Exception) -> None:
        """Log what nobody foresaw."""
        self.log.error("failed", request=scope.get("request_id"), exc_info=error)

    async def start(self) -> None:
        """Begin what goes on beside the requests."""
        self._tasks = [asyncio.create_task(self._watch()), asyncio.create_task(self._open_all())]

    async def _watch(self) -> None:
        failing = ""
        while True:
            await asyncio.sleep(REFRESH)
            try:
                await self.refresh()
                failing = ""
            except Exception as error:
                # Tokens that were read hold, and it is tried again. The same trouble is logged once.
                if repr(error) != failing:
                    failing = repr(error)
                    self._warn("could not read the tokens; tried again", error)

    async def _open_all(self) -> None:
        """Keep all sessions open, those of other workers too: an ask then needs no store."""
        failing = ""
        while True:
            try:
                await self.hub.open_all()
                failing = ""
                await asyncio.sleep(OPEN_EVERY)
            except Exception as error:
                if repr(error) != failing:
                    failing = repr(error)
                    self._warn("could not list the sessions; tried again", error)
                await asyncio.sleep(_PAUSE)

    def _warn(self, event: str, error: Exception) -> None:
        foreseen = isinstance(error, StoreUnavailable | InputError)
        self.log.warning(event, why=str(error), exc_info=None if foreseen else error)

    async def stop(self) -> None:
        """End everything: write the last counts of decisions, close the store, but do not wait for ever."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        try:
            # A thread of its own: all others may wait for a store that hangs.
            await answered_within(CLOSE, StoreThreads(1, 1).run(self.hub.close))
        except StoreUnavailable as error:
            self.log.error(
                "the store was not closed: the last counts of decisions may be lost", why=str(error)
            )


def _check_local(headers: dict[bytes, bytes]) -> None:
    """Refuse requests of a proxy, and those that another site made a browser send."""
    passed_on = [name for name in headers if name in _FORWARDED or name.startswith(b"x-forwarded-")]
    if passed_on:
        header = passed_on[0][:100].decode("latin-1")
        raise Problem(
            403,
            "forbidden",
            f"without tokens only this machine is let in, but {header} says that a proxy passed the request "
            "on: make a token with `frugal token add NAME --role admin`",
        )
    host = headers.get(b"host", b"").decode("latin-1")
    if _name_in(f"//{host}") not in LOOPBACK:
        raise Problem(403, "forbidden", f"without tokens only this machine is let in, not {host[:100]!r}")
    origin = headers.get(b"origin")
    if origin is not None and _name_in(origin.decode("latin-1")) not in LOOPBACK:
        raise Problem(403, "forbidden", "without tokens only pages of this machine are let in")


def _name_in(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _unauthorised(words: str) -> Problem:
    return Problem(
        401, "unauthorised", words, headers=[(b"www-authenticate", b'Bearer realm="frugalbandits"')]
    )


def create_app(store: Store, settings: Settings | None = None) -> FastAPI:
    """Return the application on a store, which it closes when it ends.

    `app.state.service` is what its requests share; `app.state.service.hub` has the sessions.
    """
    settings = settings or Settings()
    service = Service(store, settings)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    app = FastAPI(
        title="frugalbandits",
        summary="Find the cheapest option that is good enough, while you are already spending.",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.service = service
    for group in (probes.ROUTES, sessions.ROUTES, decisions.ROUTES, options.ROUTES, batch.ROUTES):
        for route in group:
            add_route(app, service, route)
    add_route(app, service, probes.metrics_route(settings.metrics_free))
    add_route(app, service, contract_route(app))
    if settings.dashboard:
        for route in pages.ROUTES:
            add_route(app, service, route)
    app.add_exception_handler(HTTPException, _no_route)
    app.add_middleware(Wire, service=service)
    return app


async def _no_route(request: Request, error: Exception) -> Response:
    """Answer what no route answers."""
    assert isinstance(error, HTTPException)
    words = {404: "there is nothing at this address", 405: "this address does not know the method"}
    problem = Problem(error.status_code, "route", words.get(error.status_code, str(error.detail)))
    headers = dict(error.headers or {})
    if error.status_code == 405:
        # Starlette names the methods of the first route of that address, and there may be several.
        headers["Allow"] = ", ".join(_methods(request))
    return Response(
        problem.answer(request.scope["path"]).body,
        error.status_code,
        headers=headers,
        media_type=MEDIA_TYPE.decode(),
    )


def _methods(request: Request) -> list[str]:
    """Return all methods that an address knows."""
    found: set[str] = set()
    for route in request.app.router.routes:
        if isinstance(route, Route) and route.matches(request.scope)[0] != Match.NONE:
            found |= route.methods or set()
    return sorted(found)
