"""What a log without known chances of its choices leaves open, and how far contexts and time say so.

Without propensities or random assignment, the mean reward of an option is not identified: it may have got
the easy requests. Two things can be said all the same. The log bounds each mean without any assumption
(Manski 1990). And where choices go with the context or with time, means move when the strata get the shares
that all requests have: something unseen may well be as strong, so intervals are widened by as much.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from frugalbandits.core.quality import AtLeast
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.replay.data import Floats, Ints, Log
from frugalbandits.lab.text import listed, readable

__all__ = ["NOT_IDENTIFIED", "Shifts", "bounds_of", "shifts_of"]

#: Said beside the figures of a log that does not say why an option was chosen.
NOT_IDENTIFIED = "not identified: assumes that options got like requests"
# A shift counts from so many standard errors on: for an option of a random log, once in 370.
_CLEAR = 3.0
_BLOCKS = 10
_ROWS_A_BLOCK = 50


class Shifts(NamedTuple):
    """By how much the means of options (options x (reward, cost)) move with the context and with time."""

    names: tuple[str, ...]
    by_context: Floats
    by_time: Floats

    @property
    def total(self) -> Floats:
        """How much intervals are widened for each option."""
        total: Floats = self.by_context + self.by_time
        return total

    def of(self, shares: Mapping[str, float]) -> tuple[float, float]:
        """Return how much reward and cost are widened where options are used in these shares or counts."""
        used = np.array([shares.get(name, 0.0) for name in self.names])
        whole = used.sum()
        reward, cost = (used @ self.total / whole if whole > 0 else np.zeros(2)).tolist()
        return reward, cost

    def of_bar(self, problem: Problem) -> float:
        """Return how much the bar is widened."""
        reference = problem.best_arm if problem.reference is None else problem.reference
        mean = float(problem.means[reference])
        scale = problem.threshold / mean if mean > 0 else 0.0
        return 0.0 if isinstance(problem.quality, AtLeast) else scale * float(self.total[reference, 0])

    @property
    def words(self) -> tuple[str, ...]:
        """Say what was widened, and why."""
        said = []
        for what, shift in (("the context", self.by_context), ("time", self.by_time)):
            moved = [
                f"{name} by {readable(float(shift[place, part]))} ({of})"
                for place, name in enumerate(self.names)
                for part, of in enumerate(("quality", "cost"))
                if shift[place, part] > 0
            ]
            if moved:
                said.append(
                    f"choices went with {what}, which moves {listed(moved)}: intervals are wider by as much, "
                    "for what is not seen may be as strong"
                )
        return tuple(said)


def shifts_of(log: Log) -> Shifts:
    """Return by how much means move when contexts, or stretches of time, get the shares of all requests."""
    none = np.zeros((len(log.names), 2))
    by_context = none if log.context is None else _moved(log, log.context)
    blocks = min(_BLOCKS, log.requests // _ROWS_A_BLOCK)
    by_time = none if blocks < 2 else _moved(log, np.arange(log.requests) * blocks // log.requests)
    return Shifts(log.names, by_context, by_time)


def _moved(log: Log, stratum: Ints) -> Floats:
    shares = np.bincount(stratum) / log.requests
    moved = np.zeros((len(log.names), 2))
    for option in range(len(log.names)):
        own = np.flatnonzero(log.choice == option)
        inside = np.bincount(stratum[own], minlength=len(shares))
        weights = (shares / np.maximum(inside, 1))[stratum[own]]
        change = weights / weights.sum() - 1.0 / len(own)
        values = log.pairs[own]
        shift = np.abs(change @ values)
        # Strata fall unevenly on an option by chance alone: so much for means that differ between them.
        sums = np.stack([np.bincount(stratum[own], values[:, part], len(shares)) for part in (0, 1)], axis=1)
        apart = sums / np.maximum(inside, 1)[:, None] - values.mean(axis=0)
        between = (shares * (inside > 0)) @ apart**2
        chance = 1.0 / len(own) - 1.0 / log.requests
        error = np.sqrt(change @ change * values.var(axis=0) + chance * between)
        moved[option] = np.where(shift > _CLEAR * error + 1e-12, shift, 0.0)
    return moved


def bounds_of(log: Log) -> dict[str, tuple[float, float]]:
    """Return what the log says of the mean reward of each option on all requests, without any assumption.

    Examples
    --------
    >>> log = Log(("a", "b"), np.array([0, 0, 0, 1]), np.array([[1.0, 1], [1, 1], [0, 1], [1, 2]]))
    >>> bounds_of(log)
    {'a': (0.5, 0.75), 'b': (0.25, 1.0)}
    """
    every = float(log.uses.sum())
    sums = np.bincount(log.choice, log.pairs[:, 0], len(log.names)) / every
    unknown = 1.0 - log.counts / every
    return {
        name: (float(low), float(low + more))
        for name, low, more in zip(log.names, sums, unknown, strict=True)
    }
