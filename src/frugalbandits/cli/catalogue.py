"""The commands that show what there is: policies and instances."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import frugalbandits as fb
from frugalbandits.cli.common import (
    FIGURES,
    AsJson,
    alpha_option,
    app,
    file,
    instance_argument,
    prepare,
    problem_of,
    quality_option,
)
from frugalbandits.cli.shapes import document, instance_shape, listed_instance_shape, policy_shape
from frugalbandits.core.registry import resolve
from frugalbandits.errors import InputError
from frugalbandits.lab import terminal
from frugalbandits.lab.instances.catalogue import describe

__all__ = ["instances", "policies"]


@app.command(epilog="Example: frugal policies")
def policies(as_json: AsJson = False) -> None:
    """List the policies that can be simulated, with their settings."""
    known = [(name, resolve(name)) for name in fb.policies()]
    if as_json:
        typer.echo(document("policies", policies=[policy_shape(*each) for each in known]))
        return
    console = terminal.console()
    console.print(terminal.policy_table(known, console.width))


@app.command(epilog="Example: frugal instances goodreads --alpha 0.3")
def instances(
    instance: Annotated[
        str | None, instance_argument("A built-in name, or an instance file (.txt or .csv).")
    ] = None,
    alpha: Annotated[float | None, alpha_option("default: the instance's own.")] = None,
    quality: Annotated[str | None, quality_option("")] = None,
    plot: Annotated[Path | None, file("Draw it as a figure too: .png, .pdf or .svg.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the built-in instances, or draw one of them.

    An arm is feasible when its mean is at least (1 - alpha) times the highest mean, or what --quality says.
    a* is the cheapest feasible arm, i* the one with the highest mean.
    """
    console = terminal.console()
    if instance is None:
        if plot is not None:
            raise InputError(f"--plot draws one instance, but none is named for {str(plot)!r}")
        rows = [(name, problem_of(name, alpha, quality), describe(name)) for name in fb.instances()]
        if as_json:
            typer.echo(document("instances", instances=[listed_instance_shape(*row) for row in rows]))
        else:
            console.print(terminal.instance_table(rows, console.width))
        return
    problem = problem_of(instance, alpha, quality)
    source = describe(instance) if instance in fb.instances() else ""
    prepare(plot, "--plot", FIGURES)
    if plot is not None:
        from frugalbandits.lab import figures

        figures.save(figures.plot_instance(problem, instance), plot)
    if as_json:
        written = [] if plot is None else [plot]
        told = instance_shape(instance, problem, source)
        typer.echo(document("instances", instance=told, written=written))
        return
    width = terminal.picture_width(console)
    console.print(terminal.instance_view(problem, instance, source, width, console.options.ascii_only))
    if plot is not None:
        console.print(f"\nfigure written to {plot}", soft_wrap=True)
