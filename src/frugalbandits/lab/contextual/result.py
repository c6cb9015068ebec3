"""What a simulation on a population of queries returns: cost and quality together, against the oracles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.tables import text_table
from frugalbandits.errors import InputError
from frugalbandits.lab.contextual.problem import ContextualProblem
from frugalbandits.lab.result import as_pandas
from frugalbandits.lab.shown import Shown, routing_figure_of

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

__all__ = ["ContextualResult", "RoutingSummary"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class RoutingSummary(NamedTuple):
    """How a policy did by the horizon, over all runs; `str` makes a table of it."""

    policy: str
    decisions: int
    runs: int
    cost: float  # mean of a decision
    over_single: float  # over the cost of a*
    over_oracle: float  # over the cost of the best oracle
    quality: float
    over_bar: float  # quality over the bar
    worst: float  # the same, in the worst run
    regret: float  # one-sided, a decision
    judged: float  # share of the decisions

    def __str__(self) -> str:
        heads = ["policy", "cost", "over a*", "over oracle", "quality", "over bar", "worst run", "regret"]
        numbers = (self.cost, self.over_single, self.over_oracle, self.quality, self.over_bar, self.worst)
        row = [self.policy, *(f"{value:.4g}" for value in (*numbers, self.regret))]
        return text_table(heads, [row], left={0})


@dataclass(frozen=True, eq=False)
class ContextualResult(Shown):
    """Runs of one contextual policy on one population of queries.

    Attributes
    ----------
    times
        Decisions at the checkpoints, the last one the horizon.
    cost, quality
        Means of a decision up to each checkpoint: runs x checkpoints. Quality is the true one, not the drawn.
    segment_pulls
        Uses of each option on each segment up to each checkpoint: runs x checkpoints x segments x options.
    judged
        Decisions whose feedback has come: runs x checkpoints.
    delay, feedback
        By how many decisions feedback was late, and the share that was judged; nan where it was what the
        policy wanted.
    """

    problem: ContextualProblem
    policy: str
    seed: int
    times: Ints
    cost: Floats
    quality: Floats
    segment_pulls: Ints
    judged: Ints
    delay: int
    feedback: float

    @property
    def horizon(self) -> int:
        """Decisions in each run."""
        return int(self.times[-1])

    @property
    def runs(self) -> int:
        """Number of runs."""
        return int(self.cost.shape[0])

    @cached_property
    def pulls(self) -> Ints:
        """Uses of each option up to each checkpoint: runs x checkpoints x options."""
        return np.asarray(self.segment_pulls.sum(axis=2))

    @cached_property
    def shortfall(self) -> Floats:
        """By how much the mean quality is below the bar, negative where it is above: runs x checkpoints."""
        return self.problem.bar - self.quality

    @cached_property
    def regret(self) -> Floats:
        """One-sided regret of a decision, (C - C*)^+ + lambda* (B - Q)^+: runs x checkpoints.

        C* and lambda* are those of the best oracle. It counts what is spent too much and what is missing of
        the quality, and pays nothing back: too much of one does not make up for the other.
        """
        best = self.problem.oracle().best
        return np.maximum(self.cost - best.cost, 0.0) + best.price * np.maximum(self.shortfall, 0.0)

    @cached_property
    def shares(self) -> Floats:
        """Who is asked when: the share of each option on each segment, by the horizon: segments x options."""
        uses = self.segment_pulls[:, -1].sum(axis=0)
        return np.asarray(uses / np.maximum(uses.sum(axis=1, keepdims=True), 1))

    def summary(self) -> RoutingSummary:
        """Return how the policy did by the horizon, over all runs."""
        oracle = self.problem.oracle()
        cost, quality = float(self.cost[:, -1].mean()), self.quality[:, -1]
        return RoutingSummary(
            self.policy,
            self.horizon,
            self.runs,
            cost,
            _over(cost, oracle.single.cost),
            _over(cost, oracle.best.cost),
            float(quality.mean()),
            _over(float(quality.mean()), oracle.bar),
            _over(float(quality.min()), oracle.bar),
            float(self.regret[:, -1].mean()),
            float(self.judged[:, -1].mean() / self.horizon),
        )

    def to_polars(self, table: Literal["runs", "pulls"] = "runs") -> pl.DataFrame:
        """Return a tidy table: a row per run and checkpoint, or per run, checkpoint, segment and option."""
        import polars as pl

        runs, checkpoints, segments, options = self.segment_pulls.shape
        rows = runs * checkpoints
        columns: dict[str, Any] = {
            "policy": [self.policy] * rows,
            "run": np.repeat(np.arange(runs), checkpoints),
            "time": np.tile(self.times, runs),
        }
        if table == "runs":
            for name in ("cost", "quality", "shortfall", "regret", "judged"):
                columns[name] = getattr(self, name).ravel()
            return pl.DataFrame(columns)
        if table == "pulls":
            cells = segments * options
            long = {key: np.repeat(np.asarray(value), cells) for key, value in columns.items()}
            of = np.repeat(np.array(self.problem.segment_names), options)
            return pl.DataFrame(
                {
                    **long,
                    "segment": np.tile(of, rows),
                    "option": np.tile(np.array(self.problem.names), rows * segments),
                    "pulls": self.segment_pulls.ravel(),
                }
            )
        raise InputError(f"table must be 'runs' or 'pulls', but it is {table!r}")

    def to_pandas(self, table: Literal["runs", "pulls"] = "runs") -> Any:
        """Return the table of `to_polars` as a pandas.DataFrame."""
        return as_pandas(self.to_polars(table))

    def plot(self) -> Figure:
        """Draw where the runs ended on the plane of cost and quality, with the frontiers of the oracles."""
        return routing_figure_of(self)

    def __repr__(self) -> str:
        told = self.summary()
        return (
            f"ContextualResult({self.policy!r}, {self.runs} runs of {self.horizon:,} decisions, "
            f"cost {told.cost:.4g} ({told.over_single:.3g} of a*), quality {told.quality:.4g} "
            f"({told.over_bar:.4g} of the bar, worst run {told.worst:.4g}))"
        )


def _over(value: float, of: float) -> float:
    return value / of if of != 0 else float("nan")
