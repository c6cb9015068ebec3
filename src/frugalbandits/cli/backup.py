"""The commands that back a store up, and put a backup in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from frugalbandits.cli.application import AsJson, app
from frugalbandits.cli.documents import document
from frugalbandits.stores.sqlite_backup import back_up, restore

__all__ = ["backup", "put_back"]

AddressArgument = Annotated[
    str, typer.Argument(metavar="ADDRESS", help="The store, such as sqlite:///decisions.db.")
]


@app.command("backup", epilog="Example: frugal backup sqlite:///decisions.db copy.db")
def backup(
    address: AddressArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup; it must not exist yet.")],
    as_json: AsJson = False,
) -> None:
    """Copy an SQLite store to a file, and check the copy.

    The store may be in use. For PostgreSQL use pg_dump or pg_basebackup.
    """
    done = back_up(address, file)
    if as_json:
        typer.echo(document("backup", file=str(done.path), sessions=done.sessions, events=done.events))
    else:
        typer.echo(f"Wrote {done.path}: {done.sessions:,} sessions, {done.events:,} events, checked.")


@app.command("restore", epilog="Example: frugal restore backup.db sqlite:///restored.db")
def put_back(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What frugal backup wrote.")],
    address: AddressArgument,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a store that is there; it is kept beside the new one.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Put a backup in the place of an SQLite store, and check it.

    Stop every process that uses the store first: one that is in use is not replaced.
    """
    done = restore(file, address, replace)
    aside = None if done.set_aside is None else str(done.set_aside)
    if as_json:
        parts = {"file": str(done.path), "sessions": done.sessions, "events": done.events}
        typer.echo(document("restore", **parts, set_aside=aside))
        return
    typer.echo(f"Restored {done.path}: {done.sessions:,} sessions, {done.events:,} events, checked.")
    if aside is not None:
        typer.echo(f"What was there is now {aside}.")
