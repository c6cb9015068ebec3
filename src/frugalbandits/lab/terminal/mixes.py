"""What the command line prints of policies that promise an average, and of others by the same measure."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.style import Style
from rich.text import Text

from frugalbandits.core.contract import EACH
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.result import Result
from frugalbandits.lab.terminal.tables import Cell
from frugalbandits.lab.terminal.widths import Column, fitted
from frugalbandits.lab.text import percent, printable, readable, seconds

__all__ = ["mix_table"]

_BOLD = Style(bold=True)
_DIM = Style(dim=True)
_HEADS = ("cost", "of the mix", "of a*", "quality", "of the bar", "worst run", "mix regret", "seconds")


def mix_table(cells: Sequence[Cell], width: int) -> Group:
    """Return what pulls of each policy cost on average and how good they were, beside the cheapest mix."""
    first = cells[0].result
    problem, mix = first.problem, first.problem.mix
    title = (
        f"{printable(cells[0].instance)}, {printable(problem.quality.short)}, T = {first.horizon:,}, on "
        f"average: the cheapest mix is {_described(problem)}, cost {readable(mix.cost)}, quality "
        f"{readable(mix.quality)}"
    )
    columns = [Column("policy", "name"), Column("promise", "words"), *map(Column, _HEADS)]
    rows = [
        [
            Text(printable(cell.result.policy), _BOLD),
            Text("each pull" if cell.result.promise == EACH else "average"),
            *map(Text, _figures(cell.result)),
            Text(seconds(cell.seconds)),
        ]
        for cell in cells
    ]
    note = (
        "means over the runs, by the true means of the arms; of a*: of the optimal arm's cost; worst run: "
        "the least quality of a run over the bar; mix regret: cost beyond the mix, and quality short of the "
        f"bar at its price there, {readable(mix.price)}, each where it is above 0"
    )
    return Group(Text(title, _BOLD), fitted(columns, rows, width), Text(note, _DIM))


def _described(problem: Problem) -> str:
    mix = problem.mix
    dear = printable(problem.names[mix.dear])
    if mix.alone:
        return f"{dear} alone"
    cheap = printable(problem.names[mix.cheap])
    return f"{percent(1 - mix.share)} {cheap} and {percent(mix.share)} {dear}"


def _figures(result: Result) -> list[str]:
    problem = result.problem
    cost, quality = float(result.cost[:, -1].mean()), float(result.quality[:, -1].mean())
    mix, optimal = problem.mix, float(problem.costs[problem.optimal_arm])

    def over(value: float, what: float) -> str:
        return f"{value / what:.3f}" if what > 0 else "-"

    return [
        readable(cost),
        over(cost, mix.cost),
        over(cost, optimal),
        readable(quality),
        over(quality, mix.bar),
        over(float(result.quality[:, -1].min()), mix.bar),
        readable(float(result.mix_regret[:, -1].mean())),
    ]
