"""What a simulation returns: pulls at checkpoints, regret, events, and tidy tables of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contract import EACH, Policy
from frugalbandits.core.quality import AtLeast
from frugalbandits.core.registry import policies, resolve
from frugalbandits.errors import InputError
from frugalbandits.lab import archive
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.promise import good_arms, holds, low_quantile, ratio_to
from frugalbandits.lab.shown import Shown, figure_of

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

__all__ = ["REGRETS", "Regret", "Result", "Summary", "as_pandas", "final_regret"]

#: The kinds of regret: "summed" is in units of cost, as the paper has it, and "scaled" in units of quality.
Regret: TypeAlias = Literal["cost", "quality", "summed", "scaled"]
REGRETS: tuple[Regret, ...] = ("cost", "quality", "summed", "scaled")

_ENDED = 0.9  # of the late pulls: arms that are still compared share them


class Summary(NamedTuple):
    """Mean and the band from the 20th to the 80th percentile over runs, as in the paper's figures."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Result(Shown):
    """Runs of one policy on one problem.

    Attributes
    ----------
    times
        Pull counts of the checkpoints, the last one the horizon.
    pulls
        Pulls of each arm up to each checkpoint: runs x checkpoints x arms, in the caller's order.
    events
        A structured array with the fields run, time, event ("infeasible" or "optimal") and arm, where
        time is the number of pulls made when the conclusion was drawn. That no arm reaches a fixed level is
        the event "unreachable" of the arm that was ruled out last.
    plans
        Plans made in each run: what a run costs.
    """

    problem: Problem
    policy: str
    seed: int
    times: NDArray[np.int64]
    pulls: NDArray[np.int64]
    events: NDArray[np.void]
    plans: NDArray[np.int64]

    @property
    def horizon(self) -> int:
        """Pulls in each run."""
        return int(self.times[-1])

    @property
    def runs(self) -> int:
        """Number of runs."""
        return int(self.pulls.shape[0])

    @cached_property
    def cost_regret(self) -> NDArray[np.float64]:
        """Cost regret up to each checkpoint: runs x checkpoints."""
        return self.problem.regrets(self.pulls)[0]

    @cached_property
    def quality_regret(self) -> NDArray[np.float64]:
        """Quality regret up to each checkpoint: runs x checkpoints."""
        return self.problem.regrets(self.pulls)[1]

    @cached_property
    def summed_regret(self) -> NDArray[np.float64]:
        """Cost regret plus quality regret, the measure of the paper's figures: runs x checkpoints."""
        return self.cost_regret + self.quality_regret

    @cached_property
    def scaled_regret(self) -> NDArray[np.float64]:
        """Cost regret over what a unit of quality is worth, plus quality regret: runs x checkpoints."""
        return self.cost_regret / self.problem.worth + self.quality_regret

    @cached_property
    def cost(self) -> NDArray[np.float64]:
        """Mean cost of the pulls up to each checkpoint: runs x checkpoints."""
        return np.asarray(self.pulls @ self.problem.costs / self.times)

    @cached_property
    def quality(self) -> NDArray[np.float64]:
        """Mean quality of the pulls up to each checkpoint, by the true means: runs x checkpoints."""
        return np.asarray(self.pulls @ self.problem.means / self.times)

    @property
    def excess(self) -> NDArray[np.float64]:
        """What the pulls have cost beyond the cheapest mix, `Problem.mix`: runs x checkpoints."""
        return np.asarray((self.cost - self.problem.mix.cost) * self.times)

    @property
    def shortfall(self) -> NDArray[np.float64]:
        """What the quality of the pulls lacks to the bar in all; negative above it: runs x checkpoints."""
        return np.asarray((self.problem.mix.bar - self.quality) * self.times)

    @property
    def mix_regret(self) -> NDArray[np.float64]:
        """Regret of a promise on the average, in units of cost: runs x checkpoints.

        It is the excess, where that is positive, plus the shortfall, where that is, at the price of quality
        of the cheapest mix. What is lost on one side is not made good by the other.
        """
        return np.maximum(self.excess, 0.0) + self.problem.mix.price * np.maximum(self.shortfall, 0.0)

    @property
    def late_from(self) -> int:
        """Pulls before the late part of a run: the last checkpoint within four fifths of the horizon.

        So the late part is the last fifth where a checkpoint stands at its start, as it does with a multiple
        of 5 of them; it is more otherwise, and the whole run where there is no earlier checkpoint.
        """
        early = self.times[self.times <= self.horizon * 4 // 5]
        return int(early[-1]) if early.size else 0

    @cached_property
    def late_pulls(self) -> NDArray[np.int64]:
        """Pulls of each arm in the late part of each run: runs x arms."""
        before = self.pulls[:, self.times == self.late_from].sum(axis=1)
        return np.asarray(self.pulls[:, -1] - before)

    @property
    def late_share(self) -> NDArray[np.float64]:
        """The share of each run's late pulls that went to the optimal arm."""
        share = self.late_pulls[:, self.problem.optimal_arm] / (self.horizon - self.late_from)
        return np.asarray(share)

    @property
    def late_on_optimal(self) -> float:
        """Share of late pulls that went to the optimal arm, over all runs."""
        return float(self.late_share.mean())

    @property
    def settles(self) -> bool:
        """Whether the policy can settle on an arm: some never draw that conclusion."""
        return all(kind.concludes for kind in self._policy_kinds())

    @property
    def promise(self) -> str:
        """What the policy promises: that "each" pull's arm is good enough, or the average over "queries"."""
        return next((str(kind.promise) for kind in self._policy_kinds()), EACH)

    def _policy_kinds(self) -> list[Any]:
        """Return the classes that the policy may be of; none where it is not known."""
        if self.policy.partition(":")[0] in policies():
            return [type(resolve(self.policy))]
        # The label of a policy with settings is how it is written in Python.
        own = self.policy.partition("(")[0]
        return [kind for kind in _kinds(Policy) if kind.__name__ == own]

    @cached_property
    def delivered(self) -> NDArray[np.float64]:
        """Quality of the pulls up to each checkpoint over the bar, by the true means: runs x checkpoints.

        It is infinite over a bar of 0, or 1 where nothing has any quality.
        """
        return ratio_to(self.quality, self.problem.threshold)

    @cached_property
    def held(self) -> NDArray[np.float64]:
        """Share of the runs that have delivered at least 0.99 of the bar, at each checkpoint."""
        return np.asarray(holds(self.delivered).mean(axis=0))

    @cached_property
    def delivered_low(self) -> NDArray[np.float64]:
        """The 1% quantile of `delivered` over the runs, at each checkpoint; below 100 runs the worst one."""
        return low_quantile(self.delivered)

    @property
    def late_good(self) -> float:
        """Share of late pulls, over all runs, whose arm has at least 0.99 of the bar."""
        late = self.late_pulls.sum(axis=0)
        return float(late[good_arms(self.problem.means, self.problem.threshold)].sum() / late.sum())

    @cached_property
    def spend_over_oracle(self) -> NDArray[np.float64]:
        """Cost over that of as many pulls of the optimal arm: runs x checkpoints.

        Nothing over nothing is 1. It is nan where an arm has a negative cost; `overspend` is there for that.
        """
        if self.problem.costs.min() < 0:
            return np.full(self.cost.shape, np.nan)
        return ratio_to(self.cost, float(self.problem.costs[self.problem.optimal_arm]))

    @property
    def overspend(self) -> NDArray[np.float64]:
        """Cost a pull above that of the optimal arm, in ranges of cost: runs x checkpoints.

        It is negative where less was spent.
        """
        above = self.cost - self.problem.costs[self.problem.optimal_arm]
        return np.asarray(above / self.problem.cost_range)

    @cached_property
    def promise_regret(self) -> NDArray[np.float64]:
        """Cost regret in ranges of cost, plus quality regret in allowances: runs x checkpoints.

        Using up the whole allowance weighs as much as paying the whole range of costs.
        """
        problem = self.problem
        lacking = self.quality_regret / problem.allowance if problem.allowance > 0 else 0.0
        return np.asarray(self.cost_regret / problem.cost_range + lacking)

    @cached_property
    def settled_arm(self) -> NDArray[np.int64]:
        """The arm that each run deemed optimal and pulled from then on; -1 for a run that did not settle."""
        arms = np.full(self.runs, -1, np.int64)
        drawn = self.events[self.events["event"] == "optimal"]
        arms[drawn["run"]] = drawn["arm"]
        return arms

    @property
    def settled(self) -> float | None:
        """Share of runs that settled on an arm, whichever; None for a policy that never does."""
        return float(np.mean(self.settled_arm >= 0)) if self.settles else None

    @property
    def settled_on_optimal(self) -> float | None:
        """Share of runs that settled on the optimal arm; None for a policy that never settles."""
        return float(np.mean(self.settled_arm == self.problem.optimal_arm)) if self.settles else None

    @cached_property
    def final_arm(self) -> NDArray[np.int64]:
        """The arm that each run ended on: the one it settled on, or that of 90% or more of its late pulls.

        It is -1 for a run that has neither: one that still explored, or went to and fro.
        """
        most = np.argmax(self.late_pulls, axis=1)
        stayed = self.late_pulls.max(axis=1) >= _ENDED * (self.horizon - self.late_from)
        return np.where(self.settled_arm >= 0, self.settled_arm, np.where(stayed, most, -1))

    @property
    def found_optimal(self) -> float:
        """Share of runs whose `final_arm` is the optimal arm; a run without one has not found it."""
        return float(np.mean(self.final_arm == self.problem.optimal_arm))

    def summary(self, regret: Regret = "summed") -> Summary:
        """Return mean and 20-80 percentile band of the regret at the horizon."""
        values = self._regret(regret)[:, -1]
        low, high = np.percentile(values, [20, 80])
        return Summary(float(values.mean()), float(low), float(high))

    def to_polars(self, table: Literal["regret", "pulls", "events"] = "regret") -> pl.DataFrame:
        """Return a tidy table: a row per run and checkpoint, per run, checkpoint and arm, or per event."""
        import polars as pl

        names = np.array(self.problem.names)
        runs, checkpoints, arms = self.pulls.shape
        if table == "events":
            return _without_nan(
                {
                    "policy": [self.policy] * len(self.events),
                    **self._bar(len(self.events)),
                    "run": self.events["run"],
                    "time": self.events["time"],
                    "event": self.events["event"].tolist(),
                    "arm": names[self.events["arm"]].tolist(),
                },
                dict.fromkeys(("event", "arm", "policy", "quality"), pl.String),
            )
        rows = runs * checkpoints
        columns: dict[str, object] = {
            "policy": [self.policy] * rows,
            **self._bar(rows),
            "run": np.repeat(np.arange(runs), checkpoints),
            "time": np.tile(self.times, runs),
        }
        if table == "regret":
            columns["cost_regret"] = self.cost_regret.ravel()
            columns["quality_regret"] = self.quality_regret.ravel()
            columns["summed_regret"] = self.summed_regret.ravel()
            columns["scaled_regret"] = self.scaled_regret.ravel()
            columns["promise_regret"] = self.promise_regret.ravel()
            columns["delivered"] = self.delivered.ravel()
            columns["spend_over_oracle"] = self.spend_over_oracle.ravel()
            return _without_nan(columns)
        if table == "pulls":
            long = {key: np.repeat(np.asarray(value), arms) for key, value in columns.items()}
            return _without_nan({**long, "arm": np.tile(names, rows), "pulls": self.pulls.ravel()})
        raise InputError(f"table must be 'regret', 'pulls' or 'events', but it is {table!r}")

    def to_pandas(self, table: Literal["regret", "pulls", "events"] = "regret") -> Any:
        """Return the table of `to_polars` as a pandas.DataFrame."""
        return as_pandas(self.to_polars(table))

    def plot(self, regret: Regret = "summed") -> Figure:
        """Draw regret against time, the mean and the 20-80 percentile band over runs; a matplotlib figure."""
        self._regret(regret)
        return figure_of(self, regret)

    @property
    def stored(self) -> archive.Runs:
        """The arrays that a file holds."""
        return archive.Runs(self.times, self.pulls, self.events, self.plans)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to one file, whole or not at all; `Result.load` gives the same one back."""
        archive.write(path, archive.to_store(self.problem, self.policy, self.seed, self.stored))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a result that `save` wrote, with this version or any earlier one.

        Raises
        ------
        InputError
            If there is no such file, or it is damaged, no result, or of a later version.
        """
        try:
            problem, policy, seed, runs = archive.stored_runs(Path(path).read_bytes())
        except OSError as error:
            raise InputError(f"cannot read {str(path)!r}: {error.strerror}") from error
        except InputError as error:
            raise InputError(f"cannot read {str(path)!r}: it {error}") from error
        return cls(problem, policy, seed, *runs)

    def _bar(self, rows: int) -> dict[str, object]:
        """Columns for the quality bar: alpha, null under a fixed level, and its written form."""
        quality = self.problem.quality
        alpha = np.full(rows, np.nan if isinstance(quality, AtLeast) else quality.alpha)
        return {"alpha": alpha, "quality": [str(quality)] * rows}

    def _regret(self, regret: str) -> NDArray[np.float64]:
        if regret not in REGRETS:
            known = " or ".join([", ".join(map(repr, REGRETS[:-1])), repr(REGRETS[-1])])
            raise InputError(f"regret must be {known}, but it is {regret!r}")
        values: NDArray[np.float64] = getattr(self, f"{regret}_regret")
        return values

    def __repr__(self) -> str:
        summed = self.summary()
        right = int(np.sum(self.settled_arm == self.problem.optimal_arm))
        settled = f", {right} of {self.runs} runs settled on it" if self.settles else ""
        return (
            f"Result({self.policy!r}, {self.runs} runs of {self.horizon:,} pulls, summed regret "
            f"{summed.mean:,.1f} [{summed.low:,.1f}, {summed.high:,.1f}], "
            f"{self.late_on_optimal:.1%} of late pulls on {self.problem.names[self.problem.optimal_arm]!r}"
            f"{settled})"
        )


def _without_nan(columns: dict[str, object], kinds: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """Return a table in which an alpha that there is none of is null."""
    import polars as pl

    return pl.DataFrame(columns, schema_overrides=kinds).with_columns(pl.col("alpha").fill_nan(None))


def as_pandas(table: pl.DataFrame) -> Any:
    """Return a table as a pandas.DataFrame; pandas is no dependency, and pyarrow is not needed."""
    try:
        pandas = import_module("pandas")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "to_pandas needs pandas, which is not installed: pip install pandas; to_polars does without",
            name="pandas",
        ) from error
    return pandas.DataFrame({column.name: column.to_numpy() for column in table})


def final_regret(result: Result, kind: str = "summed") -> NDArray[np.float64]:
    """Return the regret of each run at the horizon, without computing it at the other checkpoints."""
    cost, quality = result.problem.regrets(result.pulls[:, -1])
    scaled = cost / result.problem.worth + quality
    return {"cost": cost, "quality": quality, "summed": cost + quality, "scaled": scaled}[kind]


def _kinds(kind: Any) -> Iterator[Any]:
    for below in kind.__subclasses__():
        yield below
        yield from _kinds(below)
