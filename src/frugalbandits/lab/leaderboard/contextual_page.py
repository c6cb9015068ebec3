"""The leaderboard of policies that look at queries: on the screen, as Markdown, and as a tidy CSV file."""

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
from frugalbandits.lab.leaderboard.contextual import (
    HELD,
    Board,
    Entry,
    Row,
    default_policies,
    standings,
    title_of,
)
from frugalbandits.lab.terminal.widths import Column, fitted
from frugalbandits.lab.text import counted, listed, seconds, shown

__all__ = ["command", "document", "screen", "write"]

_BOLD = Style(bold=True)
_DIM = Style(dim=True)
_BEST = Style(color="green", bold=True)

_FAMILY = (
    "digits-routing: handwritten digits and five real classifiers of scikit-learn; synthetic and "
    "misspecified: drawn with the seed that is in their names, the latter with rewards that no linear "
    "model fits."
)
_RULES = (
    "The bar is on the average over queries: cost is to be as low as it can while the mean quality reaches "
    "it. A policy that is cheap and below the bar has not solved the problem.",
    "Over a*: mean cost over that of the cheapest single option that reaches the bar. Over oracle: over that "
    "of the best of three rules that know everything: a mix of two options, one by segment, a linear one.",
    "Over bar: mean quality over the bar, its mean over the rows and the lowest row; worst run: the lowest "
    f"of all runs. Held: rows with at least {HELD[0]} in the mean and {HELD[1]} in the worst run. "
    "Judged: the share of decisions on which feedback came.",
    "Regret is one-sided, a decision, over the range of the costs: what is spent above the best oracle, plus "
    "the quality that is missing at the oracle's price. Too much of one does not make up for the other.",
    "LinUCB is told its weight by the oracle, or a third of it, or three times it: what it is worth to set a "
    "price of quality by hand.",
)


def screen(board: Board, width: int) -> list[Group]:
    """Return the standings, for a screen of some width."""
    table = _standings(board)
    heads = zip(table.heads, table.align, strict=True)
    columns = [Column(head, "name" if side == "l" else "number") for head, side in heads]
    styles = {"strong": _BEST, "weak": _DIM}
    rows = [
        [Text(first.text, _BOLD), *(Text(cell.text, styles.get(cell.mark, "")) for cell in others)]
        for first, *others in table.rows
    ]
    told = Group(Text(table.caption, _BOLD), fitted(columns, rows, width))
    return [told, Group(*(Text(rule, _DIM) for rule in _RULES))]


def document(board: Board) -> Document:
    """Return the leaderboard as a page."""
    spent = sum(entry.seconds for row in board.rows for entry in row.entries)
    runs = sum(row.runs * len(row.entries) for row in board.rows)
    first = board.rows[0]
    share = first.feedback
    which = "What a policy wants to know is" if share == "wanted" else f"{share:.0%} of the decisions are"
    late = f"{which} judged, {first.delay:,} decisions later"
    lead = (
        f"{listed(list(map(title_of, board.policies)))} on {counted(len(board.rows), 'row')}; a row is a "
        f"population of queries with a quality bar, T = {first.horizon:,}, {counted(first.runs)} of each "
        f"policy. {'Every decision is judged at once' if first.delay == 0 else late}. "
        f"Behind it are {counted(runs, 'run')}, {seconds(spent)} seconds of work.",
        *([] if board.problems else [_FAMILY]),
        *(["At a small scale (--quick): a first look, no verdict."] if board.settings.quick else []),
        *_RULES,
    )
    sections = (
        Section("standings", "Standings", (_standings(board),)),
        Section("cost", "Cost, row by row", (_costs(board.rows),)),
        Section("quality", "Quality, row by row", (_qualities(board.rows),)),
        Section("again", "How to get it again", (Listing(command(board)),)),
    )
    return Document("Leaderboard of policies that look at the query", lead, sections)


def command(board: Board) -> str:
    """Return the command line that makes this leaderboard."""
    words = ["frugal", "leaderboard", board.family, *(["--quick"] if board.settings.quick else [])]
    if board.policies != default_policies():
        words += [word for policy in board.policies for word in ("--policy", policy)]
    words += [word for problem in board.problems for word in ("--problem", problem)]
    words += ["--seed", str(board.settings.seed)]
    words += ["--runs", str(board.settings.runs)] if board.settings.runs is not None else []
    return shlex.join(words)


def write(folder: Path, board: Board) -> list[Path]:
    """Write a page and a CSV file with a row for each problem, bar and policy; return their paths."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    own = [name for name in Row._fields if name != "entries"]
    writer.writerow([*own, *Entry._fields])
    for row in board.rows:
        for entry in row.entries:
            writer.writerow(
                [*(getattr(row, name) for name in own), *entry._replace(seconds=round(entry.seconds, 4))]
            )
    texts = {f"{board.family}.md": to_markdown(document(board)), f"{board.family}.csv": text.getvalue()}
    for name, content in texts.items():
        write_text(folder / name, content)
    return [folder / name for name in texts]


def _standings(board: Board) -> Table:
    own = standings(board.rows)
    lines = []
    for standing in own:
        best = standing is own[0] and len(own) > 1
        lines.append(
            (
                Cell(title_of(standing.policy)),
                Cell(shown(standing.over_single)),
                Cell(shown(standing.over_oracle)),
                Cell(f"{standing.over_bar:.3f}"),
                Cell(f"{standing.lowest:.3f}"),
                Cell(f"{standing.worst_run:.3f}"),
                Cell(f"{standing.held:,}"),
                Cell(f"{standing.judged:.0%}"),
                Cell(f"{standing.regret:.4f}", mark="strong" if best else ""),
                Cell(f"{standing.won:,}"),
            )
        )
    heads = (
        "policy",
        "over a*",
        "over oracle",
        "over bar",
        "lowest row",
        "worst run",
        "held",
        "judged",
        "regret",
        "won",
    )
    caption = f"Standings over {counted(len(board.rows), 'row')}, the least regret first"
    return Table(caption, heads, "lrrrrrrrrr", tuple(lines))


def _costs(rows: Sequence[Row]) -> Table:
    policies = [entry.policy for entry in rows[0].entries]
    lines = [
        (
            Cell(row.problem),
            Cell(row.quality),
            Cell(" / ".join(shown(cost) for cost in (row.mix, row.segments, row.linear)), mark="weak"),
            *(Cell(shown(entry.over_single), mark="strong" if entry.held else "") for entry in row.entries),
        )
        for row in rows
    ]
    heads = ("problem", "bar", "oracle: mix / segments / linear", *map(title_of, policies))
    caption = "Mean cost over that of a*; bold where the bar was held"
    return Table(caption, heads, "lll" + "r" * len(policies), tuple(lines))


def _qualities(rows: Sequence[Row]) -> Table:
    policies = [entry.policy for entry in rows[0].entries]
    lines = [
        (
            Cell(row.problem),
            Cell(row.quality),
            *(
                Cell(f"{entry.over_bar:.3f}", f"{entry.worst_run:.3f}", "strong" if entry.held else "")
                for entry in row.entries
            ),
        )
        for row in rows
    ]
    heads = ("problem", "bar", *map(title_of, policies))
    caption = "Mean quality over the bar, and below it that of the worst run; bold where the bar was held"
    return Table(caption, heads, "ll" + "r" * len(policies), tuple(lines))
