"""The leaderboard of worlds on the screen, as Markdown, and as a tidy CSV file."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.console import Group
from rich.style import Style
from rich.text import Text

from frugalbandits.core.files import write_text
from frugalbandits.lab.documents.markdown import to_markdown
from frugalbandits.lab.documents.parts import Cell, Document, Listing, Section, Table
from frugalbandits.lab.leaderboard.worlds import Board, Entry, Row, Standing, by_world, standings
from frugalbandits.lab.terminal.widths import Column, fitted
from frugalbandits.lab.text import counted, listed, percent, readable, seconds, shown
from frugalbandits.lab.worlds import WORLD_POLICIES

__all__ = ["command", "document", "screen", "write"]

_BOLD = Style(bold=True)
_DIM = Style(dim=True)
_BEST = Style(color="green", bold=True)
_PAGE, _ROWS = "worlds.md", "worlds.csv"

_RULES = (
    "Regret is that of a moving target: at each decision, the cheapest option that is up and good enough at "
    "that moment. Costs are scaled to what a unit of quality is worth, the range of the costs.",
    "Over best: mean regret at the horizon over that of the best policy of the same row; the geometric mean "
    "over the rows. A mean regret below 1 counts as 1.",
    "Policies that cannot learn costs go by what they were told; those that have no say in what is judged "
    "have all of it.",
)


def screen(board: Board, width: int) -> list[Group]:
    """Return the standings and the worlds, for a screen of some width."""
    parts = []
    for table in _tables(board):
        heads = zip(table.heads, table.align, strict=True)
        columns = [
            Column(head, "name" if place == 0 else "words" if side == "l" else "number")
            for place, (head, side) in enumerate(heads)
        ]
        styles = {"strong": _BEST, "weak": _DIM}
        rows = [
            [Text(first.text, _BOLD), *(Text(cell.text, styles.get(cell.mark, "")) for cell in others)]
            for first, *others in table.rows
        ]
        parts.append(Group(Text(table.caption, _BOLD), fitted(columns, rows, width)))
    return [*parts, Group(*(Text(rule, _DIM) for rule in _RULES))]


def document(board: Board) -> Document:
    """Return the leaderboard of worlds as a page."""
    spent = sum(entry.seconds for row in board.rows for entry in row.entries)
    runs = sum(row.runs * len(row.entries) for row in board.rows)
    first = board.rows[0]
    lead = (
        f"{listed(board.policies)} in {counted(len(by_world(board.rows)), 'world')} on tables of language "
        f"models, alpha = {first.alpha:g}, T = {first.horizon:,}. Behind it are {counted(runs, 'run')}, "
        f"{seconds(spent)} seconds of work. Of regret, less is better.",
        *(["At a small scale (--quick): a first look, no verdict."] if board.settings.quick else []),
        *_RULES,
    )
    tables = _tables(board)
    sections = (
        Section("standings", "Standings", tables[:1]),
        Section("worlds", "World by world", tables[1:]),
        Section("rows", "Regret, row by row", (_details(board.rows),)),
        Section("again", "How to get it again", (Listing(command(board)),)),
    )
    return Document("Leaderboard of worlds", lead, sections)


def command(board: Board) -> str:
    """Return the command line that makes this leaderboard."""
    words = ["frugal", "leaderboard", "worlds", *(["--quick"] if board.settings.quick else [])]
    if board.policies != WORLD_POLICIES:
        words += [word for policy in board.policies for word in ("--policy", policy)]
    words += ["--seed", str(board.settings.seed)]
    words += ["--runs", str(board.settings.runs)] if board.settings.runs is not None else []
    return shlex.join(words)


def write(folder: Path, board: Board) -> list[Path]:
    """Write `worlds.md` and `worlds.csv`, a row for each instance, world and policy; return their paths."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    own = [name for name in Row._fields if name != "entries"]
    writer.writerow([*own, *Entry._fields])
    for row in board.rows:
        for entry in row.entries:
            writer.writerow(
                [*(getattr(row, name) for name in own), *entry._replace(seconds=round(entry.seconds, 4))]
            )
    texts = {_PAGE: to_markdown(document(board)), _ROWS: text.getvalue()}
    for name, content in texts.items():
        write_text(folder / name, content)
    return [folder / name for name in texts]


def _tables(board: Board) -> tuple[Table, Table]:
    own = standings(board.rows)
    lines = []
    for standing in own:
        entries = [entry for row in board.rows for entry in row.entries if entry.policy == standing.policy]
        best = standing.over_best == own[0].over_best and len(own) > 1
        lines.append(
            (
                Cell(standing.policy),
                Cell(shown(standing.over_best), mark="strong" if best else ""),
                Cell(shown(standing.worst)),
                Cell(_place(standing), mark="weak"),
                Cell(readable(standing.regret)),
                Cell(percent(sum(entry.judged for entry in entries) / len(entries))),
                Cell(f"{100 * sum(entry.saving for entry in entries) / len(entries):.1f}%"),
                Cell(f"{standing.won:,}"),
            )
        )
    heads = ("policy", "over best", "worst", "worst on", "mean regret", "judged", "saving", "won")
    caption = f"Standings over {counted(len(board.rows), 'row')}"
    return Table(caption, heads, "lrrlrrrr", tuple(lines)), _worlds(board.rows)


def _worlds(rows: Sequence[Row]) -> Table:
    policies = [entry.policy for entry in rows[0].entries]
    lines = []
    for world, own in by_world(rows).items():
        ratios = {standing.policy: standing.over_best for standing in standings(own)}
        best = min(ratios.values())
        cells = [
            Cell(shown(ratios[policy]), mark="strong" if ratios[policy] == best else "")
            for policy in policies
        ]
        lines.append((Cell(world), *cells))
    caption = "Regret over that of the row's best policy, geometric mean over the instances"
    return Table(caption, ("world", *policies), "l" + "r" * len(policies), tuple(lines))


def _details(rows: Sequence[Row]) -> Table:
    policies = [entry.policy for entry in rows[0].entries]
    lines = [
        (
            Cell(row.world),
            Cell(row.instance),
            *(Cell(readable(entry.regret), mark="strong" if entry.won else "") for entry in row.entries),
        )
        for row in rows
    ]
    heads = ("world", "instance", *policies)
    return Table("Mean scaled regret at the horizon", heads, "ll" + "r" * len(policies), tuple(lines))


def _place(standing: Standing) -> str:
    return f"{standing.worst_row.instance}, {standing.worst_row.world}"
