"""The leaderboard on the screen, as Markdown, and as tidy CSV files."""

from __future__ import annotations

import csv
import io
import math
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text

from frugalbandits.core.contract import EACH
from frugalbandits.core.files import write_text
from frugalbandits.core.registry import policies
from frugalbandits.lab.documents.markdown import to_markdown
from frugalbandits.lab.documents.parts import Block, Cell, Document, Listing, Paragraph, Section, Table
from frugalbandits.lab.leaderboard.board import Entry, Leaderboard, Row, Standing, families, family, standings
from frugalbandits.lab.leaderboard.promise import PROMISE_RULE, promise_summary
from frugalbandits.lab.terminal.widths import Column, fitted, side_by_side
from frugalbandits.lab.text import DASH, counted, listed, percent, readable, seconds, shown

__all__ = ["WIDEST", "command", "document", "screen", "write"]

#: Longer lines are hard to read.
WIDEST = 120

_PAGE, _ROWS, _STANDINGS = "leaderboard.md", "rows.csv", "standings.csv"
_LONG_FAMILY = 50  # rows; a longer family's are in the CSV file only
_BOLD = Style(bold=True)
_DIM = Style(dim=True)
_BEST = Style(color="green", bold=True)

_RULES = (
    PROMISE_RULE,
    "Regret here is scaled: cost regret over what a unit of quality is worth, by default the range of the "
    "costs, plus quality regret. Raw regrets are in rows.csv.",
    "Over best: mean regret at the horizon, divided by that of the best policy of the same row; the "
    "geometric mean over the rows, and the worst row.",
    "Over least: the geometric mean of the same, divided by the least regret that the lower bounds allow. "
    "They hold in the limit, so it may be below 1. Rows where the bound is 0, or the horizon is too small "
    "for it, are left out.",
    "Late on a*: share of the pulls in the last fifth of the horizon that went to a*.",
    "Settled on a*: share of the runs that deemed a* optimal and kept to it; a dash for policies that never "
    "settle on an arm.",
    "Won: rows in which no policy has less regret.",
    "A mean regret below that of a single pull of the worst arm counts as that, so nothing is divided by 0.",
)


def screen(board: Leaderboard, width: int) -> list[Group]:
    """Return two tables for each family, and what their columns mean, for a screen of some width."""
    parts = []
    for name in board.families:
        rows = [row for row in board.rows if row.family == name]
        own = standings(rows)
        promise = promise_summary(own, rows)
        kept = fitted(_columns(promise), _screen_rows(promise), width)
        table = _screen_table(own, rows, width)
        title = Text(f"{name}: {family(name).title}", _BOLD)
        parts.append(Group(title, Text(_about(rows), _DIM), kept, Text(), table, Text(_compared(rows), _DIM)))
    parts.append(Group(*(Text(rule, _DIM) for rule in _RULES)))
    return parts


def _screen_table(own: Sequence[Standing], rows: Sequence[Row], width: int) -> RenderableType:
    """Return the standings, without their worst row's place where there is little room."""
    whole, without = (_summary(own, rows, with_place) for with_place in (True, False))
    for told in (whole, without):
        table = side_by_side(_columns(told), _screen_rows(told), width)
        if table is not None:
            return table
    return fitted(_columns(whole), _screen_rows(whole), width)


def _columns(told: Table) -> list[Column]:
    first, *others = zip(told.heads, told.align, strict=True)
    return [
        Column(first[0], "name"),
        *(Column(head, "words" if side == "l" else "number") for head, side in others),
    ]


def _screen_rows(told: Table) -> list[list[Text]]:
    styles = {"strong": _BEST, "weak": _DIM}
    return [
        [Text(first.text, _BOLD), *(Text(cell.text, styles.get(cell.mark, "")) for cell in others)]
        for first, *others in told.rows
    ]


def document(board: Leaderboard) -> Document:
    """Return the leaderboard as a page."""
    runs = sum(row.runs * len(row.entries) for row in board.rows)
    spent = sum(entry.seconds for row in board.rows for entry in row.entries)
    lead = (
        f"{listed(board.policies)} on {counted(len(board.rows), 'row')}; a row is a problem with a subsidy "
        f"factor alpha and a horizon T. "
        f"Behind it are {counted(runs, 'run')}, {seconds(spent)} seconds of work. Of regret, less is better.",
        *(["At a small scale (--quick): a first look, no verdict."] if board.settings.quick else []),
    )
    again = Section("again", "How to get it again", (Listing(command(board)),))
    own = tuple(_section(board, name) for name in board.families)
    return Document("Leaderboard", (*lead, *_RULES), (*own, again))


def command(board: Leaderboard) -> str:
    """Return the command line that makes this leaderboard.

    Examples
    --------
    >>> from frugalbandits.lab.sweeps.cells import Settings
    >>> command(Leaderboard(("random",), ("cof", "pe-cs"), Settings(quick=True, runs=3), (), 0.0))
    'frugal leaderboard random --quick --policy cof --policy pe-cs --seed 0 --runs 3'
    """
    settings = board.settings
    words = ["frugal", "leaderboard", *([] if set(board.families) == set(families()) else board.families)]
    words += ["--quick"] if settings.quick else []
    if board.policies != policies(moving=False, over=EACH):
        words += [word for policy in board.policies for word in ("--policy", policy)]
    words += ["--seed", str(settings.seed)]
    words += ["--runs", str(settings.runs)] if settings.runs is not None else []
    return shlex.join(words)


def write(folder: Path, board: Leaderboard) -> list[Path]:
    """Write `leaderboard.md`, `rows.csv` and `standings.csv`; return their paths.

    - `rows.csv`: a row for each problem, horizon and policy;
    - `standings.csv`: a row for each family and policy.

    A ratio that cannot be told is empty.
    """
    texts = {
        _PAGE: to_markdown(document(board)),
        _ROWS: _csv((*_ROW_FIELDS, *_ENTRY_FIELDS), _row_lines(board.rows)),
        _STANDINGS: _csv(_STANDING_FIELDS, _standing_lines(board.rows)),
    }
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in texts]


_ROW_FIELDS = tuple(name for name in Row._fields if name != "entries")
_ENTRY_FIELDS = tuple(name for name in Entry._fields if name != "delivered")
_WORST_FIELDS = ("instance", "alpha", "horizon")
_STANDING_FIELDS = tuple(
    field
    for name in Standing._fields
    for field in ([f"worst_{part}" for part in _WORST_FIELDS] if name == "worst_row" else [name])
)


def _csv(heads: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(lines)
    return text.getvalue()


def _row_lines(rows: Iterable[Row]) -> Iterator[tuple[object, ...]]:
    for row in rows:
        for entry in row.entries:
            rounded = entry._replace(seconds=round(entry.seconds, 4))
            yield (
                *(getattr(row, name) for name in _ROW_FIELDS),
                *(getattr(rounded, name) for name in _ENTRY_FIELDS),
            )


def _standing_lines(rows: Iterable[Row]) -> Iterator[list[object]]:
    for standing in standings(rows):
        line: list[object] = []
        for name, value in zip(standing._fields, standing, strict=True):
            worst = name == "worst_row"
            line += [getattr(value, part) for part in _WORST_FIELDS] if worst else [value]
        yield line


def _section(board: Leaderboard, name: str) -> Section:
    rows = [row for row in board.rows if row.family == name]
    own = standings(rows)
    blocks: list[Block] = [
        Paragraph(f"{_about(rows)}. {_compared(rows)}."),
        promise_summary(own, rows),
        _summary(own, rows, with_place=True),
    ]
    if len(rows) > _LONG_FAMILY:
        blocks.append(Paragraph(f"All {len(rows)} rows are in {_ROWS}."))
    else:
        blocks += _details(rows)
    title = family(name).title
    return Section(name, f"{title[0].upper()}{title[1:]}", tuple(blocks))


def _summary(own: Sequence[Standing], rows: Sequence[Row], with_place: bool) -> Table:
    """Return the standings of a family; with or without the problem on which a policy is worst."""
    lowest = min(standing.over_best for standing in own)
    least_bad = min(standing.worst for standing in own)
    several = len(own) > 1
    lines = []
    for each in own:
        place = _place(each.worst_row, rows) if each.worst > 1 else DASH
        cells = [
            Cell(each.policy),
            Cell(shown(each.over_best), mark="strong" if several and each.over_best == lowest else ""),
            Cell(shown(each.worst), mark="strong" if several and each.worst == least_bad else ""),
            Cell(place, mark="weak"),
            Cell(DASH if each.over_least is None else shown(each.over_least)),
            Cell(percent(each.late_on_optimal)),
            Cell(percent(each.settled_on_optimal)),
            Cell(f"{each.won:,}"),
        ]
        lines.append(tuple(cells))
    heads = ("policy", "over best", "worst", "worst on", "over least", "late on a*", "settled on a*", "won")
    kept = [at for at, head in enumerate(heads) if with_place or head != "worst on"]
    return Table(
        f"Standings over {counted(len(rows), 'row')}",
        tuple(heads[at] for at in kept),
        "".join("lrrlrrrr"[at] for at in kept),
        tuple(tuple(line[at] for at in kept) for line in lines),
    )


def _details(rows: Sequence[Row]) -> list[Block]:
    heads = ("instance", "alpha", "T", *(entry.policy for entry in rows[0].entries))
    align = "lrr" + "r" * len(rows[0].entries)
    over_best, over_least, late, settled = [], [], [], []
    for row in rows:
        problem = Cell(row.instance), Cell(f"{row.alpha:.3g}"), Cell(f"{row.horizon:,}")
        best = [Cell(shown(each.over_best), mark="strong" if each.won else "") for each in row.entries]
        over_best.append((*problem, *best))
        ratios = (DASH if each.over_least is None else shown(each.over_least) for each in row.entries)
        over_least.append((*problem, Cell(_least(row)), *map(Cell, ratios)))
        late.append((*problem, *(Cell(percent(each.late_on_optimal)) for each in row.entries)))
        settled.append((*problem, *(Cell(percent(each.settled_on_optimal)) for each in row.entries)))
    with_least = (*heads[:3], "least possible", *heads[3:])
    return [
        Table("Regret over that of the row's best policy", heads, align, tuple(over_best)),
        Table("Regret over the least possible", with_least, f"lrrr{align[3:]}", tuple(over_least)),
        Table("Share of late pulls that went to a*", heads, align, tuple(late)),
        Table("Share of runs that settled on a*", heads, align, tuple(settled)),
    ]


def _least(row: Row) -> str:
    if row.least == 0 or math.isinf(row.least):
        return "0" if row.least == 0 else "infinite"
    return f"{readable(row.least)}{' (T too small)' if row.too_early else ''}"


def _place(row: Row, rows: Sequence[Row]) -> str:
    """Return which row it is, in as few words as tell it from the others."""
    horizon = f", T = {row.horizon:,}" if len({each.horizon for each in rows}) > 1 else ""
    return f"{row.instance}, {row.alpha:.3g}{horizon}"


def _about(rows: Sequence[Row]) -> str:
    horizons = [f"{horizon:,}" for horizon in sorted({row.horizon for row in rows})]
    arms = sorted({row.arms for row in rows})
    size = f"{arms[0]} to {arms[-1]} arms" if len(arms) > 1 else f"{arms[0]} arms"
    runs = listed([f"{runs:,}" for runs in sorted({row.runs for row in rows})])
    return (
        f"{counted(len(rows), 'row')}, {size}, T = {listed(horizons)}, "
        f"{runs} {'run' if runs == '1' else 'runs'} of each policy"
    )


def _compared(rows: Sequence[Row]) -> str:
    none = sum(row.least == 0 for row in rows)
    endless = sum(math.isinf(row.least) for row in rows)
    early = sum(row.too_early and 0 < row.least < math.inf for row in rows)
    reasons = [
        f"the bound is 0 in {none:,}" if none else "",
        f"the bound is infinite in {endless:,}" if endless else "",
        f"T is too small for it in {early:,}" if early else "",
    ]
    why = [reason for reason in reasons if reason]
    told = f"Over least: {len(rows) - none - endless - early:,} of {counted(len(rows), 'row')}"
    return f"{told}; {listed(why)}" if why else told
