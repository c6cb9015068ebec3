"""The command that prints the theory as numbers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import frugalbandits as fb
from frugalbandits.cli.common import (
    FIGURES,
    INTERRUPTED,
    AsJson,
    advance,
    alpha_option,
    app,
    file,
    instance_argument,
    number,
    policy_option,
    prepare,
    problem_of,
    pull_count,
    quality_option,
    whole,
)
from frugalbandits.cli.interrupts import interruptible
from frugalbandits.cli.shapes import bounds_shape, document
from frugalbandits.core.registry import resolve
from frugalbandits.errors import InputError
from frugalbandits.lab import terminal
from frugalbandits.lab.terminal.bounds import bounds_report

__all__ = ["bounds"]


@app.command(epilog="Example: frugal bounds goodreads --alpha 0.05 --horizon 5e6")
def bounds(
    instance: Annotated[str, instance_argument("A built-in name, or an instance file (.txt or .csv).")],
    alpha: Annotated[float | None, alpha_option("default: the instance's own.")] = None,
    quality: Annotated[str | None, quality_option("")] = None,
    horizon: Annotated[
        float, typer.Option(metavar="T", parser=pull_count, help="Pulls, such as 200000 or 5e6.")
    ] = 5_000_000,
    sigma: Annotated[
        float, typer.Option(parser=number, metavar="S", help="Standard deviation of Gaussian rewards.")
    ] = 1.0,
    delta: Annotated[
        float | None,
        typer.Option(parser=number, metavar="D", help="COF's error tolerance in its bound. Default: T^-2."),
    ] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Add what policies do, and how it compares.")
    ] = False,
    policy: Annotated[
        list[str] | None, policy_option("A policy to simulate; repeat for more. Default: cof.")
    ] = None,
    runs: Annotated[int, whole(1, "Independent runs of each policy.")] = 50,
    seed: Annotated[int, whole(0, "The same seed gives the same result.")] = 0,
    workers: Annotated[int | None, whole(1, "Threads. Default: one per core.")] = None,
    plot: Annotated[Path | None, file("Draw pulls and bounds: .png, .pdf or .svg.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print the paper's bounds on pulls and regret as numbers.

    Lower bounds hold for every consistent policy in the limit of large T; the least regret is what all of
    them together allow. COF's upper bound holds for rewards in [0, 1] and a bar relative to the best arm.
    """
    if policy and not simulate:
        raise InputError(f"--policy names what to simulate, but --simulate is not given: {policy[0]!r}")
    problem = problem_of(instance, alpha, quality)
    chosen = list(dict.fromkeys(policy or ["cof"])) if simulate else []
    for name in chosen:
        resolve(name)
    shown = fb.bounds.overview(problem, horizon, sigma, delta)
    prepare(plot, "--plot", FIGURES)
    results = []
    with interruptible(INTERRUPTED), terminal.progress(len(chosen) * runs) as show:
        for place, name in enumerate(chosen):
            show(name, place * runs)
            results.append(
                fb.simulate(
                    problem,
                    name,
                    horizon,
                    runs=runs,
                    seed=seed,
                    checkpoints=1,
                    workers=workers,
                    progress=partial(advance, show, name, place * runs),
                )
            )
    if plot is not None:
        from frugalbandits.lab import figures

        figures.save(figures.plot_bounds(shown, instance, results), plot)
    if as_json:
        written = [] if plot is None else [plot]
        typer.echo(document("bounds", **bounds_shape(instance, shown, results), written=written))
        return
    console = terminal.console()
    console.print(bounds_report(shown, instance, results, console.width, console.options.ascii_only))
    if plot is not None:
        console.print(f"\nfigure written to {plot}", soft_wrap=True)
