"""The command that says what to expect before the first decision."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from frugalbandits.cli.columns import CostColumn, LogFormat, OptionColumn, RewardColumn
from frugalbandits.cli.common import (
    INTERRUPTED,
    AsJson,
    alpha_option,
    app,
    check_installed,
    chosen_policies,
    number,
    policy_option,
    pull_count,
    quality_option,
    whole,
    worth_option,
)
from frugalbandits.cli.interrupts import interruptible
from frugalbandits.cli.shapes import advice_shape, document
from frugalbandits.core.files import check_writable, make_folder, written_whole
from frugalbandits.core.quality import RelativeToBest
from frugalbandits.errors import InputError
from frugalbandits.lab import terminal
from frugalbandits.lab.advice import POLICIES, Advice, advise_on, case_of
from frugalbandits.lab.terminal.advice import advice_report

__all__ = ["advise"]

_FILES = ("days.csv", "plans.csv", "advice.svg", "advice.png")


@app.command(
    short_help="Say what learning would cost and save, before the first decision.",
    epilog="Example: frugal advise --cost small=0.2 --cost large=3 --alpha 0.1",
)
def advise(
    cost: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OPTION=C", help="What a decision for an option costs; repeat. Default: the log's."
        ),
    ] = None,
    guess: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OPTION=Q",
            help="An option's quality, as 0.8 or 0.6..0.9; repeat. Without a guess or a log, 0.3..0.95.",
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Past decisions, for options without a guess: .csv, .parquet, .ndjson or .json, with the "
            "columns option, reward and, without --cost, cost.",
        ),
    ] = None,
    option_column: OptionColumn = None,
    reward_column: RewardColumn = None,
    cost_column: CostColumn = None,
    format: LogFormat = "auto",
    alpha: Annotated[float | None, alpha_option("this or --quality is needed.")] = None,
    quality: Annotated[str | None, quality_option("")] = None,
    volume: Annotated[
        float, typer.Option(metavar="N", parser=pull_count, help="Decisions a day, such as 2000 or 1e7.")
    ] = 1_000,
    days: Annotated[int, whole(1, "The period that spend and saving are of.")] = 30,
    now: Annotated[
        str | None,
        typer.Option(
            metavar="OPTION",
            help="What is used now: savings are against it. Default: the bar's reference, or the best guess.",
        ),
    ] = None,
    feedback: Annotated[
        str,
        typer.Option(
            metavar="S", help="Share of the decisions that are judged, or 'wanted': those asked for."
        ),
    ] = "1",
    judge_price: Annotated[
        float, typer.Option(parser=number, metavar="C", help="What a judgement costs; part of the spend.")
    ] = 0.0,
    worth: Annotated[float | None, worth_option()] = None,
    policy: Annotated[
        list[str] | None,
        policy_option(f"A policy to try; repeat for more. Default: {' and '.join(POLICIES)}."),
    ] = None,
    runs: Annotated[
        int | None, whole(1, "Runs of the first policy. Default: what takes a few seconds.")
    ] = None,
    seed: Annotated[int, whole(0, "The same seed gives the same result.")] = 0,
    workers: Annotated[int | None, whole(1, "Threads. Default: one per core.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write days.csv, plans.csv, advice.svg and advice.png there."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what learning online would cost and save, before the first decision.

    What may be true is drawn from the guesses, once a run, and a session is simulated in it: expected spend,
    saving, quality, how much feedback it takes, and when it is not worth it. It knows from when on at least
    95% of the decisions of every stretch of time (a 20th of all before it) go to the option that it ends on;
    days to know is the median of the runs.
    """
    chosen = chosen_policies(policy or list(POLICIES))
    if alpha is not None and quality is not None:
        raise InputError(f"--alpha {alpha:g} and --quality {quality} both say what is good enough: give one")
    if alpha is None and quality is None:
        raise InputError("say what is good enough: give --alpha or --quality")
    _check_columns(log, option_column=option_column, reward_column=reward_column, cost_column=cost_column)
    case = case_of(
        _pairs("--cost", cost or [], _number) or None,
        volume,
        alpha,
        quality,
        _pairs("--guess", guess or [], _guess),
        log,
        (option_column or "option", reward_column or "reward", cost_column or "cost"),
        days,
        now,
        "wanted" if feedback == "wanted" else _number("--feedback", feedback),
        judge_price,
        worth,
        format,
    )
    if not isinstance(case.quality, RelativeToBest):
        chosen = chosen_policies(policy or list(POLICIES), any_bar=True)
    _prepare(out)
    with interruptible(INTERRUPTED):
        advice = advise_on(case, chosen, runs, seed, workers)
    written = [] if out is None else _write(advice, out)
    if as_json:
        typer.echo(document("advise", **advice_shape(advice), written=written))
        return
    console = terminal.console()
    console.print(advice_report(advice, console.width))
    if written:
        console.print(f"\nwritten: {', '.join(map(str, written))}", soft_wrap=True)


def _check_columns(log: Path | None, **columns: str | None) -> None:
    """Refuse names of columns where there is no log that has them."""
    for name, column in columns.items():
        if column is not None and log is None:
            raise InputError(f"--{name.replace('_', '-')} {column} names a column of a log: give --log")


def _pairs(option: str, given: Sequence[str], parse: Any) -> dict[str, Any]:
    """Return what NAME=VALUE says; a name may have an = of its own."""
    found: dict[str, Any] = {}
    for text in given:
        name, sign, value = text.rpartition("=")
        if not sign or not name.strip():
            raise InputError(f"{option} must be OPTION=VALUE, but it is {text!r}")
        if name in found:
            raise InputError(f"{option} names {name!r} twice")
        found[name] = parse(f"{option} of {name!r}", value)
    return found


def _number(what: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{what} must be a number, but it is {text!r}") from None


def _guess(what: str, text: str) -> float | tuple[float, float]:
    low, dots, high = text.partition("..")
    return (_number(what, low), _number(what, high)) if dots else _number(what, text)


def _prepare(out: Path | None) -> None:
    """Make sure, before any work, that the files can be made and put there."""
    if out is not None:
        check_installed("matplotlib", "--out", "lab")
        check_installed("polars", "--out", "lab")
        folder = make_folder(out)
        for name in _FILES:
            check_writable(folder / name)


def _write(advice: Advice, out: Path) -> list[Path]:
    from frugalbandits.lab import figures

    days, plans, *pictures = (out / name for name in _FILES)
    for path, table in ((days, advice.to_polars()), (plans, advice.to_polars("plans"))):
        with written_whole(path) as temporary:
            table.write_csv(temporary)
    figure = figures.plot_advice(advice)
    for picture in pictures:
        figures.save(figure, picture)
    return [days, plans, *pictures]
