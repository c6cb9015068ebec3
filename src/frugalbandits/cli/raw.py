"""The commands that make an instance from raw rating data."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

import frugalbandits as fb
from frugalbandits.cli.common import (
    FIGURES,
    INTERRUPTED,
    AsJson,
    alpha_option,
    app,
    file,
    number,
    prepare,
    whole,
)
from frugalbandits.cli.interrupts import interruptible
from frugalbandits.cli.shapes import document, genres_shape, instance_shape
from frugalbandits.core.files import check_writable
from frugalbandits.core.quality import check_alpha
from frugalbandits.errors import InputError, unknown_name
from frugalbandits.lab import ratings, terminal, text

__all__ = ["goodreads", "group", "movielens"]

_INSTANCES = (".txt", ".csv")

group = typer.Typer(
    rich_markup_mode=None,
    epilog="Example: frugal instance movielens --help",
)
app.add_typer(group, name="instance")

RewardOption = Annotated[
    str,
    typer.Option(
        metavar="mean|share",
        help="An arm's mean reward: the mean rating divided by 5, or the share rated --above or more.",
    ),
]
AboveOption = Annotated[
    float,
    typer.Option(
        parser=number, metavar="R", help="Lowest rating that counts for the share; R itself counts."
    ),
]
SeedOption = Annotated[
    int, whole(0, "Costs are drawn uniformly from (0, 1): the k-th genre by name gets the k-th draw.")
]
CostsOption = Annotated[Path | None, file("Costs in place of drawn ones: CSV with the columns name,cost.")]
AlphaOption = Annotated[float, alpha_option("the paper's instances have 0.05.")]
OutOption = Annotated[Path | None, file("Write the instance: .txt (the paper's format) or .csv.")]
PlotOption = Annotated[Path | None, file("Draw the instance: .png, .pdf or .svg.")]


@group.callback(invoke_without_command=True)
def instance(context: typer.Context) -> None:
    """Make an instance from raw rating data: one arm per genre.

    Nothing of the data comes with this package, and both data sets have terms of use: see the help of each
    command.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@group.command(
    short_help="Make an instance from ratings of movies.",
    epilog="Example: frugal instance movielens --ratings ratings.csv --movies movies.csv",
)
def movielens(
    ratings_file: Annotated[
        Path, typer.Option("--ratings", metavar="FILE", help="ratings.csv of MovieLens; may be .gz.")
    ],
    movies_file: Annotated[
        Path, typer.Option("--movies", metavar="FILE", help="movies.csv of MovieLens; may be .gz.")
    ],
    unlabelled: Annotated[
        bool,
        typer.Option(
            "--unlabelled/--no-unlabelled",
            help=f"Whether {ratings.UNLABELLED!r} is a genre, as in the paper.",
        ),
    ] = True,
    reward: RewardOption = "mean",
    above: AboveOption = 4,
    seed: SeedOption = 0,
    costs: CostsOption = None,
    alpha: AlphaOption = 0.05,
    out: OutOption = None,
    plot: PlotOption = None,
    as_json: AsJson = False,
) -> None:
    """Make an instance from MovieLens 25M, or from files of the same form.

    A rating of a movie with several genres counts for each. Malformed lines are left out and counted.

    Terms of use of MovieLens 25M: for research, with acknowledgment (Harper and Konstan 2015); no
    redistribution; no claim of endorsement by the University of Minnesota or GroupLens; no commercial use
    without permission. https://grouplens.org/datasets/movielens/25m/
    """
    wishes = _Wishes("movielens", reward, above, seed, costs, alpha, out, plot, as_json)
    _make(wishes, lambda show: ratings.read_movielens(ratings_file, movies_file, unlabelled, show))


@group.command(
    short_help="Make an instance from reviews of books.",
    epilog="Example: frugal instance goodreads reviews --out goodreads.txt",
)
def goodreads(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Folder with goodreads_reviews_GENRE.json or .json.gz files."),
    ],
    reward: RewardOption = "share",
    above: AboveOption = 4,
    seed: SeedOption = 0,
    costs: CostsOption = None,
    alpha: AlphaOption = 0.05,
    out: OutOption = None,
    plot: PlotOption = None,
    as_json: AsJson = False,
) -> None:
    """Make an instance from the reviews of the Goodreads Book Graph.

    The name of a file names its genre. Reviews with rating 0 have no rating, and are counted apart.
    Malformed lines are left out and counted.

    Terms of use of the Goodreads Book Graph: for academic use only; no redistribution; no commercial use;
    cite Wan and McAuley 2018, and Wan et al. 2019. https://cseweb.ucsd.edu/~jmcauley/datasets/goodreads.html
    """
    wishes = _Wishes("goodreads", reward, above, seed, costs, alpha, out, plot, as_json)
    _make(wishes, lambda show: ratings.read_goodreads(folder, show))


class _Wishes(NamedTuple):
    """What both commands can be asked for."""

    title: str
    reward: str
    above: float
    seed: int
    costs: Path | None
    alpha: float
    out: Path | None
    plot: Path | None
    as_json: bool


_Show = Callable[[str, int, int], None]


def _make(wishes: _Wishes, read: Callable[[_Show], ratings.GenreRatings]) -> None:
    """Check what was asked for, read, write, print."""
    if wishes.reward not in ratings.REWARDS:
        raise unknown_name("reward", wishes.reward, ratings.REWARDS)
    check_alpha(wishes.alpha)
    ratings.check_above(wishes.above)
    costs = None if wishes.costs is None else ratings.read_costs(wishes.costs)
    _prepare_instance(wishes.out)
    prepare(wishes.plot, "--plot", FIGURES)
    import_module("polars")  # its import puts a handler of Ctrl-C in the place of any that is there
    with interruptible(INTERRUPTED), _progress() as show:
        found = read(show)
    problem = found.to_problem(wishes.reward, wishes.above, costs, wishes.seed, wishes.alpha)

    written: dict[Path, str] = {}
    try:
        # Before anything is printed: a reader of a pipe that goes away takes no file with it.
        if wishes.out is not None:
            fb.write_instance(problem, wishes.out)
            lack = "; a table has no place for alpha" if wishes.out.suffix.lower() == ".csv" else ""
            written[wishes.out] = f"instance of {problem.arms} arms written to {wishes.out}{lack}"
        if wishes.plot is not None:
            from frugalbandits.lab import figures

            figures.save(figures.plot_instance(problem, wishes.title), wishes.plot)
            written[wishes.plot] = f"figure written to {wishes.plot}"
    finally:
        origin = _origin(wishes, costs)
        if wishes.as_json:
            told = {
                "genres": genres_shape(found, problem, wishes.above),
                "above": wishes.above,
                "sources": found.sources,
                "without_ratings": found.without_ratings,
                "instance": instance_shape(wishes.title, problem, origin),
                "written": list(written),
            }
            typer.echo(document(f"instance {wishes.title}", **told))
        else:
            _print(found, problem, wishes, origin, list(written.values()))


def _print(
    found: ratings.GenreRatings, problem: fb.Problem, wishes: _Wishes, origin: str, written: Sequence[str]
) -> None:
    console = terminal.console()
    width = terminal.picture_width(console)
    console.print(_table(found, problem, wishes.above, width))
    for line in ["", *_notes(found), ""]:
        console.print(line)
    console.print(terminal.instance_view(problem, wishes.title, origin, width, console.options.ascii_only))
    for line in ["", *written] if written else []:
        console.print(line, soft_wrap=True)


def _prepare_instance(path: Path | None) -> None:
    if path is None:
        return
    if path.suffix.lower() not in _INSTANCES:
        raise InputError(f"--out must end in {' or '.join(_INSTANCES)}, but it is {str(path)!r}")
    check_writable(path)


@contextmanager
def _progress() -> Iterator[_Show]:
    """Yield a function that shows which file is read and how much, on standard error if it is a terminal."""
    if not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(20),
        DownloadColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda what, done, total: bar.update(
            task, description=text.printable(what), completed=done, total=total or None
        )


def _table(found: ratings.GenreRatings, problem: fb.Problem, above: float, width: int) -> RenderableType:
    heads = ("ratings", "mean rating", f"share {above:g} or more", "cost")
    shares = found.shares(above)
    rows = [
        (
            Text(text.printable(name), "bold"),
            f"{found.totals[arm]:,}",
            f"{found.means[arm]:.4f}",
            f"{shares[arm]:.4f}",
            text.readable(float(problem.costs[arm])),
        )
        for arm, name in enumerate(found.names)
    ]
    return terminal.fitted([terminal.Column("genre", "name"), *map(terminal.Column, heads)], rows, width)


def _notes(found: ratings.GenreRatings) -> list[str]:
    """Say what stood in each file, and what was left out."""
    notes = []
    for source in found.sources:
        parts = {"malformed": source.malformed, "of unknown movies": source.unknown_movies}
        parts["unrated"] = source.unrated
        left_out = "".join(f", {count:,} {what}" for what, count in parts.items() if count)
        notes.append(text.printable(f"{source.file}: {source.used:,} lines used{left_out}"))
        notes += [text.printable(f"  line {fault.line:,}: {fault.why}") for fault in source.faults]
        if source.malformed > len(source.faults):
            notes.append(f"  and {source.malformed - len(source.faults):,} more malformed lines")
    if found.without_ratings:
        notes.append(text.printable(f"left out, without ratings: {', '.join(found.without_ratings)}"))
    return notes


def _origin(wishes: _Wishes, costs: Mapping[str, float] | None) -> str:
    rewards = (
        "mean rating divided by 5" if wishes.reward == "mean" else f"share rated {wishes.above:g} or more"
    )
    origin = f"costs drawn with seed {wishes.seed}" if costs is None else f"costs from {wishes.costs}"
    return text.printable(f"{rewards}; {origin}")
