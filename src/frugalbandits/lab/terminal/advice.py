"""Advice as tables and words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text

from frugalbandits.lab.advice import Advice, Case, Expectation, Spread, feedback_words
from frugalbandits.lab.advice.expectations import Bar, Standing
from frugalbandits.lab.terminal.widths import Column, fitted
from frugalbandits.lab.text import DASH, counted, percent, printable, readable, shown

__all__ = ["advice_report"]

_BOLD = Style(bold=True)
_DIM = Style(dim=True)
_GOOD = Style(color="green", bold=True)


def advice_report(advice: Advice, width: int) -> Group:
    """Return all of it: the question, the verdict, what to expect, feedback, and other bars."""
    case = advice.case
    learned, few = advice.learned, advice.judging[0].runs
    title = (
        f"{counted(len(case.names), 'option')}, {printable(case.quality.short)}, {case.volume:,} decisions a "
        f"day for {counted(case.days, 'day')}, {feedback_words(case.feedback)}; {counted(advice.runs)}"
    )
    verdict = Text(advice.verdict.words, _GOOD if advice.verdict.worth_it else _BOLD)
    return Group(
        Text(title, _BOLD),
        _options(advice.standings, width),
        Text(),
        Text(f"over {counted(case.days, 'day')}, mean [80% of the runs]{_of_others(advice)}", _BOLD),
        _plans(case, advice.plans, width),
        Text(),
        Text(f"how much must be judged, with {printable(learned.plan)} ({counted(few)})", _BOLD),
        _judging(case, advice.by_feedback, width),
        Text(),
        Text("other bars, once all is known", _BOLD),
        _bars(case, advice.bars, width),
        Text(),
        verdict,
        Text(_what_to_do(advice)),
        Text(printable(advice.session), _BOLD),
        Text(_notes(advice), _DIM),
    )


def _of_others(advice: Advice) -> str:
    fewer = [trial.runs for trial in advice.trials[1:] if trial.runs < advice.runs]
    return f"; the other policies {counted(fewer[0])}" if fewer else ""


def _options(rows: Sequence[Standing], width: int) -> RenderableType:
    columns = [
        Column("option", "name"),
        Column("cost"),
        Column("quality"),
        Column("from", "words"),
        Column("good enough"),
        Column("the one to use"),
    ]
    cells = [
        (
            Text(printable(row.option), _BOLD),
            readable(row.cost),
            _range(row.low, row.high),
            row.source,
            percent(row.good_enough),
            percent(row.to_use),
        )
        for row in rows
    ]
    return fitted(columns, cells, width)


def _range(low: float, high: float) -> str:
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"


def _plans(case: Case, rows: Sequence[Expectation], width: int) -> RenderableType:
    held = printable(case.names[case.anchor])
    columns = [
        Column("plan", "name"),
        Column("spend"),
        Column(f"saved of always {held}"),
        Column("quality"),
        Column("below the bar by"),
        Column("days to know"),
        Column("knows"),
        Column("ends on the right one"),
        Column("judged"),
    ]
    cells = [
        (
            Text(printable(row.plan), _BOLD),
            _spread(row.spend),
            percent(row.saving),
            readable(round(row.quality.middle, 4)),
            readable(row.lack),
            _days(case, row.days_to_know),
            percent(row.knows),
            percent(row.ends_right),
            percent(row.judged),
        )
        for row in rows
    ]
    return fitted(columns, cells, width)


def _spread(values: Spread) -> Text:
    if values.low == values.high:
        return Text(readable(values.middle))
    text = Text(readable(values.middle))
    return text.append(f" [{readable(values.low)}, {readable(values.high)}]", _DIM)


def _days(case: Case, values: Spread | None) -> Text:
    if values is None:
        return Text(DASH)
    middle, low, high = (shown(each) if math.isfinite(each) else f"> {case.days:,}" for each in values)
    return Text(middle).append(f" [{low}, {high}]", _DIM)


def _judging(case: Case, rows: Sequence[Expectation], width: int) -> RenderableType:
    columns = [
        Column("judged", "words"),
        Column("judged a day"),
        Column("days to know"),
        Column("spend"),
        Column("below the bar by"),
        Column("gain"),
    ]
    cells = [
        (
            Text("wanted" if row.feedback == "wanted" else percent(float(row.feedback or 1.0)), _BOLD),
            readable((row.judged or 0.0) * case.volume),
            _days(case, row.days_to_know),
            readable(row.spend.middle),
            readable(row.lack),
            readable(row.gain),
        )
        for row in rows
    ]
    return fitted(columns, cells, width)


def _bars(case: Case, rows: Sequence[Bar], width: int) -> RenderableType:
    columns = [
        Column("bar", "words"),
        Column("cost"),
        Column("quality"),
        Column("saved"),
        Column("most often", "name"),
        Column("how often"),
    ]
    cells = [
        (
            Text(printable(row.quality.short), _BOLD if row.quality == case.quality else ""),
            readable(row.cost),
            readable(round(row.mean, 4)),
            percent(row.saving),
            printable(row.option),
            percent(row.chance),
        )
        for row in rows
    ]
    return fitted(columns, cells, width)


def _what_to_do(advice: Advice) -> str:
    """Say which policy, and how much feedback."""
    if advice.feedback == "wanted":
        judge = "judge what the session asks for (decision.wanted)"
    else:
        judge = f"judge {percent(float(advice.feedback))} of the decisions"
    other = ""
    for place, trial in enumerate(advice.trials):
        if place > 0 and "goal=conclusion" in trial.policy:
            more = advice.gains_more(place)
            other += f"; where you want a conclusion, {printable(trial.policy)}, which gains "
            other += f"{readable(abs(more))} {'less' if more >= 0 else 'more, but not clearly so'}"
    lead = "policy" if advice.verdict.worth_it else "if you learn all the same: policy"
    return f"{lead} {printable(advice.policy)}, and {judge}{other}"


def _notes(advice: Advice) -> str:
    case = advice.case
    unknown = [printable(row.option) for row in advice.standings if row.source == "nothing known"]
    missing = f"nothing is known of {', '.join(unknown)}: 0.3 to 0.95 is assumed. " if unknown else ""
    return (
        f"{missing}It knows from when on at least 95% of the decisions of every stretch of time go to the "
        "option that it ends on (the median of the runs); the right one is good enough, and the cheapest of "
        "those. Gain: less lost than with always "
        f"{printable(case.names[case.anchor])}, where a unit of quality is worth {readable(case.worth)} and "
        "an option that is not good enough saves nothing. Nothing moves, and feedback is not late."
    )
