"""The sessions of a group: one for all requests, or one for each segment of them, wherever they are kept.

With segments, the session of the whole group is the *pool*: it is told of every answer, and a segment that is
seen for the first time starts from it. It begins with at most `pooled` made-up observations of each option,
all of them the pool's mean, so what it sees itself soon outweighs them.

Where a session looks at the request there is one, and the segment is a part of what it sees.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Mapping
from typing import Any

from frugalbandits.core.session import Session
from frugalbandits.errors import Conflict, InputError
from frugalbandits.integrations.litellm.backstage import log
from frugalbandits.integrations.litellm.books import Book, LookingBook
from frugalbandits.integrations.litellm.looking import new_session
from frugalbandits.integrations.litellm.settings import Settings

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
        #: Whether an ask may have to wait for a network, and whether feedback may have to for a disk.
        self.slow_to_ask = settings.service_url is not None
        self.slow_to_tell = self.slow_to_ask or settings.store is not None
        self.of(None)

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
                try:
                    book.session.add(option, cost)
                except InputError as error:  # another worker was first
                    log.info("option %r was not added here: %s", option, error)
            self.costs[option] = cost

    def set_cost(self, option: str, cost: float) -> None:
        """Take in a new price of an option, in all sessions: bills so far are no guide any more."""
        with self._lock:
            for book in self._books.values():
                book.session.set_cost(option, cost)
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
                self._store.close()

    def _opened(self, segment: str | None) -> Book:
        settings, costs = self.settings, dict(self.costs)
        if settings.context is not None:
            return LookingBook(new_session(settings, costs))
        if segment is not None:
            known = {arm.name: arm.learned_cost for arm in self._books[None].explain().arms}
            costs = {option: known.get(option) or cost for option, cost in costs.items()}
        terms: dict[str, Any] = {
            "quality": settings.quality,
            "policy": settings.policy,
            "over": settings.over,
            "horizon": settings.horizon,
            "worth": settings.worth,
            "learn_costs": settings.learn_costs,
            "memory": settings.memory,
            "time_to_live": settings.time_to_live,
            "judge_price": self._judge_price,
        }
        name = session_name(settings.name, segment)
        if settings.service_url is not None:
            book = Book(self._at_service(name, costs, terms), remote=True)
        elif settings.store is not None:
            book = Book(self._in_store(name, costs, terms), remote=False)
        else:
            book = Book(Session(costs, **terms), remote=False)
        if segment is not None and book.explain().decisions == 0:
            self._pool_into(book)
        return book

    def _in_store(self, name: str, costs: Mapping[str, float], terms: Mapping[str, Any]) -> Any:
        from frugalbandits.stores import StoredSession, open_store

        if self._store is None:
            given = self.settings.store
            self._store = open_store(given) if isinstance(given, str) else given
        try:
            return Session(costs, **terms, store=self._store, name=name)
        except Conflict as error:
            log.info(_OTHERWISE, name, error)
            return StoredSession.open(self._store, name)

    def _at_service(self, name: str, costs: Mapping[str, float], terms: Mapping[str, Any]) -> Any:
        if self._client is None:
            from frugalbandits.client import Client

            self._client = Client(str(self.settings.service_url), self.settings.token)
        try:
            return self._client.create(name, costs, **terms)
        except Conflict as error:
            log.info(_OTHERWISE, name, error)
            return self._client.session(name, fallback=sorted(costs, key=costs.__getitem__, reverse=True))

    def _pool_into(self, book: Book) -> None:
        for arm in self._books[None].explain().arms:
            if arm.mean is not None and arm.name in self.costs:
                book.start_from(arm.name, arm.mean, min(arm.pulls, self.settings.pooled))
