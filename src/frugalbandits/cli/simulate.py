"""The command that runs policies on instances and compares their regret."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

import frugalbandits as fb
from frugalbandits.cli import completing, worlds
from frugalbandits.cli.common import (
    FIGURES,
    INTERRUPTED,
    TABLES,
    AsJson,
    advance,
    alpha_option,
    app,
    chosen_policies,
    file,
    instance_argument,
    policy_option,
    prepare,
    problem_of,
    pull_count,
    quality_option,
    whole,
    worth_option,
)
from frugalbandits.cli.interrupts import interruptible
from frugalbandits.cli.shapes import cell_shape, document
from frugalbandits.core.contract import EACH
from frugalbandits.core.files import written_whole
from frugalbandits.core.options import check_horizon
from frugalbandits.errors import InputError
from frugalbandits.lab import terminal
from frugalbandits.lab.rewards import resolve_rewards
from frugalbandits.lab.worlds import WORLD_POLICIES

if TYPE_CHECKING:
    import polars as pl

__all__ = ["simulate"]


@app.command(epilog="Example: frugal simulate goodreads --policy etc-cs --alpha 0.3 --runs 10")
def simulate(
    instance: Annotated[list[str], instance_argument("Built-in names, or instance files (.txt or .csv).")],
    policy: Annotated[
        list[str] | None,
        policy_option(
            "A policy; repeat for more. 'all' (the default): the paper's five; 'moving': those that are made "
            "for means that change; 'every': all others but mix-cs, which promises an average. "
            "With --quality, those of them that know the bar; 'every' is the default then. With --world, the "
            f"default is {', '.join(WORLD_POLICIES)}. "
            "Settings may follow a name: glr-cof:tolerance=0.02.",
        ),
    ] = None,
    alpha: Annotated[
        list[float] | None, alpha_option("repeat for more. Default: the instance's own.")
    ] = None,
    quality: Annotated[list[str] | None, quality_option("; repeat for more")] = None,
    worth: Annotated[float | None, worth_option()] = None,
    horizon: Annotated[
        float, typer.Option(metavar="T", parser=pull_count, help="Pulls in each run, such as 200000 or 5e6.")
    ] = 100_000,
    runs: Annotated[int, whole(1, "Independent runs of each policy.")] = 50,
    seed: Annotated[int, whole(0, "The same seed gives the same result.")] = 0,
    checkpoints: Annotated[int, whole(1, "Times at which regret is recorded.")] = 500,
    workers: Annotated[int | None, whole(1, "Threads. Default: one per core.")] = None,
    rewards: Annotated[
        str,
        typer.Option(
            metavar="bernoulli|beta",
            autocompletion=completing.rewards,
            help="How rewards spread around their means.",
        ),
    ] = "bernoulli",
    world: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            autocompletion=completing.worlds,
            help="What moves, or is not known; repeat for more. sparse, rare: 10% or 2% of the decisions are "
            "judged; wanted: those that the policy asks for; late: feedback comes 100 decisions late; bills: "
            "costs are learned; drift, drift-10: 3 or 10 options change; drift-worse: the one in use gets "
            "worse, twice; drift-slow: all the time; drift-better: one out of use gets better; outages: a "
            "fifth is down at each call; market: an option comes, a price changes; all: everything at once; "
            "still: nothing.",
        ),
    ] = None,
    out: Annotated[Path | None, file("Write regret over time: .parquet or .csv.")] = None,
    plot: Annotated[
        Path | None, file("Draw regret over time, and traffic in a world: .png, .pdf or .svg.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run policies on instances and compare their regret.

    Cost regret adds what each pull costs more than a*, the cheapest arm that is good enough; quality
    regret adds what each pull's mean lacks to be good enough; summed regret is both together, and scaled
    regret is both together in units of quality. With --world, a* is the best use of each moment. Where a
    policy promises an average, mean cost and quality of all pulls are shown beside the cheapest mix of arms.
    A second table shows how many runs hold the bar, and what they spend.
    """
    if alpha and quality:
        given = f"--alpha {alpha[0]:g} and --quality {quality[0]}"
        raise InputError(f"{given} both say what is good enough: give one")
    model = resolve_rewards(rewards)
    if world:
        problems = _problems(instance, alpha or quality or [None], worth)
        prepare(out, "--out", TABLES)
        prepare(plot, "--plot", FIGURES)
        scale = worlds.Scale(horizon, runs, seed, checkpoints, workers, model)
        moved = worlds.in_worlds(problems, world, policy or [], scale, plot)
        made: dict[Path, str] = {}
        try:
            if out is not None:
                made[out] = f"table of {_write_table(moved, out):,} rows written to {out}"
            if plot is not None:
                worlds.write_figure(moved, plot)
                made[plot] = f"figure written to {plot}"
        finally:
            worlds.tell(moved, rewards, made, as_json)
        return
    jobs = _jobs(instance, policy or [], alpha or quality or [None], worth)
    for job in jobs:
        check_horizon(horizon, job.problem.arms)
        model.draws(job.problem)
    _check_memory(jobs, runs, min(checkpoints, int(horizon)))
    prepare(out, "--out", TABLES)
    prepare(plot, "--plot", FIGURES)

    with interruptible(INTERRUPTED), terminal.progress(len(jobs) * runs) as show:
        for job in {job.policy: job for job in jobs}.values():
            # Compiling is no part of a policy's seconds, and happens once however many cells there are.
            show(f"preparing {job.policy}", 0)
            short = min(horizon, 10 * job.problem.arms)
            fb.simulate(job.problem, job.policy, short, runs=1, checkpoints=1, rewards=model, progress=False)
        cells = []
        for number, job in enumerate(jobs):
            what = f"{job.instance}, {job.problem.quality.short}, {job.policy}"
            show(what, number * runs)
            start = time.perf_counter()
            result = fb.simulate(
                job.problem,
                job.policy,
                horizon,
                runs=runs,
                seed=seed,
                checkpoints=checkpoints,
                workers=workers,
                rewards=model,
                progress=partial(advance, show, what, number * runs),
            )
            cells.append(terminal.Cell(job.instance, result, time.perf_counter() - start))

    written: dict[Path, str] = {}
    try:
        # Before anything is printed: a reader of a pipe that goes away takes no file with it.
        if out is not None:
            written[out] = f"table of {_write_table(cells, out):,} rows written to {out}"
        if plot is not None:
            _write_figure(cells, plot)
            written[plot] = f"figure written to {plot}"
    finally:
        if as_json:
            told = [cell_shape(cell) for cell in cells]
            typer.echo(document("simulate", rewards=rewards, results=told, written=list(written)))
        else:
            _print(cells, written.values())


def _print(cells: Sequence[terminal.Cell], written: Iterable[str]) -> None:
    console = terminal.console()
    for group in _by_problem(cells):
        each = [cell for cell in group if cell.result.promise == EACH]
        if each:
            console.print(terminal.regret_table(each, console.width))
            console.print()
        if len(each) < len(group):
            # Regret against the optimal arm is no measure of an average, but the average is one of all.
            console.print(terminal.mix_table(group, console.width))
            console.print()
        console.print(terminal.promise_table(group, console.width))
        console.print()
    for line in written:
        console.print(line, soft_wrap=True)


class _Job(NamedTuple):
    instance: str
    problem: fb.Problem
    policy: str


def _jobs(
    instances: Sequence[str],
    policies: Sequence[str],
    bars: Sequence[float | str | None],
    worth: float | None,
) -> list[_Job]:
    problems = _problems(instances, bars, worth)
    paper = all(isinstance(problem.quality, fb.RelativeToBest) for _, problem in problems)
    names = chosen_policies(policies or ["all" if paper else "every"], any_bar=not paper)
    return [_Job(given, problem, name) for given, problem in problems for name in names]


def _problems(
    instances: Sequence[str], bars: Sequence[float | str | None], worth: float | None
) -> list[tuple[str, fb.Problem]]:
    return [
        (given, problem)
        for given in dict.fromkeys(instances)
        for problem in dict.fromkeys(_problem(given, bar, worth) for bar in bars)
    ]


def _problem(given: str, bar: float | str | None, worth: float | None) -> fb.Problem:
    alpha, quality = (None, bar) if isinstance(bar, str) else (bar, None)
    return problem_of(given, alpha, quality, worth)


def _check_memory(jobs: Sequence[_Job], runs: int, checkpoints: int) -> None:
    """Refuse what cannot fit: a slip in --runs would otherwise take the whole machine down."""
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no such call
        return
    # Pulls are 8 bytes per arm and checkpoint; a run's random streams take a few thousand.
    needed = runs * sum(8 * checkpoints * job.problem.arms + 4096 for job in jobs)
    if needed > there:
        raise InputError(
            f"this would take about {needed / 1e9:,.0f} GB of memory, but the machine has "
            f"{there / 1e9:,.0f}: lower --runs or --checkpoints"
        )


def _by_problem(cells: Sequence[terminal.Cell]) -> list[list[terminal.Cell]]:
    grouped = groupby(cells, key=lambda cell: (cell.instance, cell.result.problem.quality))
    return [list(group) for _, group in grouped]


def _write_table(cells: Sequence[terminal.Cell] | Sequence[terminal.WorldCell], path: Path) -> int:
    import polars as pl

    table = pl.concat(cell.result.to_polars().select(*_places(cell), pl.all()) for cell in cells)
    with written_whole(path) as temporary:
        try:
            if path.suffix.lower() == ".csv":
                table.write_csv(temporary)
            else:
                table.write_parquet(temporary)
        except pl.exceptions.PolarsError as error:
            raise InputError(f"cannot write {str(path)!r}: {error}") from error
    return table.height


def _places(cell: terminal.Cell | terminal.WorldCell) -> list[pl.Expr]:
    """Return what says where a row of a table is from."""
    import polars as pl

    instance = pl.lit(cell.instance).alias("instance")
    if isinstance(cell, terminal.Cell):
        return [instance]
    bar = pl.lit(str(cell.result.problem.quality)).alias("quality")
    return [instance, bar, pl.lit(cell.world).alias("world")]


def _write_figure(cells: Sequence[terminal.Cell], path: Path) -> None:
    from frugalbandits.lab import figures

    groups = _by_problem(cells)
    panels = [figures.Panel(group[0].instance, [cell.result for cell in group]) for group in groups]
    figures.save(figures.plot_regret(panels), path)
