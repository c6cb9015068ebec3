"""An instance as a picture made of text, or as a table where there is no room for one."""

from __future__ import annotations

import math
import os
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group
from rich.style import Style
from rich.text import Text

from frugalbandits.lab.problem import Problem
from frugalbandits.lab.terminal.widths import Column, fitted, folded
from frugalbandits.lab.text import printable, readable, role

__all__ = ["instance_view", "picture", "picture_width"]

_BOLD = Style(bold=True)
_DIM = Style(dim=True)
_OPTIMAL = Style(color="green", bold=True)
_BEST = Style(color="blue", bold=True)
_WIDEST_PICTURE = 110
_SHORTEST_LINE = 20
_SHORTEST_NAME = 12


class _Signs(NamedTuple):
    """The signs of a picture."""

    optimal: str
    best: str
    feasible: str
    infeasible: str
    threshold: str
    line: str
    tick: str


_UNICODE = _Signs("★", "◆", "●", "○", "┊", "─", "┴")
_ASCII = _Signs("*", "#", "o", ".", "|", "-", "+")


def picture_width(console: Console) -> int:
    """Return the columns that a picture may take; a pipe has no end, but a picture is for people."""
    return console.width if console.is_terminal or "COLUMNS" in os.environ else 80


def instance_view(
    problem: Problem, title: str, source: str = "", width: int = 80, ascii_only: bool = False
) -> Text | Group:
    """Return an instance as a picture, or as a table where the picture would be wider than `width`.

    The parameters are those of `picture`.
    """
    drawn = picture(problem, title, source, width, ascii_only)
    # The first lines, title and source, are sentences, which wrap.
    if max(cell_len(line) for line in drawn.plain.splitlines()[2:]) <= width:
        return drawn
    rows = [
        (
            Text(printable(problem.names[arm]), _sign(problem, arm, _ASCII)[1]),
            readable(problem.costs[arm]),
            readable(problem.means[arm]),
            "yes" if problem.feasible[arm] else "no",
            role(problem, arm),
        )
        for arm in problem.order.tolist()
    ]
    columns = [Column("arm", "name"), *map(Column, ("cost", "mean", "feasible")), Column("role", "words")]
    parts = [_heading(problem, title, source), fitted(columns, rows, width, tight=True)]
    return Group(*parts, Text(f"\nfeasible: a mean of {_threshold(problem)} or more"))


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
        Columns to fill; it takes some 70, more with long numbers.
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
    longest = max(_SHORTEST_NAME, min(free // 2, free - _SHORTEST_LINE), free - 2 * _SHORTEST_LINE)
    names = [folded(printable(name), longest) for name in problem.names]
    widths.insert(0, max(map(cell_len, ["arm", *(piece for name in names for piece in name)])))
    left = sum(widths[:3]) + 4
    span = max(_SHORTEST_LINE, free - widths[0])
    axis = _Axis(problem, span)
    bar = axis.column(problem.threshold)

    drawing = _heading(problem, title, source)
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
        first, *more = names[arm]
        drawing.append(f"{set_cell_size(first, widths[0])} ", style)
        drawing.append(f"{costs[arm]:>{widths[1]}} {means[arm]:>{widths[2]}}  ")
        at = axis.column(problem.means[arm])
        for place in range(span):
            if place == at:
                drawing.append(sign, style)
            else:
                drawing.append(signs.threshold if place == bar else " ", _DIM)
        drawing.append(f"  {verdicts[arm]}\n", style)
        for piece in more:
            drawing.append(set_cell_size(piece, left + bar), style)
            drawing.append(f"{signs.threshold}\n", _DIM)
    note = _threshold(problem)
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


def _heading(problem: Problem, title: str, source: str) -> Text:
    heading = Text(f"{printable(title)}: {problem.arms} arms, {printable(problem.quality.short)}\n", _BOLD)
    return heading.append(f"{source}\n", _DIM) if source else heading


def _threshold(problem: Problem) -> str:
    rule = printable(problem.quality.rule) if problem.attainable else "no arm reaches the level; best mean"
    return f"{rule} = {readable(problem.threshold)}"


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
