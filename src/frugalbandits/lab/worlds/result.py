"""What a simulated world returns: regret of a moving target, traffic, spending, what was judged, alarms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.errors import InputError
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.result import Summary, as_pandas
from frugalbandits.lab.shown import Shown, world_figure_of
from frugalbandits.lab.worlds.happenings import Happening, decisions_at
from frugalbandits.lab.worlds.world import World

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

__all__ = ["ALARM", "KINDS", "Happened", "Kind", "WorldResult"]

#: A change that was noticed: in which run, after how many decisions, of which option, and whether it is one.
ALARM = np.dtype([("run", np.int64), ("time", np.int64), ("option", np.int64), ("right", np.bool_)])

Kind = Literal["scaled", "summed", "cost", "quality"]
#: The kinds of regret.
KINDS: tuple[Kind, ...] = ("scaled", "summed", "cost", "quality")


class Happened(NamedTuple):
    """What happened to an option, and after how many decisions."""

    time: int
    option: str
    what: str
    happening: Happening


@dataclass(frozen=True, eq=False)
class WorldResult(Shown):
    """Runs of one policy in one world.

    Regret is that of a moving target: at each decision, the cheapest option that is up and whose mean of the
    moment reaches the bar of the moment, which all options that are there set, also those that are down.
    Where none that is up reaches it, the best of them is the target, and the quality regret counts from its
    mean.

    Attributes
    ----------
    times
        Decisions at the checkpoints, the last one the horizon.
    pulls
        Uses of each option up to each checkpoint: runs x checkpoints x options, in the caller's order.
    cost_regret, quality_regret
        Up to each checkpoint: runs x checkpoints.
    spend, spend_on_best
        What the uses cost on average, and what always using the best option that is up would have.
    judged
        Decisions whose feedback has come.
    alarms
        Changes that the policy noticed: a structured array with the fields run, time, option and right, which
        tells whether the option has changed since its last alarm.
    plans
        Plans made in each run.
    notes
        What the policy cannot do of what the world asks for.
    """

    world: World
    policy: str
    seed: int
    times: NDArray[np.int64]
    pulls: NDArray[np.int64]
    cost_regret: NDArray[np.float64]
    quality_regret: NDArray[np.float64]
    spend: NDArray[np.float64]
    spend_on_best: NDArray[np.float64]
    judged: NDArray[np.int64]
    alarms: NDArray[np.void]
    plans: NDArray[np.int64]
    notes: tuple[str, ...]

    @property
    def problem(self) -> Problem:
        """The problem that the world starts from."""
        return self.world.problem

    @property
    def horizon(self) -> int:
        """Decisions in each run."""
        return int(self.times[-1])

    @property
    def runs(self) -> int:
        """Number of runs."""
        return int(self.pulls.shape[0])

    @cached_property
    def summed_regret(self) -> NDArray[np.float64]:
        """Cost regret plus quality regret: runs x checkpoints."""
        return self.cost_regret + self.quality_regret

    @cached_property
    def scaled_regret(self) -> NDArray[np.float64]:
        """Cost regret over what a unit of quality is worth, plus quality regret: runs x checkpoints."""
        return self.cost_regret / self.world.worth + self.quality_regret

    @property
    def judged_share(self) -> float:
        """The share of all decisions whose feedback has come."""
        return float(self.judged[:, -1].mean() / self.horizon)

    @property
    def saving(self) -> float:
        """The share of the spending on always the best option that was saved; negative if more was spent."""
        best = float(self.spend_on_best[:, -1].mean())
        return 1.0 - float(self.spend[:, -1].mean()) / best if best != 0 else 0.0

    @cached_property
    def traffic(self) -> NDArray[np.float64]:
        """The share of each option between two checkpoints, over all runs: checkpoints x options."""
        used = np.diff(self.pulls.mean(axis=0), axis=0, prepend=0.0)
        return np.asarray(used / np.diff(self.times, prepend=0)[:, None])

    @property
    def false_alarms(self) -> float:
        """Alarms without a change, a run."""
        return float(np.sum(~self.alarms["right"]) / self.runs)

    @cached_property
    def happened(self) -> tuple[Happened, ...]:
        """What happened in the world, in order."""
        told = [
            Happened(decisions_at(each.at, self.horizon), str(each.option), each.verb, each)
            for each in self.world.happenings
        ]
        return tuple(sorted(told, key=lambda each: each.time))

    def summary(self, regret: Kind = "scaled") -> Summary:
        """Return mean and 20-80 percentile band of the regret at the horizon."""
        values = self.regret(regret)[:, -1]
        low, high = np.percentile(values, [20, 80])
        return Summary(float(values.mean()), float(low), float(high))

    def regret(self, regret: Kind = "scaled") -> NDArray[np.float64]:
        """Return one kind of regret: runs x checkpoints."""
        if regret not in KINDS:
            raise InputError(f"regret must be 'scaled', 'summed', 'cost' or 'quality', but it is {regret!r}")
        values: NDArray[np.float64] = getattr(self, f"{regret}_regret")
        return values

    def to_polars(self, table: Literal["regret", "pulls", "alarms", "happened"] = "regret") -> pl.DataFrame:
        """Return a tidy table.

        A row per run and checkpoint, per run, checkpoint and option, per alarm, or per happening.
        """
        import polars as pl

        names = np.array(self.problem.names)
        runs, checkpoints, options = self.pulls.shape
        if table == "alarms":
            return pl.DataFrame(
                {
                    "policy": pl.Series([self.policy] * len(self.alarms), dtype=pl.String),
                    "run": self.alarms["run"],
                    "time": self.alarms["time"],
                    "option": pl.Series(names[self.alarms["option"]].tolist(), dtype=pl.String),
                    "right": self.alarms["right"],
                }
            )
        if table == "happened":
            return pl.DataFrame(
                [(each.time, each.option, each.what) for each in self.happened],
                schema={"time": pl.Int64, "option": pl.String, "what": pl.String},
                orient="row",
            )
        rows = runs * checkpoints
        columns: dict[str, Any] = {
            "policy": [self.policy] * rows,
            "run": np.repeat(np.arange(runs), checkpoints),
            "time": np.tile(self.times, runs),
        }
        if table == "regret":
            for name in ("cost_regret", "quality_regret", "summed_regret", "scaled_regret"):
                columns[name] = getattr(self, name).ravel()
            for name in ("spend", "spend_on_best", "judged"):
                columns[name] = getattr(self, name).ravel()
            return pl.DataFrame(columns)
        if table == "pulls":
            long = {key: np.repeat(np.asarray(value), options) for key, value in columns.items()}
            return pl.DataFrame({**long, "option": np.tile(names, rows), "pulls": self.pulls.ravel()})
        raise InputError(f"table must be 'regret', 'pulls', 'alarms' or 'happened', but it is {table!r}")

    def to_pandas(self, table: Literal["regret", "pulls", "alarms", "happened"] = "regret") -> Any:
        """Return the table of `to_polars` as a pandas.DataFrame."""
        return as_pandas(self.to_polars(table))

    def plot(self, regret: Kind = "scaled") -> Figure:
        """Draw regret over time with what happened, and the options' shares of the traffic below."""
        self.regret(regret)
        return world_figure_of(self, regret)

    def __repr__(self) -> str:
        scaled = self.summary()
        return (
            f"WorldResult({self.policy!r}, {self.world.about}, "
            f"{self.runs} runs of {self.horizon:,} decisions, "
            f"scaled regret {scaled.mean:,.1f} [{scaled.low:,.1f}, {scaled.high:,.1f}], "
            f"{self.judged_share:.1%} judged, {self.saving:.1%} saved)"
        )
