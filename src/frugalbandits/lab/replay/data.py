"""What is replayed: a log, in which each request has one option, or a full table, in which it has every one.

Rewards and costs stand side by side in one array, because a replay reads them together; a full table has one
option after the other, because a policy mostly keeps to the one it is on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "Ints", "Log", "Past", "Table"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Log:
    """A request a row, in the order of time, with the option that was used.

    Attributes
    ----------
    names
        The options.
    choice
        The option of each row, by its place among the names.
    pairs
        Rewards and costs, a row each.
    propensity
        The probability with which the option of the row was chosen; None where that is not known.
    context
        The kind of each request, by its place among `contexts`; None where there are none.
    contexts
        The kinds of requests.
    place
        The row of each request in the file, counted from 0; None where that is not known.
    served
        Uses of each option, those that were not judged included; None where every row was judged.
    """

    names: tuple[str, ...]
    choice: Ints
    pairs: Floats
    propensity: Floats | None = None
    context: Ints | None = None
    contexts: tuple[str, ...] = ()
    place: Ints | None = None
    served: Ints | None = None

    def part(self, rows: Ints) -> Log:
        """Return some rows of the log; uses that were not judged are counted as before."""
        return Log(
            self.names,
            self.choice[rows],
            np.ascontiguousarray(self.pairs[rows]),
            None if self.propensity is None else self.propensity[rows],
            None if self.context is None else self.context[rows],
            self.contexts,
            None if self.place is None else self.place[rows],
            self.served,
        )

    @property
    def requests(self) -> int:
        """Number of requests that were judged."""
        return len(self.choice)

    @property
    def uses(self) -> Ints:
        """Uses of each option, judged or not."""
        return self.counts if self.served is None else self.served

    @property
    def counts(self) -> Ints:
        """Rows of each option that were judged."""
        return np.bincount(self.choice, minlength=len(self.names)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Table:
    """A request a row, in the order of time, with the reward and the cost of every option.

    Attributes
    ----------
    names
        The options.
    pairs
        Options x requests x (reward, cost).
    choice
        The option that was used for each request; None where that is not known.
    place
        The row of each request in the file, its first one, counted from 0; None where that is not known.
    """

    names: tuple[str, ...]
    pairs: Floats
    choice: Ints | None = None
    place: Ints | None = None

    def part(self, requests: Ints) -> Table:
        """Return some requests of the table."""
        return Table(
            self.names,
            np.ascontiguousarray(self.pairs[:, requests]),
            None if self.choice is None else self.choice[requests],
            None if self.place is None else self.place[requests],
        )

    @property
    def requests(self) -> int:
        """Number of requests."""
        return int(self.pairs.shape[1])

    @property
    def counts(self) -> Ints:
        """Rows of each option: all of them."""
        return np.full(len(self.names), self.requests, np.int64)


Past = Log | Table
