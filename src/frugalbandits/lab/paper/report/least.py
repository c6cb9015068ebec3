"""The table of a report that measures policies by the least regret that the lower bounds allow."""

from __future__ import annotations

import math
from collections.abc import Sequence

from frugalbandits.lab.bounds import least_regret
from frugalbandits.lab.documents.parts import Cell, Mark, Table
from frugalbandits.lab.paper.claims.checked import factors
from frugalbandits.lab.paper.claims.evidence import Evidence
from frugalbandits.lab.paper.experiments import INSTANCES, PAPER_POLICIES
from frugalbandits.lab.sweeps.cells import Outcome
from frugalbandits.lab.text import DASH, readable, shown, title

__all__ = ["least_tables"]


def least_tables(outcomes: Sequence[Outcome]) -> list[Table]:
    """Return, for each instance, mean summed regret divided by the least possible, by alpha and policy."""
    evidence = Evidence(outcomes)
    tables = []
    for name in INSTANCES:
        rows = []
        for row in factors(outcomes):
            if row.instance != name:
                continue
            result = evidence.result((name, row.alpha), next(iter(row.regrets)))
            least = least_regret(result.problem, result.horizon).value
            ratios = {
                policy: regret / least if least > 0 else math.inf for policy, regret in row.regrets.items()
            }
            cells = [Cell(f"{row.alpha:g}"), Cell(readable(least) if least > 0 else "0")]
            for policy in PAPER_POLICIES:
                ratio = ratios.get(policy)
                if ratio is None or math.isinf(ratio):
                    cells.append(Cell(DASH))
                    continue
                mark: Mark = "weak" if ratio < 1 else "strong" if ratio == min(ratios.values()) else ""
                cells.append(Cell(shown(ratio), mark=mark))
            rows.append(tuple(cells))
        if rows:
            heads = ("alpha", "least possible", *map(title, PAPER_POLICIES))
            caption = f"{title(name)}: mean summed regret at the horizon, divided by the least possible"
            tables.append(Table(caption, heads, "r" * len(heads), tuple(rows)))
    return tables
