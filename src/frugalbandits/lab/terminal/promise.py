"""A table of the promise: how often each policy holds the bar, and what that costs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Group
from rich.style import Style
from rich.text import Text

from frugalbandits.lab.promise import ENOUGH, promise_rank, shown_checkpoints
from frugalbandits.lab.result import Result
from frugalbandits.lab.terminal.tables import Cell
from frugalbandits.lab.terminal.widths import Column, fitted, side_by_side
from frugalbandits.lab.text import DASH, percent, printable, readable

__all__ = [
    "held_share",
    "least_spender",
    "promise_columns",
    "promise_note",
    "promise_table",
    "promise_title",
    "spend_ratio",
]

_BOLD = Style(bold=True)
_DIM = Style(dim=True)
_BEST = Style(color="green", bold=True)
_SPEND = "spend over a*'s"


def promise_columns(result: Result) -> list[tuple[str, str]]:
    """Return how a policy kept the promise, as heads and values of a table."""
    shown = shown_checkpoints(result.times)
    return [
        *((f"held at {result.times[at]:,}", held_share(float(result.held[at]))) for at in shown),
        ("1% of runs below", spend_ratio(float(result.delivered_low[-1]))),
        ("late good", held_share(result.late_good)),
        (_SPEND, spend_ratio(float(result.spend_over_oracle[:, -1].mean()))),
        ("promise regret", readable(float(result.promise_regret[:, -1].mean()))),
    ]


def promise_note(result: Result) -> str:
    """Say in two sentences what the columns of `promise_columns` mean."""
    problem = result.problem
    return (
        f"held: share of the runs whose mean true quality so far is at least {ENOUGH:g} of the bar; then, at "
        "the horizon: the share of the bar that all runs but 1% deliver (of fewer than 100 runs, the worst "
        f"one), the share of the pulls after t = {result.late_from:,} whose arm is that good, and the cost "
        "over that of pulling a* alone. "
        f"Promise regret is cost regret over {readable(problem.cost_range)} (the range of the costs) plus "
        f"quality regret over {readable(problem.allowance)} (the quality that may be given up)"
    )


def promise_title(result: Result) -> str:
    """Return what the promise is."""
    problem = result.problem
    return f"the promise: mean quality of at least {ENOUGH:g} of the bar, {readable(problem.threshold)}"


def promise_table(cells: Sequence[Cell], width: int) -> Group:
    """Return how policies kept the promise on one problem: a title, a table and a note."""
    results = [cell.result for cell in cells]
    best = least_spender(results)
    rows = []
    for result in results:
        marked = _BEST if result is best and len(results) > 1 else Style()
        values = [Text(value, marked if head == _SPEND else "") for head, value in promise_columns(result)]
        rows.append([Text(printable(result.policy), _BOLD), *values])
    columns = [Column("policy", "name"), *(Column(head) for head, _ in promise_columns(results[0]))]
    table = side_by_side(columns, rows, width) or fitted(columns, rows, width, tight=True)
    return Group(Text(promise_title(results[0]), _BOLD), table, Text(promise_note(results[0]), _DIM))


def least_spender(results: Sequence[Result]) -> Result | None:
    """Return the result with the least spend of those that hold the bar in 95% of the runs, if any does."""

    def rank(result: Result) -> tuple[bool, float]:
        return promise_rank(float(result.held[-1]), float(result.spend_over_oracle[:, -1].mean()))

    first = min(results, key=rank)
    return None if rank(first)[0] else first


def held_share(share: float) -> str:
    """Write a share of runs or pulls in percent with one decimal: here 99% and 99.6% are not the same.

    Examples
    --------
    >>> held_share(1.0), held_share(0.9996), held_share(0.95), held_share(0.0)
    ('100%', '99.9%', '95%', '0%')
    """
    return percent(share, digits=1)


def spend_ratio(value: float) -> str:
    """Write a ratio with four significant digits; a dash where there is none.

    Examples
    --------
    >>> spend_ratio(0.98765), spend_ratio(float("inf")), spend_ratio(float("nan")) == DASH
    ('0.9877', '∞', True)
    """
    if math.isnan(value):
        return DASH
    return "∞" if math.isinf(value) else readable(value)
