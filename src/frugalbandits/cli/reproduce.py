"""The command that runs the paper's experiments again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frugalbandits.cli import completing
from frugalbandits.cli.common import (
    INTERRUPTED,
    KEPT,
    AsJson,
    Cluster,
    app,
    check_cluster,
    check_installed,
    pull_count,
    say,
    whole,
)
from frugalbandits.cli.interrupts import interruptible
from frugalbandits.cli.shapes import document, outcome_shape
from frugalbandits.core.options import check_horizon
from frugalbandits.lab import terminal
from frugalbandits.lab.paper.experiments import cells_of, experiment, experiments
from frugalbandits.lab.sweeps.cells import Settings
from frugalbandits.lab.sweeps.display import display

if TYPE_CHECKING:
    from frugalbandits.lab.paper.reproduce import Made

__all__ = ["reproduce"]

# Longer lines are hard to read.
_WIDEST = 120
_NAMES = "\n\n".join(f"{name}: {experiment(name).title} ({experiment(name).place})" for name in experiments())


@app.command(
    short_help="Run the paper's experiments again.",
    epilog=f"Experiments:\n\n{_NAMES}\n\nExample: frugal reproduce instances --quick --out out/first-look",
)
def reproduce(
    name: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            autocompletion=completing.names_of_experiments,
            help="Experiments, listed below; 'all' (the default) for all.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small horizons and few runs, for a first look.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where results, figures, tables and the report go. Default: out/reproduction, "
            "or out/reproduction-quick with --quick.",
        ),
    ] = None,
    workers: Annotated[int | None, whole(1, "Threads. Default: one per core.")] = None,
    seed: Annotated[int, whole(0, "The same seed gives the same result.")] = 0,
    runs: Annotated[int | None, whole(1, "Independent runs of each cell, in place of the paper's.")] = None,
    horizon: Annotated[
        float | None,
        typer.Option(metavar="T", parser=pull_count, help="Pulls in each run, in place of the paper's."),
    ] = None,
    cluster: Cluster = None,
    as_json: AsJson = False,
) -> None:
    """Run the paper's experiments: figures, tables, and a report with a verdict on each of its claims.

    Results are kept a cell (instance, alpha, policy) at a time. The same command again goes on where it
    was stopped, and only computes what is missing.
    """
    check_installed("matplotlib", "reproduce", "lab")
    check_cluster(cluster)
    # These take time to import, and need matplotlib.
    from frugalbandits.lab.paper import reproduce as reproduction
    from frugalbandits.lab.paper.report.page import summary_table, terminal_table

    names = reproduction.chosen(name or ["all"])
    if horizon is not None:
        largest = max((cell.problem.arms for cell in cells_of(names, Settings())), default=1)
        horizon = check_horizon(horizon, largest)
    settings = Settings(quick, seed, runs, None if horizon is None else int(horizon))
    folder = out or Path("out") / ("reproduction-quick" if quick else "reproduction")
    try:
        with interruptible(f"{KEPT}\n{INTERRUPTED}"), display() as watch:
            made = reproduction.reproduce(names, folder, settings, workers, cluster, watch)
    except KeyboardInterrupt:
        say(KEPT)
        raise
    if as_json:
        typer.echo(document("reproduce", **_shape(made)))
        return
    console = terminal.console()
    width = min(console.width, _WIDEST)
    if made.reproduction.outcomes:
        console.print(summary_table(made.reproduction.outcomes, width))
        console.print()
        console.print(terminal_table(made.reproduction.claims), width=width)
        console.print()
    for what, path in (
        ("figures", folder / reproduction.FIGURES),
        ("tables", folder / reproduction.TABLES),
        ("report", made.report.html),
        ("the same in Markdown", made.report.markdown),
    ):
        console.print(f"{what}: {path}", soft_wrap=True)


def _shape(made: Made) -> dict[str, Any]:
    from frugalbandits.lab.paper.report.tables import run_times

    told = made.reproduction
    pictures = [path for picture in told.pictures for path in (picture.png, picture.vector)]
    return {
        "experiments": told.names,
        "settings": told.settings,
        "run_time": run_times(told.outcomes),
        "cells": [outcome_shape(outcome) for outcome in told.outcomes],
        "claims": told.claims,
        "seconds": told.seconds_total,
        "written": [*pictures, *made.tables, *made.report],
    }
