"""How policies did in a world, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Group
from rich.style import Style
from rich.text import Text

from frugalbandits.lab.result import Summary
from frugalbandits.lab.terminal.widths import Column, fitted, side_by_side
from frugalbandits.lab.text import DASH, counted, percent, printable, readable, seconds
from frugalbandits.lab.worlds import WorldResult

__all__ = ["WorldCell", "world_table"]

_BOLD = Style(bold=True)
_DIM = Style(dim=True)
_BEST = Style(color="green", bold=True)
_HEADS = (
    "scaled regret",
    "summed regret",
    "cost regret",
    "quality regret",
    "judged",
    "spend",
    "saving",
    "alarms",
    "seconds",
)


class WorldCell(NamedTuple):
    """One policy on one instance in one world, and the seconds it took."""

    instance: str
    world: str
    result: WorldResult
    seconds: float


def world_table(cells: Sequence[WorldCell], width: int) -> Group:
    """Return how the policies did in one world: a title, a table, and notes.

    As in `regret_table`, numbers are never cut: percentiles go below their mean where there is little room.
    """
    first = cells[0].result
    title = (
        f"{printable(cells[0].instance)}, {printable(first.problem.quality.short)}, "
        f"world {cells[0].world}: {first.world.about}; T = {first.horizon:,}, {counted(first.runs)}"
    )
    columns = [Column("policy", "name"), *map(Column, _HEADS)]
    forms = [_rows(cells, *breaks) for breaks in ((" ", " "), ("\n", " "), ("\n", "\n"))]
    tables = (side_by_side(columns, rows, width) for rows in forms)
    table = next((table for table in tables if table is not None), None) or fitted(columns, forms[0], width)
    return Group(Text(title, _BOLD), table, *(Text(note, _DIM) for note in _notes(cells)))


def _rows(cells: Sequence[WorldCell], before: str, within: str) -> list[list[Text]]:
    lowest = min(cell.result.summary().mean for cell in cells)
    rows = []
    for cell in cells:
        result = cell.result
        best = result.summary().mean == lowest and len(cells) > 1
        rows.append(
            [
                Text(printable(result.policy), _BOLD),
                _band(result.summary(), before, within, _BEST if best else _BOLD),
                *(Text(readable(result.summary(kind).mean)) for kind in ("summed", "cost", "quality")),
                Text(percent(result.judged_share)),
                Text(readable(float(result.spend[:, -1].mean()))),
                Text(f"{100 * result.saving:.1f}%"),
                Text(_alarms(result)),
                Text(seconds(cell.seconds)),
            ]
        )
    return rows


def _alarms(result: WorldResult) -> str:
    if not len(result.alarms):
        return DASH
    right = float(result.alarms["right"].sum()) / result.runs
    return f"{right:.2g} + {result.false_alarms:.2g}"


def _notes(cells: Sequence[WorldCell]) -> list[str]:
    notes = [
        "mean [20th, 80th percentile] over runs, against the best use of each moment; scaled: cost regret "
        f"over {readable(cells[0].result.world.worth)}, what a unit of quality is worth; saving: "
        "of the spend on always the best option; alarms: right + false, a run, with a dash where there were "
        "none"
    ]
    said: dict[str, list[str]] = {}
    for cell in cells:
        for note in cell.result.notes:
            said.setdefault(note, []).append(printable(cell.result.policy))
    return [*notes, *(f"{note}: {', '.join(policies)}" for note, policies in said.items())]


def _band(summary: Summary, before: str, within: str, style: Style) -> Text:
    text = Text(readable(summary.mean), style)
    return text.append(f"{before}[{readable(summary.low)},{within}{readable(summary.high)}]", _DIM)
