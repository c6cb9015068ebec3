"""The commands for sessions that are kept in a store."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Annotated, Any

import typer

from frugalbandits.cli.application import AsJson, app
from frugalbandits.cli.documents import document
from frugalbandits.cli.stored import StoreOption, opened, show_table, width_of_screen
from frugalbandits.core.contextual.explanation import ContextualExplanation
from frugalbandits.core.contextual.session import ContextualSession
from frugalbandits.core.contextual.stored import FORMAT
from frugalbandits.core.files import check_writable, read_with, write_text
from frugalbandits.core.session import Session
from frugalbandits.core.session.explanation import Explanation
from frugalbandits.core.tables import printable
from frugalbandits.errors import InputError
from frugalbandits.stores.contract import Store
from frugalbandits.stores.following import check_session_name
from frugalbandits.stores.kinds import keep_session, open_session
from frugalbandits.stores.outlook import summary_of

__all__ = ["bring_in", "export", "group", "listed", "show"]

group = typer.Typer(rich_markup_mode=None, epilog="Example: frugal sessions show --help")
app.add_typer(group, name="sessions")
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of a session in the store.")]


@group.callback(invoke_without_command=True)
def sessions(context: typer.Context) -> None:
    """Look at the sessions of a store, and take them out and in."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@group.command("list", epilog="Example: frugal sessions list")
def listed(store: StoreOption = None, as_json: AsJson = False) -> None:
    """List the sessions of a store, each in a few numbers."""
    with opened(store) as there:
        names = sorted(name for name in there.sessions() if not name.startswith("$"))
        found = [_row(there, name) for name in names]
    if as_json:
        typer.echo(document("sessions list", sessions=found))
        return
    if not found:
        typer.echo("There are no sessions.")
        return
    rows = [
        [row["name"], *(["-"] * 8)]
        if row["trouble"] is not None
        else [
            row["name"],
            f"{row['options']:,}",
            f"{row['decisions']:,}",
            f"{row['told']:,}",
            f"{row['waiting']:,}",
            f"{row['spent']:,.6g}",
            *("-" if row[key] is None else f"{row[key]:.4f}" for key in ("reached", "threshold")),
            row["likely"] or "-",
        ]
        for row in found
    ]
    heads = [
        *("session", "options", "decisions", "told", "waiting", "spent"),
        *("reached", "bar", "cheapest good"),
    ]
    show_table(heads, rows, frozenset({0, 8}))
    for row in found:
        if row["trouble"] is not None:
            typer.echo(f"cannot open {printable(row['name'])}: {printable(row['trouble'])}", err=True)


def _row(store: Store, name: str) -> dict[str, Any]:
    """Return a session in a few numbers, or why it cannot be opened: the others are listed all the same."""
    unknown = dict.fromkeys(
        (
            *("options", "decisions", "told", "waiting", "spent"),
            *("likely", "reached", "reached_interval", "threshold"),
        )
    )
    try:
        with open_session(store, name) as session:
            told = summary_of(session)
            return {
                "name": name,
                "options": sum(each.standing != "retired" for each in told.options),
                "decisions": told.decisions,
                "told": told.told,
                "waiting": told.waiting,
                "spent": told.spent,
                "likely": told.likely,
                "reached": told.reached,
                "reached_interval": told.reached_interval,
                "threshold": told.threshold,
                "trouble": None,
            }
    except InputError as error:
        return {"name": name, **unknown, "trouble": str(error)}


@group.command(epilog="Example: frugal sessions show shop")
def show(name: NameArgument, store: StoreOption = None, as_json: AsJson = False) -> None:
    """Print what a session of a store has found, option by option."""
    with opened(store) as there, open_session(there, name) as session:
        explanation = session.explain()
    if as_json:
        typer.echo(document("sessions show", name=name, session=explanation.to_dict()))
    elif isinstance(explanation, ContextualExplanation):
        _print_routes(explanation)
    else:
        _print(explanation)


def _sentences(lines: list[str]) -> None:
    width = width_of_screen()
    for line in lines:
        typer.echo(textwrap.fill(printable(line), width))
    typer.echo()


def _print_routes(explanation: ContextualExplanation) -> None:
    _sentences(explanation.lines)
    heads, rows, left = explanation.table()
    show_table(heads, rows, frozenset(left))
    if explanation.segments:
        typer.echo()
        heads, rows, left = explanation.segment_table()
        show_table(heads, rows, frozenset(left))


def _print(explanation: Explanation) -> None:
    _sentences(explanation.lines)
    heads = ["option", "cost", "decisions", "judged", "pending", "spent", "mean", "status"]
    rows = [
        [
            arm.name,
            f"{arm.cost:g}",
            f"{arm.decisions:,}",
            f"{arm.judged:,}",
            f"{arm.pending:,}",
            f"{arm.spent:,.6g}",
            "-" if arm.mean is None else f"{arm.mean:.4f}",
            arm.status,
        ]
        for arm in (*explanation.arms, *explanation.retired)
    ]
    show_table(heads, rows, frozenset({0, 7}))
    if explanation.notes:
        typer.echo()
        for line in explanation.notes:
            typer.echo(textwrap.fill(printable(line), width_of_screen()))


@group.command(epilog="Example: frugal sessions export shop --out shop.json")
def export(
    name: NameArgument,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write it. Default: standard output.")
    ] = None,
    store: StoreOption = None,
    as_json: AsJson = False,
) -> None:
    """Write a session as a file that `load` reads.

    That is fb.Session.load, or fb.ContextualSession.load for one that looks at queries. Decisions that wait
    for feedback are given up in it.
    """
    if out is not None:
        check_writable(out)
    with opened(store) as there, open_session(there, name) as session:
        text, decisions = session.to_json(), session.decisions
    if out is not None:
        write_text(out, text, durable=True)
    if as_json:
        typer.echo(document("sessions export", name=name, decisions=decisions, written=[out] if out else []))
    elif out is None:
        typer.echo(text)
    else:
        typer.echo(f"{decisions:,} decisions of {name}: {out}")


@group.command("import", epilog="Example: frugal sessions import session.json --name again")
def bring_in(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What Session.save or an export wrote.")],
    name: Annotated[str, typer.Option(metavar="NAME", help="What it is to be called in the store.")],
    store: StoreOption = None,
    as_json: AsJson = False,
) -> None:
    """Keep a session of a file in a store from now on, under a new name."""
    check_session_name(name)
    session = read_with(_session_of, file)
    with opened(store, make=True) as there:
        if name in there.sessions():
            raise InputError(f"a session called {name!r} is there: take another name")
        made, new = keep_session(there, name, session, "import")
        with made:
            decisions = made.decisions
        if not new:
            raise InputError(f"a session called {name!r} was made by somebody else just now")
    if as_json:
        typer.echo(document("sessions import", name=name, file=file, decisions=decisions))
    else:
        typer.echo(f"{decisions:,} decisions of {file}: session {name}")


def _session_of(text: str) -> Session | ContextualSession:
    """Return the session of a text, of whichever kind it is."""
    looks_at_queries = f'"{FORMAT}"' in text[:200]
    return ContextualSession.from_json(text) if looks_at_queries else Session.from_json(text)
