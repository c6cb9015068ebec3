"""What `frugal simulate --world` does: policies in worlds that move."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import typer

import frugalbandits as fb
from frugalbandits.cli.common import INTERRUPTED, advance, chosen_policies
from frugalbandits.cli.interrupts import interruptible
from frugalbandits.cli.shapes import document, world_shape
from frugalbandits.core.options import check_horizon
from frugalbandits.core.registry import resolve
from frugalbandits.errors import InputError
from frugalbandits.lab import terminal
from frugalbandits.lab.rewards import RewardModel
from frugalbandits.lab.watching import Progress
from frugalbandits.lab.worlds import WORLD_POLICIES

__all__ = ["Scale", "in_worlds", "tell", "write_figure"]


class Scale(NamedTuple):
    """How much is run."""

    horizon: float
    runs: int
    seed: int
    checkpoints: int
    workers: int | None
    rewards: RewardModel


class _Job(NamedTuple):
    instance: str
    world: str
    made: fb.World
    policy: str


def in_worlds(
    problems: Sequence[tuple[str, fb.Problem]],
    worlds: Sequence[str],
    policies: Sequence[str],
    scale: Scale,
    plot: Path | None,
) -> list[terminal.WorldCell]:
    """Run policies on all problems in all worlds."""
    paper = all(isinstance(problem.quality, fb.RelativeToBest) for _, problem in problems)
    given = policies or [name for name in WORLD_POLICIES if paper or resolve(name).any_bar]
    names = chosen_policies(given, any_bar=not paper)
    jobs = [
        _Job(given, world, fb.named_world(world, problem, scale.seed), name)
        for given, problem in problems
        for world in dict.fromkeys(worlds)
        for name in names
    ]
    if plot is not None and len({(job.instance, job.made) for job in jobs}) > 1:
        raise InputError("--plot draws one world of one instance: give one of each, and one bar")
    for job in jobs:
        check_horizon(scale.horizon, job.made.problem.arms)
    cells = []
    with interruptible(INTERRUPTED), terminal.progress(len(jobs) * scale.runs) as show:
        for job in {job.policy: job for job in jobs}.values():
            show(f"preparing {job.policy}", 0)
            _simulate(job, scale._replace(horizon=min(scale.horizon, 10 * job.made.problem.arms), runs=1))
        for number, job in enumerate(jobs):
            what = f"{job.instance}, {job.world}, {job.policy}"
            show(what, number * scale.runs)
            start = time.perf_counter()
            result = _simulate(job, scale, partial(advance, show, what, number * scale.runs))
            cells.append(terminal.WorldCell(job.instance, job.world, result, time.perf_counter() - start))
    return cells


def _simulate(job: _Job, scale: Scale, progress: Progress = False) -> fb.WorldResult:
    return fb.simulate(
        job.made,
        job.policy,
        scale.horizon,
        runs=scale.runs,
        seed=scale.seed,
        checkpoints=scale.checkpoints,
        workers=scale.workers,
        rewards=scale.rewards,
        progress=progress,
    )


def tell(cells: Sequence[terminal.WorldCell], rewards: str, written: dict[Path, str], as_json: bool) -> None:
    """Print what came out."""
    if as_json:
        told = [world_shape(cell) for cell in cells]
        typer.echo(document("simulate", rewards=rewards, results=told, written=list(written)))
        return
    console = terminal.console()
    for _, group in groupby(cells, key=lambda cell: (cell.instance, cell.result.world)):
        console.print(terminal.world_table(list(group), console.width))
        console.print()
    for line in written.values():
        console.print(line, soft_wrap=True)


def write_figure(cells: Sequence[terminal.WorldCell], path: Path) -> None:
    """Draw the cells, which are of one world."""
    from frugalbandits.lab import figures

    results = [cell.result for cell in cells]
    figures.save(figures.plot_world(cells[0].instance, results), path)
