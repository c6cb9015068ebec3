"""Feedback and changes as facts, checked before anything is written, and what the log answers to them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from frugalbandits.core.session import Session
from frugalbandits.core.session.feedback import checked_reward, told
from frugalbandits.core.session.money import check_cost
from frugalbandits.errors import Conflict, Expired, InputError
from frugalbandits.stores import facts
from frugalbandits.stores.contract import CONFLICT, Fact, Outcome
from frugalbandits.stores.folding import Folding

__all__ = ["Drafting"]

_IDS = 200  # characters of an id of the caller's


class Drafting(Folding):
    """The part of a stored session that turns calls into facts; `settle` takes the answers."""

    def draft_tell(
        self, id: int | str, reward: float | None = None, cost: float | None = None, by: str = ""
    ) -> list[Fact]:
        """Return the facts of what is told, checked, for whoever appends them itself; then `settle`."""
        entry = told(_shown(id), reward, cost)
        token = self._token(id)
        now = self._timely(id, token.issued)
        drafts = []
        if entry.reward is not None:
            drafts.append(facts.rewarded(token, entry.reward, now, by))
        if entry.cost is not None:
            drafts.append(facts.billed(token, entry.cost, now, by))
        return drafts

    def draft_forget(self, id: int | str, by: str = "") -> list[Fact]:
        """Return the fact that feedback will never come."""
        token = self._token(id)
        return [facts.forgotten(token, self._timely(id, token.issued), by)]

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
        if id is not None and (not isinstance(id, str) or not 0 < len(id) <= _IDS):
            raise InputError(
                f"the id of an observation is a text of 1 to {_IDS} characters, but it is {id!r}"
            )
        with self._lock:
            known = self._option(option)
        return [facts.observed(known, value, paid, id, self._clock(), by)]

    def settle(self, outcomes: Sequence[Outcome]) -> None:
        """Raise what the log had against facts that were appended: told otherwise before, or refused."""
        for outcome in outcomes:
            if outcome.what == CONFLICT and outcome.entry is not None:
                raise Conflict(
                    f"{_before(outcome.entry.fact)}: what is there stays, and nothing else is counted"
                )
        for outcome in outcomes:
            if outcome.entry is not None and outcome.entry.seq in self._refused:
                raise self._refused[outcome.entry.seq]

    def _timely(self, id_: object, issued: float) -> float:
        """Return the time, unless it is too late for a decision."""
        with self._lock:
            now, ttl = self._now(), self._terms.time_to_live
            took = max(now - issued, 0.0)
            if ttl is None or took <= ttl:
                return now
            error = Expired(
                f"decision {_shown(id_)} has expired: it was handed out {took:,.6g} s ago, and its time to "
                f"live is {ttl:,.6g} s",
                took,
            )
            self._came_late(error)
        raise error

    def draft_change(self, do: str, option: str, cost: float | None = None, by: str = "") -> list[Fact]:
        """Return the fact of a change, tried on a copy first; nothing where it changes nothing."""
        copy = Session.from_json(self.to_json())
        before = copy._history.total
        getattr(copy, do)(option, *([] if cost is None else [cost]))
        if copy._history.total == before:
            return []
        return [facts.changed(do, option, None if cost is None else float(cost), self._clock(), by)]


def _before(fact: Fact) -> str:
    body = json.loads(fact.body)
    if fact.kind == facts.FORGET:
        return "the decision was forgotten before"
    if fact.kind == facts.REWARD:
        return f"the decision was told before, with the reward {body['r']!r}"
    if fact.kind == facts.COST:
        return f"the cost of the decision was told before, as {body['c']!r}"
    return f"something else was told before under the same id, on {fact.kind}"


def _shown(id_: object) -> str:
    text = str(id_)
    return text if len(text) <= 80 else f"{text[:40]}..."
