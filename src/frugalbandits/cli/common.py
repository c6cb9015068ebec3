"""What the commands share: the application, its errors, and its kinds of options."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import frugalbandits as fb
from frugalbandits.cli import completing, what_to_install
from frugalbandits.core.files import check_writable, make_folder
from frugalbandits.core.registry import resolve
from frugalbandits.errors import InputError
from frugalbandits.lab import text
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

INTERRUPTED = "frugal: interrupted"
KEPT = "frugal: what is done is kept; the same command goes on from here"
TABLES = (".parquet", ".csv")
FIGURES = (".png", ".pdf", ".svg")


class NotInstalled(InputError):
    """A command needs a package that is not installed."""


class Unkept(InputError):
    """What was compiled is lost when the program ends."""


class Frugal(TyperGroup):
    """The commands, with errors as one line on standard error: from `main` and from tests alike."""

    def main(self, *args: Any, **extra: Any) -> Any:
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except InputError as error:
            code = fail(str(error), 1 if isinstance(error, NotInstalled | Unkept) else 2)
        except ModuleNotFoundError as error:
            code = fail(what_to_install(error), 1)
        except MemoryError as error:
            code = fail(f"not enough memory ({error}); fewer --runs or --checkpoints need less")
        except OSError as error:
            code = fail(f"{error.strerror or error}" + (f": {error.filename!r}" if error.filename else ""))
        except Exception as error:
            # typer brings its own copy of click or uses the installed one, depending on its version:
            # its usage errors are known by this method.
            message = getattr(error, "format_message", None)
            if message is None:
                raise
            code = fail(message())
        if code == 130:  # what typer makes of a keyboard interrupt
            say(INTERRUPTED)
        sys.exit(code if isinstance(code, int) else 0)


def fail(message: str, code: int = 2) -> int:
    say(f"frugal: error: {text.printable(message)}")
    return code


def say(message: str) -> None:
    """Print a line on standard error."""
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()


app = typer.Typer(
    cls=Frugal,
    name="frugal",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 90},
    epilog="Example: frugal simulate goodreads --policy cof --horizon 1e5 --runs 10",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"frugalbandits {fb.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def frugal(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find the cheapest option that is good enough: bandits with cost subsidy."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def number(text: str | float) -> float:
    """Return the number that a text on the command line stands for."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None


def pull_count(text: str | float) -> float:
    """Return a number of pulls, such as 200000 or 5e6."""
    value = number(text)
    return int(value) if value.is_integer() else value


def whole(least: int, text: str) -> Any:
    """Return an option for a whole number."""

    def parse(given: str | int) -> int:
        try:
            value = int(given)  # a seed may have more digits than a float
        except ValueError:
            value = int(number(given)) if number(given).is_integer() else least - 1
        if value < least:
            raise typer.BadParameter(f"{given!r} is not a whole number, {least} or more")
        return value

    return typer.Option(parser=parse, metavar="N", help=text)


AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else; its shape is in the docs.")
]
Cluster = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="A Dask scheduler whose workers do it, as tcp://host:port."),
]


def instance_argument(text: str) -> Any:
    """Return an argument for instances by name or file."""
    return typer.Argument(metavar="INSTANCE", autocompletion=completing.instances, help=text)


def policy_option(text: str) -> Any:
    """Return an option for policies by name."""
    return typer.Option(metavar="NAME", autocompletion=completing.policies, help=text)


def file(text: str) -> Any:
    """Return an option for a file."""
    return typer.Option(metavar="FILE", help=text)


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


def check_installed(module: str, what: str, extra: str) -> None:
    """Make sure, before any work, that a package is there; say which extra brings it otherwise."""
    if importlib.util.find_spec(module) is None:
        raise NotInstalled(
            f"{what} needs {module}, which is not installed: pip install 'frugalbandits[{extra}]'"
        )


def chosen_policies(given: Sequence[str], any_bar: bool = False) -> list[str]:
    """Return the policies that are meant, each once: "all" are the paper's five, "every" all but "moving".

    "moving" are those that are made for means that change.
    With `any_bar` a group is those that know every kind of quality bar; one that is named must be among them.
    """
    groups = {"all": PAPER_POLICIES, "every": fb.policies(False), "moving": fb.policies(True)}
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
