"""Sessions as the plug-in calls them, wherever they are kept and whatever they look at."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from frugalbandits.core.contextual.session import ContextualSession
from frugalbandits.core.session import Decision
from frugalbandits.errors import UnknownDecision
from frugalbandits.integrations.litellm.looking import NOTHING, Asked
from frugalbandits.integrations.litellm.tickets import Ticket

__all__ = ["Book", "LookingBook"]

_UNASKED = 10_000  # uses that were no decisions, whose judgements are waited for


class Book:
    """A session, wherever it is kept; the same calls for all of them."""

    def __init__(self, session: Any, remote: bool) -> None:
        self.session, self._remote = session, remote

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
        if ticket.id is not None:
            self.session.tell(ticket.id, reward, cost)
        elif self._remote:
            # Once for each kind, whoever sends it, and however often.
            kind = "r" if cost is None else "c" if reward is None else "b"
            self.session.observe(ticket.option, reward, cost, id=f"litellm-{ticket.nonce}-{kind}")
        else:
            self.session.observe(ticket.option, reward, cost)

    def forget(self, ticket: Ticket) -> None:
        """Say that no feedback will come."""
        if ticket.id is not None:
            self.session.forget(ticket.id)

    def start_from(self, option: str, mean: float, weight: int) -> None:
        """Take in what a pool knows of an option as so many observations."""
        for number in range(weight):
            told = {"id": f"litellm-pool-{option}-{number}"} if self._remote else {}
            self.session.observe(option, mean, **told)

    def explain(self) -> Any:
        """Return what the session believes."""
        return self.session.explain()


class LookingBook(Book):
    """A session that looks at the request."""

    def __init__(self, session: ContextualSession) -> None:
        super().__init__(session, remote=False)
        self._unasked: OrderedDict[str, Any] = OrderedDict()

    def ask(
        self,
        among: Sequence[str],
        after: Decision | None,
        asked: Asked = NOTHING,
        costs: Mapping[str, float] | None = None,
    ) -> Decision:
        """Return a decision among some options, by what is known of the request, and what it would cost."""
        decision: Decision = self.session.ask(asked.context, among=list(among), after=after, costs=costs)
        return decision

    def keep(self, nonce: str, context: Any) -> None:
        """Keep what was known of a request that is answered by somebody who was not decided for."""
        self._unasked[nonce] = context
        if len(self._unasked) > _UNASKED:
            self._unasked.popitem(last=False)

    def tell(self, ticket: Ticket, reward: float | None = None, cost: float | None = None) -> None:
        """Report on an answer, whether it was a decision or not; bills of others than decisions are ours."""
        if ticket.id is not None:
            self.session.tell(ticket.id, reward, cost)
        elif reward is not None:
            context = self._unasked.pop(ticket.nonce, None)
            if context is None:
                raise UnknownDecision(
                    f"what was known of the request that {ticket.option!r} has answered is no longer there: "
                    f"it is kept for {_UNASKED:,} of them"
                )
            self.session.observe(context, ticket.option, reward)

    def forget(self, ticket: Ticket) -> None:
        """Say that no feedback will come."""
        if ticket.id is not None:
            self.session.forget(ticket.id)
        self._unasked.pop(ticket.nonce, None)
