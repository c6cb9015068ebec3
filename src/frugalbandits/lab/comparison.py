"""Several policies on one problem: one table, one figure."""

from __future__ import annotations

import io
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console

from frugalbandits.core.contract import EACH, Policy
from frugalbandits.core.options import check_horizon
from frugalbandits.core.quality import RelativeToBest
from frugalbandits.core.registry import policies, resolve
from frugalbandits.errors import InputError, unknown_name
from frugalbandits.lab import terminal
from frugalbandits.lab.bounds import LeastRegret, least_regret
from frugalbandits.lab.bounds.programme import Objective
from frugalbandits.lab.documents.html import fragment
from frugalbandits.lab.documents.parts import Cell, Table
from frugalbandits.lab.figures import LEAST, Panel, plot_promise, plot_regret
from frugalbandits.lab.instances.catalogue import as_problem
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.ratios import ratio
from frugalbandits.lab.result import Regret, Result, as_pandas
from frugalbandits.lab.rewards import Bernoulli, RewardModel, resolve_rewards
from frugalbandits.lab.shown import Shown
from frugalbandits.lab.simulation import check_count, simulate
from frugalbandits.lab.text import counted, readable, shown, title
from frugalbandits.lab.views import promise_html, success
from frugalbandits.lab.watching import Progress, advance, listener

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

__all__ = ["Comparison", "compare"]

# What the least regret of each kind is; scaled regret is the sum on the problem in units of quality.
_REGRETS: dict[Regret, Objective] = {
    "scaled": "sum",
    "summed": "sum",
    "cost": "cost",
    "quality": "quality",
}


@dataclass(frozen=True, eq=False)
class Comparison(Shown):
    """Results of several policies on one problem, with the same seed and horizon.

    Attributes
    ----------
    name
        What the problem is called.
    results
        A result per policy, in the order given; also ``comparison["cof"]``.
    seconds
        How long each took, compilation left out.
    least
        The least summed regret that the lower bounds allow, and whether the horizon is too small for them;
        None where rewards are not Bernoulli.
    """

    name: str
    results: tuple[Result, ...]
    seconds: tuple[float, ...]
    least: LeastRegret | None

    @property
    def problem(self) -> Problem:
        """The problem."""
        return self.results[0].problem

    def __getitem__(self, policy: str) -> Result:
        found = {result.policy: result for result in self.results}
        if policy not in found:
            raise unknown_name("policy of this comparison", str(policy), found)
        return found[policy]

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @cached_property
    def _over_least(self) -> list[float | None]:
        if self.least is None:
            return [None] * len(self.results)
        return [ratio(result.summary().mean, self.least.value) for result in self.results]

    @property
    def _least_words(self) -> str:
        if self.least is None:
            return ""
        early = " (asymptotic: it takes more pulls than T)" if self.least.too_early else ""
        return f"{LEAST}: {readable(self.least.value)}{early}"

    def to_polars(self) -> pl.DataFrame:
        """Return a row per policy: means and percentiles of regret, the promise, and over the least.

        All of it is at the horizon.
        """
        import polars as pl

        rows = []
        for result, seconds, over in zip(self.results, self.seconds, self._over_least, strict=True):
            row: dict[str, Any] = {"policy": result.policy, "quality": str(result.problem.quality)}
            row |= {"horizon": result.horizon, "runs": result.runs}
            for regret in _REGRETS:
                mean, low, high = result.summary(regret)
                row |= {f"{regret}_regret": mean, f"{regret}_regret_p20": low, f"{regret}_regret_p80": high}
            row |= {
                "late_on_optimal": result.late_on_optimal,
                "settled_on_optimal": result.settled_on_optimal,
                "held": float(result.held[-1]),
                "delivered_low": float(result.delivered_low[-1]),
                "late_good": result.late_good,
                "spend_over_oracle": float(result.spend_over_oracle[:, -1].mean()),
                "promise_regret": float(result.promise_regret[:, -1].mean()),
            }
            rows.append(row | {"over_least": over, "seconds": seconds})
        kinds = dict.fromkeys(("over_least", "settled_on_optimal"), pl.Float64)
        return pl.DataFrame(rows, schema_overrides=kinds)

    def to_pandas(self) -> Any:
        """Return the table of `to_polars` as a pandas.DataFrame."""
        return as_pandas(self.to_polars())

    def plot(self, regret: Regret = "summed") -> Figure:
        """Draw regret against time, all policies in one panel.

        The least regret that the lower bounds allow is there too, unless the horizon is too small for them.
        """
        if regret not in _REGRETS:
            raise InputError(f"regret must be {', '.join(map(repr, _REGRETS))}, but it is {regret!r}")
        least = None
        if self.least is not None and not self.least.too_early:
            problem = self.problem.scaled() if regret == "scaled" else self.problem
            least = least_regret(problem, self.results[0].horizon, objective=_REGRETS[regret]).value
        return plot_regret([Panel(title(self.name), self.results, regret, least)])

    def plot_promise(self) -> Figure:
        """Draw the share of runs that hold the bar against what they spend, a point a policy."""
        return plot_promise(self.results, title(self.name))

    def __repr__(self) -> str:
        width = max(shutil.get_terminal_size().columns, 40)
        console = Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False)
        cells = [
            terminal.Cell(self.name, result, seconds)
            for result, seconds in zip(self.results, self.seconds, strict=True)
        ]
        with console.capture() as captured:
            console.print(terminal.regret_table(cells, width))
            if self.least is not None:
                console.print(self._least_words)
            console.print()
            console.print(terminal.promise_table(cells, width))
        return "\n".join(line.rstrip() for line in captured.get().splitlines())

    def _repr_html_(self) -> str:
        first = self.results[0]
        problem = first.problem
        best = min(result.summary().mean for result in self.results)
        heads = ["policy", *(f"{regret} regret" for regret in _REGRETS), "times the least"]
        rows = []
        for result, over in zip(self.results, self._over_least, strict=True):
            mark: Literal["strong", ""] = "strong" if result.summary().mean == best else ""
            bands = []
            for regret in _REGRETS:
                mean, low, high = map(readable, result.summary(regret))
                bands.append(f"{mean} [{low}, {high}]")
            words = [title(result.policy), *bands, "" if over is None else shown(over)]
            values = [*words, *(value for _, value in success(result))]
            rows.append(tuple(Cell(value, mark=mark) for value in values))
        heads += [head for head, _ in success(first)]
        least = "" if self.least is None else f"; {self._least_words}"
        caption = (
            f"{title(self.name)}, {problem.quality.short}, T = {first.horizon:,}, {counted(first.runs)}: "
            f"a* is {problem.names[problem.optimal_arm]}; mean [20th, 80th percentile] over the runs{least}"
        )
        table = Table(caption, tuple(heads), "l" + "r" * (len(heads) - 1), tuple(rows))
        return fragment([table, promise_html(self.results)])


def compare(
    problem: Problem | str,
    policies: Sequence[str | Policy] | None = None,
    horizon: float = 100_000,
    runs: int = 50,
    seed: int = 0,
    checkpoints: int | Sequence[int] = 500,
    workers: int | None = None,
    rewards: str | RewardModel = "bernoulli",
    progress: Progress = True,
) -> Comparison:
    """Run several policies on a problem.

    Parameters
    ----------
    problem
        A problem, or the name of a built-in instance.
    policies
        Names, or policies with settings. By default VOI-CS, GLR-COF and the paper's five, or those that know
        the problem's quality bar.
    horizon, runs, seed, checkpoints, workers, rewards
        As for `simulate`.
    progress
        As for `simulate`, over the runs of all policies.

    Examples
    --------
    >>> comparison = compare("nu1", ["etc-cs", "pe-cs"], horizon=5_000, runs=4)
    >>> [result.policy for result in comparison]
    ['etc-cs', 'pe-cs']
    >>> comparison.to_polars().shape
    (2, 25)
    """
    name = title(problem) if isinstance(problem, str) else "problem"
    problem = as_problem(problem)
    chosen = _chosen(problem, policies)
    model = resolve_rewards(rewards)
    total = check_horizon(horizon, problem.arms)
    count = check_count("runs", runs)
    run = partial(simulate, problem, seed=seed, workers=workers, rewards=model)
    results: list[Result] = []
    seconds: list[float] = []
    with listener(progress, len(chosen) * count) as tell:
        for policy in chosen:
            # Compiling is no part of a policy's seconds; and what is wrong shows before the first long run.
            tell(str(policy), 0)
            run(policy, min(total, 10 * problem.arms), runs=1, checkpoints=1, progress=False)
        for place, policy in enumerate(chosen):
            start = time.perf_counter()
            after = partial(advance, tell, str(policy), place * count)
            results.append(run(policy, total, runs=count, checkpoints=checkpoints, progress=after))
            seconds.append(time.perf_counter() - start)
    least = least_regret(problem, total) if isinstance(model, Bernoulli) else None
    return Comparison(name, tuple(results), tuple(seconds), least)


def _chosen(problem: Problem, policies: Sequence[str | Policy] | None) -> list[str | Policy]:
    if policies is None:
        paper = isinstance(problem.quality, RelativeToBest)
        return [name for name in _one_of_each_kind() if paper or resolve(name).any_bar]
    if isinstance(policies, str | Policy) or not policies:
        raise InputError(f"policies must be a list of names or policies, but it is {policies!r}")
    for policy in policies:
        resolve(policy)
    return list({str(policy): policy for policy in policies}.values())


def _one_of_each_kind() -> list[str]:
    """Return the first registered name of each kind of policy."""
    first: dict[type[Policy], str] = {}
    for name in policies(moving=False, over=EACH):
        first.setdefault(type(resolve(name)), name)
    return list(first.values())
