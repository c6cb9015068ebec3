"""The commands for stored sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

import frugalbandits as fb
from frugalbandits.cli.common import AsJson, app
from frugalbandits.cli.shapes import document
from frugalbandits.core.tables import text_table
from frugalbandits.lab import terminal
from frugalbandits.lab.text import printable

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
    explanation = fb.Session.load(file).explain()
    if as_json:
        typer.echo(document("session show", file=file, session=explanation.to_dict()))
        return
    console = terminal.console()
    for line in explanation.lines:
        console.print(Text(printable(line)))
    console.print()
    _print_table(console, explanation)
    for line in ["", *explanation.notes] if explanation.notes else []:
        console.print(Text(printable(line)))


def _print_table(console: Console, explanation: fb.Explanation) -> None:
    """Print the table of the explanation as it is, or as records where it is too wide."""
    heads, rows, left = explanation.table()
    rows = [[printable(cell) for cell in row] for row in rows]
    table = text_table(heads, rows, left)
    if max(map(cell_len, table.splitlines())) <= console.width:
        console.print(Text(table))
        return
    columns = [terminal.Column(head) for head in heads]
    columns[0], columns[-1] = terminal.Column(heads[0], "name"), terminal.Column(heads[-1], "words")
    console.print(terminal.fitted(columns, rows, console.width, tight=True))
