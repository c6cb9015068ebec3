"""What the commands of the lab share: its kinds of options, and its files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import frugalbandits as fb
from frugalbandits.cli import completing
from frugalbandits.cli.application import (
    INTERRUPTED,
    AsJson,
    NotInstalled,
    Unkept,
    app,
    check_installed,
    file,
    number,
    say,
    whole,
)
from frugalbandits.core.files import check_writable, make_folder
from frugalbandits.core.registry import resolve
from frugalbandits.errors import InputError
from frugalbandits.lab.instances.formats import NoBar
from frugalbandits.lab.paper.experiments import PAPER_POLICIES
from frugalbandits.lab.watching import advance

__all__ = [
    "FIGURES",
    "INTERRUPTED",
    "KEPT",
    "TABLES",
    "AsJson",
    "Cluster",
    "NotInstalled",
    "Unkept",
    "advance",
    "alpha_option",
    "app",
    "check_cluster",
    "check_installed",
    "chosen_policies",
    "file",
    "instance_argument",
    "number",
    "policy_option",
    "prepare",
    "problem_of",
    "pull_count",
    "quality_option",
    "say",
    "whole",
]

KEPT = "frugal: what is done is kept; the same command goes on from here"
TABLES = (".parquet", ".csv")
FIGURES = (".png", ".pdf", ".svg")

Cluster = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="A Dask scheduler whose workers do it, as tcp://host:port."),
]


def pull_count(text: str | float) -> float:
    """Return a number of pulls, such as 200000 or 5e6."""
    value = number(text)
    return int(value) if value.is_integer() else value


def instance_argument(text: str) -> Any:
    """Return an argument for instances by name or file."""
    return typer.Argument(metavar="INSTANCE", autocompletion=completing.instances, help=text)


def policy_option(text: str) -> Any:
    """Return an option for policies by name."""
    return typer.Option(metavar="NAME", autocompletion=completing.policies, help=text)


def alpha_option(text: str) -> Any:
    """Return an option for a subsidy factor."""
    return typer.Option(parser=number, metavar="A", help=f"Share of quality given up; {text}")


def quality_option(text: str) -> Any:
    """Return an option for a quality bar."""
    forms = "relative-to-best:A, relative-to:ARM:A or at-least:LEVEL"
    return typer.Option(metavar="BAR", help=f"What is good enough, in place of --alpha: {forms}{text}.")


def worth_option() -> Any:
    """Return an option for what a unit of quality is worth."""
    return typer.Option(
        parser=number,
        metavar="W",
        help="What a unit of quality is worth, in units of cost. Default: the range of the costs.",
    )


def problem_of(
    name: str,
    alpha: float | None,
    quality: fb.Quality | str | None = None,
    worth: float | None = None,
) -> fb.Problem:
    """Return the instance that is meant: a built-in name or a file; `worth` in place of its own."""
    found = _instance(name, alpha, quality)
    return found if worth is None else found.with_worth(worth)


def _instance(name: str, alpha: float | None, quality: fb.Quality | str | None) -> fb.Problem:
    if alpha is not None and quality is not None:
        given = f"--alpha {alpha:g} and --quality {quality}"
        raise InputError(f"{given} both say what is good enough: give one")
    path = Path(name)
    if name not in fb.instances() and (path.suffix or "/" in name or os.sep in name or path.is_file()):
        try:
            return fb.read_instance(name, alpha, quality=quality)
        except NoBar as error:
            raise InputError(f"{error.lack}; give --alpha or --quality") from error
    return fb.instance(name, alpha, quality=quality)


def check_cluster(address: str | None) -> None:
    """Make sure, before any work, that a cluster can be reached for if one is named."""
    if address is not None:
        check_installed("distributed", "--cluster", "cluster")


def chosen_policies(given: Sequence[str], any_bar: bool = False) -> list[str]:
    """Return the policies that are meant, each once: "all" are the paper's five, "every" all but two kinds.

    These are "moving", made for means that change, and those that promise an average, which go by name.
    With `any_bar` a group is those that know every kind of quality bar; one that is named must be among them.
    """
    groups = {"all": PAPER_POLICIES, "every": fb.policies(False, "each"), "moving": fb.policies(True)}
    if any_bar:
        able = tuple(name for name in fb.policies() if resolve(name).any_bar)
        groups = {key: tuple(name for name in able if name in group) for key, group in groups.items()}
        for name in given:
            if name not in groups and not resolve(name).any_bar:
                raise InputError(
                    f"{name} knows a quality bar relative to the best arm only; those that know others are: "
                    f"{', '.join(able)}"
                )
    names = list(dict.fromkeys(name for each in given for name in groups.get(each, (each,))))
    for name in names:
        resolve(name)
    return names


def prepare(path: Path | None, option: str, suffixes: Sequence[str]) -> None:
    """Make sure, before any work, that a file of this kind can be made and put there."""
    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        allowed = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}"
        raise InputError(f"{option} must end in {allowed}, but it is {str(path)!r}")
    check_installed("matplotlib" if suffixes == FIGURES else "polars", option, "lab")
    make_folder(path.parent)
    check_writable(path)
