"""The command that compiles ahead, as for the image of a container."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

import frugalbandits as fb
from frugalbandits.cli import completing
from frugalbandits.cli.common import INTERRUPTED, AsJson, NotInstalled, Unkept, app, chosen_policies
from frugalbandits.cli.interrupts import interruptible
from frugalbandits.cli.shapes import document
from frugalbandits.core.jit import cache_root
from frugalbandits.core.registry import resolve
from frugalbandits.lab import terminal, text
from frugalbandits.lab.warming import warm_up_driver

__all__ = ["warm_up"]


class _Ready(NamedTuple):
    """One policy made ready for one use."""

    policy: str
    use: str  # "simulator" or "session"
    seconds: float
    how: str  # "compiled", "loaded from disk", or "there already": it shares the code of another one
    kept: Path | None  # None where nothing can be kept


@app.command(
    "warm-up",
    short_help="Compile policies ahead of their first use.",
    epilog="Example: frugal warm-up etc-cs",
)
def warm_up(
    policy: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="POLICY",
            autocompletion=completing.policies,
            help="Policies; 'all' are the paper's five, and all there are the default.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compile policies ahead, so that nobody waits for it later: in the image of a container, say.

    Machine code is kept in FRUGALBANDITS_CACHE_DIR, or else in the user's cache folder. Where that cannot be
    written, nothing is kept, and the exit code is 1.
    """
    names = chosen_policies(policy or fb.policies())
    with interruptible(INTERRUPTED), terminal.progress(len(names)) as show:
        ready = []
        for number, name in enumerate(names):
            show(f"compiling {name}", number)
            ready += [_session(name), _simulator(name)]
    if as_json:
        typer.echo(document("warm-up", folder=cache_root(), policies=ready))
    else:
        _print(ready)
    trouble = fb.warm_up(*names).trouble  # all is there by now: this only tells
    if trouble is not None:
        raise Unkept(
            f"compiled, but kept nowhere: the folder {str(cache_root())!r} cannot be written: {trouble}"
        )


def _simulator(name: str) -> _Ready:
    made = warm_up_driver(resolve(name))
    return _Ready(name, "simulator", made.seconds, made.how, made.folder)


def _session(name: str) -> _Ready:
    try:
        made = fb.warm_up(name)
    except ModuleNotFoundError as error:
        raise NotInstalled(str(error)) from error
    (ready,) = made.warmed
    return _Ready(name, "session", ready.seconds, ready.how, None if made.trouble else made.folder)


def _print(ready: Sequence[_Ready]) -> None:
    console = terminal.console()
    columns = [
        terminal.Column("policy", "name"),
        terminal.Column("for", "words"),
        terminal.Column("seconds"),
        terminal.Column("how", "words"),
    ]
    rows = [(each.policy, each.use, text.seconds(each.seconds), each.how) for each in ready]
    console.print(terminal.fitted(columns, rows, console.width))
    if all(each.kept is not None for each in ready):
        console.print(f"\nkept in {cache_root()}", soft_wrap=True)
