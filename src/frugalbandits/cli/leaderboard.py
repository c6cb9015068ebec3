"""The command that compares all policies on many problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from frugalbandits.cli import completing
from frugalbandits.cli.common import (
    FIGURES,
    INTERRUPTED,
    KEPT,
    AsJson,
    Cluster,
    app,
    check_cluster,
    chosen_policies,
    file,
    policy_option,
    prepare,
    say,
    whole,
)
from frugalbandits.cli.interrupts import interruptible
from frugalbandits.cli.shapes import document
from frugalbandits.errors import InputError, unknown_name
from frugalbandits.lab import terminal
from frugalbandits.lab.sweeps.cells import Settings
from frugalbandits.lab.sweeps.display import display
from frugalbandits.lab.text import listed
from frugalbandits.lab.worlds import WORLD_POLICIES

if TYPE_CHECKING:
    from frugalbandits.lab.leaderboard.board import Leaderboard, Standing

__all__ = ["leaderboard"]

Made = TypeVar("Made")

# The families that have a measure and a page of their own: one of worlds, the others of queries.
WORLDS, *QUERIES = completing.ALONE
# Near-ties are common among real options; with a tolerance they end.
TOLERANT = ("glr-cof:tolerance=0.02", "glr-cof:tolerance=0.02,goal=conclusion")


@app.command(
    short_help="Compare all policies on many problems.",
    epilog="Example: frugal leaderboard tables --quick --policy pe-cs --policy etc-cs",
)
def leaderboard(
    family: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FAMILY",
            autocompletion=completing.families,
            help="Kinds of problems: paper, tables, random; 'all' (the default) for these three. Or one by "
            "itself: worlds, what moves, on the tables; contextual, policies that look at queries; "
            "contextual-late, the same with little feedback, late; contextual-wanted, with what a policy "
            "wants to know, as late.",
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        policy_option(
            "A policy; repeat for more. 'all': the paper's five; 'moving': those that are made for means "
            "that change; 'every': all others but mix-cs, which promises an average. "
            f"Default: every, and {' and '.join(TOLERANT)}; in worlds "
            f"{', '.join(WORLD_POLICIES)}; on queries all policies that look at them, and LinUCB with "
            "weights that an oracle tells it.",
        ),
    ] = None,
    problem: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|FILE",
            help="For contextual, -late and -wanted: a problem in place of the family's; repeat for more. "
            "digits-routing, synthetic-N, misspecified-N, or a .npz file with rewards, costs, features, "
            "segments and names.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small horizons, few problems and few runs, for a first look.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where results, tables and leaderboard.md, or the page of the family, go. Default: "
            "out/leaderboard, or out/leaderboard-quick with --quick.",
        ),
    ] = None,
    plot: Annotated[
        Path | None, file("Draw held against spend, for paper, tables, random: .png, .pdf or .svg.")
    ] = None,
    runs: Annotated[int | None, whole(1, "Independent runs of each cell, in place of the default.")] = None,
    seed: Annotated[int, whole(0, "The same seed gives the same problems and results.")] = 0,
    workers: Annotated[int | None, whole(1, "Threads. Default: one per core.")] = None,
    cluster: Cluster = None,
    as_json: AsJson = False,
) -> None:
    """Compare all policies on many problems: the promise of the bar and its price, and regret.

    The first table says how many runs hold the bar, and what they spend. The second has regret over the best
    policy's and over the least possible.

    Results are kept a cell (problem, horizon, policy) at a time. The same command again goes on where it
    was stopped, and only computes what is missing.
    """
    check_cluster(cluster)
    # These take time to import.
    from frugalbandits.lab.figures import save
    from frugalbandits.lab.leaderboard import board, page
    from frugalbandits.lab.leaderboard.promise import plot_board

    folder = out or Path("out") / ("leaderboard-quick" if quick else "leaderboard")
    settings = Settings(quick, seed, runs)
    alone = next((name for name in family or [] if name in completing.ALONE), None)
    if alone is not None:
        _check_alone(alone, family or [], cluster)
    if problem and alone in (None, WORLDS):
        raise InputError(f"--problem is for {listed(QUERIES)} alone, but it is {problem[0]!r}")
    if plot is not None and alone is not None:
        raise InputError(f"--plot is for {listed(board.families())} alone, but it is {str(plot)!r}")
    if alone == WORLDS:
        _worlds(policy or [], folder, settings, workers, as_json)
        return
    if alone is not None:
        _contextual(alone, policy or [], problem or [], folder, settings, workers, as_json)
        return
    known = (*board.families(), "all", *completing.ALONE)
    for name in family or []:
        if name not in known:
            raise unknown_name("family", name, known)
    names = board.chosen_families(family or ["all"])
    policies = chosen_policies(policy or ["every", *TOLERANT])
    prepare(plot, "--plot", FIGURES)
    try:
        with interruptible(f"{KEPT}\n{INTERRUPTED}"), display() as watch:
            made = board.run(names, policies, folder, settings, workers, cluster, watch)
    except KeyboardInterrupt:
        say(KEPT)
        raise
    # Before anything is printed: a reader of a pipe that goes away takes no file with it.
    paths = page.write(folder, made)
    if plot is not None:
        save(plot_board(made), plot)
        paths.append(plot)
    if as_json:
        typer.echo(document("leaderboard", **_shape(made, board.standings(made.rows)), written=paths))
        return
    _print(page.screen, made, paths)


def _print(screen: Callable[[Any, int], Sequence[Any]], made: Any, paths: Sequence[Path]) -> None:
    from frugalbandits.lab.leaderboard import page

    console = terminal.console()
    width = min(console.width, page.WIDEST)
    for part in screen(made, width):
        console.print(part, width=width)
        console.print()
    for path in paths:
        console.print(f"written: {path}", soft_wrap=True)


def _check_alone(alone: str, family: Sequence[str], cluster: str | None) -> None:
    if set(family) != {alone}:
        others = ", ".join(name for name in family if name != alone)
        raise InputError(f"{alone} has a page of its own: ask for it without {others}")
    if cluster is not None:
        raise InputError(f"{alone} runs on this machine alone, but --cluster is {cluster!r}")


def _watched(work: Callable[[Callable[[str, int, int], None]], Made]) -> Made:
    """Do some work with a bar of its progress; what is done is kept when it is interrupted."""
    try:
        with interruptible(f"{KEPT}\n{INTERRUPTED}"), terminal.progress(100) as show:
            return work(lambda what, done, total: show(what, 100 * done // total))
    except KeyboardInterrupt:
        say(KEPT)
        raise


def _worlds(
    policy: Sequence[str],
    folder: Path,
    settings: Settings,
    workers: int | None,
    as_json: bool,
) -> None:
    """Make the leaderboard of worlds."""
    from frugalbandits.lab.leaderboard import worlds, worlds_page

    names = chosen_policies(policy or WORLD_POLICIES)
    made = _watched(lambda tell: worlds.run(names, folder, settings, workers, tell))
    paths = worlds_page.write(folder, made)
    if as_json:
        own = [
            {**standing._asdict(), "worst_row": standing.worst_row._replace(entries=())}
            for standing in worlds.standings(made.rows)
        ]
        typer.echo(document("leaderboard", **made._asdict(), standings=own, written=paths))
        return
    _print(worlds_page.screen, made, paths)


def _contextual(
    family: str,
    policy: Sequence[str],
    problem: Sequence[str],
    folder: Path,
    settings: Settings,
    workers: int | None,
    as_json: bool,
) -> None:
    """Make the leaderboard of policies that look at queries."""
    from frugalbandits.lab.leaderboard import contextual, contextual_page

    names = contextual.chosen(policy)
    made = _watched(lambda tell: contextual.run(family, names, folder, settings, workers, tell, problem))
    paths = contextual_page.write(folder, made)
    if as_json:
        own = contextual.standings(made.rows)
        typer.echo(document("leaderboard", **made._asdict(), standings=own, written=paths))
        return
    _print(contextual_page.screen, made, paths)


def _shape(made: Leaderboard, standings: Sequence[Standing]) -> dict[str, Any]:
    told = []
    for standing in standings:
        worst = {name: getattr(standing.worst_row, name) for name in ("instance", "alpha", "horizon")}
        told.append({**standing._asdict(), "worst_row": worst})
    rows = []
    for row in made.rows:
        entries = [entry._asdict() for entry in row.entries]
        for entry in entries:
            del entry["delivered"]
        rows.append({**row._asdict(), "entries": entries})
    return {**made._asdict(), "rows": rows, "standings": told}
