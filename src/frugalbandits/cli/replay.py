"""The command that says what policies would have done with the requests of a log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

import frugalbandits as fb
from frugalbandits.cli.columns import CostColumn, LogFormat, OptionColumn, RewardColumn, column_option
from frugalbandits.cli.common import (
    INTERRUPTED,
    AsJson,
    alpha_option,
    app,
    chosen_policies,
    policy_option,
    quality_option,
    whole,
)
from frugalbandits.cli.interrupts import interruptible
from frugalbandits.cli.shapes import document, replay_shape
from frugalbandits.core.files import check_writable, make_folder, written_whole
from frugalbandits.core.quality import RelativeToBest, check_quality
from frugalbandits.errors import InputError
from frugalbandits.lab import terminal
from frugalbandits.lab.replay import DEFAULT_POLICIES, Replay, looks

__all__ = ["replay"]

_FILES = ("replay.csv", "replay.svg", "replay.png")


@app.command(
    epilog="Looking at requests: frugal replay table.csv --alpha 0.05 --context-column task --features 'x*'"
    "\n\n"
    "An export of LiteLLM: frugal replay spend.jsonl --alpha 0.1 --reward-column metadata.score\n\n"
    "Example: frugal replay requests.csv --alpha 0.1 --policy etc-cs"
)
def replay(
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG", help="A table or an export: .csv, .tsv, .parquet, .ndjson, .jsonl or .json."
        ),
    ],
    alpha: Annotated[float | None, alpha_option("this, or --quality, must be given.")] = None,
    quality: Annotated[str | None, quality_option("")] = None,
    policy: Annotated[
        list[str] | None,
        policy_option(
            "A policy; repeat for more. 'all': the paper's five; 'every': all that are made for means that "
            "stay, but mix-cs, which promises an average. "
            f"Default: {', '.join(DEFAULT_POLICIES)}, or those of them that know the bar; and mix-cs and "
            "dual-cof where something is known of requests.",
        ),
    ] = None,
    option_column: OptionColumn = None,
    reward_column: RewardColumn = None,
    cost_column: CostColumn = None,
    time_column: Annotated[
        str | None, column_option("time", "When; rows are put in this order. Default: time, if it is there.")
    ] = None,
    request_column: Annotated[
        str | None,
        column_option(
            "request",
            "Which request, for a full table with a row for each option. Default: request, if it is there.",
        ),
    ] = None,
    propensity_column: Annotated[
        str | None,
        column_option(
            "propensity",
            "The probability with which the option was chosen. Default: propensity, if it is there.",
        ),
    ] = None,
    context_column: Annotated[
        str | None,
        column_option("context", "The kind of the request, its segment. Default: context, if it is there."),
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Numbers that are known of a request before it is answered: a column, or several as 'x*'; "
            "repeat for more.",
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="The text of the request, hashed into 32 features; in place of --features."
        ),
    ] = None,
    among: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="An option that may be used; repeat for more. Default: all of the log."
        ),
    ] = None,
    estimator: Annotated[
        str,
        typer.Option(
            metavar="auto|full|resample|reject|weights",
            help="full: the requests as they were; resample: rows of each option, drawn; weights: drawn by "
            "1 over "
            "their propensity; reject: rows of a log that chose uniformly at random, where the policy "
            "chooses the "
            "same. auto: full for a full table, weights where there are propensities, resample otherwise.",
        ),
    ] = "auto",
    random_assignment: Annotated[
        bool,
        typer.Option(
            "--random-assignment",
            help="Say that options were assigned at random, whatever the request; refused where a test "
            "speaks against it.",
        ),
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Refuse a log that does not identify what options would have given: no full table, no "
            "propensities and no random assignment.",
        ),
    ] = False,
    format: LogFormat = "auto",
    requests: Annotated[
        int | None,
        whole(1, "Requests of each run, by resample and weights. Default: as many as the log has judged."),
    ] = None,
    resamples: Annotated[
        int | None,
        whole(39, "Pasts that are drawn for the intervals. Default: 199, fewer for large tables."),
    ] = None,
    seed: Annotated[int, whole(0, "The same seed gives the same result.")] = 0,
    workers: Annotated[int | None, whole(1, "Threads. Default: one per core.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help=f"Write {_FILES[0]}, and the figure as {_FILES[1]} and {_FILES[2]}."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what policies would have spent and reached on a log.

    A log has a row a request: the option that was used, how good that was and what it cost. A full table has
    all options of each request: columns reward:NAME and cost:NAME, or a row for each request and option.
    Beside the policies stand what happened, the cheapest option that is good enough, and each option alone.
    A row without a reward was not judged, and counts for costs alone. Columns may be nested fields, as
    metadata.score. With --context-column, --features or --text, policies that look at the request are
    replayed on a full table as well (dual-cof), beside the best rules that do; on a log only by --estimator
    reject. Intervals, what they assume, drift and what is not known are said.
    """
    bar = check_quality(alpha, quality)
    names = None
    if policy:
        looking = list(dict.fromkeys(name for name in policy if looks(name)))
        others = [name for name in policy if not looks(name)]
        names = [*chosen_policies(others, any_bar=not isinstance(bar, RelativeToBest)), *looking]
    with _folder(out), interruptible(INTERRUPTED):
        found = fb.replay(
            log,
            policies=names,
            quality=bar,
            option=option_column,
            reward=reward_column,
            cost=cost_column,
            time=time_column,
            request=request_column,
            propensity=propensity_column,
            context=context_column,
            features=features,
            text=text,
            among=among,
            estimator=estimator,
            random_assignment=random_assignment,
            strict=strict,
            format=format,
            requests=requests,
            resamples=resamples,
            seed=seed,
            workers=workers,
        )
    written = [] if out is None else _write(found, out)
    if as_json:
        typer.echo(document("replay", **replay_shape(found), written=written))
        return
    console = terminal.console()
    console.print(terminal.replay_table(found, console.width))
    for path in written:
        console.print(f"written: {path}", soft_wrap=True)


@contextmanager
def _folder(out: Path | None) -> Iterator[None]:
    """Make sure, before any work, that files can be put there; a refused log leaves no folder behind."""
    if out is None:
        yield
        return
    new = not out.exists()
    make_folder(out)
    try:
        for name in _FILES:
            check_writable(out / name)
        yield
    except InputError:
        if new:
            out.rmdir()
        raise


def _write(found: Replay, folder: Path) -> list[Path]:
    from frugalbandits.lab import figures

    paths = [folder / name for name in _FILES]
    with written_whole(paths[0]) as temporary:
        try:
            found.to_polars().write_csv(temporary)
        except OSError as error:
            raise InputError(f"cannot write {str(paths[0])!r}: {error.strerror or error}") from error
    figure = found.plot()
    for path in paths[1:]:
        figures.save(figure, path)
    return paths
