"""The client for programs with threads."""

from __future__ import annotations

import os
import threading
import time
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
from frugalbandits.client.wire import Effect, Flow, Lost, Pause, Reply, Send, driven
from frugalbandits.core.contextual.context import Context
from frugalbandits.core.contextual.explanation import ContextualExplanation
from frugalbandits.core.quality import Quality
from frugalbandits.core.session import Changes, Decision, Explanation

__all__ = ["MONTH", "Client", "ClientSession"]

T = TypeVar("T")
MONTH = 30 * 86_400.0  # seconds


class Client:
    """A decision service, by its address: sessions that are asked and told over HTTP.

    While the service cannot be reached, `ask` goes by the last plan that was seen (such decisions have
    ``fallback=True``), and what is told waits here and is delivered later: it counts once. Safe to use from
    several threads, which share its connections; a process that is forked makes its own. `close` it when
    done, or use it with ``with``.

    Parameters
    ----------
    url
        The address, such as "http://127.0.0.1:8000".
    token
        What the service lets in by; by default it is in ``FRUGALBANDITS_TOKEN`` in the environment.
    timeout
        Seconds that one call takes at most, all tries together.
    queue
        How many pieces of feedback wait at most while the service is away; what comes then is dropped,
        counted in `dropped` and logged.
    spool
        A file that keeps what waits over a restart of the program. By default it waits in memory.
    transport
        A transport of httpx, for certificates, a socket of this machine, or tests.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:9", timeout=0.5)  # nobody is there
    >>> session = client.session("shop", fallback=["large", "small"])
    >>> decision = session.ask()
    >>> decision.option, decision.fallback
    ('large', True)
    >>> session.tell(decision.id, reward=1.0)
    >>> client.undelivered
    1
    >>> client.close(timeout=0)
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        timeout: float = 2.0,
        *,
        queue: int = 10_000,
        spool: str | os.PathLike[str] | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._desk = desk_of(url, timeout, queue, spool)
        self._options = {**options_of(self._desk.url, token), "transport": transport}
        self._closed = False
        self._begin()
        in_each_child(self)
        self._attend()

    def _begin(self) -> None:
        """Take what is of this process alone."""
        self._http = httpx.Client(**self._options)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._news = threading.Event()
        self._desk.wake = self._news.set

    def _in_child(self) -> None:
        left_alone(self._http, self._desk, self._thread)
        self._desk = self._desk.child()
        self._begin()

    # Sessions.

    def session(self, name: str, *, fallback: Sequence[str] | None = None) -> ClientSession:
        """Return a session of the service by its name; nothing is sent until it is used.

        Parameters
        ----------
        name
            Its name.
        fallback
            Options in the order in which to fall back on them before a plan of the service was seen.
        """
        if fallback is not None:
            self._desk.plans.give(forms.check_name(name), forms.check_order(fallback))
        return ClientSession(self, forms.check_name(name))

    def create(
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
    ) -> ClientSession:
        """Make a session with the settings of `Session`, or return the one that has them.

        A session of that name with other settings, options or prices is a `Conflict`; with
        `on_difference="apply"`, other options and prices become those of the session.

        While the service is away the session is made later, before anything is told of it. Until a plan was
        seen, `fallback` says which option to use; without it the dearest comes first, for that is what one
        would use without knowing better: it costs money, but hardly quality.
        """
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
        self._run(self._desk.create(name, body))
        return found

    def sessions(self) -> list[forms.Listed]:
        """Return the sessions that the token is for, each in a few numbers."""
        return self._run(self._desk.sessions())

    # What waits.

    @property
    def undelivered(self) -> int:
        """How many pieces of feedback wait for the service."""
        return len(self._desk.outbox)

    @property
    def dropped(self) -> int:
        """How many were dropped: too many waited, or the service refused them for good."""
        return self._desk.outbox.dropped + self._desk.delivery.refused

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until all feedback is delivered, for so many seconds at most; tell whether it is."""
        self._desk.delivery.hurry(timeout)
        self._news.set()
        self._attend()
        return self._run(self._desk.delivery.drained(timeout))

    def close(self, timeout: float = 3.0) -> None:
        """Deliver what waits, for so many seconds at most, and end all connections."""
        if self._closed:
            return
        if self.undelivered and timeout > 0:
            self.flush(timeout)
        self._closed = self._desk.delivery.stopped = True
        self._news.set()
        thread = self._thread
        if thread is not None:
            thread.join(self._desk.timeout + 1.0)
        self._desk.farewell()
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._desk.url!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            "a client is not copied: it has connections, and a token that is not to be written down"
        )

    # How flows are run.

    def _run(self, flow: Flow[T]) -> T:
        if self._closed:
            raise RuntimeError("the client is closed")
        try:
            return driven(flow, self._do)
        finally:
            self._attend()

    def _do(self, effect: Effect) -> Any:
        if isinstance(effect, Send):
            return self._send(effect)
        if isinstance(effect, Pause):
            return time.sleep(effect.seconds)
        return effect.do()

    def _send(self, effect: Send) -> Reply:
        end = time.monotonic() + effect.seconds
        try:
            with self._http.stream(**parts_of(effect)) as response:
                body = bytearray()
                for part in response.iter_bytes():
                    body += part
                    # httpx has a limit for each part, and not for all of them.
                    if len(body) > LARGEST or time.monotonic() > end:
                        raise Lost("its answer does not come to an end")
                return reply_of(response.status_code, response.headers, bytes(body))
        except TROUBLE as error:
            raise trouble(error) from error

    def _attend(self) -> None:
        """See to it that somebody delivers, while there is anything to deliver or to find out."""
        if self._thread is not None or not self._desk.delivery.wanted:
            return
        with self._lock:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._deliver, name="frugalbandits", daemon=True)
                self._thread.start()

    def _deliver(self) -> None:
        while True:
            try:
                driven(self._desk.delivery.attend(), self._do_behind)
            except Exception:
                log.exception("delivery failed, and will be tried again")
                time.sleep(AFTER_FAILURE)
            with self._lock:
                if not self._desk.delivery.wanted:
                    self._thread = None
                    return

    def _do_behind(self, effect: Effect) -> Any:
        if not isinstance(effect, Pause):
            return self._do(effect)
        if self._news.wait(effect.seconds):
            self._news.clear()
        return None


class ClientSession:
    """A session of a decision service: what `Client.session` and `Client.create` return.

    It has what a `Session` has, with the same errors. Ids are texts; the same told again is the same, and
    something else told for the same id is a `Conflict`.
    """

    def __init__(self, client: Client, name: str) -> None:
        self._client, self._name = client, name

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @overload
    def ask(
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
    def ask(
        self,
        n: int,
        *,
        metadata: Any = None,
        among: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        after: Decision | str | None = None,
    ) -> list[Decision]: ...

    def ask(
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
        found = self._client._run(desk.ask(self._name, n, metadata, among, exclude, after, context, costs))
        return found[0] if n is None else found

    def tell(self, id: str | int, reward: float | None = None, cost: float | None = None) -> None:
        """Report how good a decision was, or what it cost, or both.

        It is durable in the service when this returns, or waits here while the service is away.
        """
        self._client._run(self._client._desk.tell(self._name, id, reward, cost))

    def tell_many(self, feedback: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        """Report how good some decisions were; nothing is sent where anything has a wrong form.

        What the service refuses, such as an id that has expired, does not keep the rest from being counted;
        the first of it is raised.
        """
        self._client._run(self._client._desk.tell_many(self._name, feedback))

    def forget(self, id: str | int, used: bool = True) -> None:
        """Say that the feedback of a decision will never come, and whether its option was used."""
        self._client._run(self._client._desk.forget(self._name, id, used))

    def observe(
        self,
        option: str,
        reward: float | None = None,
        cost: float | None = None,
        id: str | None = None,
        context: Any = None,
    ) -> None:
        """Report on a use of an option that was no decision; with an id of yours, it counts once."""
        self._client._run(self._client._desk.observe(self._name, option, reward, cost, id, context))

    def explain(self) -> Explanation | ContextualExplanation:
        """Return what is believed of each option, what was spent and saved, and the decision so far."""
        return self._client._run(self._client._desk.explain(self._name))

    def changes(self) -> Changes:
        """Return what was changed or noticed so far, when, in words: it prints as a table."""
        return self._client._run(self._client._desk.changes(self._name))

    def set_cost(self, option: str, cost: float) -> None:
        """Set the price of an option from now on, for all who share the session."""
        self._client._run(self._client._desk.change(self._name, "set_cost", option, cost))

    def add(self, option: str, cost: float) -> None:
        """Take in a new option, for all who share the session."""
        self._client._run(self._client._desk.change(self._name, "add", option, cost))

    def pause(self, option: str) -> None:
        """Leave an option out of decisions until it is resumed."""
        self._client._run(self._client._desk.change(self._name, "pause", option))

    def resume(self, option: str) -> None:
        """Let decisions be for an option again that was paused."""
        self._client._run(self._client._desk.change(self._name, "resume", option))

    def retire(self, option: str) -> None:
        """Take an option out for good, for all who share the session."""
        self._client._run(self._client._desk.change(self._name, "retire", option))

    def __repr__(self) -> str:
        return f"ClientSession({self._name!r} at {self._client._desk.url})"
