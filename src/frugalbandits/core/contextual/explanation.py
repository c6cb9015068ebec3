"""What a contextual session believes, has spent and has saved: a table for people, values for programs."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from frugalbandits.core.quality import AtLeast, Quality, RelativeTo, quality_to_dict
from frugalbandits.core.tables import html_table, printable, text_table

__all__ = ["ContextualExplanation", "OptionReport", "SegmentReport"]


@dataclass(frozen=True)
class OptionReport:
    """One option.

    `quality` is its mean over all queries, had it taken each of them, and `error` the standard error of that;
    `mean` is that of the rewards told, of the queries that it did take. `always` is what all queries would
    have cost with it.
    """

    name: str
    cost: float
    decisions: int
    told: int
    mean: float | None
    quality: float | None
    error: float | None
    spent: float
    always: float
    standing: str


@dataclass(frozen=True)
class SegmentReport:
    """One segment: its decisions, the mean of the rewards told, and which option takes most of it."""

    name: str
    decisions: int
    told: int
    mean: float | None
    spent: float
    mostly: str
    share: float


@dataclass(frozen=True, repr=False)
class ContextualExplanation:
    """The bar, what was reached, what it cost, and what is believed of each option.

    Attributes
    ----------
    bar, bar_interval
        The mean quality that is wanted over queries, and where it may be, with 95% confidence.
    reached, reached_interval
        The mean quality of what was handed out, by the rewards told; None before the first.
    price
        What a unit of quality is worth at the moment, in units of cost (lambda).
    reference, always_reference
        The option that sets the bar (under a fixed level, the best one), and what all queries would have cost
        with it.
    hint
        What to do about decisions that stay pending, in words, or None.
    """

    policy: str
    quality: Quality
    decisions: int
    pending: int
    told: int
    bar: float
    bar_interval: tuple[float, float]
    reached: float | None
    reached_interval: tuple[float, float] | None
    price: float
    reference: str
    always_reference: float
    options: tuple[OptionReport, ...]
    segments: tuple[SegmentReport, ...]
    late: str | None = None
    hint: str | None = None

    @property
    def spent(self) -> float:
        """What all decisions have cost."""
        return math.fsum(each.spent for each in self.options)

    @property
    def saving(self) -> float:
        """What was saved against the reference; negative where more was spent."""
        return self.always_reference - self.spent

    @property
    def judged(self) -> float | None:
        """The share of decisions whose reward was told."""
        return self.told / self.decisions if self.decisions else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, dictionaries, numbers and strings, ready for JSON."""
        extra = {"spent": self.spent, "saving": self.saving, "judged": self.judged}
        return {**asdict(self), "quality": quality_to_dict(self.quality), **extra}

    @property
    def lines(self) -> list[str]:
        """What stands above the tables."""
        waiting = f", {self.pending:,} pending" if self.pending else ""
        return [
            f"{self.policy}, {self.quality.wish} on average over queries, after {self.decisions:,} "
            f"decisions{waiting}.",
            self._standing,
            self._money,
            f"A unit of quality is worth {self.price:.4g} at the moment.",
            *([f"{self.late[0].upper()}{self.late[1:]}."] if self.late else []),
            *([self.hint] if self.hint else []),
        ]

    @property
    def _standing(self) -> str:
        if isinstance(self.quality, AtLeast):
            bar = f"The bar is {self.bar:.4f}"
        else:
            low, high = self.bar_interval
            of = "" if isinstance(self.quality, RelativeTo) else ", the best,"
            bar = (
                f"The bar is {1 - self.quality.alpha:g} of {self.reference!r}{of} = {self.bar:.4f} "
                f"({low:.4f} to {high:.4f})"
            )
        if self.reached is None or self.reached_interval is None:
            return f"{bar}; no reward was told yet."
        low, high = self.reached_interval
        judged = f", {self.judged:.1%} judged" if self.judged is not None and self.judged < 1 else ""
        return f"{bar}; reached is {self.reached:.4f} ({low:.4f} to {high:.4f}{judged})."

    @property
    def _money(self) -> str:
        told = (
            f"Spent {self.spent:,.6g}; {self.reference!r} alone would have cost {self.always_reference:,.6g}"
        )
        share = f" ({abs(self.saving / self.always_reference):.0%})" if self.always_reference > 0 else ""
        if self.saving < 0:
            return f"{told}: {-self.saving:,.6g} more{share}."
        return f"{told}: saved {self.saving:,.6g}{share}."

    def table(self) -> tuple[list[str], list[list[str]], set[int]]:
        """Return the heads of the table of options, its rows, and which columns are flush left."""
        heads = ["option", "cost", "decisions", "judged", "share", "spent", "quality", "+-", "standing"]
        rows = [
            [
                printable(each.name),
                f"{each.cost:g}",
                f"{each.decisions:,}",
                f"{each.told:,}",
                f"{each.decisions / max(self.decisions, 1):.1%}",
                f"{each.spent:,.6g}",
                _number(each.quality),
                _number(None if each.error is None else 1.96 * each.error),
                each.standing,
            ]
            for each in self.options
        ]
        return heads, rows, {0, 8}

    def segment_table(self) -> tuple[list[str], list[list[str]], set[int]]:
        """Return the heads of the table of segments, its rows, and which columns are flush left."""
        rows = [
            [
                printable(each.name),
                f"{each.decisions:,}",
                f"{each.told:,}",
                _number(each.mean),
                f"{each.spent / max(each.decisions, 1):.4g}",
                f"{printable(each.mostly)} ({each.share:.0%})",
            ]
            for each in self.segments
        ]
        return ["segment", "decisions", "judged", "reached", "cost each", "mostly"], rows, {0, 5}

    def __str__(self) -> str:
        below = ["", text_table(*self.segment_table())] if self.segments else []
        return "\n".join([*self.lines, "", text_table(*self.table()), *below])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        below = html_table([], *self.segment_table()) if self.segments else ""
        return html_table(self.lines, *self.table()) + below


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
