"""What was spent, what it would have been, what that did to quality, and what is not known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

from frugalbandits.core.contextual.explanation import ContextualExplanation
from frugalbandits.core.tables import html_table, text_table
from frugalbandits.integrations.litellm.baseline import NAMED, chosen_baseline, reason_for
from frugalbandits.integrations.litellm.totals import OptionTally, Totals

__all__ = ["Believed", "OptionReport", "Report", "believed_in", "report_of"]

_Z = 1.959964  # of a two-sided interval of 95%
_LOOKED = (
    "Options answer different requests, so their own means do not compare; what would have been instead is "
    "what the session believes of all requests."
)


@dataclass(frozen=True)
class OptionReport:
    """One option in a report. `cost` is the mean of its bills, or the first guess where `bills` is 0."""

    name: str
    decided: int
    answered: int
    failed: int
    bills: int
    spent: float
    cost: float
    judged: int
    quality: float | None
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class Report:
    """What a group's calls have cost and were worth; it prints as a table.

    Attributes
    ----------
    everywhere
        Whether the calls of all processes that share the store are counted, since the session began;
        otherwise they are of this process.
    shadow
        Whether decisions were only taken down, and calls went where they went before.
    answers
        Calls that an option of the group has answered.
    spent, judging, elsewhere
        What these have cost, what their judges have, and what answers of options outside the group have that
        took over.
    instead
        In shadow mode, what the calls would have cost had the decisions been followed; otherwise, had all
        gone to `baseline`. By the mean bill of each option, or the first guess where it has none.
    saved
        What following the decisions saves, or would save; judging counts as spending.
    baseline, reason
        The option that is compared with, and why it is that one; None in shadow mode.
    quality, low, high
        The quality delivered: the mean quality of the answers, by option as far as they were judged, and its
        interval of 95%. Answers of options that were never judged may be anything from 0 to 1.
    bar, wanted
        The quality that is good enough by what is known so far, None where that cannot be told; and the
        quality bar in words.
    instead_quality, instead_low, instead_high
        The same for what `instead` is about.
    unknown
        Sentences on what cannot be known from these calls.
    counts
        How often other things have happened, by name.
    """

    group: str
    shadow: bool
    answers: int
    spent: float
    judging: float
    elsewhere: float
    baseline: str | None
    instead: float
    saved: float
    quality: float | None
    low: float
    high: float
    instead_quality: float | None
    instead_low: float
    instead_high: float
    options: tuple[OptionReport, ...]
    unknown: tuple[str, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    reason: str | None = None
    everywhere: bool = False
    bar: float | None = None
    wanted: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for JSON."""
        return asdict(self)

    @property
    def lines(self) -> list[str]:
        """What stands above the table."""
        judged = f", and {self.judging:,.6g} on judging" if self.judging else ""
        took = f"; {self.elsewhere:,.6g} went to options outside the group" if self.elsewhere else ""
        lines = [
            f"{self.group}{' (shadow)' if self.shadow else ''}: {self.answers:,} answers, spent "
            f"{self.spent:,.6g}{judged}{took}."
        ]
        if self.answers:
            word = "would save" if self.shadow else "saved"
            what = (
                "Had the decisions been followed, they"
                if self.shadow
                else f"Had all gone to {self.baseline!r} ({self.reason}), they"
            )
            share = f" ({self.saved / self._of:.0%})" if self._of > 0 else ""
            lines.append(f"{what} would have cost {self.instead:,.6g}: that {word} {self.saved:,.6g}{share}.")
            lines.append(
                f"Quality delivered {_between(self.quality, self.low, self.high)}{self._beside}; instead "
                f"{_between(self.instead_quality, self.instead_low, self.instead_high)}."
            )
        return lines

    @property
    def _beside(self) -> str:
        """The bar, to stand beside the quality delivered."""
        if self.wanted is None:
            return ""
        return f", bar {'not known yet' if self.bar is None else f'{self.bar:.3f}'} ({self.wanted})"

    @property
    def _of(self) -> float:
        """What a saving is a share of."""
        return self.spent if self.shadow else self.instead

    @property
    def notes(self) -> list[str]:
        """What stands below the table."""
        told = ", ".join(f"{what} {number:,}" for what, number in sorted(self.counts.items()))
        return [*self.unknown, *([f"Also: {told}."] if told else [])]

    def table(self) -> tuple[list[str], list[list[str]], set[int]]:
        """Return the heads of the table, its rows, and which columns are flush left."""
        heads = ["option", "decided", "answered", "failed", "spent", "a call", "judged", "quality"]
        rows = [
            [
                each.name,
                f"{each.decided:,}",
                f"{each.answered:,}",
                f"{each.failed:,}",
                f"{each.spent:,.6g}",
                f"{each.cost:.4g}{'' if each.bills else '?'}",
                f"{each.judged:,}",
                _between(each.quality, each.low, each.high),
            ]
            for each in self.options
        ]
        return heads, rows, {0}

    def __str__(self) -> str:
        below = ["", *self.notes] if self.notes else []
        return "\n".join([*self.lines, "", text_table(*self.table()), *below])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table([*self.lines, *self.notes], *self.table())


class Believed(NamedTuple):
    """What a session that looks at the request holds of an option, had it answered every request."""

    quality: float
    low: float
    high: float
    cost: float
    told: int


def believed_in(found: ContextualExplanation) -> dict[str, Believed]:
    """Return what a session believes of its options, those that are retired left out."""
    believed = {}
    for each in found.options:
        if each.quality is not None and each.error is not None:
            half = _Z * each.error
            low, high = max(each.quality - half, 0.0), min(each.quality + half, 1.0)
            cost = each.always / max(found.decisions, 1)
            believed[each.name] = Believed(each.quality, low, high, cost, each.told)
    return believed


def report_of(
    group: str,
    shadow: bool,
    baseline: str | None,
    costs: Mapping[str, float],
    totals: Totals,
    believed: Mapping[str, Believed] | None = None,
    *,
    everywhere: bool = False,
    bar: float | None = None,
    wanted: str | None = None,
) -> Report:
    """Return the report of what was counted.

    Parameters
    ----------
    group, shadow
        Whose, and whether decisions were followed.
    baseline
        The option to compare with where they were; by default `chosen_baseline`, after the one in `totals`.
    costs
        First guesses of what a call costs, by option.
    totals
        What has happened.
    believed
        What a session that looks at the request believes of its options. They answer different requests, so
        what would have been goes by this, and not by their own means.
    everywhere, bar, wanted
        See `Report`.
    """
    tallies = {option: totals.options.get(option, OptionTally()) for option in costs}
    # In the order of the first guesses, which stays the same while bills come in.
    ordered = tuple(
        _option(name, tallies[name], costs[name]) for name in sorted(costs, key=costs.__getitem__)
    )
    compared = ordered if believed is None else tuple(_as_believed(each, believed) for each in ordered)
    answers = sum(each.answered for each in ordered)
    spent = math.fsum(each.spent for each in ordered)
    if shadow:
        shares = _shares(ordered, [each.decided for each in ordered])
        baseline = reason = None
    else:
        reason = NAMED
        if baseline is None:
            baseline = chosen_baseline(compared, totals.baseline)
            reason = reason_for(compared, baseline)
        shares = {baseline: 1.0}
    cost_of = {each.name: each.cost for each in compared}
    instead = answers * math.fsum(share * cost_of[name] for name, share in shares.items())
    # What was answered without a bill counts by its mean, as it does in `instead`.
    unbilled = math.fsum(each.cost * (each.answered - each.bills) for each in ordered)
    saved = (spent + unbilled - instead) if shadow else (instead - spent - unbilled - totals.judging)
    mine = _mixed(ordered, _shares(ordered, [each.answered for each in ordered]))
    other = _mixed(compared, shares)
    return Report(
        group=group,
        shadow=shadow,
        answers=answers,
        spent=spent,
        judging=totals.judging,
        elsewhere=totals.elsewhere,
        baseline=baseline,
        instead=instead,
        saved=saved,
        quality=mine[0],
        low=mine[1],
        high=mine[2],
        instead_quality=other[0],
        instead_low=other[1],
        instead_high=other[2],
        options=ordered,
        unknown=(*_unknown(ordered, shares, answers), *(() if believed is None else (_LOOKED,))),
        counts=dict(totals.counts),
        reason=reason,
        everywhere=everywhere,
        bar=bar,
        wanted=wanted,
    )


def _as_believed(option: OptionReport, believed: Mapping[str, Believed]) -> OptionReport:
    """Return an option as it would be, had it answered every request."""
    known = believed.get(option.name)
    # The session may know of answers that others have judged, or this process before it was started anew.
    if known is None or not (option.judged or known.told):
        return replace(option, quality=None, low=0.0, high=1.0)
    return replace(option, quality=known.quality, low=known.low, high=known.high, cost=known.cost)


def _option(name: str, tally: OptionTally, guess: float) -> OptionReport:
    low, high = _wilson(tally.mean_reward, tally.judged)
    mean_cost = tally.mean_cost
    return OptionReport(
        name=name,
        decided=tally.decided,
        answered=tally.answered,
        failed=tally.failed,
        bills=tally.bills,
        spent=tally.spent,
        cost=guess if mean_cost is None else mean_cost,
        judged=tally.judged,
        quality=tally.mean_reward,
        low=low,
        high=high,
    )


def _wilson(mean: float | None, number: int) -> tuple[float, float]:
    """Return Wilson's interval, which is wide enough for rewards within [0, 1] that are not 0 or 1 alone."""
    if mean is None or number == 0:
        return 0.0, 1.0
    square = _Z * _Z
    middle = (mean + square / (2 * number)) / (1 + square / number)
    half = _Z / (1 + square / number) * math.sqrt(mean * (1 - mean) / number + square / (4 * number**2))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def _shares(options: tuple[OptionReport, ...], numbers: list[int]) -> dict[str, float]:
    total = sum(numbers)
    return {each.name: number / total for each, number in zip(options, numbers, strict=True) if number}


def _mixed(
    options: tuple[OptionReport, ...], shares: Mapping[str, float]
) -> tuple[float | None, float, float]:
    """Return the quality of a mixture, and its interval; None where part of it was never judged."""
    by_name = {each.name: each for each in options}
    parts = [(share, by_name[name]) for name, share in shares.items()]
    blind = math.fsum(share for share, each in parts if each.quality is None)
    seen = [(share, each, each.quality) for share, each in parts if each.quality is not None]
    mean = math.fsum(share * quality for share, _, quality in seen)
    # The options' samples are independent of each other, so their errors add up as squares.
    below = math.sqrt(math.fsum((share * (quality - each.low)) ** 2 for share, each, quality in seen))
    above = math.sqrt(math.fsum((share * (each.high - quality)) ** 2 for share, each, quality in seen))
    if not parts:
        return None, 0.0, 1.0
    return (mean if not blind else None), max(mean - below, 0.0), min(mean + above + blind, 1.0)


def _unknown(options: tuple[OptionReport, ...], shares: Mapping[str, float], answers: int) -> list[str]:
    told = []
    untried = [each.name for each in options if not each.answered]
    unjudged = [each.name for each in options if each.answered and not each.judged]
    guessed = [each.name for each in options if not each.bills and each.name in shares]
    if untried:
        told.append(f"Never tried, so nothing is known of their quality: {_listed(untried)}.")
    if unjudged:
        told.append(f"Used but never judged: {_listed(unjudged)}.")
    if guessed and answers:
        told.append(f"Without a bill, so counted by the first guess (marked ?): {_listed(guessed)}.")
    return told


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names))


def _between(mean: float | None, low: float, high: float) -> str:
    if mean is None:
        return "not known" if (low, high) == (0.0, 1.0) else f"between {low:.3f} and {high:.3f}"
    return f"{mean:.3f} ({low:.3f} to {high:.3f})"
