"""The end of `frugal reproduce` on the screen: claims with their verdicts, and what was run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from frugalbandits.lab.paper.claims.checked import VERDICTS, Claim
from frugalbandits.lab.paper.claims.evidence import NOT_TESTED
from frugalbandits.lab.paper.report.tables import runtime_table
from frugalbandits.lab.terminal.widths import Column, fitted
from frugalbandits.lab.text import counted, listed, printable

if TYPE_CHECKING:
    from frugalbandits.lab.sweeps.cells import Outcome

__all__ = ["summary_table", "terminal_table", "verdict_counts", "wanting"]

_STYLES = {
    "holds": Style(color="green", bold=True),
    "partly": Style(color="yellow", bold=True),
    "does not hold": Style(color="red", bold=True),
    "not at this scale": Style(color="cyan"),
    "not tested": Style(dim=True),
}
_BOLD = Style(bold=True)
_DIM = Style(dim=True)


def verdict_counts(claims: Sequence[Claim]) -> dict[str, int]:
    """Return how often each verdict was given, in the order of `VERDICTS`."""
    found = Counter(claim.verdict for claim in claims)
    return {verdict: found[verdict] for verdict in VERDICTS}


def wanting(claims: Sequence[Claim]) -> str:
    """Say how many claims need experiments that were not run, and which; nothing if there are none."""
    wanted = Counter(claim.wants for claim in claims if claim.wants)
    if not wanted:
        return ""
    each = [f"{name} ({count})" for name, count in wanted.items()]
    others = "" if wanted.total() == len(claims) else "other "
    needs = "needs" if wanted.total() == 1 else "need"
    return f"{counted(wanted.total(), f'{others}claim')} {needs} results of {listed(each)}."


def terminal_table(claims: Sequence[Claim]) -> Group:
    """Return the claims as a table: the verdict, and beside it the claim with what was measured below.

    Claims that need experiments which were not run are summed up in a line.
    """
    told = [claim for claim in claims if not claim.wants]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("verdict", no_wrap=True)
    table.add_column("claim, and what was measured")
    for claim in sorted(told, key=lambda claim: claim.verdict == NOT_TESTED):
        words = Text(printable(claim.words), _BOLD).append(f"\n{printable(claim.measured)}", _DIM)
        table.add_row(Text(claim.verdict, _STYLES[claim.verdict]), words)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdict_counts(told).items() if count)
    summed = Text(f"{counted(len(told), 'claim')}: {counts}", _BOLD)
    parts: list[RenderableType] = [table, summed] if told else []
    rest = wanting(claims)
    return Group(*parts, *([Text(rest, _DIM)] if rest else []))


def summary_table(outcomes: Sequence[Outcome], width: int) -> RenderableType:
    """Return what each policy's cells took, as a table for the screen."""
    told = runtime_table(outcomes)
    columns = [
        Column(head, "number" if side == "r" else "name")
        for head, side in zip(told.heads, told.align, strict=True)
    ]
    return fitted(columns, [[cell.text for cell in row] for row in told.rows], width)
