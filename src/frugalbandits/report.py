"""What the command line prints: tables, and an instance as a picture made of text.

Everything here turns values into rich renderables; it computes nothing that a `Problem` or a `Result`
does not already know. Colour repeats what a word or a sign says, so nothing is lost in a pipe.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.style import Style
from rich.table import Table
from rich.text import Text

from frugalbandits.policies import Policy
from frugalbandits.problem import Problem
from frugalbandits.quality import RelativeToBest
from frugalbandits.result import Result, Summary

__all__ = [
    "Cell",
    "console",
    "instance_table",
    "picture",
    "plain_table",
    "policy_table",
    "printable",
    "progress",
    "readable",
    "regret_table",
    "role",
    "shortened",
]

_BOLD = Style(bold=True)
_DIM = Style(dim=True)
_OPTIMAL = Style(color="green", bold=True)
_BEST = Style(color="blue", bold=True)
_WIDEST_PICTURE = 110
_SHORTEST_LINE = 20


class Cell(NamedTuple):
    """One policy on one instance, and the seconds it took."""

    instance: str
    result: Result
    seconds: float


class _Signs(NamedTuple):
    """The signs of a picture."""

    optimal: str
    best: str
    feasible: str
    infeasible: str
    threshold: str
    line: str
    tick: str
    cut: str


_UNICODE = _Signs("★", "◆", "●", "○", "┊", "─", "┴", "…")
_ASCII = _Signs("*", "#", "o", ".", "|", "-", "+", "~")


def console(width: int | None = None) -> Console:
    """Return a console on standard output that takes every text literally.

    In a pipe lines are as long as they need to be, so that a table's row stays one line.
    """
    made = Console(markup=False, highlight=False, emoji=False, width=width)
    if width is None and not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = 250
    return made


def readable(value: float) -> str:
    """Write a number with four significant digits and thousands separators.

    Examples
    --------
    >>> readable(48336.2), readable(86.79), readable(0.00014382), readable(0.0), readable(12.0)
    ('48,340', '86.79', '0.0001438', '0', '12')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    magnitude = math.floor(math.log10(abs(value)))
    if not -7 < magnitude < 15:
        return f"{value:.4g}"
    text = f"{round(value, 3 - magnitude):,.{max(0, 3 - magnitude)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def printable(name: str) -> str:
    r"""Return a name without characters that would move the cursor or end the line.

    Examples
    --------
    >>> printable("two\nlines")
    'two lines'
    """
    return "".join(character if character.isprintable() else " " for character in name)


def role(problem: Problem, arm: int) -> str:
    """Say what part an arm plays: a* (optimal), i* (best), ref (sets the bar), cheap or expensive beside a*.

    Examples
    --------
    >>> problem = Problem([0.2, 0.7, 0.8], [1, 2, 9], alpha=0.2)
    >>> [role(problem, arm) for arm in range(3)]
    ['cheap', 'a*', 'i* expensive']
    """
    parts = []
    if arm == problem.optimal_arm:
        parts.append("a*")
    if arm == problem.best_arm:
        parts.append("i*")
    if arm == problem.reference:
        parts.append("ref")
    gap = problem.costs[arm] - problem.costs[problem.optimal_arm]
    if arm != problem.optimal_arm:
        parts.append("cheap" if gap < 0 else "expensive" if gap > 0 else "same cost")
    return " ".join(parts)


def policy_table(policies: Sequence[tuple[str, Policy]]) -> Table:
    """Return the registered policies as a table."""
    table = plain_table("name", "policy", "settings")
    for name, policy in policies:
        table.add_row(Text(name, _BOLD), type(policy).title, Text(repr(policy), _DIM))
    return table


def instance_table(instances: Sequence[tuple[str, Problem, str]]) -> Table:
    """Return instances, with where their numbers come from, as a table."""
    paper = all(isinstance(problem.quality, RelativeToBest) for _, problem, _ in instances)
    table = plain_table("name", "arms", "alpha" if paper else "quality", "optimal arm a*", "source")
    table.columns[1].justify = table.columns[2].justify = "right"
    table.columns[4].min_width = 28
    for name, problem, source in instances:
        optimal = printable(problem.names[problem.optimal_arm])
        bar = f"{problem.alpha:g}" if paper else problem.quality.short
        table.add_row(Text(name, _BOLD), str(problem.arms), bar, optimal, Text(source, _DIM))
    return table


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
        f"{_runs(first.runs)}: {'' if problem.attainable else 'no arm reaches it; '}"
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


def picture(
    problem: Problem, title: str, source: str = "", width: int = 80, ascii_only: bool = False
) -> Text:
    """Draw an instance in text: the reward line with all arms on it, then a row per arm by cost.

    Parameters
    ----------
    problem
        The instance.
    title
        What it is called.
    source
        Where its numbers come from, if that is known.
    width
        Columns to fill.
    ascii_only
        Do without signs that are not ASCII.

    Examples
    --------
    >>> problem = Problem([0.2, 0.7, 0.8], [1, 2, 9], alpha=0.2)
    >>> print(picture(problem, "tiny", width=60, ascii_only=True).plain)
    tiny: 3 arms, alpha = 0.2
    <BLANKLINE>
    arm cost mean  0.2     0.4    0.6     0.8  feasible, role
                   -.-------+------+-|-*---#-
    a1     1  0.2   .                |         no   cheap
    a2     2  0.7                    | *       yes  a*
    a3     9  0.8                    |     #   yes  i* expensive
                                     |
                 (1 - alpha) max(mean) = 0.64
    <BLANKLINE>
    * a* cheapest feasible  # i* highest mean
    o feasible  . infeasible  | threshold
    """
    signs = _ASCII if ascii_only else _UNICODE
    costs, means = _aligned(problem.costs), _aligned(problem.means)
    roles = [role(problem, arm) for arm in range(problem.arms)]
    verdicts = [
        ("yes  " if fine else "no   ") + part for fine, part in zip(problem.feasible, roles, strict=True)
    ]
    texts = [("cost", costs), ("mean", means), ("feasible, role", verdicts)]
    widths = [max(map(len, [head, *column])) for head, column in texts]
    # What the numbers leave is shared between the names and the reward line.
    free = min(width, _WIDEST_PICTURE) - sum(widths) - 6
    longest = max(12, min(free // 2, free - _SHORTEST_LINE), free - 2 * _SHORTEST_LINE)
    names = [shortened(printable(name), longest, signs.cut) for name in problem.names]
    widths.insert(0, max(map(cell_len, ["arm", *names])))
    left = sum(widths[:3]) + 4
    span = max(_SHORTEST_LINE, free - widths[0])
    axis = _Axis(problem, span)
    bar = axis.column(problem.threshold)

    drawing = Text(f"{printable(title)}: {problem.arms} arms, {printable(problem.quality.short)}\n", _BOLD)
    if source:
        drawing.append(f"{source}\n", _DIM)
    head = f"{'arm':<{widths[0]}} {'cost':>{widths[1]}} {'mean':>{widths[2]}}"
    drawing.append(f"\n{head}  {axis.labels()}  feasible, role\n", _BOLD)
    drawing.append(" " * left)
    line = [(signs.tick if at in axis.ticks else signs.line, _DIM) for at in range(span)]
    line[bar] = (signs.threshold, _BOLD)
    # The arms that matter most are drawn last, over those that share their place.
    by_weight = sorted(problem.order, key=lambda arm: (arm == problem.optimal_arm, arm == problem.best_arm))
    for arm in by_weight:
        line[axis.column(problem.means[arm])] = _sign(problem, int(arm), signs)
    for text, style in line:
        drawing.append(text, style)
    drawing.append("\n")
    for arm in problem.order.tolist():
        sign, style = _sign(problem, arm, signs)
        drawing.append(f"{set_cell_size(names[arm], widths[0])} ", style)
        drawing.append(f"{costs[arm]:>{widths[1]}} {means[arm]:>{widths[2]}}  ")
        at = axis.column(problem.means[arm])
        for place in range(span):
            if place == at:
                drawing.append(sign, style)
            else:
                drawing.append(signs.threshold if place == bar else " ", _DIM)
        drawing.append(f"  {verdicts[arm]}\n", style)
    rule = printable(problem.quality.rule) if problem.attainable else "no arm reaches the level; best mean"
    note = f"{rule} = {readable(problem.threshold)}"
    start = min(max(0, left + bar - len(note) // 2), max(0, left + span - len(note)))
    drawing.append(f"{' ' * (left + bar)}{signs.threshold}\n{' ' * start}{note}\n\n")
    for sign, style, meaning in (
        (signs.optimal, _OPTIMAL, "a* cheapest feasible  "),
        (signs.best, _BEST, "i* highest mean\n"),
        (signs.feasible, Style(), "feasible  "),
        (signs.infeasible, _DIM, "infeasible  "),
        (signs.threshold, _DIM, "threshold"),
    ):
        drawing.append(sign, style)
        drawing.append(f" {meaning}")
    return drawing


@contextmanager
def progress(total: int) -> Iterator[Callable[[str, int], None]]:
    """Yield a function that shows what runs now and how many runs are done, on standard error.

    It shows nothing where standard error is not a terminal.
    """
    if not sys.stderr.isatty():
        yield lambda what, done: None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(20),
        MofNCompleteColumn(),
        TextColumn("runs, left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda what, done: bar.update(task, description=printable(what), completed=done)


class _Axis:
    """The reward line: rewards as columns, and round numbers to write along it."""

    def __init__(self, problem: Problem, span: int) -> None:
        low = min(float(problem.means.min()), problem.threshold)
        high = max(float(problem.means.max()), problem.threshold)
        margin = 0.05 * (high - low) or 0.05
        self.low, self.high, self.span = low - margin, high + margin, span
        self.step, self.decimals = self._round_step()
        first = math.ceil(self.low / self.step - 1e-9)
        last = math.floor(self.high / self.step + 1e-9)
        self.marks = [i * self.step for i in range(first, last + 1)]
        self.ticks = {self.column(mark) for mark in self.marks}

    def column(self, reward: float) -> int:
        return round((reward - self.low) / (self.high - self.low) * (self.span - 1))

    def labels(self) -> str:
        line = [" "] * self.span
        for mark in self.marks:
            text = f"{mark:.{self.decimals}f}"
            start = min(max(0, self.column(mark) - len(text) // 2), self.span - len(text))
            line[start : start + len(text)] = text
        return "".join(line)

    def _round_step(self) -> tuple[float, int]:
        # The smallest of 1, 2 and 5 times a power of ten whose labels keep their distance.
        reach, blanks = self.high - self.low, 1 if self.span < 30 else 3
        for exponent in range(math.floor(math.log10(reach)) - 1, 2):
            for factor in (1, 2, 5):
                step, decimals = factor * 10.0**exponent, max(0, -exponent)
                if step / reach * (self.span - 1) >= decimals + 2 + blanks:
                    return step, decimals
        raise AssertionError("a reward line is at most a few units long")


def _sign(problem: Problem, arm: int, signs: _Signs) -> tuple[str, Style]:
    if arm == problem.optimal_arm:
        return signs.optimal, _OPTIMAL
    if arm == problem.best_arm:
        return signs.best, _BEST
    return (signs.feasible, Style()) if problem.feasible[arm] else (signs.infeasible, _DIM)


def _aligned(values: NDArray[np.float64]) -> list[str]:
    # With as many decimals as the value that needs most, unless that would only add zeros to huge numbers.
    texts = [readable(value) for value in values]
    decimals = max(len(text.partition(".")[2]) for text in texts)
    common = [f"{value:,.{decimals}f}" for value in values]
    return texts if any("e" in text for text in texts) or max(map(len, common)) > 8 else common


def shortened(name: str, longest: int, cut: str) -> str:
    """Return a name that is at most so long, with a sign where something was cut out."""
    # From the middle: versions and settings, which tell names apart, stand at the end.
    if cell_len(name) <= longest:
        return name
    half = (longest - 1) // 2
    return name[: longest - 1 - half] + cut + name[-half:]


def plain_table(*heads: str) -> Table:
    """Return an empty table in the style of all of them."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for head in heads:
        table.add_column(head)
    return table


def _band(summary: Summary, separator: str, style: Style | None = None) -> Text:
    text = Text(readable(summary.mean), style or "")
    return text.append(f"{separator}[{readable(summary.low)}, {readable(summary.high)}]", _DIM)


def _runs(runs: int) -> str:
    return f"{runs:,} run{'s' if runs != 1 else ''}"
