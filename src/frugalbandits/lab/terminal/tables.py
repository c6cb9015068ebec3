"""What the command line prints: tables, and an instance as a picture made of text.

Everything here turns values into rich renderables; it computes nothing that a `Problem` or a `Result`
does not already know. Colour repeats what a word or a sign says, so nothing is lost in a pipe.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from rich import box
from rich.console import Console, Group
from rich.style import Style
from rich.table import Table
from rich.text import Text

from frugalbandits.core.contract import Policy
from frugalbandits.core.quality import RelativeToBest
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.result import Result, Summary
from frugalbandits.lab.text import broken, counted, percent, printable, readable, seconds

__all__ = [
    "Cell",
    "console",
    "fitting",
    "instance_table",
    "number_table",
    "plain_table",
    "policy_table",
    "regret_table",
    "stacked",
]

_NARROW = 70  # columns of a screen
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


def policy_table(policies: Sequence[tuple[str, Policy]], width: int) -> Table | Group:
    """Return the registered policies as a table, or one below the other on a narrow screen."""
    rows = [
        [Text(name, _BOLD), Text(type(policy).title), Text(repr(policy), _DIM)] for name, policy in policies
    ]
    return _text_table(("name", "policy", "settings"), rows, width)


def instance_table(instances: Sequence[tuple[str, Problem, str]], width: int) -> Table | Group:
    """Return instances, with where their numbers come from, as `policy_table` does."""
    paper = all(isinstance(problem.quality, RelativeToBest) for _, problem, _ in instances)
    heads = ("name", "arms", "alpha" if paper else "quality", "optimal arm a*", "source")
    rows = [
        [
            Text(name, _BOLD),
            Text(str(problem.arms)),
            Text(f"{problem.alpha:g}" if paper else problem.quality.short),
            Text(printable(problem.names[problem.optimal_arm])),
            Text(source, _DIM),
        ]
        for name, problem, source in instances
    ]
    return _text_table(heads, rows, width, numbers=(1, 2))


def _text_table(
    heads: Sequence[str], rows: Sequence[Sequence[Text]], width: int, numbers: Sequence[int] = ()
) -> Table | Group:
    """Return a table whose texts wrap, or rows one below the other where a column would be a few letters."""
    if width < _NARROW:
        return stacked(heads, rows)
    table = plain_table(*heads)
    for number, column in enumerate(table.columns):
        column.no_wrap = number == 0 or number in numbers
        column.justify = "right" if number in numbers else "left"
        column.overflow = "fold"
    for row in rows:
        table.add_row(*row)
    return table


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
    heads = (
        "policy",
        "summed regret",
        "cost regret",
        "quality regret",
        "late on a*",
        "settled on a*",
        "seconds",
    )
    whole = number_table(heads, _regret_rows(cells, " ", " "))
    narrow = [head.replace(" ", "\n", 1) for head in heads]
    below = [number_table(narrow, _regret_rows(cells, "\n", gap, broken)) for gap in (" ", "\n")]
    apart = [stacked(heads, _regret_rows(cells, before, " ")) for before in (" ", "\n")]
    note = (
        f"mean [20th, 80th percentile] over the runs; late: pulls after t = {first.late_from:,}; settled: "
        "runs that deemed a* optimal and kept to it, with a dash for policies that never do"
    )
    return Group(Text(title, _BOLD), fitting([whole, *below, *apart], width), Text(note, _DIM))


def _regret_rows(
    cells: Sequence[Cell], before: str, within: str, named: Callable[[str], str] = str
) -> list[list[Text]]:
    """Return a row per policy, with these separators before and within a mean's percentiles."""
    lowest = min(cell.result.summary().mean for cell in cells)
    rows = []
    for cell in cells:
        result = cell.result
        summed = result.summary()
        best = summed.mean == lowest and len(cells) > 1
        rows.append(
            [
                Text(named(printable(result.policy)), _BOLD),
                _band(summed, before, within, _OPTIMAL if best else _BOLD),
                _band(result.summary("cost"), before, within),
                _band(result.summary("quality"), before, within),
                Text(percent(result.late_on_optimal)),
                Text(percent(result.settled_on_optimal)),
                Text(seconds(cell.seconds)),
            ]
        )
    return rows


def plain_table(*heads: str) -> Table:
    """Return an empty table in the style of all of them."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for head in heads:
        table.add_column(head)
    return table


def number_table(heads: Sequence[str], rows: Iterable[Sequence[Text]], left: Sequence[int] = (0,)) -> Table:
    """Return a table whose cells are never wrapped or cut, set right but for some columns."""
    table = plain_table(*heads)
    for number, column in enumerate(table.columns):
        column.no_wrap = True
        column.justify = "left" if number in left else "right"
    for row in rows:
        table.add_row(*row)
    return table


def stacked(heads: Sequence[str], rows: Iterable[Sequence[Text]]) -> Group:
    """Return rows one below the other, for a screen too narrow for columns: a line for each cell."""
    parts: list[Text | Table] = []
    for first, *others in rows:
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for head, cell in zip(heads[1:], others, strict=True):
            grid.add_row(f"  {head}", cell)
        parts += [first, grid]
    return Group(*parts)


def fitting(choices: Sequence[Table | Group], width: int) -> Table | Group:
    """Return the first that fits into so many columns, or else the last."""
    measured = Console(width=10_000)
    return next((each for each in choices if measured.measure(each).maximum <= width), choices[-1])


def _band(summary: Summary, before: str, within: str, style: Style | None = None) -> Text:
    text = Text(readable(summary.mean), style or "")
    return text.append(f"{before}[{readable(summary.low)},{within}{readable(summary.high)}]", _DIM)
