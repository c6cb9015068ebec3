"""Section 5: how the cost of a run grows with the horizon and with the number of arms."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import frugalbandits as fb
from effort import POLICIES, Effort
from report import count, milliseconds, ratio, table
from simulation import seconds_per_run

__all__ = ["section"]

# A policy whose run took longer than this is not measured in the rows that follow.
PATIENCE = 20.0
# A call has as many runs as fit into this time.
CALL_SECONDS = 0.1

TEXT = """\
## Growth

Milliseconds of a run, in brackets as a multiple of the first row, and plans of a run: medians of several
runs. A star marks a cell with a single run, because one takes long; a dash is a cell that was left out.
"""


class Row(NamedTuple):
    """One row of a table: a size, and what is simulated there."""

    size: int
    problems: Sequence[fb.Problem]
    horizon: int


class Cell(NamedTuple):
    """One policy in one row."""

    seconds: float
    plans: float
    runs: int


def section(effort: Effort) -> str:
    parts = [TEXT]
    for alpha in (0.3, 0.05):
        problem = fb.instance("goodreads", alpha=alpha)
        body = _table("T", [Row(horizon, [problem], horizon) for horizon in effort.horizons], effort)
        parts.append(f"Horizon: Goodreads (K = {problem.arms}), alpha {alpha}\n\n{body}\n")
    body = _table("K", [Row(arms, _random(arms, effort.rounds), 10**6) for arms in effort.arms], effort)
    parts.append(f"Arms: up to {effort.rounds} random problems a cell, alpha 0.2, T = 1,000,000\n\n{body}\n")
    return "\n".join(parts)


def _random(arms: int, number: int) -> list[fb.Problem]:
    return [fb.random_problem(arms, alpha=0.2, seed=seed) for seed in range(number)]


def _table(what: str, rows: Sequence[Row], effort: Effort) -> str:
    first: dict[str, float] = {}
    too_slow: set[str] = set()
    lines = []
    for row in rows:
        line = [f"{row.size:,}"]
        for policy in POLICIES:
            if policy in too_slow:
                line += ["-", "-"]
                continue
            cell = _measure(row, policy, effort)
            if cell.seconds > PATIENCE:
                too_slow.add(policy)
            growth = ratio(cell.seconds / first.setdefault(policy, cell.seconds))
            star = "*" if cell.runs == 1 else ""
            line += [f"{milliseconds(cell.seconds)}{star} ({growth})", count(cell.plans)]
        lines.append(line)
    headers = [what]
    for policy in POLICIES:
        headers += [f"{policy} ms", "plans"]
    return table(headers, lines)


def _measure(row: Row, policy: str, effort: Effort) -> Cell:
    """Time up to `rounds` calls, until the cell's time is up; at least one run."""
    began = time.perf_counter()
    trial = seconds_per_run(row.problems[0], policy, row.horizon, runs=1, seed=0)
    runs = max(1, min(effort.runs, int(CALL_SECONDS / trial[0])))
    # A call with a single run bears the whole cost of the call: it counts only if the others do as well.
    samples = [trial] if runs == 1 else []
    while len(samples) < effort.rounds and time.perf_counter() - began < effort.cell_seconds:
        i = len(samples)
        samples.append(
            seconds_per_run(row.problems[i % len(row.problems)], policy, row.horizon, runs, seed=i)
        )
    samples = samples or [trial]
    return Cell(
        median(seconds for seconds, _ in samples),
        median(plans for _, plans in samples),
        len(samples) * runs,
    )
