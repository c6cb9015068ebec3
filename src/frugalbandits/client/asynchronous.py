"""The client for programs with asyncio: the same flows, run by an event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, TypeVar, overload

import httpx
from numpy.typing import ArrayLike

from frugalbandits.client import forms
from frugalbandits.client.forks import in_each_child, left_alone
from frugalbandits.client.sending import (
    AFTER_FAILURE,
    LARGEST,
    TROUBLE,
    desk_of,
    log,
    options_of,
    parts_of,
    reply_of,
    trouble,
)
from frugalbandits.client.sync import MONTH
from frugalbandits.client.wire import Effect, Flow, Lost, Pause, Reply, Send
from frugalbandits.core.contextual.context import Context
from frugalbandits.core.contextual.explanation import ContextualExplanation
from frugalbandits.core.quality import Quality
from frugalbandits.core.session import Changes, Decision, Explanation

__all__ = ["AsyncClient", "AsyncClientSession"]

T = TypeVar("T")


class AsyncClient:
    """A decision service for programs with asyncio: `Client`, with ``await`` before each call.

    It is for one event loop at a time; in another one it makes its own connections. What waits is delivered
    by a task of that loop. See `Client` for its parameters.

    Examples
    --------
    >>> import asyncio
    >>> async def main():
    ...     client = AsyncClient("http://127.0.0.1:9", timeout=0.5)  # nobody is there
    ...     session = client.session("shop", fallback=["large", "small"])
    ...     decision = await session.ask(exclude=["large"])
    ...     await client.close(timeout=0)
    ...     return decision.option, decision.fallback
    >>> asyncio.run(main())
    ('small', True)
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        timeout: float = 2.0,
        *,
        queue: int = 10_000,
        spool: str | os.PathLike[str] | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._desk = desk_of(url, timeout, queue, spool)
        self._options = {**options_of(self._desk.url, token), "transport": transport}
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._http: httpx.AsyncClient | None = None
        self._task: asyncio.Task[None] | None = None
        in_each_child(self)

    def _here(self) -> httpx.AsyncClient:
        """Return the connections of the loop that runs."""
        loop = asyncio.get_running_loop()
        if self._http is None or self._loop is not loop:
            # Those of a loop that has ended cannot be closed any more.
            self._http, self._loop = httpx.AsyncClient(**self._options), loop
            self._task, self._news = None, asyncio.Event()
            self._desk.wake = self._news.set
        return self._http

    def _in_child(self) -> None:
        left_alone(self._http, self._desk, self._task)
        self._desk, self._http = self._desk.child(), None

    # Sessions.

    def session(self, name: str, *, fallback: Sequence[str] | None = None) -> AsyncClientSession:
        """Return a session of the service by its name; nothing is sent until it is used, so no ``await``."""
        if fallback is not None:
            self._desk.plans.give(forms.check_name(name), forms.check_order(fallback))
        return AsyncClientSession(self, forms.check_name(name))

    async def create(
        self,
        name: str,
        costs: Mapping[str, float] | ArrayLike,
        alpha: float | None = None,
        policy: str | None = None,
        horizon: float | None = None,
        names: Iterable[str] | None = None,
        *,
        quality: Quality | str | None = None,
        over: Literal["each", "queries"] | None = None,
        worth: float | None = None,
        learn_costs: bool = False,
        memory: int | Literal["auto"] | None = "auto",
        time_to_live: float | timedelta | None = MONTH,
        judge_price: float = 0.0,
        fallback: Sequence[str] | None = None,
        context: Context | None = None,
        on_difference: Literal["refuse", "apply"] = "refuse",
    ) -> AsyncClientSession:
        """Make a session; see `Client.create`."""
        body, order = forms.new_session(
            costs,
            alpha,
            policy,
            horizon,
            names,
            quality=quality,
            over=over,
            worth=worth,
            learn_costs=learn_costs,
            memory=memory,
            time_to_live=time_to_live,
            judge_price=judge_price,
            context=context,
            on_difference=on_difference,
        )
        found = self.session(name, fallback=forms.order_of(order, fallback, context))
        await self._run(self._desk.create(name, body))
        return found

    async def sessions(self) -> list[forms.Listed]:
        """Return the sessions that the token is for, each in a few numbers."""
        return await self._run(self._desk.sessions())

    # What waits.

    @property
    def undelivered(self) -> int:
        """How many pieces of feedback wait for the service."""
        return len(self._desk.outbox)

    @property
    def dropped(self) -> int:
        """How many were dropped: too many waited, or the service refused them for good."""
        return self._desk.outbox.dropped + self._desk.delivery.refused

    async def flush(self, timeout: float = 5.0) -> bool:
        """Wait until all feedback is delivered, for so many seconds at most; tell whether it is."""
        self._desk.delivery.hurry(timeout)
        self._attend()
        self._news.set()
        return await self._run(self._desk.delivery.drained(timeout))

    async def close(self, timeout: float = 3.0) -> None:
        """Deliver what waits, for so many seconds at most, and end all connections."""
        if self._closed:
            return
        http = self._here()
        if self.undelivered and timeout > 0:
            await self.flush(timeout)
        self._closed = self._desk.delivery.stopped = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._desk.farewell()
        await http.aclose()

    async def __aenter__(self) -> AsyncClient:
        self._attend()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self._desk.url!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            "a client is not copied: it has connections, and a token that is not to be written down"
        )

    # How flows are run.

    async def _run(self, flow: Flow[T]) -> T:
        if self._closed:
            raise RuntimeError("the client is closed")
        try:
            return await self._driven(flow, behind=False)
        finally:
            self._attend()

    async def _driven(self, flow: Flow[T], behind: bool) -> T:
        """Run a flow to its end."""
        try:
            effect = next(flow)
            while True:
                try:
                    found = await self._do(effect, behind)
                except Exception as error:
                    effect = flow.throw(error)
                else:
                    effect = flow.send(found)
        except StopIteration as end:
            value: T = end.value
            return value
        finally:
            flow.close()

    async def _do(self, effect: Effect, behind: bool) -> Any:
        if isinstance(effect, Send):
            return await self._send(effect)
        if not isinstance(effect, Pause):
            return await asyncio.to_thread(effect.do)
        if not behind:
            return await asyncio.sleep(effect.seconds)
        try:
            async with asyncio.timeout(effect.seconds):
                await self._news.wait()
                self._news.clear()
        except TimeoutError:
            pass
        return None

    async def _send(self, effect: Send) -> Reply:
        http = self._here()
        try:
            async with asyncio.timeout(effect.seconds), http.stream(**parts_of(effect)) as response:
                body = bytearray()
                async for part in response.aiter_bytes():
                    body += part
                    if len(body) > LARGEST:
                        raise Lost("its answer does not come to an end")
                return reply_of(response.status_code, response.headers, bytes(body))
        except TROUBLE as error:
            raise trouble(error) from error

    def _attend(self) -> None:
        """See to it that somebody delivers, while there is anything to deliver or to find out."""
        self._here()
        if self._task is None and self._desk.delivery.wanted and not self._closed:
            self._task = asyncio.ensure_future(self._deliver())

    async def _deliver(self) -> None:
        # Between the last look at what is to do and the end nobody else runs, so nothing is overlooked.
        while self._desk.delivery.wanted:
            try:
                await self._driven(self._desk.delivery.attend(), behind=True)
            except Exception:
                log.exception("delivery failed, and will be tried again")
                await asyncio.sleep(AFTER_FAILURE)
        self._task = None


class AsyncClientSession:
    """A session of a decision service: what `AsyncClient.session` and `AsyncClient.create` return.

    It has what a `Session` has, with the same errors. Ids are texts; the same told again is the same, and
    something else told for the same id is a `Conflict`.
    """

    def __init__(self, client: AsyncClient, name: str) -> None:
        self._client, self._name = client, name

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @overload
    async def ask(
        self,
        n: None = None,
        *,
        metadata: Any = None,
        among: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        after: Decision | str | None = None,
        context: Any = None,
        costs: Mapping[str, float] | None = None,
    ) -> Decision: ...

    @overload
    async def ask(
        self,
        n: int,
        *,
        metadata: Any = None,
        among: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        after: Decision | str | None = None,
    ) -> list[Decision]: ...

    async def ask(
        self,
        n: int | None = None,
        *,
        metadata: Any = None,
        among: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        after: Decision | str | None = None,
        context: Any = None,
        costs: Mapping[str, float] | None = None,
    ) -> Decision | list[Decision]:
        """Return the next decision, or the next n as a list; see `Session.ask`.

        While the service cannot be reached it goes by the last plan: the first option that may be used, or
        that of the decision `after` which it is. Such a decision has ``fallback=True``. Where a session
        looks at queries, `context` is the query, `costs` its own costs; no plan stands in for the service.
        """
        desk = self._client._desk
        found = await self._client._run(
            desk.ask(self._name, n, metadata, among, exclude, after, context, costs)
        )
        return found[0] if n is None else found

    async def tell(self, id: str | int, reward: float | None = None, cost: float | None = None) -> None:
        """Report how good a decision was, or what it cost, or both.

        It is durable in the service when this returns, or waits here while the service is away.
        """
        await self._client._run(self._client._desk.tell(self._name, id, reward, cost))

    async def tell_many(self, feedback: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        """Report how good some decisions were; nothing is sent where anything has a wrong form.

        What the service refuses, such as an id that has expired, does not keep the rest from being counted;
        the first of it is raised.
        """
        await self._client._run(self._client._desk.tell_many(self._name, feedback))

    async def forget(self, id: str | int, used: bool = True) -> None:
        """Say that the feedback of a decision will never come, and whether its option was used."""
        await self._client._run(self._client._desk.forget(self._name, id, used))

    async def observe(
        self,
        option: str,
        reward: float | None = None,
        cost: float | None = None,
        id: str | None = None,
        context: Any = None,
    ) -> None:
        """Report on a use of an option that was no decision; with an id of yours, it counts once."""
        await self._client._run(self._client._desk.observe(self._name, option, reward, cost, id, context))

    async def explain(self) -> Explanation | ContextualExplanation:
        """Return what is believed of each option, what was spent and saved, and the decision so far."""
        return await self._client._run(self._client._desk.explain(self._name))

    async def changes(self) -> Changes:
        """Return what was changed or noticed so far, when, in words: it prints as a table."""
        return await self._client._run(self._client._desk.changes(self._name))

    async def set_cost(self, option: str, cost: float) -> None:
        """Set the price of an option from now on, for all who share the session."""
        await self._client._run(self._client._desk.change(self._name, "set_cost", option, cost))

    async def add(self, option: str, cost: float) -> None:
        """Take in a new option, for all who share the session."""
        await self._client._run(self._client._desk.change(self._name, "add", option, cost))

    async def pause(self, option: str) -> None:
        """Leave an option out of decisions until it is resumed."""
        await self._client._run(self._client._desk.change(self._name, "pause", option))

    async def resume(self, option: str) -> None:
        """Let decisions be for an option again that was paused."""
        await self._client._run(self._client._desk.change(self._name, "resume", option))

    async def retire(self, option: str) -> None:
        """Take an option out for good, for all who share the session."""
        await self._client._run(self._client._desk.change(self._name, "retire", option))

    def __repr__(self) -> str:
        return f"AsyncClientSession({self._name!r} at {self._client._desk.url})"
