"""What a pull may pay: reward models for the simulator, all within [0, 1].

A model turns a problem's means into `Draws`, from which the compiled driver draws the *sum* of any
number of pulls of an arm. A finite set of values takes one binomial draw per value, however many pulls;
Beta rewards have no such short cut and are drawn one by one.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from frugalbandits.core.quality import Quality
from frugalbandits.errors import InputError, unknown_name
from frugalbandits.lab.draws import Draws
from frugalbandits.lab.logs import read_log
from frugalbandits.lab.problem import Problem

__all__ = [
    "Bernoulli",
    "BetaRewards",
    "Empirical",
    "RewardModel",
    "TwoPoint",
    "finite_draws",
    "resolve_rewards",
]


class RewardModel(ABC):
    """How rewards are spread around their means."""

    @abstractmethod
    def draws(self, problem: Problem) -> Draws:
        """Return the rewards of the problem's arms, or say why they cannot be had."""


@dataclass(frozen=True)
class Bernoulli(RewardModel):
    """Reward 1 with probability mu, else 0: the paper's experiments."""

    def draws(self, problem: Problem) -> Draws:
        return TwoPoint(0.0, 1.0).draws(problem)


@dataclass(frozen=True)
class TwoPoint(RewardModel):
    """Two rewards, low and high, with the probability that gives each arm its mean.

    Examples
    --------
    >>> problem = Problem([0.4, 0.5], [1, 2], alpha=0.1)
    >>> TwoPoint(0.25, 0.75).draws(problem).chances[::2].round(3).tolist()
    [0.3, 0.5]
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.low < self.high <= 1.0:
            raise InputError(
                f"two-point rewards need 0 <= low < high <= 1, but they are {self.low!r} and {self.high!r}"
            )

    def draws(self, problem: Problem) -> Draws:
        for arm, mean in enumerate(problem.means):
            if not self.low <= mean <= self.high:
                raise InputError(
                    f"rewards of {self.low} or {self.high} give no mean of {mean}, "
                    f"which {problem.names[arm]!r} has"
                )
        return finite_draws(
            [
                ([self.high, self.low], [chance, 1 - chance])
                for chance in (problem.means[problem.order] - self.low) / (self.high - self.low)
            ]
        )


@dataclass(frozen=True)
class BetaRewards(RewardModel):
    """Beta rewards with the arms' means; a higher concentration means less spread.

    These are drawn one by one, so a run takes time in proportion to its horizon.
    """

    concentration: float = 2.0

    def __post_init__(self) -> None:
        if not (self.concentration > 0 and np.isfinite(self.concentration)):
            raise InputError(f"concentration must be positive and finite, but it is {self.concentration!r}")

    def draws(self, problem: Problem) -> Draws:
        for arm, mean in enumerate(problem.means):
            if not 0.0 < mean < 1.0:
                raise InputError(
                    f"Beta rewards need means strictly between 0 and 1, but {problem.names[arm]!r} has {mean}"
                )
        means = problem.means[problem.order]
        shapes = self.concentration * np.column_stack([means, 1 - means])
        return Draws(np.zeros(1, np.int64), np.zeros(0), np.zeros(0), np.ascontiguousarray(shapes))


class Empirical(RewardModel):
    """Rewards drawn anew, with replacement, from tables of observed ones.

    Parameters
    ----------
    observed
        One list of rewards in [0, 1] per arm, or a mapping from arm name to such a list.

    Examples
    --------
    >>> observed = Empirical({"small": [0, 1, 1, 0.5], "large": [1, 1, 0.75, 1]})
    >>> observed.problem(costs=[0.2, 3.0], alpha=0.1).means.tolist()
    [0.625, 0.9375]
    """

    def __init__(self, observed: Mapping[str, ArrayLike] | Sequence[ArrayLike]) -> None:
        self.names = tuple(observed) if isinstance(observed, Mapping) else None
        self.costs: tuple[float, ...] | None = None
        tables = observed.values() if isinstance(observed, Mapping) else observed
        self.observed = tuple(np.array(table, dtype=np.float64) for table in tables)
        for arm, table in enumerate(self.observed):
            if table.ndim != 1 or table.size == 0:
                raise InputError(
                    f"{self._name(arm)} needs a flat list of observed rewards, but its shape is {table.shape}"
                )
            bad = table[~((table >= 0) & (table <= 1))]
            if bad.size:
                raise InputError(f"observed rewards must lie in [0, 1], but {self._name(arm)} has {bad[0]}")

    def _name(self, arm: int) -> str:
        return f"arm {arm}" if self.names is None else repr(self.names[arm])

    @classmethod
    def from_log(
        cls,
        path: str | os.PathLike[str],
        option: str = "option",
        reward: str = "reward",
        cost: str | None = None,
    ) -> Empirical:
        r"""Read the rewards of a log: a row per decision, with the option that was used and its reward.

        Parameters
        ----------
        path
            A .csv, .parquet, .ndjson (.jsonl) or .json file.
        option, reward
            The columns of the option's name and of the reward, in [0, 1]. A row without a reward was not
            judged, and counts for costs alone.
        cost
            The column of what a decision cost, if there is one. Its means are `costs`, and the costs of
            `problem` where none are given.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "log.csv")
        ...     _ = path.write_text("model,good,usd\nsmall,1,0.2\nlarge,1,3\nsmall,0,0.4\n")
        ...     logged = Empirical.from_log(path, option="model", reward="good", cost="usd")
        >>> logged.names, [table.tolist() for table in logged.observed]
        (('small', 'large'), [[1.0, 0.0], [1.0]])
        >>> logged.problem(alpha=0.1).costs.round(3).tolist()
        [0.3, 3.0]
        """
        rewards, costs = read_log(path, option, reward, cost)
        for name, observed in rewards.items():
            if not len(observed):
                raise InputError(f"{str(path)!r}: no row of {name!r} has a reward in the column {reward!r}")
        made = cls(rewards)
        made.costs = None if costs is None else tuple(costs)
        return made

    def problem(
        self,
        costs: ArrayLike | None = None,
        alpha: float | None = None,
        *,
        quality: Quality | str | None = None,
    ) -> Problem:
        """Return the problem whose true means are those of the tables; the bar as for `Problem`.

        Costs may be left out where the log that the rewards are from has them.
        """
        prices = self.costs if costs is None else costs
        if prices is None:
            raise InputError("give costs: a problem needs them, and these rewards came without")
        means = [table.mean() for table in self.observed]
        return Problem(means, prices, alpha, self.names, quality=quality)

    def draws(self, problem: Problem) -> Draws:
        if len(self.observed) != problem.arms:
            raise InputError(f"there are {len(self.observed)} tables of rewards for {problem.arms} arms")
        for arm, table in enumerate(self.observed):
            if abs(table.mean() - problem.means[arm]) > 1e-9:
                raise InputError(
                    f"the observed rewards of {problem.names[arm]!r} have the mean {table.mean()}, but the "
                    f"problem says {problem.means[arm]}; Empirical.problem makes one that agrees"
                )
        laws = []
        for arm in problem.order:
            values, counts = np.unique(self.observed[arm], return_counts=True)
            laws.append((values, counts / counts.sum()))
        return finite_draws(laws)


def resolve_rewards(rewards: str | RewardModel) -> RewardModel:
    """Return the model of a name ("bernoulli" or "beta"), or the model itself."""
    named: dict[str, RewardModel] = {"bernoulli": Bernoulli(), "beta": BetaRewards()}
    if isinstance(rewards, RewardModel):
        return rewards
    if isinstance(rewards, str) and rewards in named:
        return named[rewards]
    if isinstance(rewards, str):
        raise unknown_name("reward model", rewards, named)
    raise InputError(f"rewards is a name or a RewardModel, but it is {rewards!r}")


def finite_draws(laws: Sequence[tuple[ArrayLike, ArrayLike]]) -> Draws:
    """Return rewards of finitely many values: for each arm, cheapest first, the values and their chances.

    Examples
    --------
    >>> finite_draws([([1.0, 0.5, 0.0], [0.2, 0.4, 0.4]), ([1.0], [1.0])]).chances.tolist()
    [0.2, 0.5, 1.0, 1.0]
    """
    starts, values, chances = [0], [], []
    for support, probabilities in laws:
        left = np.cumsum(np.asarray(probabilities)[::-1])[::-1]
        given = np.clip(np.asarray(probabilities) / np.where(left > 0, left, 1.0), 0.0, 1.0)
        given[-1] = 1.0
        values.append(np.asarray(support, dtype=np.float64))
        chances.append(given)
        starts.append(starts[-1] + len(given))
    return Draws(
        np.array(starts, np.int64), np.concatenate(values), np.concatenate(chances), np.zeros((0, 2))
    )
