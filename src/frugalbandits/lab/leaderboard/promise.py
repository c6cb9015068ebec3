"""The promise on the leaderboard: policies that hold the bar come first, ranked by what they spend."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from frugalbandits.lab.documents.parts import Cell, Table
from frugalbandits.lab.figures.promise import PromisePanel, PromisePoint, plot_promise_panels
from frugalbandits.lab.leaderboard.board import Leaderboard, Row, Standing, standings
from frugalbandits.lab.promise import ENOUGH, NEARLY_ALL, promise_rank
from frugalbandits.lab.terminal.promise import held_share, spend_ratio
from frugalbandits.lab.text import counted, readable

__all__ = ["PROMISE_RULE", "by_promise", "plot_board", "promise_summary"]

#: What the columns of the table mean.
PROMISE_RULE = (
    f"The promise: policies that hold the bar in {NEARLY_ALL:.0%} of all runs come first, by spend; "
    "then the others by held. "
    f"A run holds the bar if its mean true quality at the horizon is at least {ENOUGH:g} of it. "
    "1% of runs below: the share of the bar that all runs but 1% deliver. "
    f"Late good: share of the pulls in the last fifth whose arm has at least {ENOUGH:g} of the bar. "
    "Spend over a*'s: cost over that of pulling a* alone, the geometric mean over the rows. "
    "Promise regret: cost regret over the range of the costs, plus quality regret over the quality that may "
    "be given up; the mean over the rows."
)


def by_promise(own: Sequence[Standing]) -> list[Standing]:
    """Sort the standings of a family: those that hold 95% by spend, then the others by what they hold."""
    return sorted(own, key=lambda standing: promise_rank(standing.held, standing.spend_over_oracle))


def promise_summary(own: Sequence[Standing], rows: Sequence[Row]) -> Table:
    """Return the table of the promise of a family."""
    ranked = by_promise(own)
    lines = []
    for each in ranked:
        holds = not promise_rank(each.held, each.spend_over_oracle)[0]
        best = holds and each is ranked[0] and len(own) > 1
        lines.append(
            (
                Cell(each.policy),
                Cell(held_share(each.held), mark="strong" if holds else ""),
                Cell(spend_ratio(each.delivered_low)),
                Cell(held_share(each.late_good)),
                Cell(spend_ratio(each.spend_over_oracle), mark="strong" if best else ""),
                Cell(readable(each.promise_regret)),
            )
        )
    heads = ("policy", "held", "1% of runs below", "late good", "spend over a*'s", "promise regret")
    return Table(f"The promise, over {counted(len(rows), 'row')}", heads, "lrrrrr", tuple(lines))


def plot_board(board: Leaderboard) -> Figure:
    """Draw held against spend, a panel for each family."""
    panels = []
    for name in board.families:
        own = standings(row for row in board.rows if row.family == name)
        points = [PromisePoint(each.policy, each.held, each.spend_over_oracle) for each in own]
        panels.append(PromisePanel(f"{name}, {counted(own[0].rows, 'row')}", points))
    return plot_promise_panels(panels)
