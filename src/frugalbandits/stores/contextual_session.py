"""A session that looks at queries and is kept in a store: durable, and shared by several processes."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from numpy.typing import ArrayLike

from frugalbandits.core.contextual import stored
from frugalbandits.core.contextual.explaining import explained
from frugalbandits.core.contextual.explanation import ContextualExplanation
from frugalbandits.core.contextual.session import ContextualSession
from frugalbandits.core.session.feedback import Decision, checked_reward, plain_copy
from frugalbandits.core.session.roster import listed_names
from frugalbandits.errors import InputError, ToldBefore
from frugalbandits.stores import facts
from frugalbandits.stores.contextual_folding import ContextualFolding
from frugalbandits.stores.contract import Fact
from frugalbandits.stores.following import check_session_name
from frugalbandits.stores.price_list import REFUSE
from frugalbandits.stores.telling import check_observation_id
from frugalbandits.stores.tokens import packed

__all__ = ["METADATA", "StoredContextualSession"]

METADATA = 4_096  # bytes of metadata that the log keeps with a decision


class StoredContextualSession(ContextualFolding):
    """A contextual session in a store: what ``ContextualSession(..., store=...)`` returns.

    It has all that a `ContextualSession` has. A decision is in the log before it is handed out, with its
    query as numbers. Ids are texts; the same told again is the same, and something else told for the same id
    is an `fb.Conflict`. Several processes may have it open. `close` it when done, or use it with ``with``.

    Examples
    --------
    >>> import frugalbandits as fb
    >>> costs, context = {"small": 0.2, "large": 3.0}, fb.Segments(["easy", "hard"])
    >>> with fb.ContextualSession(costs, 0.05, context, store="memory:", name="routes") as session:
    ...     decision = session.ask("easy")
    ...     session.tell(decision.id, reward=1.0)
    ...     session.tell(decision.id, reward=1.0)
    ...     session.explain().told
    1
    """

    def __init__(
        self, *args: Any, store: Any, name: str = "default", on_difference: str = REFUSE, **settings: Any
    ) -> None:
        check_session_name(name)
        self._open_or_create(store, name, ContextualSession(*args, **settings), on_difference)

    def _beginning(self, session: ContextualSession, by: str) -> Fact:
        if type(session._policy).count is None:
            raise InputError(
                f"{session._label} decides in one process only, so its session cannot be kept in a store: "
                "take policy='dual-cof'"
            )
        # What others cannot read must not be in the log: a policy of a kind that only this program knows.
        ContextualSession.from_json(session.to_json())
        return facts.created(facts.contextual_settings_of(session), session.to_json(), time.time(), by)

    # Asking.

    def draft_ask(
        self,
        context: Any,
        *,
        metadata: Any = None,
        among: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        after: str | Decision | None = None,
        costs: Mapping[str, float] | ArrayLike | None = None,
        by: str = "",
    ) -> tuple[Decision, list[Fact]]:
        """Return a decision, and the fact of it: it may be handed out once that is in the log."""
        kept = None if metadata is None else _kept(metadata)
        kept_option = self._to_keep(after)
        with self._lock:
            allowed = self._allowed(listed_names("among", among), listed_names("exclude", exclude))
            features, segment = self._encoder.read(context)
            prices = self._query_costs(costs)
            state = self._policy.apart(self._state)
            chosen = self._choose(state, self._draws, features, segment, prices, allowed, kept_option)
            option, waiter = chosen.option, chosen.waiter
            id_ = self._tokens.issue(option, 0, self._now(), chosen.wanted, packed(waiter.cost))
            by_option: list[float | None] | None = None
            if costs is not None:
                by_option = [None] * len(self._names)
                for arm, each in enumerate(self._options):
                    by_option[each] = float(prices[arm])
            token, ttl, name = self._tokens.read(id_), self._time_to_live, self._names[option]
        expires = None if ttl is None else token.issued + ttl
        decision = Decision(id_, name, chosen.reason, kept, chosen.wanted, expires)
        return decision, [facts.asked(token, waiter, by_option, kept, token.issued, by)]

    def ask(
        self,
        context: Any,
        *,
        metadata: Any = None,
        among: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        after: Any = None,
        costs: Mapping[str, float] | ArrayLike | None = None,
    ) -> Decision:
        """Return which option takes this query; the decision is durable when this returns."""
        decision, drafts = self.draft_ask(
            context, metadata=metadata, among=among, exclude=exclude, after=after, costs=costs
        )
        self._append(drafts)
        return decision

    def _to_keep(self, after: Any) -> int | None:
        if after is None or isinstance(after, Decision):
            return super()._to_keep(after)
        return self._token(after).option

    # Telling.

    def draft_observe(
        self, context: Any, option: str, reward: float, id: str | None = None, by: str = ""
    ) -> list[Fact]:
        """Return the fact of how good an option was on a query that was no decision."""
        value = checked_reward(option, reward, "option")
        check_observation_id(id)
        with self._lock:
            known = self._option(option, there=True)
            features, segment = self._encoder.read(context)
        query = facts.query_of(features, segment)
        return [facts.observed(known, value, None, id, self._clock(), by, query)]

    def observe(self, context: Any, option: str, reward: float, id: str | None = None) -> None:
        """Report how good an option was on a query that was no decision; under an id of yours, once."""
        self._append(self.draft_observe(context, option, reward, id))

    def metadata(self, id: int | str) -> Any:
        """Return what `ask` was given to keep with a decision that waits for feedback; None if nothing."""
        token = self._token(id)
        asked, answered = f"{token.key}a", f"{token.key}r"
        found = self._store.find(self._name, [asked, answered])
        with self._lock:
            over = self._open.is_over(token.issued)
        if over or asked not in found or answered in found:
            raise ToldBefore("the decision does not wait for feedback, so nothing is kept with it")
        return json.loads(found[asked].fact.body).get("m")

    # As a whole.

    def explain(self) -> ContextualExplanation:
        """Return the bar, what was reached, the price of quality, what was spent, and what is believed."""
        with self._lock:
            found = explained(self)
            late = self._late_here
        words = f"{late:,} times feedback came here for a decision that had expired"
        return dataclasses.replace(found, late=words) if late else found

    def to_json(self) -> str:
        """Return the session as a text that `ContextualSession.from_json` reads; what waits is given up."""
        with self._lock:
            captured = stored.captured(self)
        return captured()

    def _copy(self) -> ContextualSession:
        return ContextualSession.from_json(self.to_json())

    @classmethod
    def _restored(cls, text: str, policy: Any) -> ContextualSession:
        return ContextualSession._restored(text, policy)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self._name!r} in {self._store.address})"


def _kept(metadata: Any) -> Any:
    """Return a copy of metadata that is not too large for a log."""
    copy = plain_copy(metadata)
    size = len(json.dumps(copy, separators=(",", ":")))
    if size > METADATA:
        raise InputError(
            f"metadata is kept in the log, so it may be {METADATA:,} bytes of JSON, but it is {size:,}"
        )
    return copy
