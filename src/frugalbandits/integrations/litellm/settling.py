"""What callbacks of LiteLLM say of an attempt, taken in once: its bill and its judgement, or its failure.

Callbacks come late, some twice and some never. An attempt is closed by the first that is heard of it, and
what comes after finds nothing to close.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from frugalbandits.integrations.litellm.judges import Request
from frugalbandits.integrations.litellm.ledger import Attempt
from frugalbandits.integrations.litellm.looking import Asked, messages_in
from frugalbandits.integrations.litellm.options import metadata_of, stamp_of, was_cached
from frugalbandits.integrations.litellm.tickets import Ticket

if TYPE_CHECKING:
    from frugalbandits.integrations.litellm.group import Group

__all__ = ["Settling", "blames_the_option"]

# What a provider answers when the request is at fault, or its caller's rights, and not the option.
_THE_REQUEST = frozenset({400, 401, 403, 404, 413, 422})


class Answer(NamedTuple):
    """What a callback says of an answer."""

    option: str | None
    cost: float | None
    cached: bool
    messages: list[Any]
    metadata: Mapping[str, Any]
    response: Any


def blames_the_option(error: object) -> bool:
    """Tell whether an error is the option's: limits, timeouts and the provider's own errors are."""
    status = getattr(error, "status_code", None)
    return not isinstance(status, int) or status not in _THE_REQUEST


class Settling:
    """Settles the attempts of a group."""

    def __init__(self, group: Group) -> None:
        self._group = group

    def succeeded(self, kwargs: Mapping[str, Any], response: Any) -> None:
        """Take in that there is an answer, and that all of it has come."""
        group, text = self._group, stamp_of(kwargs)
        answer = self._answer(kwargs, response)
        if answer.cached:
            self._from_cache(text)
            return
        if text is None:
            self._unguided(answer)
            return
        attempt = group.ledger.close(text)
        if attempt is None:
            return  # settled before, or expired
        answer = answer._replace(messages=messages_in(None, kwargs, attempt.system))
        if answer.option is not None:
            group.remember(attempt, answer.option)
        if not group.backstage.submit(lambda: self._settle(attempt, answer)):
            group.ledger.count("dropped: too much to do")

    def _from_cache(self, text: str | None) -> None:
        """Forget the decision of an answer that came from LiteLLM's cache.

        Its entries are of the whole group, so another model may have written the answer: it says nothing of
        the one that was decided for. It cost nothing, and was counted when it was written.
        """
        group = self._group
        attempt = None if text is None else group.ledger.close(text)
        if text is None:
            group.ledger.count("cached")
        if attempt is None:
            return
        group.ledger.from_cache(attempt.ticket.option)

        async def job() -> None:
            with group.trouble.kept_out("forgetting", attempt.text):
                await self._do(group.sessions.of(attempt.ticket.segment).forget, attempt.ticket, False)

        if not group.backstage.submit(job):
            group.ledger.count("dropped: too much to do")

    def failed(self, kwargs: Mapping[str, Any]) -> None:
        """Take in that an attempt has failed, before its answer or in the middle of it."""
        text = stamp_of(kwargs)
        attempt = None if text is None else self._group.ledger.close(text)
        if attempt is None:
            return
        option, error = self._answer(kwargs, None).option, kwargs.get("exception")
        if not self._group.backstage.submit(lambda: self._give_up(attempt, option, error)):
            self._group.ledger.count("dropped: too much to do")

    def withdrawn(self, attempt: Attempt) -> None:
        """Take back an attempt that was never made."""
        group = self._group
        if group.ledger.close(attempt.text) is not None:
            group.ledger.count("withdrawn")
            group.sessions.of(attempt.ticket.segment).forget(attempt.ticket, used=False)

    async def _give_up(self, attempt: Attempt, option: str | None, error: object) -> None:
        group, ticket = self._group, attempt.ticket
        option = ticket.option if option is None else option
        group.ledger.failed(option)
        group.ledger.count("failures")
        book = group.sessions.of(ticket.segment)
        followed = option == ticket.option
        zero = group.settings.failure == "zero" and blames_the_option(error) and followed
        with group.trouble.kept_out("failure", attempt.text):
            if zero:
                await self._do(book.tell, ticket, 0.0)
                group.ledger.judged(ticket.option, 0.0)
            else:
                await self._do(book.forget, ticket, False)

    async def _settle(self, attempt: Attempt, answer: Answer) -> None:
        group = self._group
        option = answer.option if answer.option is not None else attempt.ticket.option
        ticket = attempt.answered_by(option)
        book = group.sessions.of(ticket.segment)
        if option != attempt.ticket.option:
            # Another option has answered than the one that was decided for.
            group.ledger.count("not followed")
            with group.trouble.kept_out("forgetting", attempt.text):
                await self._do(book.forget, attempt.ticket, False)
            if option not in group.sessions.costs:
                group.ledger.pay(elsewhere=answer.cost or 0.0)
                return
        await self._book(ticket, answer, attempt.decision.wanted or ticket.id is None, attempt.asked)

    async def _book(self, ticket: Ticket, answer: Answer, wanted: bool, asked: Asked | None) -> None:
        """Take in the bill of an answer, and have it judged."""
        group = self._group
        text = group.signer.write(ticket)
        group.ledger.answered(ticket.option, answer.cost)
        if answer.cost is not None:
            with group.trouble.kept_out("bill", text):
                await self._do(group.sessions.of(ticket.segment).tell, ticket, None, answer.cost)
                await self._do(group.billed, ticket.option, asked, answer.cost)
        segment = ticket.segment if asked is None or asked.segment is None else asked.segment
        request = Request(
            answer.messages, answer.metadata, ticket.group, segment, ticket.option, text, wanted
        )
        await group.judging.judge(ticket, request, answer.response)

    # Answers that no decision of ours has led to.

    def _unguided(self, answer: Answer) -> None:
        """Take in an answer without a ticket: a fallback of LiteLLM, or a call that went past us."""
        group = self._group
        fallback = answer.metadata.get("model_group") != group.settings.group
        group.ledger.count("fallbacks" if fallback else "unguided")
        if not fallback and group.mend is not None:
            group.mend()
        if answer.option is None or answer.option not in group.sessions.costs:
            group.ledger.pay(elsewhere=answer.cost or 0.0)
            return
        asked = group.look(answer.messages, {}, answer.metadata)
        ticket = group.unasked(answer.option, answer.metadata, asked)
        if not group.backstage.submit(lambda: self._book(ticket, answer, wanted=True, asked=asked)):
            group.ledger.count("dropped: too much to do")

    def _answer(self, kwargs: Mapping[str, Any], response: Any) -> Answer:
        params = kwargs.get("litellm_params") or {}
        metadata = metadata_of(params)
        info = params.get("model_info") or {}
        # Metadata may be shared by several requests, so it is the last to ask.
        named = info.get("frugal_option") or metadata.get("deployment")
        option = self._group.ids.get(str(info.get("id"))) or named
        cached = bool(kwargs.get("cache_hit")) or was_cached(response)
        bill = self._bill(option, kwargs.get("response_cost"))
        return Answer(option, bill, cached, messages_in(None, kwargs), metadata, response)

    def _bill(self, option: str | None, cost: Any) -> float | None:
        """Return what an answer has cost; None where that tells nothing of a price.

        LiteLLM writes 0 for what it cannot price, and for an answer that was in its cache.
        """
        if isinstance(cost, bool) or not isinstance(cost, int | float) or not cost >= 0:
            return None
        priced = self._group.sessions.costs.get(option or "", 0.0) > 0
        return None if cost == 0 and priced else float(cost)

    async def _do(self, function: Any, *args: Any) -> None:
        if self._group.sessions.slow_to_tell:
            await self._group.backstage.in_thread(function, *args)
        else:
            function(*args)
