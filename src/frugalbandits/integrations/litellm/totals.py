"""What was answered, spent and judged, as sums that add up: of one process, or of all that share a store.

Each process appends what was added since its last entry to a log of the store, a second after something has
changed. A report is the sum of the log. Now and then a process writes the sum of the log as a snapshot, so
that old entries can go.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

__all__ = ["OptionTally", "SharedTotals", "Totals"]

_COMPACT_EVERY = 200  # entries of this process
_KEEP = 600.0  # seconds that entries stay, so that one which is sent again counts once
_PAGE = 10_000
_KIND = "count"  # of entries that a snapshot may replace


@dataclass
class OptionTally:
    """What is known of one option from calls."""

    decided: int = 0
    answered: int = 0
    failed: int = 0
    bills: int = 0
    spent: float = 0.0
    judged: int = 0
    rewards: float = 0.0

    @property
    def mean_cost(self) -> float | None:
        """What an answer has cost on average, as far as it is known."""
        return self.spent / self.bills if self.bills else None

    @property
    def mean_reward(self) -> float | None:
        """How good answers were on average, as far as they were judged."""
        return self.rewards / self.judged if self.judged else None


@dataclass
class Totals:
    """Sums by option, counts of other things, and what was paid beside answers of the group's options.

    `baselines` is how often the option that reports compare with has changed, and `baseline` that option.

    Examples
    --------
    >>> before, now = Totals({"a": OptionTally(1)}), Totals({"a": OptionTally(3)}, judging=0.5)
    >>> added = now.since(before)
    >>> added.options["a"].decided, added.judging
    (2, 0.5)
    >>> before.add(added)
    >>> before == now
    True
    """

    options: dict[str, OptionTally] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    judging: float = 0.0
    elsewhere: float = 0.0
    baseline: str | None = None
    baselines: int = 0

    def add(self, other: Totals) -> None:
        """Add what others have counted; of two baselines, the later one stays."""
        for name, theirs in other.options.items():
            mine = self.options.setdefault(name, OptionTally())
            for each in fields(OptionTally):
                setattr(mine, each.name, getattr(mine, each.name) + getattr(theirs, each.name))
        self.counts.update(other.counts)
        self.judging += other.judging
        self.elsewhere += other.elsewhere
        if other.baselines > self.baselines:
            self.baseline, self.baselines = other.baseline, other.baselines

    def since(self, before: Totals) -> Totals:
        """Return what was added since earlier totals, without a baseline."""
        negative = Totals(
            {
                name: OptionTally(**{key: -value for key, value in asdict(tally).items()})
                for name, tally in before.options.items()
            },
            Counter({what: -number for what, number in before.counts.items()}),
            -before.judging,
            -before.elsewhere,
        )
        found = Totals()
        found.add(self)
        found.add(negative)
        found.baseline, found.baselines = None, 0
        found.options = {name: tally for name, tally in found.options.items() if tally != OptionTally()}
        found.counts = Counter({what: number for what, number in found.counts.items() if number})
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        options = {name: asdict(tally) for name, tally in self.options.items()}
        return {**plain, "options": options, "counts": dict(self.counts)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Totals:
        """Return the totals that `to_dict` wrote; fields of later releases are left out."""
        known = {each.name for each in fields(cls)} - {"options", "counts"}
        parts = {each.name for each in fields(OptionTally)}
        options = {
            name: OptionTally(**{key: value for key, value in tally.items() if key in parts})
            for name, tally in values.get("options", {}).items()
        }
        rest = {name: value for name, value in values.items() if name in known}
        return cls(options, Counter(values.get("counts", {})), **rest)


class SharedTotals:
    """The totals of all processes that share a store, under the name of their sessions.

    Parameters
    ----------
    store
        The open store.
    name
        The name of the session of the group.
    """

    def __init__(self, store: Any, name: str) -> None:
        self._store, self._log = store, f"$litellm:{name}"
        self._lock = threading.Lock()
        self._sent = Totals()
        self._unsure: tuple[Any, Totals] | None = None
        self._appended = 0

    def publish(self, mine: Totals) -> None:
        """Append what this process has counted since it did so last."""
        with self._lock:
            if self._unsure is not None:
                self._append(*self._unsure)  # the same entry again, which counts once
            added = mine.since(self._sent)
            if added == Totals():
                return
            copy = Totals()
            copy.add(mine)
            self._append(self._entry(secrets.token_hex(12), added), copy)
            if self._appended % _COMPACT_EVERY == 0:
                self._compact()

    def _entry(self, key: str, added: Totals) -> Any:
        from frugalbandits.stores.contract import Fact, body_of

        return Fact(key, _KIND, body_of(added.to_dict()), time.time(), "")

    def _append(self, entry: Any, sent: Totals) -> None:
        self._unsure = entry, sent
        self._store.append(self._log, [entry])
        self._unsure, self._sent = None, sent
        self._appended += 1

    def read(self) -> Totals:
        """Return the sum of what all processes have published."""
        return self._sum()[0]

    def set_baseline(self, option: str, number: int) -> None:
        """Say with which option reports compare from now on; the first to say so at this number is heard."""
        said = Totals(baseline=option, baselines=number)
        self._store.append(self._log, [self._entry(f"baseline-{number}", said)])

    def _sum(self) -> tuple[Totals, int]:
        """Return the sum of the log, and the number of its last entry."""
        while True:
            snapshot = self._store.latest(self._log)
            seen = snapshot.upto if snapshot is not None else 0
            found = Totals.from_dict(json.loads(snapshot.state)) if snapshot is not None else Totals()
            whole = True
            while entries := self._store.read(self._log, seen, _PAGE):
                # Where another process has just replaced entries by a snapshot, that one is read.
                whole = whole and entries[0].seq == seen + 1
                for entry in entries:
                    found.add(Totals.from_dict(json.loads(entry.fact.body)))
                seen = entries[-1].seq
            if whole:
                return found, seen

    def _compact(self) -> None:
        found, seen = self._sum()
        state = json.dumps(found.to_dict())
        self._store.snapshot(self._log, seen, state, forget_before=time.time() - _KEEP)
