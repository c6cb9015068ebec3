"""The commands for tokens: who may do what with a service."""

from __future__ import annotations

from typing import Annotated

import typer

from frugalbandits.cli.application import AsJson, app
from frugalbandits.cli.documents import document
from frugalbandits.cli.stored import StoreOption, opened, show_table, when

__all__ = ["add", "group", "listed", "revoke"]

group = typer.Typer(rich_markup_mode=None, epilog="Example: frugal token add --help")
app.add_typer(group, name="token")
NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="What the token is called in lists and logs.")
]


@group.callback(invoke_without_command=True)
def token(context: typer.Context) -> None:
    """Make, list and revoke tokens of a service."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@group.command(epilog="Example: frugal token add web --role writer --prefix shop-")
def add(
    name: NameArgument,
    role: Annotated[
        str,
        typer.Option(
            metavar="ROLE",
            help="reader: looks; writer: asks and tells too; admin: makes and changes sessions.",
        ),
    ] = "writer",
    prefix: Annotated[
        str, typer.Option(metavar="TEXT", help="Only for sessions whose names begin so. Default: for all.")
    ] = "",
    store: StoreOption = None,
    as_json: AsJson = False,
) -> None:
    """Make a token, and print it: this once, for only its digest is kept."""
    from frugalbandits.service.access import add_token

    with opened(store, make=True) as found:
        made = add_token(found, name, role, prefix)
    if as_json:
        typer.echo(document("token add", name=name, role=role, prefix=prefix, token=made))
    else:
        typer.echo(made)


@group.command("list", epilog="Example: frugal token list")
def listed(store: StoreOption = None, as_json: AsJson = False) -> None:
    """List tokens by name, those that were revoked included."""
    from frugalbandits.service.access import Access

    with opened(store) as found:
        access = Access(found)
        access.refresh()
    holders = sorted(access.all.values(), key=lambda each: (each.name, each.number))
    if as_json:
        rows = [
            {
                "name": each.name,
                "role": each.role_name,
                "prefix": each.prefix,
                "made": each.at,
                "revoked": each.revoked,
            }
            for each in holders
        ]
        typer.echo(document("token list", tokens=rows))
        return
    if not holders:
        typer.echo("There are no tokens: the service is for its own machine only.")
        return
    heads = ["name", "role", "sessions", "made (UTC)", "holds"]
    table = [
        [each.name, each.role_name, f"{each.prefix}*", when(each.at), "revoked" if each.revoked else "yes"]
        for each in holders
    ]
    show_table(heads, table, frozenset(range(5)))


@group.command(epilog="Example: frugal token revoke web")
def revoke(name: NameArgument, store: StoreOption = None, as_json: AsJson = False) -> None:
    """Let a token hold no more, in every worker within about a second."""
    from frugalbandits.service.access import revoke_token

    with opened(store) as found:
        holder = revoke_token(found, name)
    if as_json:
        typer.echo(document("token revoke", name=name, role=holder.role_name, prefix=holder.prefix))
    else:
        typer.echo(f"revoked {name}")
