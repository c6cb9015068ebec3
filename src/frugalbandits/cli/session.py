"""The commands for stored sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

import frugalbandits as fb
from frugalbandits.cli.common import AsJson, app
from frugalbandits.cli.shapes import document
from frugalbandits.errors import StateFormatError
from frugalbandits.lab import terminal
from frugalbandits.lab.text import printable, readable

__all__ = ["group", "show"]

group = typer.Typer(rich_markup_mode=None, epilog="Example: frugal session show --help")
app.add_typer(group, name="session")


@group.callback(invoke_without_command=True)
def session(context: typer.Context) -> None:
    """Look at stored sessions."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@group.command(epilog="Example: frugal session show session.json")
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What Session.save wrote.")],
    as_json: AsJson = False,
) -> None:
    """Print what a stored session has found, option by option. The file stays as it is."""
    try:
        explanation = fb.Session.load(file).explain()
    except StateFormatError as error:
        raise StateFormatError(f"{file}: {error}") from error
    if as_json:
        typer.echo(document("session show", file=file, session=explanation.to_dict()))
        return
    console = terminal.console()
    lines = [printable(line) for line in str(explanation).splitlines()]
    if max(map(cell_len, lines)) <= console.width:
        console.print("\n".join(lines))
    else:
        console.print(_narrow(explanation, console.width))


def _narrow(explanation: fb.Explanation, width: int) -> RenderableType:
    """Return the same where the table of the explanation is too wide: a record an option."""
    told = explanation.to_dict()
    heads = [key for key in told["arms"][0] if key != "name"]
    columns = [terminal.Column("option", "name")]
    words = ("status", "standing")
    columns += [terminal.Column(head, "words" if head in words else "number") for head in heads]
    rows = [
        [printable(arm["name"]), *(_written(arm[head]) for head in heads)]
        for arm in (*told["arms"], *told["retired"])
    ]
    return Group(
        *(Text(printable(line)) for line in explanation.lines),
        Text(),
        terminal.fitted(columns, rows, width, tight=True),
        *(Text(printable(line)) for line in ["", *explanation.notes] if explanation.notes),
    )


def _written(value: Any) -> str:
    if isinstance(value, float):
        return readable(value)
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else printable(str(value))
