"""The command line: parses, calls the library, prints. Every error is one line and exit code 2."""

from __future__ import annotations

import importlib
import io
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

import frugalbandits as fb
from frugalbandits import report
from frugalbandits.errors import InputError
from frugalbandits.files import check_writable, written_whole
from frugalbandits.instances import describe
from frugalbandits.interrupts import interruptible
from frugalbandits.policies import resolve
from frugalbandits.problem import check_horizon
from frugalbandits.rewards import resolve_rewards

__all__ = ["PAPER_POLICIES", "app", "main"]

#: The policies of the paper's comparison: what `--policy all` stands for.
PAPER_POLICIES = ("cof", "pe-cs", "ucb-cs", "ts-cs", "etc-cs")

_INTERRUPTED = "frugal: interrupted"
_TABLES = (".parquet", ".csv")
_FIGURES = (".png", ".pdf", ".svg")


class _Frugal(TyperGroup):
    """The commands, with errors as one line on standard error: from `main` and from tests alike."""

    def main(self, *args: Any, **extra: Any) -> Any:
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except InputError as error:
            code = _fail(str(error))
        except MemoryError as error:
            code = _fail(f"not enough memory ({error}); fewer --runs or --checkpoints need less")
        except OSError as error:
            code = _fail(f"{error.strerror or error}" + (f": {error.filename!r}" if error.filename else ""))
        except Exception as error:
            # typer brings its own copy of click or uses the installed one, depending on its version:
            # its usage errors are known by this method.
            message = getattr(error, "format_message", None)
            if message is None:
                raise
            code = _fail(message())
        if code == 130:  # what typer makes of a keyboard interrupt
            _say(_INTERRUPTED)
        sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str) -> int:
    _say(f"frugal: error: {report.printable(message)}")
    return 2


def _say(message: str) -> None:
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()


app = typer.Typer(
    cls=_Frugal,
    name="frugal",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 90},
    epilog="Example: frugal simulate goodreads --policy cof --horizon 1e5 --runs 10",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"frugalbandits {fb.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def frugal(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find the cheapest option that is good enough: bandits with cost subsidy."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _number(text: str | float) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None


def _pulls(text: str | float) -> float:
    value = _number(text)
    return int(value) if value.is_integer() else value


def _whole(least: int, text: str) -> Any:
    """Return an option for a whole number."""

    def parse(given: str | int) -> int:
        try:
            value = int(given)  # a seed may have more digits than a float
        except ValueError:
            value = int(_number(given)) if _number(given).is_integer() else least - 1
        if value < least:
            raise typer.BadParameter(f"{given!r} is not a whole number, {least} or more")
        return value

    return typer.Option(parser=parse, metavar="N", help=text)


def _file(text: str) -> Any:
    return typer.Option(metavar="FILE", help=text)


def _alpha(text: str) -> Any:
    return typer.Option(parser=_number, metavar="A", help=f"Share of quality given up; {text}")


@app.command(epilog="Example: frugal policies")
def policies() -> None:
    """List the policies that can be simulated, with their settings."""
    report.console().print(report.policy_table([(name, resolve(name)) for name in fb.policies()]))


@app.command(epilog="Example: frugal instances goodreads --alpha 0.3")
def instances(
    instance: Annotated[
        str | None,
        typer.Argument(metavar="NAME|FILE", help="A built-in name, or an instance file (.txt or .csv)."),
    ] = None,
    alpha: Annotated[float | None, _alpha("default: the instance's own.")] = None,
    plot: Annotated[Path | None, _file("Draw it as a figure too: .png, .pdf or .svg.")] = None,
) -> None:
    """List the built-in instances, or draw one of them.

    An arm is feasible when its mean is at least (1 - alpha) times the highest mean; a* is the cheapest
    feasible arm, i* the one with the highest mean.
    """
    console = report.console()
    if instance is None:
        if plot is not None:
            raise InputError(f"--plot draws one instance, but none is named for {str(plot)!r}")
        rows = [(name, fb.instance(name, alpha), describe(name)) for name in fb.instances()]
        console.print(report.instance_table(rows))
        return
    problem = _problem(instance, alpha)
    source = describe(instance) if instance in fb.instances() else ""
    _prepare(plot, "--plot", _FIGURES)
    width = console.width if console.is_terminal or "COLUMNS" in os.environ else 80
    drawing = report.picture(problem, instance, source, width, console.options.ascii_only)
    if plot is not None:
        from frugalbandits import figures

        figures.save(figures.plot_instance(problem, instance), plot)
        drawing.append(f"\n\nfigure written to {plot}")
    console.print(drawing, soft_wrap=True)


@app.command(epilog="Example: frugal simulate goodreads --policy etc-cs --alpha 0.3 --runs 10")
def simulate(
    instance: Annotated[
        list[str],
        typer.Argument(metavar="INSTANCE", help="Built-in names, or instance files (.txt or .csv)."),
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A policy; repeat for more. 'all' (the default): the paper's five; 'every': all there are.",
        ),
    ] = None,
    alpha: Annotated[list[float] | None, _alpha("repeat for more. Default: the instance's own.")] = None,
    horizon: Annotated[
        float, typer.Option(metavar="T", parser=_pulls, help="Pulls in each run, such as 200000 or 5e6.")
    ] = 100_000,
    runs: Annotated[int, _whole(1, "Independent runs of each policy.")] = 50,
    seed: Annotated[int, _whole(0, "The same seed gives the same result.")] = 0,
    checkpoints: Annotated[int, _whole(1, "Times at which regret is recorded.")] = 500,
    workers: Annotated[int | None, _whole(1, "Threads. Default: one per core.")] = None,
    rewards: Annotated[
        str, typer.Option(metavar="bernoulli|beta", help="How rewards spread around their means.")
    ] = "bernoulli",
    out: Annotated[Path | None, _file("Write regret over time: .parquet or .csv.")] = None,
    plot: Annotated[Path | None, _file("Draw regret over time: .png, .pdf or .svg.")] = None,
) -> None:
    """Run policies on instances and compare their regret.

    Cost regret adds what each pull costs more than a*, the cheapest arm that is good enough; quality
    regret adds what each pull's mean lacks to be good enough; summed regret is both together.
    """
    jobs = _jobs(instance, policy or ["all"], alpha or [None])
    model = resolve_rewards(rewards)
    for job in jobs:
        check_horizon(horizon, job.problem.arms)
        model.draws(job.problem)
    _check_memory(jobs, runs, min(checkpoints, int(horizon)))
    _prepare(out, "--out", _TABLES)
    _prepare(plot, "--plot", _FIGURES)

    with interruptible(_INTERRUPTED), report.progress(len(jobs) * runs) as show:
        for job in {job.policy: job for job in jobs}.values():
            # Compiling is no part of a policy's seconds, and happens once however many cells there are.
            show(f"preparing {job.policy}", 0)
            short = min(horizon, 10 * job.problem.arms)
            fb.simulate(job.problem, job.policy, short, runs=1, checkpoints=1, rewards=model)
        cells = []
        for number, job in enumerate(jobs):
            what = f"{job.instance}, alpha {job.problem.alpha:g}, {job.policy}"
            show(what, number * runs)
            start = time.perf_counter()
            result = fb.simulate(
                job.problem,
                job.policy,
                horizon,
                runs=runs,
                seed=seed,
                checkpoints=checkpoints,
                workers=workers,
                rewards=model,
                progress=partial(_advance, show, what, number * runs),
            )
            cells.append(report.Cell(job.instance, result, time.perf_counter() - start))

    console = report.console()
    written: list[str] = []
    try:
        # Before anything is printed: a reader of a pipe that goes away takes no file with it.
        if out is not None:
            written.append(f"table of {_write_table(cells, out):,} rows written to {out}")
        if plot is not None:
            _write_figure(cells, plot)
            written.append(f"figure written to {plot}")
    finally:
        for group in _by_problem(cells):
            console.print(report.regret_table(group, console.width))
            console.print()
        for line in written:
            console.print(line, soft_wrap=True)


def _advance(show: Callable[[str, int], None], what: str, before: int, done: int, total: int) -> None:
    show(what, before + done)


class _Job(NamedTuple):
    instance: str
    problem: fb.Problem
    policy: str


def _jobs(instances: Sequence[str], policies: Sequence[str], alphas: Sequence[float | None]) -> list[_Job]:
    groups = {"all": PAPER_POLICIES, "every": fb.policies()}
    names = list(dict.fromkeys(name for given in policies for name in groups.get(given, (given,))))
    for name in names:
        resolve(name)
    return [
        _Job(given, problem, name)
        for given in dict.fromkeys(instances)
        for problem in dict.fromkeys(_problem(given, alpha) for alpha in alphas)
        for name in names
    ]


def _problem(name: str, alpha: float | None) -> fb.Problem:
    path = Path(name)
    if name not in fb.instances() and (path.suffix or "/" in name or os.sep in name or path.is_file()):
        return fb.read_instance(name, alpha)
    return fb.instance(name, alpha)


def _check_memory(jobs: Sequence[_Job], runs: int, checkpoints: int) -> None:
    """Refuse what cannot fit: a slip in --runs would otherwise take the whole machine down."""
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no such call
        return
    # Pulls are 8 bytes per arm and checkpoint; a run's random streams take a few thousand.
    needed = runs * sum(8 * checkpoints * job.problem.arms + 4096 for job in jobs)
    if needed > there:
        raise InputError(
            f"this would take about {needed / 1e9:,.0f} GB of memory, but the machine has "
            f"{there / 1e9:,.0f}: lower --runs or --checkpoints"
        )


def _prepare(path: Path | None, option: str, suffixes: Sequence[str]) -> None:
    """Make sure, before any work, that a file of this kind can be made and put there."""
    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        allowed = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}"
        raise InputError(f"{option} must end in {allowed}, but it is {str(path)!r}")
    module, extra = ("matplotlib", "figures") if suffixes == _FIGURES else ("polars", "tables")
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"{option} needs {module}: pip install 'frugalbandits[{extra}]' ({error})"
        ) from error
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = "a file has that name" if isinstance(error, FileExistsError) else error.strerror
        raise InputError(f"cannot make the folder {str(path.parent)!r}: {why}") from error
    check_writable(path)


def _by_problem(cells: Sequence[report.Cell]) -> list[list[report.Cell]]:
    grouped = groupby(cells, key=lambda cell: (cell.instance, cell.result.problem.alpha))
    return [list(group) for _, group in grouped]


def _write_table(cells: Sequence[report.Cell], path: Path) -> int:
    import polars as pl

    table = pl.concat(
        cell.result.to_polars().select(pl.lit(cell.instance).alias("instance"), pl.all()) for cell in cells
    )
    with written_whole(path) as temporary:
        try:
            if path.suffix.lower() == ".csv":
                table.write_csv(temporary)
            else:
                table.write_parquet(temporary)
        except pl.exceptions.PolarsError as error:
            raise InputError(f"cannot write {str(path)!r}: {error}") from error
    return table.height


def _write_figure(cells: Sequence[report.Cell], path: Path) -> None:
    from frugalbandits import figures

    groups = _by_problem(cells)
    panels = [figures.Panel(group[0].instance, [cell.result for cell in group]) for group in groups]
    figures.save(figures.plot_regret(panels), path)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        # An arm's name may hold characters that the terminal's encoding lacks.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app(prog_name="frugal")


if __name__ == "__main__":
    main()
