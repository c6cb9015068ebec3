"""Sessions as the plug-in calls them, wherever they are kept and whatever they look at."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from frugalbandits.core.session import Decision
from frugalbandits.errors import (
    InputError,
    ServiceUnavailable,
    StoreUnavailable,
    ToldBefore,
    UnknownDecision,
    UnknownSession,
)
from frugalbandits.integrations.litellm.backstage import log
from frugalbandits.integrations.litellm.looking import NOTHING, Asked, unpacked
from frugalbandits.integrations.litellm.tickets import Ticket

__all__ = ["AWAY", "Book", "LookingBook"]

#: A session that cannot be reached at present.
AWAY = (ServiceUnavailable, StoreUnavailable)
_REST = 5.0  # seconds that a session which cannot be reached is left alone
_WITHOUT = "fallback: the session cannot be reached; the dearest option that may be used"
_KEPT = "fallback: the session cannot be reached; kept: the option of an earlier decision"


class Book:
    """A session, wherever it is kept; the same calls for all of them.

    Parameters
    ----------
    session
        The session, or a client's.
    shared
        Whether others know of it too: what is told of uses that were no decisions then has an id, by which it
        counts once, whoever says it and however often.
    store
        The store that it is kept in, if it is.
    """

    def __init__(self, session: Any, shared: bool, store: Any = None) -> None:
        self.session, self._shared, self._store = session, shared, store

    def ask(
        self,
        among: Sequence[str],
        after: Decision | None,
        asked: Asked = NOTHING,
        costs: Mapping[str, float] | None = None,
    ) -> Decision:
        """Return a decision among some options; what is known of the request is for others to look at."""
        decision: Decision = self.session.ask(among=list(among), after=after)
        return decision

    def tell(self, ticket: Ticket, reward: float | None = None, cost: float | None = None) -> None:
        """Report on an answer, whether it was a decision or not."""
        if self._store is not None:
            self._append(self._drafts(ticket, reward, cost), once=reward is not None)
        elif ticket.id is not None:
            self.session.tell(ticket.id, reward, cost)
        else:
            self.session.observe(ticket.option, reward, cost, **self._id(_named(ticket, reward, cost)))

    def _drafts(self, ticket: Ticket, reward: float | None, cost: float | None) -> list[Any]:
        """Return the entries of what is reported, for the log of a store."""
        if ticket.id is not None:
            return list(self.session.draft_tell(ticket.id, reward, cost))
        named = self._id(_named(ticket, reward, cost))
        return list(self.session.draft_observe(ticket.option, reward, cost, **named))

    def _append(self, drafts: list[Any], once: bool) -> None:
        """Append entries; where they count once, raise `ToldBefore` if another process has appended them."""
        from frugalbandits.stores.contract import SAME

        outcomes = self._store.append(self.session.name, drafts)
        self.session.settle(outcomes)
        if once and all(outcome.what == SAME for outcome in outcomes):
            raise ToldBefore("feedback for this answer was told before")

    def forget(self, ticket: Ticket, used: bool = True) -> None:
        """Say that no feedback will come, and whether the option was used: otherwise it cost nothing."""
        if ticket.id is None:
            return
        self.session.forget(ticket.id, used=used)

    def start_from(self, option: str, mean: float, weight: int) -> None:
        """Take in what a pool knows of an option as so many observations."""
        for number in range(weight):
            self.session.observe(option, mean, **self._id(f"pool-{option}-{number}"))

    def explain(self) -> Any:
        """Return what the session believes."""
        return self.session.explain()

    def _id(self, name: str) -> dict[str, str]:
        return {"id": f"litellm-{name}"} if self._shared else {}


class LookingBook(Book):
    """A session that looks at the request.

    While it cannot be reached, the dearest option is taken: it costs money, but hardly quality. Such a use is
    no decision, and is told of as an observation. The session is then left alone for a while, so that not
    every request waits for it in vain.
    """

    def __init__(
        self,
        session: Any,
        shared: bool,
        store: Any = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(session, shared, store)
        self._clock = clock
        #: What is still to be done before the first ask, because the session could not be reached.
        self.before: Callable[[], None] | None = None
        self._away = False
        self._again = 0.0
        self._retired: frozenset[str] = frozenset()

    def ask(
        self,
        among: Sequence[str],
        after: Decision | None,
        asked: Asked = NOTHING,
        costs: Mapping[str, float] | None = None,
    ) -> Decision:
        """Return a decision among some options, by what is known of the request, and what it would cost."""
        prices = costs or {}
        if self._clock() >= self._again:
            try:
                decision = self._asked(among, after, asked, prices)
            except (*AWAY, UnknownSession) as error:  # one that is made when the service is back
                self._again = self._clock() + _REST
                if not self._away:
                    log.warning("requests go to the dearest option for the time being: %s", error)
                self._away = True
            else:
                self._away = False
                return decision
        kept = after is not None and after.option in among
        option = after.option if after is not None and kept else max(among, key=lambda name: prices[name])
        return Decision(None, option, _KEPT if kept else _WITHOUT, fallback=True)

    def _asked(
        self, among: Sequence[str], after: Decision | None, asked: Asked, costs: Mapping[str, float]
    ) -> Decision:
        if self.before is not None:
            self.before()
            self.before = None
        left = [option for option in among if option not in self._retired]
        prices = {option: cost for option, cost in costs.items() if option not in self._retired}
        try:
            decision: Decision = self.session.ask(
                context=asked.context, among=left, after=after, costs=prices
            )
            return decision
        except UnknownSession:
            raise
        except InputError:
            # LiteLLM does not know what was retired in the session, by somebody at the dashboard.
            retired = frozenset(each.name for each in self.explain().options if each.standing == "retired")
            if not retired - self._retired:
                raise
            self._retired = retired
        return self._asked(among, after, asked, costs)

    def tell(self, ticket: Ticket, reward: float | None = None, cost: float | None = None) -> None:
        """Report on an answer, whether it was a decision or not; bills of others than decisions are ours."""
        if ticket.id is None and reward is None:
            return
        if self._store is not None:
            self._append(self._drafts(ticket, reward, cost), once=reward is not None)
        elif ticket.id is not None:
            self.session.tell(ticket.id, reward, cost)
        else:
            told = {"context": self._context(ticket), "option": ticket.option, "reward": reward}
            self.session.observe(**told, **self._id(f"{ticket.nonce}-r"))

    def _drafts(self, ticket: Ticket, reward: float | None, cost: float | None) -> list[Any]:
        """Return the entries of what is reported, for the log of a store."""
        if ticket.id is not None:
            return list(self.session.draft_tell(ticket.id, reward, cost))
        told = {"context": self._context(ticket), "option": ticket.option, "reward": reward}
        return list(self.session.draft_observe(**told, **self._id(f"{ticket.nonce}-r")))

    def _context(self, ticket: Ticket) -> Any:
        """Return what was known of the request of an answer that was not decided for."""
        if ticket.context is None:
            raise UnknownDecision(
                f"{ticket.option!r} has answered a request that was not decided for it, and the id does "
                "not say what was known of that: there is nothing to learn from"
            )
        return unpacked(ticket.context)

    def forget(self, ticket: Ticket, used: bool = True) -> None:
        """Say that no feedback will come, and whether the option was used: otherwise it cost nothing."""
        if ticket.id is None:
            return
        self.session.forget(ticket.id, used=used)


def _named(ticket: Ticket, reward: float | None, cost: float | None) -> str:
    """Return a name for what is reported on a use that was no decision."""
    kind = "r" if cost is None else "c" if reward is None else "b"
    return f"{ticket.nonce}-{kind}"
