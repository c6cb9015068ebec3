"""Which attempt has which decision, each settled once; and what was answered, spent and judged, by option."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from frugalbandits.core.session import Decision
from frugalbandits.integrations.litellm.looking import NOTHING, Asked
from frugalbandits.integrations.litellm.tickets import Ticket
from frugalbandits.integrations.litellm.totals import OptionTally, Totals

__all__ = ["Attempt", "Ledger"]

_CALLS = 10_000  # calls whose ticket can be looked up


class Attempt(NamedTuple):
    """One try at an answer: what was decided for it, and when.

    `system` is a system prompt beside the messages: LiteLLM does not hand that to its callbacks.
    """

    text: str
    ticket: Ticket
    decision: Decision
    conversation: str | None
    since: float
    asked: Asked = NOTHING
    system: Any = None

    def answered_by(self, option: str) -> Ticket:
        """Return the ticket of an answer: of the decision where it was followed, otherwise of the use."""
        if option == self.ticket.option:
            return self.ticket
        return self.ticket._replace(option=option, id=None, context=self.asked.packed)


@dataclass
class Ledger:
    """The attempts that are open, and counts of what has happened; safe to use from several threads."""

    time_to_live: float
    clock: Callable[[], float] = time.time
    sums: Totals = field(default_factory=Totals)
    #: Called after something was counted.
    changed: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._open: OrderedDict[str, Attempt] = OrderedDict()
        self._calls: OrderedDict[str, Attempt] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def open(self, attempt: Attempt, call: str | None) -> None:
        """Take down an attempt, and the call of LiteLLM that it is part of."""
        with self._lock:
            self._expire()
            self._open[attempt.text] = attempt
            self._tally(attempt.ticket.option).decided += 1
            if call is not None:
                self._calls[call] = attempt._replace(system=None)  # which may be long
                self._calls.move_to_end(call)
                if len(self._calls) > _CALLS:
                    self._calls.popitem(last=False)
        self.changed()

    def close(self, text: str) -> Attempt | None:
        """Return an attempt that is open, once; None for whoever comes later, or after its time."""
        with self._lock:
            self._expire()
            return self._open.pop(text, None)

    def of_call(self, call: object) -> Attempt | None:
        """Return the latest attempt of a call."""
        with self._lock:
            return self._calls.get(call) if isinstance(call, str) else None

    def answered(self, option: str, cost: float | None) -> None:
        """Count an answer and its bill."""
        with self._lock:
            tally = self._tally(option)
            tally.answered += 1
            if cost is not None:
                tally.bills += 1
                tally.spent += cost
        self.changed()

    def from_cache(self, option: str) -> None:
        """Count an answer of LiteLLM's cache, for which the decision was not needed."""
        with self._lock:
            self._tally(option).decided -= 1
            self.sums.counts["cached"] += 1
        self.changed()

    def failed(self, option: str) -> None:
        """Count a failure."""
        with self._lock:
            self._tally(option).failed += 1
        self.changed()

    def judged(self, option: str, reward: float) -> None:
        """Count a reward."""
        with self._lock:
            tally = self._tally(option)
            tally.judged += 1
            tally.rewards += reward
        self.changed()

    def count(self, what: str, number: int = 1) -> int:
        """Count something else, and return how often there was."""
        with self._lock:
            self.sums.counts[what] += number
            found = self.sums.counts[what]
        self.changed()
        return found

    def pay(self, judging: float = 0.0, elsewhere: float = 0.0) -> None:
        """Count what judges cost, and what answers of other groups cost that took over."""
        with self._lock:
            self.sums.judging += judging
            self.sums.elsewhere += elsewhere
        self.changed()

    def compare_with(self, option: str) -> None:
        """Keep the option that reports compare with."""
        with self._lock:
            self.sums.baseline, self.sums.baselines = option, self.sums.baselines + 1

    def totals(self) -> Totals:
        """Return a copy of the sums."""
        found = Totals()
        with self._lock:
            found.add(self.sums)
        return found

    def _tally(self, option: str) -> OptionTally:
        return self.sums.options.setdefault(option, OptionTally())

    def _expire(self) -> None:
        """Give up attempts that nothing was heard of: abandoned streams fire no callback at all."""
        end = self.clock() - self.time_to_live
        while self._open and next(iter(self._open.values())).since < end:
            self._open.popitem(last=False)
            self.sums.counts["expired"] += 1
