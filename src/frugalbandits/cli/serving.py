"""The command that serves decisions over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from frugalbandits.cli.application import app, whole
from frugalbandits.cli.stored import STORE, store_in_environment

__all__ = ["serve"]


@app.command(epilog="Example: frugal serve --store sqlite:///decisions.db --port 8000")
def serve(
    store: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help=f"sqlite:///decisions.db (the default) or postgresql://...; {STORE} in the environment "
            "keeps a password off the command line.",
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(metavar="HOST", help="Where to listen. Default: 127.0.0.1; any other needs tokens."),
    ] = None,
    port: Annotated[int | None, whole(0, "Port to listen on; 0 for any that is free. Default: 8000.")] = None,
    workers: Annotated[int | None, whole(1, "Processes that answer. Default: 1.")] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings in TOML, by the names of these options.")
    ] = None,
    log_level: Annotated[
        str | None, typer.Option(metavar="LEVEL", help="debug, info (the default), warning or error.")
    ] = None,
    no_dashboard: Annotated[bool, typer.Option("--no-dashboard", help="Serve no pages.")] = False,
) -> None:
    """Serve decisions over HTTP, from a store that survives a crash."""
    from frugalbandits.service.running import serve as run
    from frugalbandits.service.settings import Settings, read_config

    told: dict[str, Any] = {} if config is None else read_config(config)
    given = {
        "store": store if store is not None else store_in_environment(),
        "host": host,
        "port": port,
        "workers": workers,
        "log_level": log_level,
        "dashboard": False if no_dashboard else None,
    }
    told.update({name: value for name, value in given.items() if value is not None})
    run(Settings(**told), lambda line: print(line, flush=True))
