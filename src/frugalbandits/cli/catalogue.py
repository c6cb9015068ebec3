"""The commands that show what there is: policies and instances."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

import frugalbandits as fb
from frugalbandits.cli.common import FIGURES, alpha_option, app, file, prepare, problem_of, quality_option
from frugalbandits.core.registry import resolve
from frugalbandits.errors import InputError
from frugalbandits.lab import terminal
from frugalbandits.lab.instances.catalogue import describe

__all__ = ["instances", "policies"]


@app.command(epilog="Example: frugal policies")
def policies() -> None:
    """List the policies that can be simulated, with their settings."""
    console = terminal.console()
    rows = [(name, resolve(name)) for name in fb.policies()]
    console.print(terminal.policy_table(rows, console.width))


@app.command(epilog="Example: frugal instances goodreads --alpha 0.3")
def instances(
    instance: Annotated[
        str | None,
        typer.Argument(metavar="NAME|FILE", help="A built-in name, or an instance file (.txt or .csv)."),
    ] = None,
    alpha: Annotated[float | None, alpha_option("default: the instance's own.")] = None,
    quality: Annotated[str | None, quality_option("")] = None,
    plot: Annotated[Path | None, file("Draw it as a figure too: .png, .pdf or .svg.")] = None,
) -> None:
    """List the built-in instances, or draw one of them.

    An arm is feasible when its mean is at least (1 - alpha) times the highest mean, or what --quality says.
    a* is the cheapest feasible arm, i* the one with the highest mean.
    """
    console = terminal.console()
    if instance is None:
        if plot is not None:
            raise InputError(f"--plot draws one instance, but none is named for {str(plot)!r}")
        rows = [(name, fb.instance(name, alpha, quality=quality), describe(name)) for name in fb.instances()]
        console.print(terminal.instance_table(rows, console.width))
        return
    problem = problem_of(instance, alpha, quality)
    source = describe(instance) if instance in fb.instances() else ""
    prepare(plot, "--plot", FIGURES)
    width = console.width if console.is_terminal or "COLUMNS" in os.environ else 80
    drawing = terminal.picture(problem, instance, source, width, console.options.ascii_only)
    if plot is not None:
        from frugalbandits.lab import figures

        figures.save(figures.plot_instance(problem, instance), plot)
        drawing.append(f"\n\nfigure written to {plot}")
    console.print(drawing, soft_wrap=True)
