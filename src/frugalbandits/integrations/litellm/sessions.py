"""The sessions of a group: one for all requests, or one for each segment of them, wherever they are kept.

With segments, the session of the whole group is the *pool*: it is told of every answer, and a segment that is
seen for the first time starts from it. It begins with at most `pooled` made-up observations of each option,
all of them the pool's mean, so what it sees itself soon outweighs them.

Where a session looks at the request there is one, and the segment is a part of what it sees.

A session in a store or a service may have been there before, and may be others' too. What is there goes on;
options that it does not have are added, and where requests have costs of their own its usual ones are taken.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Mapping
from typing import Any

from frugalbandits.core.contextual.explanation import ContextualExplanation
from frugalbandits.core.contextual.session import ContextualSession
from frugalbandits.core.session import Session
from frugalbandits.errors import Conflict, InputError, ServiceUnavailable
from frugalbandits.integrations.litellm.backstage import log
from frugalbandits.integrations.litellm.books import Book, LookingBook
from frugalbandits.integrations.litellm.looking import by_numbers, looks_alike
from frugalbandits.integrations.litellm.settings import Settings
from frugalbandits.integrations.litellm.totals import SharedTotals

__all__ = ["Sessions", "session_name"]

_UNFIT = re.compile(r"[^A-Za-z0-9._@+-]+")
_LONGEST = 100
# Prices have changed since it was made, or another worker was first, with what it had learned.
_OTHERWISE = "the session %r is there with other settings, and goes on with them: %s"


def session_name(name: str, segment: str | None) -> str:
    """Return a name that stores and services take, another one for each group and segment.

    Examples
    --------
    >>> session_name("chat", None), session_name("chat", "summary")
    ('chat', 'chat:summary')
    >>> session_name("my chat", "résumé")
    'my-chat.674b8505:r-sum.e9f7b5b6'
    """
    parts = [_fit(name), *([_fit(segment)] if segment is not None else [])]
    return ":".join(parts)


def _fit(text: str) -> str:
    plain = _UNFIT.sub("-", text).strip("-._@+")[: _LONGEST // 2]
    if plain and plain == text:
        return plain
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return f"{plain[: _LONGEST // 2 - 9] or 'x'}.{digest[:8]}"


class Sessions:
    """All sessions of a group, made when they are first needed."""

    def __init__(self, settings: Settings, costs: Mapping[str, float], judge_price: float) -> None:
        self.settings = settings
        self.costs = dict(costs)
        self._judge_price = judge_price
        self._lock = threading.RLock()
        self._books: dict[str | None, Book] = {}
        self._client: Any = None
        self._store: Any = None
        self._looks = settings.context is not None
        #: Whether an ask may have to wait for a network or a disk, and whether feedback may have to.
        self.slow_to_tell = settings.service_url is not None or settings.store is not None
        self.slow_to_ask = settings.service_url is not None or (self._looks and self.slow_to_tell)
        try:
            self.of(None)
        except BaseException:
            self.close()
            raise

    @property
    def keys(self) -> tuple[str | None, tuple[str, ...]]:
        """The key that signs tickets (None: a random one of this process), and more that are accepted."""
        given = self.settings.ticket_keys
        if self.settings.service_url is not None:
            token = self.settings.token or os.environ.get("FRUGALBANDITS_TOKEN")
            # Without a token, this could be guessed.
            known = (f"{self.settings.service_url}\n{token}",) if token else ()
            if not given and not known:
                log.warning(
                    "the group %r has no ticket_key and no token: only this process takes feedback by the "
                    "ids that it hands out, and not after a restart",
                    self.settings.group,
                )
        elif self._store is not None:
            from frugalbandits.stores.following import secret_of

            known = (secret_of(self._store).hex(),)
        else:
            known = ()
        all_keys = (*given, *known)
        return (all_keys[0], all_keys[1:]) if all_keys else (None, ())

    def shared_totals(self) -> SharedTotals | None:
        """Return where all processes that share the store count their calls; None without a store."""
        if self._store is None:
            return None
        return SharedTotals(self._store, session_name(self.settings.name, None))

    @property
    def segments(self) -> list[str]:
        """The segments that have a session of their own."""
        return [segment for segment in self._books if segment is not None]

    def of(self, segment: str | None) -> Book:
        """Return the session of a segment; the pool where there are too many segments already."""
        found = self._books.get(segment)
        if found is not None:
            return found
        with self._lock:
            if segment not in self._books:
                if segment is not None and len(self.segments) >= self.settings.most_segments:
                    return self._books[None]
                self._books[segment] = self._opened(segment)
            return self._books[segment]

    def add(self, option: str, cost: float) -> None:
        """Take in an option that has come to the group, in all sessions."""
        with self._lock:
            if option in self.costs:
                return
            for book in self._books.values():
                self._add(book, option, cost)
            self.costs[option] = cost

    def _add(self, book: Book, option: str, cost: float) -> None:
        try:
            book.session.add(option, cost)
        except InputError as error:  # another worker was first
            log.info("option %r was not added here: %s", option, error)

    def set_cost(self, option: str, cost: float) -> None:
        """Take in a new price of an option, in all sessions: bills so far are no guide any more."""
        with self._lock:
            for book in self._books.values():
                try:
                    book.session.set_cost(option, cost)
                except InputError as error:  # it was retired there
                    log.info("the price of %r was not set: %s", option, error)
            self.costs[option] = cost

    def close(self) -> None:
        """End connections and stored sessions."""
        with self._lock:
            for book in self._books.values():
                close = getattr(book.session, "close", None)
                if close is not None:
                    close()
            if self._client is not None:
                self._client.close()
            if self._store is not None and isinstance(self.settings.store, str):
                from frugalbandits.stores.keeping import keeper_of

                keeper_of(self._store).close()
                self._store.close()

    def _opened(self, segment: str | None) -> Book:
        settings, costs = self.settings, dict(self.costs)
        if segment is not None:
            known = {arm.name: arm.learned_cost for arm in self._books[None].explain().arms}
            costs = {option: known.get(option) or cost for option, cost in costs.items()}
        name = session_name(settings.name, segment)
        if settings.service_url is not None:
            session, before = self._at_service(name, costs)
        elif settings.store is not None:
            session, before = self._in_store(name, costs)
        else:
            session, before = self._kind(costs, **self._terms), False
        book = (LookingBook if self._looks else Book)(session, self.slow_to_tell, self._store)
        if before or (self._looks and self.slow_to_tell):
            try:
                self._go_on(book, name)
            except ServiceUnavailable as error:
                log.info("what the session %r lacks is not added yet: %s", name, error)
                if isinstance(book, LookingBook):
                    book.before = lambda: self._go_on(book, name)
        if segment is not None and book.explain().decisions == 0:
            self._pool_into(book)
        return book

    @property
    def _kind(self) -> Any:
        return ContextualSession if self._looks else Session

    @property
    def _terms(self) -> dict[str, Any]:
        """What a new session is told beside its costs."""
        settings = self.settings
        common = {"quality": settings.quality, "time_to_live": settings.time_to_live}
        if self._looks:
            return {
                **common,
                "context": by_numbers(settings.context),
                "policy": settings.policy or "dual-cof",
                "memory": None if isinstance(settings.memory, str) else settings.memory,
            }
        return {
            **common,
            "policy": settings.policy,
            "over": settings.over,
            "horizon": settings.horizon,
            "worth": settings.worth,
            "learn_costs": settings.learn_costs,
            "memory": settings.memory,
            "judge_price": self._judge_price,
        }

    def _in_store(self, name: str, costs: Mapping[str, float]) -> tuple[Any, bool]:
        """Return a session in the store, and whether it was there with other settings."""
        from frugalbandits.stores import StoredContextualSession, StoredSession, open_store

        if self._store is None:
            given = self.settings.store
            self._store = open_store(given) if isinstance(given, str) else given
        try:
            return self._kind(costs, **self._terms, store=self._store, name=name), False
        except Conflict as error:
            log.info(_OTHERWISE, name, error)
        if not self._looks:
            return StoredSession.open(self._store, name), True
        found = StoredContextualSession.open(self._store, name)
        if not looks_alike(found.context, self.settings.context):
            seen = found.context
            found.close()
            raise Conflict(
                f"the session {name!r} is there and looks at {seen!r}, which {self.settings.context!r} is "
                "not: take another name=..."
            )
        return found, True

    def _at_service(self, name: str, costs: Mapping[str, float]) -> tuple[Any, bool]:
        """Return a session of the service, and whether it was there with other settings."""
        if self._client is None:
            from frugalbandits.client import Client

            self._client = Client(str(self.settings.service_url), self.settings.token)
        try:
            return self._client.create(name, costs, **self._terms), False
        except Conflict as error:
            log.info(_OTHERWISE, name, error)
            dearest = None if self._looks else sorted(costs, key=costs.__getitem__, reverse=True)
            return self._client.session(name, fallback=dearest), True

    def _go_on(self, book: Book, name: str) -> None:
        """Go on with a session that was there: it gets the options that it lacks."""
        told = book.explain()
        if isinstance(told, ContextualExplanation) != self._looks:
            looks = "no request, but a" if self._looks else "requests, but no"
            raise Conflict(
                f"the session {name!r} is there and looks at {looks} context is given: take another name=..."
            )
        known = told.options if self._looks else (*told.arms, *told.retired)
        there = {each.name: each.cost for each in known}
        with self._lock:
            for option, cost in self.costs.items():
                if option not in there:
                    self._add(book, option, cost)
                elif self._looks:
                    self.costs[option] = there[option]

    def _pool_into(self, book: Book) -> None:
        for arm in self._books[None].explain().arms:
            if arm.mean is not None and arm.name in self.costs:
                book.start_from(arm.name, arm.mean, min(arm.pulls, self.settings.pooled))
