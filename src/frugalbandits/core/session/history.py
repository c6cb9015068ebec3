"""What was changed or noticed in the life of a session, when, in words."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from frugalbandits.core.tables import html_table, text_table

__all__ = ["KEPT", "KINDS", "Change", "Changes", "History"]

KEPT = 1_000  # the newest that are remembered

#: What can happen. "alarm": an option seems to have changed. "conclusion" and "dropped": drawn, and given up
#: after a change. "late": feedback comes after decisions have expired.
KINDS = ("price", "added", "paused", "resumed", "retired", "alarm", "conclusion", "dropped", "late")


class Change(NamedTuple):
    """Something that was changed or noticed, after so many decisions; `option` is None for the session."""

    decision: int
    kind: str
    option: str | None
    words: str


class Changes(list[Change]):
    """Changes, oldest first: a list that prints as a table. `total` counts those no longer kept as well.

    Examples
    --------
    >>> print(Changes([Change(120, "price", "small", "from 0.2 to 0.3")], total=1))
    decision  kind   option  what
         120  price  small   from 0.2 to 0.3
    """

    def __init__(self, changes: Iterable[Change] = (), total: int = 0) -> None:
        super().__init__(changes)
        self.total = total

    def __str__(self) -> str:
        lines = self._lines()
        return "\n".join([*lines, *([text_table(*self._table())] if self else [])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self._lines(), *self._table())

    def _lines(self) -> list[str]:
        if not self:
            return ["Nothing was changed or noticed."]
        more = self.total - len(self)
        return [f"{more:,} earlier changes are no longer kept."] if more > 0 else []

    def _table(self) -> tuple[list[str], list[list[str]], set[int]]:
        rows = [[f"{each.decision:,}", each.kind, each.option or "-", each.words] for each in self]
        return ["decision", "kind", "option", "what"], rows, {1, 2, 3}


class History:
    """The newest changes, and how many there were."""

    def __init__(self, changes: Iterable[Change] = (), total: int = 0) -> None:
        self.changes: deque[Change] = deque(changes, maxlen=KEPT)
        self.total = total

    def add(self, decision: int, kind: str, option: str | None, words: str) -> None:
        """Take down a change."""
        self.changes.append(Change(decision, kind, option, words))
        self.total += 1

    def listed(self) -> Changes:
        """Return a copy that nobody else changes."""
        return Changes(self.changes, self.total)
