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
from frugalbandits.lab.result import Regret, Result, Summary
from frugalbandits.lab.terminal.widths import Column, fitted, side_by_side
from frugalbandits.lab.text import counted, percent, printable, readable, seconds

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
_SHOWN: tuple[Regret, ...] = ("scaled", "summed", "cost", "quality")


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
    """Return how the policies did on one problem: a title, a table of regret and of success, and a note.

    Numbers are never cut: where a mean and its percentiles do not fit side by side into `width` columns, the
    percentiles go below the mean, and where that is too wide as well, each policy has lines of its own.
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
    heads = (*(f"{kind} regret" for kind in _SHOWN), "late on a*", "settled on a*", "seconds")
    columns = [Column("policy", "name"), *map(Column, heads)]
    forms = [_regret_rows(cells, *breaks) for breaks in ((" ", " "), ("\n", " "), ("\n", "\n"))]
    tables = (side_by_side(columns, rows, width, tight) for tight in (False, True) for rows in forms)
    table = next((table for table in tables if table is not None), None) or fitted(columns, forms[0], width)
    note = (
        f"mean [20th, 80th percentile] over the runs; late: pulls after t = {first.late_from:,}; settled: "
        "runs that deemed a* optimal and kept to it, with a dash for policies that never do; scaled: cost "
        f"regret over {readable(problem.worth)}, which a unit of quality is worth"
        f"{'' if problem.given_worth else ' (the range of the costs)'}, plus quality regret"
    )
    return Group(Text(title, _BOLD), table, Text(note, _DIM))


def _regret_rows(cells: Sequence[Cell], before: str, within: str) -> list[list[Text]]:
    """Return a row per policy, with these separators before and within a mean's percentiles."""
    lowest = [min(cell.result.summary(kind).mean for cell in cells) for kind in _SHOWN]
    rows = []
    for cell in cells:
        result = cell.result
        bands = []
        for kind, least in zip(_SHOWN, lowest, strict=True):
            summary = result.summary(kind)
            best = kind in ("scaled", "summed") and summary.mean == least and len(cells) > 1
            bands.append(_band(summary, before, within, _OPTIMAL if best else None))
        rows.append(
            [
                Text(printable(result.policy), _BOLD),
                *bands,
                Text(percent(result.late_on_optimal)),
                Text(percent(result.settled_on_optimal)),
                Text(seconds(cell.seconds)),
            ]
        )
    return rows


def _band(summary: Summary, before: str, within: str, style: Style | None = None) -> Text:
    text = Text(readable(summary.mean), style or "")
    return text.append(f"{before}[{readable(summary.low)},{within}{readable(summary.high)}]", _DIM)
