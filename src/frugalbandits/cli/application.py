"""The application that commands belong to, and its errors: nothing here needs more than typer."""

from __future__ import annotations

import importlib.util
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from frugalbandits._version import __version__
from frugalbandits.cli import what_to_install
from frugalbandits.core.tables import printable
from frugalbandits.errors import InputError, StoreUnavailable

__all__ = [
    "INTERRUPTED",
    "AsJson",
    "NotInstalled",
    "Unkept",
    "app",
    "check_installed",
    "fail",
    "file",
    "number",
    "say",
    "whole",
]

INTERRUPTED = "frugal: interrupted"


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
        except StoreUnavailable as error:
            code = fail(str(error))
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
    """Print an error, and return the exit code."""
    say(f"frugal: error: {printable(message)}")
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
        typer.echo(f"frugalbandits {__version__}")
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


def file(text: str) -> Any:
    """Return an option for a file."""
    return typer.Option(metavar="FILE", help=text)


def check_installed(module: str, what: str, extra: str) -> None:
    """Make sure, before any work, that a package is there; say which extra brings it otherwise."""
    if importlib.util.find_spec(module) is None:
        raise NotInstalled(
            f"{what} needs {module}, which is not installed: pip install 'frugalbandits[{extra}]'"
        )
