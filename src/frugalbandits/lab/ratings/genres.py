"""Ratings by genre, and the problem that they make."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from frugalbandits.errors import InputError, unknown_name
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.ratings.reading import Account, Files, Malformed, Source, fields, shown

__all__ = ["HIGHEST", "REWARDS", "Counts", "GenreRatings", "check_above", "read_costs"]

HIGHEST = 5.0
REWARDS = ("mean", "share")
Counts: TypeAlias = NDArray[np.int64]
_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")


@dataclass(frozen=True, eq=False)
class GenreRatings:
    """How often each rating was given in each genre.

    Parameters
    ----------
    names
        The genres that have ratings, sorted.
    values
        The ratings that can be given, such as 0.5, 1, ..., 5.
    counts
        How often, for each genre and value. A rating of a movie with several genres counts for each.
    sources
        What stood in each file.
    without_ratings
        Genres that have no ratings, and are left out.

    Examples
    --------
    >>> ratings = GenreRatings(("Comedy", "Drama"), (1, 2, 3, 4, 5), [[0, 0, 1, 3, 0], [0, 1, 0, 0, 1]])
    >>> ratings.means.tolist(), ratings.shares(above=4).tolist()
    ([3.75, 3.5], [0.75, 0.5])
    >>> ratings.to_problem(alpha=0.1, costs={"Comedy": 2, "Drama": 1})
    Problem(2 arms, alpha=0.1, threshold=0.675, optimal='Drama', best='Comedy')
    """

    names: tuple[str, ...]
    values: NDArray[np.float64]
    counts: Counts
    sources: tuple[Source, ...] = ()
    without_ratings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field, kind in (("values", np.float64), ("counts", np.int64)):
            array = np.array(getattr(self, field), kind)
            array.setflags(write=False)
            object.__setattr__(self, field, array)

    @classmethod
    def of(cls, counts: Mapping[str, Counts], values: Sequence[float], *sources: Source) -> GenreRatings:
        """Put the genres without ratings aside."""
        rated = {name: row for name, row in counts.items() if row.any()}
        table = np.array([*rated.values()]).reshape(len(rated), len(values))
        none = tuple(name for name in counts if name not in rated)
        return cls(tuple(rated), np.array(values), table, sources, none)

    @property
    def totals(self) -> Counts:
        """Number of ratings of each genre."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean rating of each genre, in stars."""
        # Half stars and counts are whole numbers, so that the sum is exact.
        return np.asarray(self.counts @ (2 * self.values) / (2 * self.totals))

    def shares(self, above: float = 4) -> NDArray[np.float64]:
        """Share of each genre's ratings that are `above` or higher; `above` itself counts."""
        return np.asarray(self.counts[:, self.values >= check_above(above)].sum(axis=1) / self.totals)

    def to_problem(
        self,
        reward: str = "mean",
        above: float = 4,
        costs: Mapping[str, float] | None = None,
        seed: int = 0,
        alpha: float = 0.05,
    ) -> Problem:
        """Make a problem whose arms are the genres, in the order of `names`.

        Parameters
        ----------
        reward
            What an arm's mean reward is: "mean", the mean rating divided by 5, or "share", the share of
            ratings that are `above` or higher.
        above
            The lowest rating that counts for "share".
        costs
            The cost of every genre. Drawn uniformly from (0, 1) by default, as in the paper.
        seed
            For the draw of costs. The k-th genre in sorted order gets the k-th draw, so that costs depend
            on the seed and on a genre's place among the genres that have ratings, and on nothing else.
        alpha
            Subsidy factor; by default that of the paper's instance files.

        Examples
        --------
        >>> ratings = GenreRatings(("Comedy", "Drama"), (1, 2, 3, 4, 5), [[0, 0, 1, 3, 0], [0, 1, 0, 0, 1]])
        >>> ratings.to_problem().costs.round(3).tolist()
        [0.637, 0.27]
        >>> ratings.to_problem("share").means.tolist()
        [0.75, 0.5]
        """
        if reward not in REWARDS:
            raise unknown_name("reward", str(reward), REWARDS)
        if len(self.names) < 2:
            found = f"only {self.names[0]!r} has" if self.names else "none has"
            raise InputError(f"a problem needs two genres with ratings or more, but {found} any")
        means = self.means / HIGHEST if reward == "mean" else self.shares(above)
        chosen = _draw(len(self.names), seed) if costs is None else self._given(costs)
        return Problem(means, chosen, alpha, self.names)

    def _given(self, costs: Mapping[str, float]) -> list[float]:
        for name in costs:
            if name not in (*self.names, *self.without_ratings):
                raise unknown_name("genre", str(name), (*self.names, *self.without_ratings))
        missing = [name for name in self.names if name not in costs]
        if missing:
            raise InputError(f"there is no cost for {', '.join(map(repr, missing))}")
        return [costs[name] for name in self.names]


def check_above(above: float) -> float:
    """Return the lowest rating that counts, if it is one that can be given."""
    if not 0 < above <= HIGHEST:
        raise InputError(f"above must lie in (0, {HIGHEST:g}], but it is {above!r}")
    return above


def read_costs(path: str | os.PathLike[str]) -> dict[str, float]:
    r"""Read the costs of genres from a CSV file with the columns name and cost.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "costs.csv")
    ...     _ = path.write_text("name,cost\nComedy,0.2\nDrama,0.5\n")
    ...     read_costs(path)
    {'Comedy': 0.2, 'Drama': 0.5}
    """
    account, costs, columns = Account(Path(path)), dict[str, float](), ["name", "cost"]

    def use(text: str) -> None:
        name, written = (part.strip() for part in fields(text, columns))
        if name in costs:
            raise Malformed(f"{name!r} stands in an earlier line too")
        if not _NUMBER.fullmatch(written):
            raise Malformed(f"the cost {shown(written)} is not a number")
        costs[name] = float(written)

    for start, data in Files([account.path]).blocks(account, columns):
        account.judge(start, data, use)
    for line, why in account.faults:
        raise InputError(f"{path}, line {line}: {why}")
    account.close(len(costs))
    return costs


def _draw(arms: int, seed: int) -> NDArray[np.float64]:
    try:
        rng = np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise InputError(f"seed must be a whole number, 0 or more, but it is {seed!r}") from None
    drawn = rng.random(arms)
    while not drawn.all():  # 0 is one of the 2^53 numbers that may come, and no cost of the paper's
        drawn[drawn == 0] = rng.random(int((drawn == 0).sum()))
    return drawn
