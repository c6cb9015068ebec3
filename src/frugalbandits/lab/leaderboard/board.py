"""Every policy on many problems: which is best where, and how bad each gets.

A row is one problem at one horizon, with all policies on it; a family is a kind of problems. What is
compared is the mean scaled regret at the horizon, divided by that of the best policy of the row and by
the least that the lower bounds allow: cost regret in units of quality, so that dollars of a thousandth weigh
as much as any other costs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from frugalbandits.core.files import make_folder
from frugalbandits.errors import unknown_name
from frugalbandits.lab.bounds import least_regret
from frugalbandits.lab.instances.catalogue import MAIN, TABLES
from frugalbandits.lab.promise import geometric_spend, holds, low_quantile
from frugalbandits.lab.ratios import geometric_mean
from frugalbandits.lab.result import final_regret
from frugalbandits.lab.sweeps.cells import Cell, Outcome, Settings, problem_of, random_names
from frugalbandits.lab.sweeps.cluster import check_address
from frugalbandits.lab.sweeps.progress import Progress
from frugalbandits.lab.sweeps.store import Store
from frugalbandits.lab.sweeps.sweep import sweep

__all__ = [
    "Entry",
    "Family",
    "Leaderboard",
    "Row",
    "Standing",
    "chosen_families",
    "families",
    "family",
    "run",
    "standings",
]

#: The folder for cells within the one that a leaderboard is written to.
CELLS = "cells"

_ALPHAS = (0.01, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3)
_TABLE_ALPHAS = (0.05, 0.1)
_HORIZONS, _QUICK_HORIZONS = (5_000, 20_000, 100_000), (5_000, 20_000)
_RANDOM_HORIZON = 200_000
_RANDOM, _QUICK_RANDOM = 300, 20
# The late part of a run starts at a checkpoint, so that a multiple of 5 of them makes it the last fifth.
_MARKS = 20


class Family(NamedTuple):
    """A kind of problems."""

    name: str
    title: str
    cells: Callable[[Settings, Sequence[str]], list[Cell]]  # for some policies, row by row


def _paper(settings: Settings, policies: Sequence[str]) -> list[Cell]:
    return [
        settings.cell(name, alpha, policy, full=(5_000_000, 20), quick=(100_000, 5), marks=_MARKS)
        for name in MAIN
        for alpha in _ALPHAS
        for policy in policies
    ]


def _tables(settings: Settings, policies: Sequence[str]) -> list[Cell]:
    return [
        settings.cell(name, alpha, policy, full=(horizon, 50), quick=(horizon, 5), marks=_MARKS)
        for name in TABLES
        for alpha in dict.fromkeys((*_TABLE_ALPHAS, problem_of(name).alpha))
        for horizon in (_QUICK_HORIZONS if settings.quick else _HORIZONS)
        for policy in policies
    ]


def _random(settings: Settings, policies: Sequence[str]) -> list[Cell]:
    scale = (_RANDOM_HORIZON, 5)
    return [
        settings.cell(name, problem_of(name).alpha, policy, full=scale, quick=scale, marks=_MARKS)
        for name in random_names(_QUICK_RANDOM if settings.quick else _RANDOM, settings.seed)
        for policy in policies
    ]


_FAMILIES = {
    each.name: each
    for each in (
        Family("paper", "the paper's two instances, eight subsidy factors", _paper),
        Family("tables", "tables of language models, short horizons", _tables),
        Family("random", "random problems, drawn with the seed", _random),
    )
}


class Entry(NamedTuple):
    """A policy in a row."""

    policy: str
    scaled: float  # mean scaled regret at the horizon: what policies are ranked by
    regret: float  # mean summed regret, in the problem's own units
    cost: float  # the part of it that is cost regret
    quality: float
    worst_run: float  # the highest scaled regret of a run
    late_on_optimal: float  # share of late pulls that went to a*
    settled_on_optimal: float | None  # share of runs that settled on a*; None for a policy that never settles
    over_best: float  # scaled regret over that of the best policy of the row
    over_least: float | None  # scaled regret over the least possible, where that can be told
    won: bool
    seconds: float
    held: float  # share of the runs that delivered 0.99 of the bar
    delivered_low: float  # the 1% quantile of what runs delivered of the bar
    late_good: float  # share of late pulls whose arm has 0.99 of the bar
    spend_over_oracle: float  # cost over that of a*, the mean over the runs; nan where a cost is negative
    promise_regret: float  # mean promise regret
    delivered: tuple[float, ...]  # by each run, of the bar; in no file, because there are many


class Row(NamedTuple):
    """All policies on one problem at one horizon.

    `least` is the least scaled regret that the lower bounds allow. It says nothing where it is 0 or infinite,
    or where the horizon is too small for the pulls that it takes (`too_early`).
    """

    family: str
    instance: str
    alpha: float
    horizon: int
    runs: int
    seed: int
    arms: int
    least: float
    too_early: bool
    entries: tuple[Entry, ...]

    @property
    def comparable(self) -> bool:
        """Whether regret can be divided by the least possible."""
        return 0 < self.least < math.inf and not self.too_early


class Standing(NamedTuple):
    """A policy in a family: what became of it over all rows."""

    family: str
    policy: str
    rows: int
    over_best: float  # geometric mean
    worst: float  # the largest `over_best` of a row
    worst_row: Row
    over_least: float | None  # geometric mean over the rows that are comparable
    comparable: int  # the number of those rows
    late_on_optimal: float  # as in `Entry`, over all runs
    settled_on_optimal: float | None
    won: int  # rows in which no policy was better
    held: float  # as in `Entry`, over all runs
    delivered_low: float  # the 1% quantile over the runs of all rows
    late_good: float
    spend_over_oracle: float  # geometric mean
    promise_regret: float  # mean over the rows


class Leaderboard(NamedTuple):
    """What was run and what came out."""

    families: tuple[str, ...]
    policies: tuple[str, ...]
    settings: Settings
    rows: tuple[Row, ...]
    seconds: float


def families() -> tuple[str, ...]:
    """Return the names of the families.

    Examples
    --------
    >>> families()
    ('paper', 'tables', 'random')
    """
    return tuple(_FAMILIES)


def family(name: str) -> Family:
    """Return a family by name."""
    if name not in _FAMILIES:
        raise unknown_name("family", name, (*_FAMILIES, "all"))
    return _FAMILIES[name]


def chosen_families(names: Iterable[str]) -> tuple[str, ...]:
    """Return the families that are meant, each once; "all" stands for all of them.

    Examples
    --------
    >>> chosen_families(["random", "all"])
    ('random', 'paper', 'tables')
    """
    meant = [each for name in names for each in (families() if name == "all" else (name,))]
    return tuple(dict.fromkeys(family(name).name for name in meant))


def run(
    names: Sequence[str],
    policies: Sequence[str],
    folder: Path,
    settings: Settings | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Leaderboard:
    """Run policies on families of problems, or reuse what of that the folder has.

    Parameters
    ----------
    names
        Families, or "all".
    policies
        Registered names.
    folder
        Where the results of single cells are kept, so that the same call skips what is done.
    settings
        Scale and seed. The random problems are drawn with the seed too.
    workers, cluster, watch
        As in `sweep`.
    """
    wanted = chosen_families(names)
    told = settings or Settings()
    if cluster is not None:
        check_address(cluster)
    started = time.perf_counter()
    cells = {name: family(name).cells(told, policies) for name in wanted}
    store = Store(make_folder(folder) / CELLS)
    outcomes = sweep((cell for own in cells.values() for cell in own), store, workers, cluster, watch)
    rows = [
        row_of(name, [outcomes[cell] for cell in group])
        for name, own in cells.items()
        for _, group in groupby(own, key=lambda cell: (cell.instance, cell.alpha, cell.horizon))
    ]
    return Leaderboard(wanted, tuple(policies), told, tuple(rows), time.perf_counter() - started)


def row_of(family: str, outcomes: Sequence[Outcome]) -> Row:
    """Compare policies on one problem at one horizon.

    A mean regret below that of a single pull of the worst arm counts as that, in ratios and for who has
    won: so nothing is divided by zero, and a difference of less than a pull is none. Where no arm has any
    regret, all ratios are 1.
    """
    cell, problem = outcomes[0].cell, outcomes[0].result.problem
    scaled_problem = problem.scaled()
    bound = least_regret(scaled_problem, cell.horizon)
    row = Row(
        family,
        cell.instance,
        cell.alpha,
        cell.horizon,
        cell.runs,
        cell.seed,
        problem.arms,
        bound.value,
        bound.too_early,
        entries=(),
    )
    one_pull = float((scaled_problem.cost_gaps + scaled_problem.quality_gaps).max())
    means = [float(final_regret(outcome.result, "scaled").mean()) for outcome in outcomes]
    counted = [max(mean, one_pull) for mean in means]
    best = min(counted)
    entries = []
    for outcome, regret in zip(outcomes, counted, strict=True):
        result = outcome.result
        cost, quality, scaled = (final_regret(result, kind) for kind in ("cost", "quality", "scaled"))
        entries.append(
            Entry(
                outcome.cell.policy,
                float(scaled.mean()),
                float((cost + quality).mean()),
                float(cost.mean()),
                float(quality.mean()),
                worst_run=float(scaled.max()),
                late_on_optimal=result.late_on_optimal,
                settled_on_optimal=result.settled_on_optimal,
                over_best=regret / best if best > 0 else 1.0,
                over_least=regret / row.least if row.comparable else None,
                won=regret == best,
                seconds=outcome.seconds,
                held=float(result.held[-1]),
                delivered_low=float(result.delivered_low[-1]),
                late_good=result.late_good,
                spend_over_oracle=float(result.spend_over_oracle[:, -1].mean()),
                promise_regret=float(result.promise_regret[:, -1].mean()),
                delivered=tuple(result.delivered[:, -1].tolist()),
            )
        )
    return row._replace(entries=tuple(entries))


def standings(rows: Iterable[Row]) -> list[Standing]:
    """Sum up rows by family and policy; in each family the best policies come first."""
    found: list[Standing] = []
    for name, group in groupby(rows, key=lambda row: row.family):
        own = list(group)
        policies = [entry.policy for entry in own[0].entries]
        unsorted = [_standing(name, own, number) for number in range(len(policies))]
        found += sorted(unsorted, key=lambda standing: standing.over_best)
    return found


def _standing(family: str, rows: Sequence[Row], number: int) -> Standing:
    entries = [row.entries[number] for row in rows]
    worst = max(range(len(rows)), key=lambda at: entries[at].over_best)
    over_least = [entry.over_least for entry in entries if entry.over_least is not None]
    runs = [row.runs for row in rows]
    settled = [entry.settled_on_optimal for entry in entries if entry.settled_on_optimal is not None]
    delivered = np.concatenate([entry.delivered for entry in entries])
    return Standing(
        family,
        entries[0].policy,
        len(rows),
        geometric_mean([entry.over_best for entry in entries]),
        entries[worst].over_best,
        rows[worst],
        geometric_mean(over_least) if over_least else None,
        len(over_least),
        float(np.average([entry.late_on_optimal for entry in entries], weights=runs)),
        float(np.average(settled, weights=runs)) if settled else None,
        sum(entry.won for entry in entries),
        held=float(holds(delivered).mean()),
        delivered_low=float(low_quantile(delivered)),
        late_good=float(np.average([entry.late_good for entry in entries], weights=runs)),
        spend_over_oracle=geometric_spend([entry.spend_over_oracle for entry in entries]),
        promise_regret=float(np.mean([entry.promise_regret for entry in entries])),
    )
