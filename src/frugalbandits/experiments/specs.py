"""The paper's experiments as data: which policy runs where, for how long and how often.

An experiment is a list of cells. A cell is one policy on one instance with one alpha: the unit that is
computed, stored, resumed and sent to other machines. Cells that two experiments share are one cell.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from frugalbandits.errors import unknown_name
from frugalbandits.instances import instance, random_problems
from frugalbandits.policies import resolve
from frugalbandits.problem import Problem
from frugalbandits.result import Result

__all__ = [
    "ALPHAS",
    "INSTANCES",
    "PAPER_POLICIES",
    "Cell",
    "Experiment",
    "Outcome",
    "Settings",
    "cells_of",
    "code_digest",
    "experiment",
    "experiments",
    "problem_of",
    "random_names",
]

#: The policies of the paper's comparison.
PAPER_POLICIES = ("cof", "pe-cs", "ucb-cs", "ts-cs", "etc-cs")
#: The instances of the paper's comparison.
INSTANCES = ("goodreads", "movielens")
#: The subsidy factors of the paper's Fig. 3 (b) and (d).
ALPHAS = (0.01, *(round(0.05 * step, 2) for step in range(1, 13)))

# What a result depends on besides its settings.
_RESULT_SOURCES = ("quality.py", "problem.py", "rewards.py", "driver.py", "simulate.py", "policies/*.py")
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
    return drawn if alpha in (None, drawn.alpha) else Problem(drawn.means, drawn.costs, alpha, drawn.names)


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


@functools.cache
def code_digest() -> str:
    """Return a digest of the code that computes results."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for pattern in _RESULT_SOURCES:
        for path in sorted(root.glob(pattern)):
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


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


class Experiment(NamedTuple):
    """One experiment of the paper."""

    name: str
    title: str
    place: str  # where it stands in the paper
    cells: Callable[[Settings], list[Cell]]


def _main(settings: Settings, alphas: Sequence[float]) -> list[Cell]:
    return [
        settings.cell(name, alpha, policy, full=(5_000_000, 50), quick=(100_000, 10), marks=200)
        for name in INSTANCES
        for alpha in alphas
        for policy in PAPER_POLICIES
    ]


def _ablation(
    settings: Settings, name: str, alpha: float, ablated: str, full: tuple[int, int], quick: tuple[int, int]
) -> list[Cell]:
    return [
        settings.cell(name, alpha, policy, full=full, quick=quick, marks=1000) for policy in ("cof", ablated)
    ]


def _cost_biased(settings: Settings) -> list[Cell]:
    # The paper gives neither alpha nor horizon: alpha is the instance file's.
    alpha = instance("cost-biased").alpha
    return [
        settings.cell("cost-biased", alpha, policy, full=(5_000_000, 50), quick=(200_000, 10), marks=200)
        for policy in ("cof", "cof-cost-biased")
    ]


_EXPERIMENTS = {
    each.name: each
    for each in (
        Experiment(
            "regret-vs-time",
            "Regret against time",
            "Fig. 3 (a), (c)",
            lambda settings: _main(settings, [0.3]),
        ),
        Experiment(
            "vary-alpha",
            "Terminal regret against the subsidy factor",
            "Fig. 3 (b), (d)",
            lambda settings: _main(settings, ALPHAS),
        ),
        Experiment("instances", "The two instances", "Appendix, instance figures", lambda settings: []),
        Experiment(
            "illustrations", "The bounds, explained", "Fig. 1, Fig. 2 and the appendix", lambda settings: []
        ),
        Experiment(
            "ablation-exclusive",
            "Without exclusive sampling",
            "Appendix, ablations (a), (b)",
            lambda settings: _ablation(
                settings, "nu1", 0.8, "cof-no-exclusive", (200_000, 1000), (200_000, 100)
            ),
        ),
        Experiment(
            "ablation-combining",
            "Without combining samples",
            "Appendix, ablations (c) to (e)",
            lambda settings: _ablation(
                settings, "nu2", 0.3, "cof-no-combine", (1_000_000, 1000), (1_000_000, 50)
            ),
        ),
        Experiment("cost-biased", "Cost-biased sampling", "Appendix, non-uniform sampling", _cost_biased),
    )
}


def experiments() -> tuple[str, ...]:
    """Return the names of the experiments.

    Examples
    --------
    >>> experiments()[:2]
    ('regret-vs-time', 'vary-alpha')
    """
    return tuple(_EXPERIMENTS)


def experiment(name: str) -> Experiment:
    """Return an experiment by name."""
    if name not in _EXPERIMENTS:
        raise unknown_name("experiment", name, _EXPERIMENTS)
    return _EXPERIMENTS[name]


def cells_of(names: Iterable[str], settings: Settings) -> list[Cell]:
    """Return the cells of some experiments, each once, in the order in which they are wanted.

    Examples
    --------
    >>> len(cells_of(["regret-vs-time", "vary-alpha"], Settings()))
    130
    """
    return list(dict.fromkeys(cell for name in names for cell in experiment(name).cells(settings)))
