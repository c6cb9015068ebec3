"""One policy on one instance with one alpha: what is computed, stored, resumed and sent to other machines."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import NamedTuple

from frugalbandits.core.registry import resolve
from frugalbandits.lab.instances.catalogue import instance
from frugalbandits.lab.instances.drawn import random_problems
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.result import Result
from frugalbandits.lab.sweeps.digest import code_digest

__all__ = [
    "Cell",
    "Outcome",
    "Settings",
    "problem_of",
    "random_names",
]

# "random-7-12": problem 12 of the random family that is drawn with seed 7.
_RANDOM = re.compile(r"random-([0-9]+)-([0-9]{1,4})")


@dataclass(frozen=True, order=True)
class Cell:
    """One policy on one instance with one alpha, and everything that its result depends on."""

    instance: str
    alpha: float
    policy: str
    horizon: int
    runs: int
    seed: int
    checkpoints: int

    @property
    def problem(self) -> Problem:
        """The instance with the cell's alpha."""
        return problem_of(self.instance, self.alpha)

    @property
    def label(self) -> str:
        """The cell in a few words."""
        return f"{self.instance}, alpha {self.alpha:g}, {self.policy}"

    @property
    def key(self) -> str:
        """A digest of all that the result depends on: settings, arms, and the code that computes it.

        A cell of another seed, another instance file or another version of a policy has another key.
        """
        problem = self.problem
        told = {
            **asdict(self),
            "settings": repr(resolve(self.policy)),
            "means": problem.means.tolist(),
            "costs": problem.costs.tolist(),
            "names": list(problem.names),
            "code": code_digest(),
        }
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


def problem_of(name: str, alpha: float | None = None) -> Problem:
    """Return a built-in instance, or a random one (see `random_names`); with another alpha if one is given.

    Examples
    --------
    >>> problem_of("goodreads", 0.2)
    Problem(8 arms, alpha=0.2, threshold=0.5696, optimal='a1', best='a7')
    >>> problem_of("random-1-2") == random_problems(3, seed=1)[2]
    True
    """
    found = _RANDOM.fullmatch(name)
    if found is None:
        return instance(name, alpha)
    seed, number = map(int, found.groups())
    # A problem does not depend on how many are drawn, so few sizes serve all numbers.
    drawn = _family(seed, 1 << number.bit_length())[number]
    return drawn if alpha in (None, drawn.alpha) else drawn.with_alpha(alpha)


def random_names(count: int, seed: int) -> list[str]:
    """Return names for the problems of `random_problems(count, seed=seed)`, of which cells can be made.

    Examples
    --------
    >>> random_names(2, seed=7)
    ['random-7-0', 'random-7-1']
    """
    return [f"random-{seed}-{number}" for number in range(count)]


@functools.lru_cache(maxsize=16)
def _family(seed: int, size: int) -> list[Problem]:
    return random_problems(size, seed=seed)


class Outcome(NamedTuple):
    """What became of a cell, and the seconds of wall-clock time that it took."""

    cell: Cell
    result: Result
    seconds: float


@dataclass(frozen=True)
class Settings:
    """At what scale to run: the paper's, or small enough for a first look; with overrides."""

    quick: bool = False
    seed: int = 0
    runs: int | None = None
    horizon: int | None = None

    def cell(
        self,
        instance: str,
        alpha: float,
        policy: str,
        full: tuple[int, int],
        quick: tuple[int, int],
        marks: int,
    ) -> Cell:
        """Return a cell: `full` and `quick` are horizon and runs, `marks` the checkpoints."""
        horizon, runs = quick if self.quick else full
        horizon = self.horizon or horizon
        return Cell(
            instance, alpha, policy, horizon, self.runs or runs, self.seed, checkpoints=min(marks, horizon)
        )
