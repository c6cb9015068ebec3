"""From an answer to a reward: what the judge says is clipped, held where it may be revised, and told."""

from __future__ import annotations

import threading
import warnings
from typing import Any

from frugalbandits.errors import Expired, InputError, ToldBefore
from frugalbandits.integrations.litellm.backstage import Backstage
from frugalbandits.integrations.litellm.judges import (
    ClippedReward,
    Request,
    Sampled,
    Thumbs,
    UnclearVerdict,
    Verdict,
    clipped,
    verdict_of,
)
from frugalbandits.integrations.litellm.ledger import Ledger
from frugalbandits.integrations.litellm.sessions import Sessions
from frugalbandits.integrations.litellm.tickets import Signer, Ticket
from frugalbandits.integrations.litellm.trouble import Trouble

__all__ = ["Judging"]

_REMEMBERED = 100_000  # uses that were no decisions, of which each counts once


class Judging:
    """The rewards of a group."""

    def __init__(
        self,
        judge: Any,
        sessions: Sessions,
        ledger: Ledger,
        trouble: Trouble,
        backstage: Backstage,
        signer: Signer,
    ) -> None:
        self._judge, self._sessions, self._ledger = judge, sessions, ledger
        self._trouble, self._backstage, self._signer = trouble, backstage, signer
        self.hold = judge.hold if isinstance(judge, Thumbs) else 0.0
        #: Whether a reward may still come after the judge has said nothing.
        self.awaits_thumbs = judge is None or isinstance(judge, Thumbs)
        self._lock = threading.Lock()
        self._held: dict[Ticket, tuple[float, bool]] = {}
        self._used: dict[str, None] = {}
        self._warned = False

    async def judge(self, ticket: Ticket, request: Request, response: Any) -> None:
        """Ask the judge of an answer, and take what it says."""
        verdict = Verdict(None)
        with self._trouble.kept_out("judge", request.decision):
            verdict = await self._verdict(request, response)
        if verdict.cost:
            self._ledger.pay(judging=verdict.cost)
        if verdict.reward is not None:
            with self._trouble.kept_out("feedback", request.decision):
                await self._taken(ticket, verdict.reward, by_hand=False)
        elif not self.awaits_thumbs:
            with self._trouble.kept_out("feedback", request.decision):
                await self._do(self._sessions.of(ticket.segment).forget, ticket)

    async def _verdict(self, request: Request, response: Any) -> Verdict:
        judge = self._judge.judge if isinstance(self._judge, Thumbs) else self._judge
        sampled = None
        if isinstance(judge, Sampled):
            if not judge.passes(request):
                return Verdict(None)
            sampled, judge = judge, judge.judge
        if judge is None:
            return Verdict(None)
        try:
            verdict = verdict_of(await self._backstage.called(judge, request, response))
        except UnclearVerdict as error:
            self._trouble.note("judge", error, request.decision)
            verdict = Verdict(None, error.cost)
        if sampled is not None:
            sampled.charge(verdict.cost)
        return verdict

    # Feedback that somebody gives.

    async def feedback(self, text: str, reward: float) -> None:
        """Take a reward that came back with an id."""
        ticket = self._signer.read(text)
        await self._taken(ticket, reward, by_hand=True)

    def feedback_now(self, text: str, reward: float) -> None:
        """Take a reward that came back with an id, and wait for it to be told."""
        ticket, value = self._signer.read(text), self._clipped(reward)
        if not self._keep(ticket, value, by_hand=True):
            self._tell(ticket, value)

    async def _taken(self, ticket: Ticket, reward: float, by_hand: bool) -> None:
        value = self._clipped(reward)
        if not self._keep(ticket, value, by_hand):
            await self._do(self._tell, ticket, value)

    def _keep(self, ticket: Ticket, reward: float, by_hand: bool) -> bool:
        """Hold a reward that may be revised; tell whether it is held."""
        if not self.hold:
            return False
        with self._lock:
            held = self._held.get(ticket)
            if held is None and ticket.nonce in self._used:
                raise ToldBefore(
                    f"feedback for {ticket.option!r} was told {self.hold:g} s after its first word"
                )
            if held is None or by_hand or not held[1]:
                self._held[ticket] = (reward, by_hand)
            if held is None:
                self._backstage.later(self.hold, lambda: self._release(ticket))
            else:
                self._ledger.count("revised")
        return True

    async def _release(self, ticket: Ticket) -> None:
        with self._lock:
            held = self._held.pop(ticket, None)
        if held is not None:
            with self._trouble.kept_out("feedback", self._signer.write(ticket)):
                await self._do(self._tell, ticket, held[0])

    def release_all(self) -> None:
        """Tell everything that is held, now."""
        with self._lock:
            held, self._held = self._held, {}
        for ticket, (reward, _) in held.items():
            with self._trouble.kept_out("feedback", self._signer.write(ticket)):
                self._tell(ticket, reward)

    def _tell(self, ticket: Ticket, reward: float) -> None:
        with self._lock:
            if ticket.nonce in self._used:
                raise ToldBefore(f"feedback for this answer of {ticket.option!r} was told before")
            self._used[ticket.nonce] = None
            if len(self._used) > _REMEMBERED:
                del self._used[next(iter(self._used))]
        try:
            self._sessions.of(ticket.segment).tell(ticket, reward=reward)
        except (ToldBefore, Expired):
            self._ledger.count("feedback refused")
            raise
        except Exception:
            with self._lock:
                self._used.pop(ticket.nonce, None)  # so that it may be tried again
            raise
        self._ledger.judged(ticket.option, reward)
        if ticket.segment is not None:
            pooled = ticket._replace(segment=None, id=None)
            with self._trouble.kept_out("pool"):
                self._sessions.of(None).tell(pooled, reward=reward)

    async def _do(self, function: Any, *args: Any) -> None:
        if self._sessions.slow_to_tell:
            await self._backstage.in_thread(function, *args)
        else:
            function(*args)

    def _clipped(self, reward: float) -> float:
        """Return a reward from 0 to 1, and say so where it was not."""
        found = verdict_of(reward).reward
        if found is None:
            raise InputError("a reward is to be told, but it is None")
        value = clipped(found)
        if value != found:
            self._ledger.count("clipped")
            if not self._warned:
                self._warned = True
                warnings.warn(
                    f"a reward of {found!r} lies outside [0, 1] and counts as {value:g}: scale what the "
                    "judge says. This is said once; the report counts all of them",
                    ClippedReward,
                    stacklevel=2,
                )
        return value
