"""Feedback and changes as facts, checked before anything is written, and what the log answers to them."""

from __future__ import annotations

import json
import logging
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from frugalbandits.core.session.feedback import told, told_of_many
from frugalbandits.core.session.history import History
from frugalbandits.core.settings import check_flag
from frugalbandits.errors import Conflict, Expired, InputError, ToldBefore
from frugalbandits.stores import facts
from frugalbandits.stores.contract import CONFLICT, Fact, Outcome
from frugalbandits.stores.following import Following

__all__ = ["Telling", "check_observation_id"]

_log = logging.getLogger("frugalbandits")
_IDS = 200  # characters of an id of the caller's


class Telling(Following):
    """The part of a stored session that turns calls into facts; `settle` takes the answers."""

    _history: History

    @abstractmethod
    def _copy(self) -> Any:
        """Return a session of this process that says the same, to try things on."""

    @abstractmethod
    def _was_late(self, error: Expired) -> None:
        """Take down that feedback came for a decision that has expired."""

    # Facts, for whoever appends them itself.

    def draft_tell(
        self, id: int | str, reward: float | None = None, cost: float | None = None, by: str = ""
    ) -> list[Fact]:
        """Return the facts of what is told, checked, for whoever appends them itself; then `settle`."""
        entry = told(_shown(id), reward, cost)
        token = self._token(id)
        now = self._timely(id, token.issued)
        drafts = []
        # First what it cost: a session may keep the price no longer than until the reward is there.
        if entry.cost is not None:
            drafts.append(facts.billed(token, entry.cost, now, by))
        if entry.reward is not None:
            drafts.append(facts.rewarded(token, entry.reward, now, by))
        return drafts

    def draft_forget(self, id: int | str, by: str = "", used: bool = True) -> list[Fact]:
        """Return the fact that feedback will never come, and whether the option was used."""
        token = self._token(id)
        return [facts.forgotten(token, self._timely(id, token.issued), by, check_flag("used", used))]

    def draft_change(self, do: str, option: str, cost: float | None = None, by: str = "") -> list[Fact]:
        """Return the fact of a change, tried on a copy first; nothing where it changes nothing."""
        copy = self._copy()
        before = copy._history.total
        getattr(copy, do)(option, *([] if cost is None else [cost]))
        if copy._history.total == before:
            return []
        return [facts.changed(do, option, None if cost is None else float(cost), self._clock(), by)]

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
            now, ttl = self._now(), self._lives()
            took = max(now - issued, 0.0)
            if ttl is None or took <= ttl:
                return now
            error = Expired(
                f"decision {_shown(id_)} has expired: it was handed out {took:,.6g} s ago, and its time to "
                f"live is {ttl:,.6g} s",
                took,
            )
            self._was_late(error)
        raise error

    def _append(self, drafts: list[Fact]) -> None:
        """Have facts written; durable, and taken in here, when this returns."""
        if not drafts:
            return
        self.settle(self._store.append(self._name, drafts))
        if self.needs_rebuild:
            # Such a session takes nothing in: it reads all of its log again.
            try:
                self.catch_up()
            except Exception as error:
                # The facts are written. The thread that follows the log tries again, and says what is wrong.
                _log.debug("session %r: could not be built anew: %s", self._name, error)

    # Feedback.

    def tell(self, id: int | str, reward: float | None = None, cost: float | None = None) -> None:
        """Report how good a decision was, or what it cost, or both; durable when this returns."""
        self._append(self.draft_tell(id, reward, cost))

    def tell_many(self, feedback: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        """Report how good some decisions were: all of it, or nothing where anything is wrong."""
        drafts: list[Fact] = []
        for entry in told_of_many(feedback):
            drafts += self.draft_tell(entry.id, entry.reward, entry.cost)
        doubled = len({fact.key for fact in drafts}) < len(drafts)
        if doubled:
            raise ToldBefore("a decision stands twice in what is told")
        self._append(drafts)

    def forget(self, id: int | str, used: bool = True) -> None:
        """Say that the feedback of a decision will never come, and whether its option was used."""
        self._append(self.draft_forget(id, used=used))

    def option_of(self, id: int | str) -> str:
        """Return the option of a decision."""
        option = self._token(id).option  # first: it may have to read of new options
        return self._names[option]

    # Changes.

    def set_cost(self, option: str, cost: float, by: str = "") -> None:
        """Set the price of an option from now on, for all who share the session."""
        self._append(self.draft_change("set_cost", option, cost, by))

    def add(self, option: str, cost: float, by: str = "") -> None:
        """Take in a new option, for all who share the session."""
        self._append(self.draft_change("add", option, cost, by))

    def pause(self, option: str, by: str = "") -> None:
        """Leave an option out of decisions until it is resumed, for all who share the session."""
        self._append(self.draft_change("pause", option, None, by))

    def resume(self, option: str, by: str = "") -> None:
        """Let decisions be for an option again that was paused."""
        self._append(self.draft_change("resume", option, None, by))

    def retire(self, option: str, by: str = "") -> None:
        """Take an option out for good, for all who share the session."""
        self._append(self.draft_change("retire", option, None, by))


def check_observation_id(id_: object) -> None:
    """Refuse what cannot be a caller's own id of an observation; None: there is none."""
    if id_ is not None and (not isinstance(id_, str) or not 0 < len(id_) <= _IDS):
        raise InputError(f"the id of an observation is a text of 1 to {_IDS} characters, but it is {id_!r}")


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
