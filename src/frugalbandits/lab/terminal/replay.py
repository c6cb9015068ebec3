"""What a replay found, as a table with what it stands on and what is not known."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.text import Text

from frugalbandits.lab.replay import Estimate, Line, Replay
from frugalbandits.lab.terminal.widths import Column, fitted, side_by_side
from frugalbandits.lab.text import DASH, counted, percent, printable, readable

__all__ = ["replay_table"]

_BOLD = Style(bold=True)
_DIM = Style(dim=True)
_UNSURE = Style(bold=True, color="yellow")
_HEADS = ("spend a request", "quality", "saving", "reaches the bar")
_OVER = "quality over the bar"


def replay_table(replay: Replay, width: int) -> Group:
    """Return a replay as a title, a table, and notes."""
    problem = replay.problem
    judged = "" if replay.judged == replay.requests else f", {replay.judged:,} of them judged"
    title = (
        f"{printable(replay.source)}: {counted(replay.requests, 'row')}{judged}, "
        f"{counted(problem.arms, 'option')}, "
        f"{printable(problem.quality.short)}: good enough is {readable(replay.bar.value)} "
        f"[{readable(replay.bar.low)}, {readable(replay.bar.high)}]"
    )
    ordered = any(line.in_order is not None for line in replay.lines)
    over = () if replay.looked is None else (_OVER,)
    heads = (*_HEADS, *over, *(("spend in order", "quality in order") if ordered else ()))
    columns = [Column("", "name"), *map(Column, heads)]
    forms = [_rows(replay, ordered, *breaks) for breaks in ((" ", " "), ("\n", " "), ("\n", "\n"))]
    tables = (side_by_side(columns, rows, width, tight) for tight in (False, True) for rows in forms)
    table = next((table for table in tables if table is not None), None) or fitted(columns, forms[0], width)
    unsure = [] if replay.identified else [Text(replay.identification, _UNSURE)]
    return Group(Text(title, _BOLD), *unsure, table, *unsure, *_notes(replay))


def _rows(replay: Replay, ordered: bool, before: str, within: str) -> list[list[Text]]:
    rows = []
    for line in replay.lines:
        row = [
            Text(_name(line), _BOLD if line.kind == "policy" else ""),
            _band(line.spend, before, within),
            _band(line.quality, before, within),
            _saving(line.saving, before, within),
            Text(_reaches(line)),
        ]
        if replay.looked is not None:
            row.append(Text(DASH) if line.over_bar is None else _band(line.over_bar, before, within))
        if ordered:
            row += [
                Text(DASH if line.in_order is None else readable(value)) for value in line.in_order or (0, 0)
            ]
        rows.append(row)
    return rows


def _name(line: Line) -> str:
    named = line.kind == "oracle" and line.option is not None
    return printable(f"{line.name}: {line.option}" if named else line.name)


def _reaches(line: Line) -> str:
    return f"in {percent(line.reaches)}"


def _band(estimate: Estimate, before: str, within: str) -> Text:
    text = Text(readable(estimate.value))
    if estimate.low == estimate.high:
        return text
    return text.append(f"{before}[{readable(estimate.low)},{within}{readable(estimate.high)}]", _DIM)


def _saving(estimate: Estimate | None, before: str, within: str) -> Text:
    if estimate is None:
        return Text(DASH)
    text = Text(f"{estimate.value:.0%}")
    if estimate.low == estimate.high:
        return text
    return text.append(f"{before}[{estimate.low:.0%},{within}{estimate.high:.0%}]", _DIM)


def _looked(replay: Replay) -> list[str]:
    """Say what is known of requests, who looks at it, and what was run."""
    looked = replay.looked
    if looked is None:
        return []
    rules = any(line.kind == "oracle" and line.option is None for line in replay.lines)
    oracles = (
        "; oracle: mix, segments and linear are the cheapest rules with the average at the bar that look at "
        "nothing, at the segment and at all of it; for them it is the share in which such a rule is there"
    )
    return [
        f"known of a request: {printable(looked.words)}; mix-cs and what looks at it hold the average over "
        "requests at the bar, the others settle on one option that is good enough",
        f"what looks was run over {counted(looked.horizon, 'request')} ({looked.effort.resamples} resampled "
        f"pasts, {counted(looked.effort.repeats)} each){oracles if rules else ''}",
    ]


def _notes(replay: Replay) -> list[RenderableType]:
    effort = replay.effort
    told = [
        f"estimator: {replay.estimator}; {replay.method}",
        f"it assumes: {replay.assumes}; every policy knows the mean cost of each option beforehand",
        f"[95% interval] of what to expect over {counted(replay.horizon, 'request')}; it covers "
        f"{replay.covers} "
        f"({effort.resamples} times, {counted(effort.repeats)} each)",
        f"saving: against {printable(replay.against)}; reaches the bar: share of those resampled pasts, and "
        "for "
        "the oracle the share in which the cheapest good-enough option is the same",
    ]
    said: list[RenderableType] = [Text(words, _DIM) for words in [*told, *_looked(replay)]]
    if not replay.changes:
        said.append(Text("no drift was found (1% false alarms over all options)", _DIM))
    if replay.warnings:
        said += [Text("\nmind:", _BOLD)]
        said += [Padding(Text(printable(words)), (0, 0, 0, 2), expand=False) for words in replay.warnings]
    return said
