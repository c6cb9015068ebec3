"""A session that is kept in a store: durable, and shared by as many processes as like.

What is told is a fact in the log of the session before `tell` returns. Whoever has the session open reads
what the others add. Asking writes nothing: a decision's id carries all that feedback needs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from frugalbandits.core.session import Session, stored
from frugalbandits.core.session.explaining import Facts, explained
from frugalbandits.core.session.explanation import Explanation
from frugalbandits.core.session.feedback import checked_reward
from frugalbandits.core.session.money import check_cost
from frugalbandits.errors import InputError
from frugalbandits.stores import facts
from frugalbandits.stores.contract import Fact
from frugalbandits.stores.folding import Folding
from frugalbandits.stores.following import check_session_name
from frugalbandits.stores.price_list import REFUSE
from frugalbandits.stores.telling import check_observation_id

__all__ = ["StoredSession"]


class StoredSession(Folding):
    """A session in a store: what ``Session(..., store=...)`` returns.

    It has all that a `Session` has. Ids are texts; the same told again is the same, and something else told
    for the same id is an `fb.Conflict`. Several processes may have it open. `close` it when done, or use it
    with ``with``: what was handed out in the last second is said then.

    Examples
    --------
    >>> import frugalbandits as fb
    >>> with fb.Session({"small": 0.2, "large": 3.0}, alpha=0.1, store="memory:", name="shop") as session:
    ...     decision = session.ask()
    ...     session.tell(decision.id, reward=1.0)
    ...     session.tell(decision.id, reward=1.0)
    ...     session.explain().arms[0].pulls
    1
    """

    def __init__(
        self, *args: Any, store: Any, name: str = "default", on_difference: str = REFUSE, **settings: Any
    ) -> None:
        check_session_name(name)
        self._open_or_create(store, name, Session(*args, **settings), on_difference)

    def _beginning(self, session: Session, by: str) -> Fact:
        # The log must not hold what other processes cannot read: a policy that only this program knows.
        text = session.to_json()
        if session.decisions == 0 and type(session._policy).__module__.startswith("frugalbandits."):
            stored.check_known(session._label, session._policy)  # the rest of a fresh session can be read
        else:
            Session.from_json(text)
        return facts.created(facts.settings_of(session), text, time.time(), by)

    def start_flush(self) -> Callable[[], None]:
        """Submit decision counts and what was noticed; return a function that waits until they are written.

        So the sync thread can submit those of all sessions first, and they are written in one commit.
        """
        with self._lock:
            if self._unsent:
                self._turn += 1
                said = facts.counted(self._worker, self._turn, self._unsent, self._now(), self._author)
                self._in_flight[said.key] = said
                self._unsent.clear()
            counted = [*self._in_flight.values()]
            noticed = [*self._proposed.values()]
        calls = [(self._in_flight, counted)] if counted else []
        # One by one: another process may have noticed the same in other words, which is a conflict.
        calls += [(self._proposed, [fact]) for fact in noticed]
        submitted = [(kept, sent, self._store.submit(self._name, sent)) for kept, sent in calls]

        def finish() -> None:
            for kept, sent, future in submitted:
                future.result()
                with self._lock:
                    for fact in sent:
                        kept.pop(fact.key, None)

        return finish

    def draft_observe(
        self,
        option: str,
        reward: float | None = None,
        cost: float | None = None,
        id: str | None = None,
        by: str = "",
    ) -> list[Fact]:
        """Return the fact of a use of an option that was no decision."""
        if reward is None and cost is None:
            raise InputError(f"a reward or a cost is to be told of {option!r}, but both are None")
        value = None if reward is None else checked_reward(option, reward, "option")
        paid = None if cost is None else check_cost(f"the cost of option {option!r}", cost)
        check_observation_id(id)
        with self._lock:
            known = self._option(option)
        return [facts.observed(known, value, paid, id, self._clock(), by)]

    def observe(
        self, option: str, reward: float | None = None, cost: float | None = None, id: str | None = None
    ) -> None:
        """Report on a use of an option that was no decision; with an id of yours, it counts once."""
        self._append(self.draft_observe(option, reward, cost, id))

    def metadata(self, id: int | str) -> Any:
        """Return what `ask` was given to keep with a decision."""
        return self._token(id).metadata

    def explain(self) -> Explanation:
        """Return what is believed of each option, what was spent and saved, and the decision so far."""
        with self._lock:
            inside = Facts.of(self)
        return explained(inside)

    def to_json(self) -> str:
        """Return the session as a text that `Session.from_json` reads; in it, what waits is given up."""
        with self._lock:
            data = self._settled()
        return stored.dump(data)

    def _copy(self) -> Session:
        return Session.from_json(self.to_json())

    @classmethod
    def _restored(cls, text: str, policy: Any) -> Session:
        return Session._restored(text, policy)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self._name!r} in {self._store.address})"
