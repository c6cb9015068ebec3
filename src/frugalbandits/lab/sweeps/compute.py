"""One cell, computed: here, or by whoever was sent it."""

from __future__ import annotations

import time
from collections.abc import Callable

from frugalbandits.lab.simulation import simulate
from frugalbandits.lab.sweeps.cells import Cell, Outcome

__all__ = ["compute", "prepare"]


def prepare(cell: Cell) -> None:
    """Compile the cell's policy, or load it from disk, so that this is no part of a cell's seconds."""
    short = min(cell.horizon, 10 * cell.problem.arms)
    simulate(cell.problem, cell.policy, short, runs=1, checkpoints=1, progress=False)


def compute(
    cell: Cell, workers: int | None = None, progress: Callable[[int, int], None] | None = None
) -> Outcome:
    """Run a cell on some threads, all cores by default; `progress` is told runs done and runs."""
    start = time.perf_counter()
    result = simulate(
        cell.problem,
        cell.policy,
        cell.horizon,
        runs=cell.runs,
        seed=cell.seed,
        checkpoints=cell.checkpoints,
        workers=workers,
        progress=progress,
    )
    return Outcome(cell, result, time.perf_counter() - start)
