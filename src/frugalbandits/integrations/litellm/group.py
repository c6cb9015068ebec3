"""One model group: who is asked in a request, and what becomes of it."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from frugalbandits.core.session import Decision
from frugalbandits.errors import InputError, unknown_name
from frugalbandits.integrations.litellm.backstage import Backstage, log
from frugalbandits.integrations.litellm.books import AWAY
from frugalbandits.integrations.litellm.compat import allowed_by_tags, deployments_of, group_names
from frugalbandits.integrations.litellm.judges import Sampled, Thumbs
from frugalbandits.integrations.litellm.judging import Judging
from frugalbandits.integrations.litellm.ledger import Attempt, Ledger
from frugalbandits.integrations.litellm.looking import NOTHING, Asked, asked_of, messages_in, system_in
from frugalbandits.integrations.litellm.options import (
    by_option,
    failed_before,
    id_of,
    in_turn,
    metadata_of,
    option_of,
    preferred,
    stamp_of,
    stamped,
)
from frugalbandits.integrations.litellm.pricing import TokenPrices, first_costs, price_of, written_prices
from frugalbandits.integrations.litellm.report import Believed, Report, believed_in, report_of
from frugalbandits.integrations.litellm.sessions import Sessions
from frugalbandits.integrations.litellm.settings import Settings
from frugalbandits.integrations.litellm.settling import Settling
from frugalbandits.integrations.litellm.tickets import Signer, Ticket
from frugalbandits.integrations.litellm.totals import Totals
from frugalbandits.integrations.litellm.trouble import Trouble

__all__ = ["AFTER", "Group"]

#: The key of a request's metadata that may carry the id of the last turn of its conversation.
AFTER = "frugal_after"
_CONVERSATIONS = 10_000
_PUBLISH_AFTER = 1.0  # seconds
_ALONE = "These are the calls of this process alone; others that share the session are left out."
_LONGEST = 1_500  # letters of a context in an id, which goes into a header: those must not be long


class Group:
    """A model group of LiteLLM, with its sessions and all that is known of its calls."""

    def __init__(self, settings: Settings, router: Any, clock: Callable[[], float] = time.time) -> None:
        self.settings, self.router, self._clock = settings, router, clock
        costs = first_costs(router, self._deployments(), settings.costs, settings.expected_tokens)
        if len(costs) < 2:
            raise InputError(
                f"there is nothing to choose in the group {settings.group!r}: "
                f"it has {next(iter(costs))!r} alone"
            )
        if settings.baseline is not None and settings.baseline not in costs:
            raise unknown_name("option", settings.baseline, costs)
        self.ledger = Ledger(settings.time_to_live, clock)
        self.trouble = Trouble(self.ledger)
        self.backstage = Backstage()
        self.sessions = Sessions(settings, costs, _judge_price(settings))
        self.signer = Signer(*self.sessions.keys)
        self._shared = self.sessions.shared_totals()
        self._publishing = False
        self.ledger.changed = self._counted
        self.prices = TokenPrices(settings.expected_tokens, settings.learn_costs)
        if settings.context is not None:
            self._put_prices(self._deployments())
        # With a context the segment is a part of it, and there is one session.
        self._segment = settings.segment if settings.context is None else None
        self.judging = Judging(
            settings.judge, self.sessions, self.ledger, self.trouble, self.backstage, self.signer
        )
        self.settling = Settling(self)
        self.ids = {id_of(each): option_of(each) for each in self._deployments()}
        self._written = {id_of(each): written_prices(each) for each in self._deployments()}
        #: Puts our strategy back in place where LiteLLM has dropped it, as it does when its own is changed.
        self.mend: Callable[[], None] | None = None
        self._conversations: OrderedDict[tuple[str | None, str], Decision] = OrderedDict()

    def _deployments(self) -> list[Mapping[str, Any]]:
        found = deployments_of(self.router, self.settings.group)
        if not found:
            raise unknown_name("model group", self.settings.group, group_names(self.router))
        return found

    # Which option.

    def open_to(self, deployments: Sequence[Mapping[str, Any]], kwargs: Mapping[str, Any]) -> list[str]:
        """Return the options that a request may go to: in turn, priced, and not failed in it before."""
        turn = in_turn(deployments, kwargs)
        failed = failed_before(kwargs)
        fresh = [each for each in turn if id_of(each) not in failed]
        found = by_option(fresh or turn)
        return [option for option, some in found.items() if self._known(option, some)]

    def _known(self, option: str, deployments: Sequence[Mapping[str, Any]]) -> bool:
        """Tell whether an option has a price; one that has come to the group since is taken in."""
        self.ids.update({id_of(each): option for each in deployments})
        if option in self.sessions.costs:
            self._reprice(option, deployments)
            return True
        price = price_of(self.router, deployments[0], self.settings.expected_tokens)
        if price is None:
            error = InputError(f"LiteLLM knows no token prices of {option!r}, so it is left out")
            self.trouble.note("pricing", error)
            return False
        if self.settings.context is not None:
            self._put_prices(deployments)
        self.sessions.add(option, price)
        return True

    def _put_prices(self, deployments: Sequence[Mapping[str, Any]]) -> None:
        """Take in what the tokens of some deployments cost, for sessions that look at the request."""
        by_hand = self.settings.costs
        priced = [each for each in deployments if option_of(each) not in by_hand]
        given, made = (first_costs(self.router, priced, {}, tokens) for tokens in ((1.0, 0.0), (0.0, 1.0)))
        for option, price in given.items():
            self.prices.put(option, price, made[option])
        for option in {option_of(each) for each in deployments} & set(by_hand):
            self.prices.put(option, 0.0, 0.0, by_hand[option])

    def _reprice(self, option: str, deployments: Sequence[Mapping[str, Any]]) -> None:
        """Take in token prices that were written anew into deployments of an option."""
        now = {id_of(each): written_prices(each) for each in deployments}
        same = all(self._written.get(name, prices) == prices for name, prices in now.items())
        self._written.update(now)
        if same or option in self.settings.costs:
            return
        mine = [each for each in self._deployments() if option_of(each) == option]
        cost = first_costs(self.router, mine, {}, self.settings.expected_tokens)[option]
        if self.settings.context is not None:
            self._put_prices(mine)

        async def job() -> None:
            with self.trouble.kept_out("pricing"):
                await self.backstage.in_thread(self.sessions.set_cost, option, cost)

        self.backstage.submit(job)

    def look(self, messages: Any, kwargs: Mapping[str, Any], metadata: Mapping[str, Any]) -> Asked | None:
        """Return what is known of a request; None where a function of the user's has failed, which is noted.

        Nothing is decided then, and LiteLLM chooses as it would without us.
        """
        if self.settings.context is None:
            return NOTHING
        try:
            return asked_of(self.settings, messages_in(messages, kwargs), metadata)
        except Exception as error:
            self.trouble.note("features", error)
            return None

    def choose(self, kwargs: dict[str, Any], among: Sequence[str], asked: Asked = NOTHING) -> Attempt:
        """Return an attempt: a decision among some options, with the ticket that it goes by."""
        metadata = metadata_of(kwargs)
        segment = _read(self._segment, metadata)
        conversation = _read(self.settings.sticky, metadata)
        book = self.sessions.of(segment)
        if segment is not None and segment not in self.sessions.segments:
            segment = None  # there are too many: it goes to the pool
        costs = None
        if self.settings.context is not None:
            costs = self.prices.expected(self.sessions.costs, asked.tokens)
        decision = book.ask(among, self._after(segment, conversation, metadata), asked, costs)
        context = None
        if decision.id is None:
            self.ledger.count("decided without the session")
            context = asked.packed
        nonce = secrets.token_hex(8)
        ticket = Ticket(self.settings.group, segment, decision.option, decision.id, nonce, context)
        text, system = self.signer.write(ticket), system_in(kwargs)
        attempt = Attempt(text, ticket, decision, conversation, self._clock(), asked, system)
        call = kwargs.setdefault("litellm_call_id", secrets.token_hex(16))
        self.ledger.open(attempt, call if isinstance(call, str) else None)
        return attempt

    def _after(
        self, segment: str | None, conversation: str | None, metadata: Mapping[str, Any]
    ) -> Decision | None:
        """Return the decision of the conversation's last turn, if there was one."""
        text = metadata.get(AFTER)
        if text is not None:
            with self.trouble.kept_out("reading the last turn"):
                last = self.signer.read(text)
                if last.group == self.settings.group and last.segment == segment and last.id is not None:
                    return Decision(last.id, last.option, "")
        if conversation is None:
            return None
        return self._conversations.get((segment, conversation))

    def remember(self, attempt: Attempt, option: str) -> None:
        """Take down which option has answered in a conversation: its prompt is in that one's cache."""
        if attempt.conversation is None:
            return
        key = attempt.ticket.segment, attempt.conversation
        if option == attempt.ticket.option and attempt.ticket.id is not None:
            self._conversations[key] = attempt.decision
            self._conversations.move_to_end(key)
        else:
            self._conversations.pop(key, None)
        if len(self._conversations) > _CONVERSATIONS:
            self._conversations.popitem(last=False)

    async def filtered(
        self, deployments: Sequence[Mapping[str, Any]], kwargs: dict[str, Any], messages: Any = None
    ) -> list[Mapping[str, Any]]:
        """Return deployments so that LiteLLM takes those of the option that was decided for."""
        if not deployments or any(stamp_of(each) for each in deployments):
            return list(deployments)
        try:
            deployments = await allowed_by_tags(self.router, self.settings.group, deployments, kwargs)
        except ValueError as error:  # LiteLLM filters again, and tells the caller so
            log.debug("nothing is decided, since the tags of a request allow no deployment: %s", error)
            return list(deployments)
        if self.sessions.slow_to_tell and {*map(option_of, deployments)} - self.sessions.costs.keys():
            among = await self.backstage.in_front(self.open_to, deployments, kwargs)
        else:
            among = self.open_to(deployments, kwargs)
        asked = self.look(messages, kwargs, metadata_of(kwargs)) if among else None
        if asked is None:
            return list(deployments)
        # To ask may take a network or a disk, and so may the session of a new segment or a new option.
        if self.sessions.slow_to_ask or (self.sessions.slow_to_tell and self._opens(kwargs)):
            attempt = await self.backstage.in_front(self.choose, kwargs, among, asked)
        else:
            attempt = self.choose(kwargs, among, asked)
        return self.marked(deployments, attempt, kwargs)

    def _opens(self, kwargs: Mapping[str, Any]) -> bool:
        """Tell whether a request is of a segment that has no session yet."""
        segment = _read(self._segment, metadata_of(kwargs))
        return segment is not None and segment not in self.sessions.segments

    def marked(
        self, deployments: Sequence[Mapping[str, Any]], attempt: Attempt, kwargs: Mapping[str, Any]
    ) -> list[Mapping[str, Any]]:
        """Return deployments with the ticket of an attempt: the chosen ones first, but in shadow mode."""
        if not self.settings.shadow:
            deployments = preferred(deployments, attempt.ticket.option, kwargs)
        return [stamped(each, attempt.text) for each in deployments]

    # Afterwards.

    def ticket_of(self, call: object, deployment: object) -> str | None:
        """Return the id to give feedback with on a call, by the deployment that has answered."""
        attempt = self.ledger.of_call(call)
        if attempt is None:
            return None
        option = self.ids.get(str(deployment), attempt.ticket.option if deployment is None else None)
        if option is None:
            return None
        ticket = attempt.answered_by(option)
        if len(ticket.context or "") > _LONGEST:
            ticket = ticket._replace(context=None)
        return self.signer.write(ticket)

    def why(self, call: object) -> str | None:
        """Return what was decided for a call, and why, in a sentence."""
        attempt = self.ledger.of_call(call)
        return None if attempt is None else f"{attempt.ticket.option}: {attempt.decision.reason}"

    def unasked(self, option: str, metadata: Mapping[str, Any], asked: Asked | None) -> Ticket:
        """Return a ticket for the use of an option that was no decision, with what was known of it."""
        segment = _read(self._segment, metadata)
        if segment not in self.sessions.segments:
            segment = None
        context = None if asked is None else asked.packed
        return Ticket(self.settings.group, segment, option, None, secrets.token_hex(8), context)

    def billed(self, option: str, asked: Asked | None, cost: float) -> None:
        """Learn what calls cost, for a session that is told what each request would."""
        if self.settings.context is None or asked is None:
            return
        self.prices.billed(option, asked.tokens, cost)
        for name, now in list(self.sessions.costs.items()):
            usual = self.prices.usual(name, now)
            if usual is not None:
                self.sessions.set_cost(name, usual)

    def report(self) -> Report:
        """Return what calls have cost and were worth: of all processes that share a store, or of this one."""
        settings = self.settings
        believed: Mapping[str, Believed] | None = None if settings.context is None else {}
        bar: float | None = None
        with self.trouble.kept_out("explaining"):
            told = self.sessions.of(None).explain()
            bar = told.threshold if settings.context is None else told.bar
            if settings.context is not None:
                believed = believed_in(told)
        totals, everywhere = self._totals()
        found = report_of(
            settings.group,
            settings.shadow,
            settings.baseline,
            self.sessions.costs,
            totals,
            believed,
            everywhere=everywhere,
            bar=bar,
            wanted=str(settings.quality),
        )
        if settings.baseline is None and found.baseline not in (None, totals.baseline):
            self._compare_with(str(found.baseline), totals, everywhere)
        if self.sessions.slow_to_tell and not everywhere:
            found = replace(found, unknown=(*found.unknown, _ALONE))
        return found

    def _totals(self) -> tuple[Totals, bool]:
        """Return what was counted, and whether by all processes."""
        mine = self.ledger.totals()
        if self._shared is not None:
            try:
                self._shared.publish(mine)
                return self._shared.read(), True
            except AWAY as error:
                self.trouble.note("reading the totals", error)
        return mine, False

    def _compare_with(self, option: str, totals: Totals, everywhere: bool) -> None:
        """Keep the option that a report has compared with, so that the next one does too."""
        if everywhere and self._shared is not None:
            with self.trouble.kept_out("keeping the baseline"):
                self._shared.set_baseline(option, totals.baselines + 1)
        else:
            self.ledger.compare_with(option)

    def _counted(self) -> None:
        """Have what was counted published soon, together with what comes until then."""
        if self._shared is None or self._publishing:
            return
        self._publishing = True
        self.backstage.later(_PUBLISH_AFTER, self._publish)

    async def _publish(self) -> None:
        self._publishing = False
        if self._shared is not None:
            with self.trouble.kept_out("publishing the totals"):
                await self.backstage.in_thread(self._shared.publish, self.ledger.totals())

    def close(self, timeout: float = 3.0) -> None:
        """Tell what is held, and end what runs for the group."""
        self.backstage.flush(timeout)
        self.judging.release_all()
        if self._shared is not None:
            with self.trouble.kept_out("publishing the totals"):
                self._shared.publish(self.ledger.totals())
        self.backstage.close()
        self.sessions.close()


def _read(reader: Any, metadata: Mapping[str, Any]) -> str | None:
    """Return what a key or a function finds in the metadata of a request, as text."""
    if reader is None:
        return None
    found = reader(metadata) if callable(reader) else metadata.get(reader)
    return None if found is None else str(found)


def _judge_price(settings: Settings) -> float:
    """Return what a judgement is expected to cost."""
    if settings.judge_price is not None:
        return settings.judge_price
    judge = settings.judge
    while isinstance(judge, Thumbs | Sampled):
        judge = judge.judge
    return float(getattr(judge, "price", 0.0))
