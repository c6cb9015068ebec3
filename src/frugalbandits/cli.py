"""The command line: parses, calls the library, prints. Every error is one line and exit code 2."""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
from frugalbandits.policies import resolve
from frugalbandits.problem import check_horizon
from frugalbandits.rewards import resolve_rewards

__all__ = ["PAPER_POLICIES", "app", "main"]

#: The policies of the paper's comparison: what `--policy all` stands for.
PAPER_POLICIES = ("cof", "pe-cs", "ucb-cs", "ts-cs", "etc-cs")

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
            _say("frugal: interrupted")
        sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str) -> int:
    _say(f"frugal: error: {message}")
    return 2


def _say(message: str) -> None:
    sys.stderr.write(report.printable(message) + "\n")


app = typer.Typer(
    cls=_Frugal,
    name="frugal",
    add_completion=False,
    rich_markup_mode=None,
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
    alpha: Annotated[
        float | None,
        typer.Option(metavar="A", help="Share of quality given up, in place of the instance's own."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw it as a figure too: .png, .pdf or .svg.")
    ] = None,
) -> None:
    """List the built-in instances, or draw one of them.

    An arm is feasible when its mean is at least (1 - alpha) times the highest mean; a* is the cheapest
    feasible arm, i* the one with the highest mean.
    """
    console = report.console()
    if instance is None:
        if plot is not None:
            raise InputError(
                "--plot draws one instance: name it, as in 'frugal instances goodreads --plot FILE'"
            )
        rows = [(name, fb.instance(name, alpha), describe(name)) for name in fb.instances()]
        console.print(report.instance_table(rows))
        return
    problem = _problem(instance, alpha)
    source = describe(instance) if instance in fb.instances() else ""
    _prepare(plot, "--plot", _FIGURES)
    width = console.width if console.is_terminal or "COLUMNS" in os.environ else 80
    drawing = report.picture(problem, instance, source, width, console.options.ascii_only)
    console.print(drawing, soft_wrap=True)
    if plot is not None:
        from frugalbandits import figures

        figures.save(figures.plot_instance(problem, instance), plot)
        console.print(f"\nfigure written to {plot}", soft_wrap=True)


def _pulls(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number of pulls such as 200000 or 5e6") from None
    return int(value) if value.is_integer() else value


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
    alpha: Annotated[
        list[float] | None,
        typer.Option(
            metavar="A", help="Share of quality given up; repeat for more. Default: the instance's own."
        ),
    ] = None,
    horizon: Annotated[
        float, typer.Option(metavar="T", parser=_pulls, help="Pulls in each run, such as 200000 or 5e6.")
    ] = 100_000,
    runs: Annotated[int, typer.Option(min=1, metavar="N", help="Independent runs of each policy.")] = 50,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="The same seed gives the same result.")] = 0,
    checkpoints: Annotated[
        int, typer.Option(min=1, metavar="N", help="Times at which regret is recorded.")
    ] = 500,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Threads. Default: one per core.")
    ] = None,
    rewards: Annotated[
        str, typer.Option(metavar="bernoulli|beta", help="How rewards spread around their means.")
    ] = "bernoulli",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write regret over time: .parquet or .csv.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw regret over time: .png, .pdf or .svg.")
    ] = None,
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
    _prepare(out, "--out", _TABLES)
    _prepare(plot, "--plot", _FIGURES)

    with _progress(len(jobs) * runs) as show:
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
                progress=lambda done, _, what=what, before=number * runs: show(what, before + done),  # type: ignore[misc]
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
        for _, group in _by_problem(cells):
            console.print(report.regret_table(group, console.width))
            console.print()
        for line in written:
            console.print(line, soft_wrap=True)


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
    if name not in fb.instances() and (path.suffix or len(path.parts) > 1 or path.is_file()):
        return fb.read_instance(name, alpha)
    return fb.instance(name, alpha)


def _prepare(path: Path | None, option: str, suffixes: Sequence[str]) -> None:
    """Make sure, before any work, that a file of this kind can be made and put there."""
    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        raise InputError(f"{option} must end in {', '.join(suffixes)}, but it is {str(path)!r}")
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
        raise InputError(f"cannot make the folder {str(path.parent)!r}: {error.strerror}") from error
    check_writable(path)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[str, int], None]]:
    """Show a bar on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda what, done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(20),
        MofNCompleteColumn(),
        TextColumn("runs, left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda what, done: bar.update(task, description=report.printable(what), completed=done)


def _by_problem(cells: Sequence[report.Cell]) -> list[tuple[str, list[report.Cell]]]:
    grouped = groupby(cells, key=lambda cell: (cell.instance, cell.result.problem.alpha))
    return [(instance, list(group)) for (instance, _), group in grouped]


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

    panels = [
        figures.Panel(instance, [cell.result for cell in group]) for instance, group in _by_problem(cells)
    ]
    figures.save(figures.plot_regret(panels), path)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        # An arm's name may hold characters that the terminal's encoding lacks.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    app(prog_name="frugal")


if __name__ == "__main__":
    main()
