"""What the client does, as flows: ask or fall back on the last plan, tell or keep it for later."""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from frugalbandits.client import forms
from frugalbandits.client.breaker import Breaker
from frugalbandits.client.delivery import Delivery
from frugalbandits.client.outbox import BATCH, Op, Outbox
from frugalbandits.client.plans import Plans, is_local, read_local
from frugalbandits.client.wire import Flow, Lost, Pause, Request, Send, Work, answered, error_of, is_temporary
from frugalbandits.core.contextual.explanation import ContextualExplanation
from frugalbandits.core.session import Changes, Decision, Explanation
from frugalbandits.core.session.feedback import checked_reward, plain_copy, told, told_of_many
from frugalbandits.core.session.money import check_cost
from frugalbandits.core.settings import check_flag
from frugalbandits.errors import InputError, ServiceUnavailable, ToldBefore, UnknownDecision

__all__ = ["Desk"]

T = TypeVar("T")
COUNT = 1_000  # decisions in one request
LONGEST_ID = 2_000
PATIENT, HASTY = 8, 2  # times that something is tried: by who has nothing else, and by who has
_BACK_OFF = 0.05  # seconds, doubled from try to try
_ID = re.compile(r"[A-Za-z0-9_-]+")
_log = logging.getLogger("frugalbandits")


class Desk:
    """The logic of a client; `wake` has whoever delivers in the background look at what there is to do."""

    def __init__(self, url: str, timeout: float, outbox: Outbox) -> None:
        self.url, self.timeout = url, timeout
        self.outbox = outbox
        self.breaker = Breaker()
        self.plans = Plans()
        self.delivery = Delivery(self.outbox, self.breaker, url, timeout)
        self.wake: Callable[[], None] = _nobody

    def child(self) -> Desk:
        """Return the desk of a process that was forked, which shares nothing but the plans."""
        found = Desk(self.url, self.timeout, self.outbox.child())
        found.plans = self.plans.copy()
        return found

    def farewell(self) -> None:
        """Say what was not delivered, and let go of the spool."""
        left = len(self.outbox)
        if left and self.outbox.spooled:
            _log.warning("%s pieces of feedback wait in the spool for the next start", f"{left:,}")
        elif left:
            _log.error("%s pieces of feedback were not delivered, and are lost", f"{left:,}")
        self.outbox.close()

    # One call.

    def call(self, request: Request[T], tries: int = PATIENT, writes: bool = False) -> Flow[T]:
        """Send a request, again where that may help, within the time of one call.

        Where it `writes`, and the service answers that it cannot at present, it may be asked all the same.
        """
        end = time.monotonic() + self.timeout
        for turn in range(tries):
            try:
                reply = yield Send(request, max(end - time.monotonic(), 0.001))
                found = answered(request, reply)
            except Lost as error:
                lost = error
            else:
                self._reached()
                return found
            # At once at first: a connection that was kept may have ended, and another will do.
            back_off = random.uniform(0.5, 1.0) * _BACK_OFF * 2**turn if turn else 0.0
            wait = max(back_off, lost.wait)
            if turn + 1 == tries or time.monotonic() + wait >= end:
                break
            if wait:
                yield Pause(wait)
        if not (writes and lost.heard) and self.breaker.failed(lost.wait):
            _log.warning("the decision service at %s cannot be reached: %s", self.url, lost)
        raise ServiceUnavailable(f"the decision service at {self.url} cannot be reached: {lost}") from lost

    def _reached(self) -> None:
        if self.breaker.reached():
            _log.info("the decision service at %s is back", self.url)
            self.delivery.now()
            self.wake()

    # Decisions.

    def ask(
        self,
        session: str,
        n: int | None,
        metadata: Any,
        among: Any,
        exclude: Any,
        after: Any,
        context: Any = None,
        costs: Any = None,
    ) -> Flow[list[Decision]]:
        """Return decisions, of the service where it can be reached, else by the last plan."""
        if n is not None and (isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0):
            raise InputError(f"n must be a whole number of decisions, 0 or more, but it is {n!r}")
        kept = None if metadata is None else plain_copy(metadata)
        allowed, barred = _names("among", among), _names("exclude", exclude)
        wish = _earlier(after)
        if context is None and costs is not None:
            raise InputError(
                f"costs are those of a query, so a context goes with them, but they are {costs!r}"
            )
        if context is not None:
            if n is not None:
                raise InputError(f"a decision that looks at a query is for one, but n is {n!r}: leave it out")
            query = {"among": allowed, "exclude": barred, "context": forms.query_of(context), "costs": costs}
            return (yield from self._routed(session, query, wish, kept))
        found: list[Decision] = []
        left = 1 if n is None else int(n)
        while left:
            part = min(left, COUNT)
            body = {"among": allowed, "exclude": barred, **({} if n is None else {"count": part})}
            found += yield from self._asked(session, body, wish, kept)
            left -= part
        return found

    def _asked(self, session: str, body: dict[str, Any], after: Any, metadata: Any) -> Flow[list[Decision]]:
        among, exclude = body["among"], body["exclude"]
        there = self.plans.there(session, among)
        entered = self.breaker.enter()
        try:
            if entered or not there:
                request = self._kept_option(session, body, after, metadata)
                return (yield from self._of_service(session, request, HASTY if there else PATIENT))
        except ServiceUnavailable as error:
            if not there:
                raise ServiceUnavailable(
                    f"{error}; and there is nothing to fall back on: no plan of the session {session!r} was "
                    "seen so far, and no fallback=[...] was given"
                ) from error
        finally:
            if entered:
                self.breaker.leave()
        count = body.get("count", 1)
        return [self.plans.decide(session, among, exclude, after, metadata) for _ in range(count)]

    def _routed(self, session: str, body: dict[str, Any], after: Any, metadata: Any) -> Flow[list[Decision]]:
        """Return the decision for a query: of the service alone, for no plan knows of queries."""
        entered = self.breaker.enter()
        try:
            request = self._kept_option(session, body, after, metadata)
            return (yield from self._of_service(session, request, PATIENT, plans=False))
        except ServiceUnavailable as error:
            raise ServiceUnavailable(
                f"{error}; and a decision that looks at the query has no plan to fall back on: use an option "
                "of your own choice, and tell of it with observe"
            ) from error
        finally:
            if entered:
                self.breaker.leave()

    def _kept_option(
        self, session: str, body: dict[str, Any], after: Any, metadata: Any
    ) -> list[Request[tuple[list[Decision], list[str]]]]:
        """Return the requests to try in turn.

        Of a decision that was made here the service knows nothing: so its option is asked for, and where that
        cannot be had now, any.
        """
        plain = forms.ask(session, body, metadata)
        if after is None:
            return [plain]
        id_ = after.id if isinstance(after, Decision) else after
        if not is_local(id_):
            return [forms.ask(session, {**body, "after": id_}, metadata)]
        option, among = read_local(id_).option, body["among"]
        if (among is not None and option not in among) or option in (body["exclude"] or ()):
            return [plain]
        return [forms.ask(session, {**body, "among": [option]}, metadata), plain]

    def _of_service(
        self,
        session: str,
        requests: list[Request[tuple[list[Decision], list[str]]]],
        tries: int,
        plans: bool = True,
    ) -> Flow[list[Decision]]:
        for request in requests:
            try:
                decisions, plan = yield from self.call(request, tries)
            except InputError:
                if request is requests[-1]:
                    raise
            else:
                if plans:
                    self.plans.see(session, plan)
                    self.plans.remember(decisions)
                return decisions
        raise AssertionError("there is a request at least")

    # Feedback.

    def tell(self, session: str, id_: Any, reward: Any, cost: Any) -> Flow[None]:
        """Tell how good a decision was, now or as soon as the service is back."""
        entry = told(_shown(id_), reward, cost)
        yield from self._say(_told_ops(session, id_, entry.reward, entry.cost))

    def tell_many(self, session: str, feedback: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> Flow[None]:
        """Tell how good some decisions were; nothing is said where anything has a wrong form."""
        entries = told_of_many(feedback)
        ops: list[Op] = []
        for entry in entries:
            ops += _told_ops(session, entry.id, entry.reward, entry.cost)
        if len({entry.id for entry in entries}) < len(entries):
            raise ToldBefore("a decision stands twice in what is told")
        refused: Exception | None = None
        for start in range(0, len(ops), BATCH):
            try:
                yield from self._say(ops[start : start + BATCH])
            except InputError as error:
                refused = refused or error
        if refused is not None:
            raise refused

    def forget(self, session: str, id_: Any, used: Any = True) -> Flow[None]:
        """Say that feedback will never come; of a decision that was made here, nobody waits for it."""
        check_flag("used", used)
        if is_local(id_):
            _local(session, id_)
            return
        yield from self._say([{"op": "forget", "id": _known_id(id_), **({} if used else {"used": False})}])

    def observe(
        self, session: str, option: Any, reward: Any, cost: Any, id_: Any, context: Any = None
    ) -> Flow[None]:
        """Tell of a use that was no decision; it has an id in any case, so that it can be said again."""
        if not isinstance(option, str) or not option:
            raise InputError(f"an option is called by its name, but this is {option!r}")
        if reward is None and cost is None:
            raise InputError(f"a reward or a cost is to be told of {option!r}, but both are None")
        value = None if reward is None else checked_reward(option, reward, "option")
        paid = None if cost is None else check_cost(f"the cost of option {option!r}", cost)
        if id_ is not None and (not isinstance(id_, str) or not 0 < len(id_) <= 200):
            raise InputError(
                f"the id of an observation is a text of 1 to 200 characters, but it is {_shown(id_)!r}"
            )
        key = f"client-{random.SystemRandom().getrandbits(128):032x}" if id_ is None else id_
        query = {} if context is None else {"context": forms.query_of(context)}
        yield from self._say([{**_observation(session, option, value, paid, key), **query}])

    def _say(self, ops: Sequence[Op]) -> Flow[None]:
        """Say things now, behind those that wait already, or leave them to be delivered."""
        entered = not self.outbox and self.breaker.enter()
        try:
            if entered:
                if len(ops) == 1:
                    yield from self.call(forms.said(ops[0]), HASTY, writes=True)
                    return
                results = yield from self.call(forms.batch(ops), HASTY, writes=True)
                late = [op for op, (status, _) in zip(ops, results, strict=True) if is_temporary(status)]
                if late:
                    yield from self._keep(late)
                for status, document in results:
                    if status >= 400 and not is_temporary(status):
                        raise error_of(status, document)
                return
        except ServiceUnavailable:
            pass  # so it is kept
        finally:
            if entered:
                self.breaker.leave()
        yield from self._keep(ops)

    def _keep(self, ops: Sequence[Op]) -> Flow[None]:
        if self.outbox.spooled:
            yield Work(lambda: self.outbox.put(ops))
        else:
            self.outbox.put(ops)

    # Sessions as a whole.

    def create(self, name: str, body: Mapping[str, Any]) -> Flow[None]:
        """Make a session, now or, before anything is told of it, as soon as the service is back."""
        try:
            yield from self.call(forms.create(name, body))
        except ServiceUnavailable as error:
            _log.warning("the session %r will be made when the decision service is back: %s", name, error)
            yield from self._keep([{"op": "create", "session": name, "body": body}])

    def sessions(self) -> Flow[list[forms.Listed]]:
        """Return all sessions."""
        found: list[forms.Listed] = []
        after: str | None = ""
        while after is not None:
            page, after = yield from self.call(forms.listing(after))
            found += page
        return found

    def explain(self, session: str) -> Flow[Explanation | ContextualExplanation]:
        """Return what is believed and why."""
        found, plan = yield from self.call(forms.explain(session))
        if isinstance(found, Explanation):
            self.plans.see(session, plan)
        return found

    def changes(self, session: str) -> Flow[Changes]:
        """Return what was changed or noticed."""
        return (yield from self.call(forms.changes(session)))

    def change(self, session: str, do: str, option: str, cost: Any = None) -> Flow[None]:
        """Change an option."""
        price = check_cost(f"the cost of {option!r}", cost) if do in ("set_cost", "add") else None
        method, body = {
            "set_cost": ("PATCH", {"cost": price}),
            "add": ("PUT", {"cost": price}),
            "pause": ("PATCH", {"paused": True}),
            "resume": ("PATCH", {"paused": False}),
            "retire": ("DELETE", None),
        }[do]
        yield from self.call(forms.change(session, option, method, body))
        if do in ("pause", "retire"):
            self.plans.drop(session, option)


def _nobody() -> None:
    pass


def _names(what: str, names: Any) -> list[str] | None:
    if names is None:
        return None
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"{what} must be a list of names of options, but it is {names!r}")
    found = list(names)
    for each in found:
        if not isinstance(each, str):
            raise InputError(f"an option is called by its name, but this is {each!r}")
    return found


def _earlier(after: Any) -> Any:
    """Return an earlier decision or its id, if it can be one."""
    if after is not None:
        id_ = _known_id(after.id if isinstance(after, Decision) else after)
        if is_local(id_):
            read_local(id_)
    return after


def _known_id(id_: Any) -> str:
    """Return an id that the service may have given."""
    if not isinstance(id_, str) or len(id_) > LONGEST_ID or not _ID.fullmatch(id_):
        raise UnknownDecision(f"no decision has the id {_shown(id_)!r}")
    return id_


def _local(session: str, id_: str) -> tuple[str, str]:
    found = read_local(id_)
    if found.session != session:
        raise UnknownDecision(f"no decision of this session has the id {_shown(id_)!r}")
    return found.key, found.option


def _told_ops(session: str, id_: Any, reward: float | None, cost: float | None) -> list[Op]:
    if not is_local(id_):
        amounts = {"reward": reward, "cost": cost}
        return [{"op": "tell", "id": _known_id(id_), **_there(amounts)}]
    # Each under an id of its own, for they may be told one after the other.
    key, option = _local(session, id_)
    ops = []
    if reward is not None:
        ops.append(_observation(session, option, reward, None, key))
    if cost is not None:
        ops.append(_observation(session, option, None, cost, f"{key}:cost"))
    return ops


def _observation(session: str, option: str, reward: float | None, cost: float | None, id_: str) -> Op:
    amounts = {"reward": reward, "cost": cost}
    return {"op": "observe", "session": session, "option": option, "id": id_, **_there(amounts)}


def _there(amounts: dict[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in amounts.items() if value is not None}


def _shown(id_: object) -> Any:
    return f"{id_[:40]}..." if isinstance(id_, str) and len(id_) > 80 else id_
