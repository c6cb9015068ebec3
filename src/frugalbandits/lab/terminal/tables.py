"""What the command line prints: tables, and an instance as a picture made of text.

Everything here turns values into rich renderables; it computes nothing that a `Problem` or a `Result`
does not already know. Colour repeats what a word or a sign says, so nothing is lost in a pipe.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console, Group, RenderableType
from rich.style import Style
from rich.text import Text

from frugalbandits.core.contract import Policy
from frugalbandits.core.quality import RelativeToBest
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.result import Result, Summary
from frugalbandits.lab.terminal.widths import Column, fitted, plain_table
from frugalbandits.lab.text import counted, printable, readable

__all__ = [
    "Cell",
    "console",
    "instance_table",
    "policy_table",
    "regret_table",
]

_BOLD = Style(bold=True)
_DIM = Style(dim=True)
_OPTIMAL = Style(color="green", bold=True)


class Cell(NamedTuple):
    """One policy on one instance, and the seconds it took."""

    instance: str
    result: Result
    seconds: float


def console(width: int | None = None) -> Console:
    """Return a console on standard output that takes every text literally.

    In a pipe lines are as long as they need to be, so that a table's row stays one line.
    """
    made = Console(markup=False, highlight=False, emoji=False, width=width)
    if width is None and not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = 250
    return made


def policy_table(policies: Sequence[tuple[str, Policy]], width: int) -> RenderableType:
    """Return the registered policies as a table."""
    columns = [Column("name", "name"), Column("policy", "words"), Column("settings", "words")]
    rows = [(Text(name, _BOLD), type(policy).title, Text(repr(policy), _DIM)) for name, policy in policies]
    return fitted(columns, rows, width)


def instance_table(instances: Sequence[tuple[str, Problem, str]], width: int) -> RenderableType:
    """Return instances, with where their numbers come from, as a table."""
    paper = all(isinstance(problem.quality, RelativeToBest) for _, problem, _ in instances)
    columns = [
        Column("name", "name"),
        Column("arms"),
        Column("alpha") if paper else Column("quality", "words"),
        Column("optimal arm a*", "name"),
        Column("source", "words"),
    ]
    rows = [
        (
            Text(name, _BOLD),
            str(problem.arms),
            f"{problem.alpha:g}" if paper else printable(problem.quality.short),
            printable(problem.names[problem.optimal_arm]),
            Text(source, _DIM),
        )
        for name, problem, source in instances
    ]
    return fitted(columns, rows, width)


def regret_table(cells: Sequence[Cell], width: int) -> Group:
    """Return the policies' regret at the horizon on one problem: a title, a table and a note.

    Where a mean and its percentiles do not fit side by side into `width` columns, the percentiles go
    below the mean.
    """
    instance, first = cells[0].instance, cells[0].result
    problem = first.problem
    optimal = problem.optimal_arm
    title = (
        f"{printable(instance)}, {printable(problem.quality.short)}, T = {first.horizon:,}, "
        f"{counted(first.runs)}: {'' if problem.attainable else 'no arm reaches it; '}"
        f"a* is {printable(problem.names[optimal])} "
        f"(mean {readable(problem.means[optimal])}, cost {readable(problem.costs[optimal])})"
    )
    tables = []
    for separator in (" ", "\n"):
        table = plain_table(
            "policy", "summed regret", "cost regret", "quality regret", f"ended{separator}on a*", "seconds"
        )
        for column in table.columns[1:]:
            column.justify = "right"
        lowest = min(cell.result.summary().mean for cell in cells)
        for cell in cells:
            result = cell.result
            summed = result.summary()
            table.add_row(
                Text(printable(result.policy), _BOLD),
                _band(summed, separator, _OPTIMAL if summed.mean == lowest and len(cells) > 1 else _BOLD),
                _band(result.summary("cost"), separator),
                _band(result.summary("quality"), separator),
                f"{result.found_optimal:.0%}",
                f"{cell.seconds:.2f}" if cell.seconds < 100 else f"{cell.seconds:,.0f}",
            )
        tables.append(table)
    side_by_side, below = tables
    fits = Console(width=10_000).measure(side_by_side).maximum <= width
    note = Text("mean [20th, 80th percentile] over the runs", _DIM)
    return Group(Text(title, _BOLD), side_by_side if fits else below, note)


def _band(summary: Summary, separator: str, style: Style | None = None) -> Text:
    text = Text(readable(summary.mean), style or "")
    return text.append(f"{separator}[{readable(summary.low)}, {readable(summary.high)}]", _DIM)
