"""The family "worlds" of the leaderboard: policies in worlds that move, on real tables of options.

A row is one instance in one world, with all policies in it. What is compared is the mean scaled regret at the
horizon, of the moving target, over that of the best policy of the row. A cell, one policy in one row, is kept
in a small file of its own.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from frugalbandits.core.files import make_folder, write_text
from frugalbandits.core.registry import resolve
from frugalbandits.lab.instances.catalogue import TABLES, instance
from frugalbandits.lab.ratios import geometric_mean
from frugalbandits.lab.simulation import simulate
from frugalbandits.lab.sweeps.cells import Settings
from frugalbandits.lab.sweeps.digest import code_digest
from frugalbandits.lab.worlds import PRESETS, World, named_world

__all__ = ["Board", "Entry", "Row", "Standing", "by_world", "run", "standings"]

#: The folder for cells within the one that a leaderboard is written to.
CELLS = "worlds"

_ALPHA = 0.1
_FULL, _QUICK = (50_000, 20), (5_000, 3)  # horizon and runs
_QUICK_TABLES = 2


@dataclass(frozen=True)
class _Cell:
    """One policy on one instance in one world, and everything that its outcome depends on."""

    instance: str
    alpha: float
    world: str
    policy: str
    horizon: int
    runs: int
    seed: int

    def made(self) -> World:
        """Return the world."""
        return named_world(self.world, instance(self.instance, self.alpha), self.seed)

    @property
    def key(self) -> str:
        """A digest of the settings, the world and the code."""
        made = self.made()
        told = {
            **asdict(self),
            "settings": repr(resolve(self.policy)),
            "problem": [made.problem.means.tolist(), made.problem.costs.tolist(), list(made.problem.names)],
            "happenings": repr(made.happenings),
            "code": code_digest(),
        }
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


class Entry(NamedTuple):
    """A policy in a row."""

    policy: str
    regret: float  # mean scaled regret at the horizon
    summed: float  # the same with costs as they are
    worst_run: float
    judged: float  # share of the decisions
    saving: float  # of the spending on always the best option
    alarms: float  # a run
    false_alarms: float
    seconds: float
    over_best: float = 1.0
    won: bool = False


class Row(NamedTuple):
    """All policies on one instance in one world."""

    instance: str
    alpha: float
    world: str
    about: str
    horizon: int
    runs: int
    seed: int
    options: int
    entries: tuple[Entry, ...]


class Standing(NamedTuple):
    """A policy over all rows, or over those of a world."""

    policy: str
    over_best: float  # geometric mean
    worst: float
    worst_row: Row
    regret: float  # mean
    won: int


class Board(NamedTuple):
    """What was run and what came out."""

    policies: tuple[str, ...]
    settings: Settings
    rows: tuple[Row, ...]
    seconds: float


def run(
    policies: Sequence[str],
    folder: Path,
    settings: Settings | None = None,
    workers: int | None = None,
    tell: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Board:
    """Run policies in all worlds, or reuse what of that the folder has.

    `tell` is called with what comes next, the cells that are done and their number.
    """
    told = settings or Settings()
    started = time.perf_counter()
    store = make_folder(folder / CELLS)
    rows = _rows(told, policies)
    total = len(rows) * len(policies)
    found = []
    for place, cells in enumerate(rows):
        entries = []
        for number, cell in enumerate(cells):
            tell(f"{cell.instance}, {cell.world}, {cell.policy}", place * len(policies) + number, total)
            entries.append(_outcome(cell, store, workers))
        first, made = cells[0], cells[0].made()
        compared = _compared(entries)
        found.append(
            Row(
                first.instance,
                first.alpha,
                first.world,
                made.about,
                first.horizon,
                first.runs,
                first.seed,
                made.problem.arms,
                compared,
            )
        )
    return Board(tuple(policies), told, tuple(found), time.perf_counter() - started)


def _rows(settings: Settings, policies: Sequence[str]) -> list[list[_Cell]]:
    horizon, runs = _QUICK if settings.quick else _FULL
    return [
        [
            _Cell(name, _ALPHA, world, policy, horizon, settings.runs or runs, settings.seed)
            for policy in policies
        ]
        for world in PRESETS
        for name in (TABLES[:_QUICK_TABLES] if settings.quick else TABLES)
    ]


def _outcome(cell: _Cell, folder: Path, workers: int | None) -> Entry:
    path = folder / f"{cell.instance}-{cell.world}-{cell.key}.json"
    kept = _read(path)
    if kept is not None:
        return kept
    simulate(cell.made(), cell.policy, 10 * cell.made().problem.arms, runs=1, checkpoints=1, progress=False)
    start = time.perf_counter()
    result = simulate(
        cell.made(), cell.policy, cell.horizon, cell.runs, cell.seed, 1, workers, progress=False
    )
    entry = Entry(
        cell.policy,
        result.summary("scaled").mean,
        result.summary("summed").mean,
        float(result.scaled_regret[:, -1].max()),
        result.judged_share,
        result.saving,
        len(result.alarms) / result.runs,
        result.false_alarms,
        time.perf_counter() - start,
    )
    write_text(path, json.dumps(entry._asdict()), durable=True)
    return entry


def _read(path: Path) -> Entry | None:
    """Return a cell that was kept; one that cannot be read, or is of another form, is computed again."""
    if not path.exists():
        return None
    try:
        told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return Entry(**told)
    except (ValueError, TypeError):
        return None


def _compared(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Hold policies against the best one; less than one unit of scaled regret counts as one."""
    counted = [max(entry.regret, 1.0) for entry in entries]
    best = min(counted)
    return tuple(
        entry._replace(over_best=regret / best, won=regret == best)
        for entry, regret in zip(entries, counted, strict=True)
    )


def standings(rows: Sequence[Row]) -> list[Standing]:
    """Sum up rows by policy, the best one first."""
    found = []
    for number, entry in enumerate(rows[0].entries):
        own = [row.entries[number] for row in rows]
        worst = max(range(len(rows)), key=lambda at: own[at].over_best)
        found.append(
            Standing(
                entry.policy,
                geometric_mean([each.over_best for each in own]),
                own[worst].over_best,
                rows[worst],
                sum(each.regret for each in own) / len(own),
                sum(each.won for each in own),
            )
        )
    return sorted(found, key=lambda standing: standing.over_best)


def by_world(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each world."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.world, []).append(row)
    return found
