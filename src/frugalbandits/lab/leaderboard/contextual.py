"""The families "contextual", "-late" and "-wanted" of the leaderboard: policies that look at queries.

A row is one routing problem under one quality bar, with all policies on it. Cost and quality are always told
together: cost over that of a* and of the best oracle, quality over the bar, in the mean and in the worst run;
one-sided regret puts both into one number. A cell, one policy in one row, is kept in a small file of its own.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from frugalbandits.core.contextual.contract import ContextualPolicy
from frugalbandits.core.contextual.registry import contextual_title, resolve_contextual
from frugalbandits.core.files import make_folder, write_text
from frugalbandits.core.quality import RelativeToBest
from frugalbandits.errors import unknown_name
from frugalbandits.lab.contextual import (
    BASELINES,
    ContextualProblem,
    contextual_policies,
    read_routing,
    routing_instance,
    simulate_contextual,
)
from frugalbandits.lab.contextual.baselines import LinUCB
from frugalbandits.lab.ratios import geometric_mean
from frugalbandits.lab.sweeps.cells import Settings
from frugalbandits.lab.sweeps.digest import code_digest

__all__ = [
    "CONTEXTUAL",
    "LATE",
    "WANTED",
    "Board",
    "Entry",
    "Row",
    "Standing",
    "chosen",
    "default_policies",
    "run",
    "standings",
    "title_of",
]

#: The names of the families: feedback on all decisions at once; on a tenth of them 1,000 decisions later; on
#: those of which a policy wants it, as late.
CONTEXTUAL, LATE, WANTED = "contextual", "contextual-late", "contextual-wanted"

#: What counts as having held the bar: quality over it, in the mean and in the worst run.
HELD = (0.995, 0.98)

_FULL, _QUICK = (50_000, 20), (2_000, 3)  # horizon and runs
_ALPHAS = (0.02, 0.05, 0.1, 0.2)
_OTHER = 0.05  # for the other bars
_ANY = RelativeToBest(_OTHER)
# Delay, and the share that is judged.
_FEEDBACK: dict[str, tuple[int, float | str]] = {
    CONTEXTUAL: (0, 1.0),
    LATE: (1_000, 0.1),
    WANTED: (1_000, "wanted"),
}
# LinUCB with what only an oracle knows: its weight times these.
_TOLD = {
    "linucb-right": (1.0, "LinUCB (oracle's weight)"),
    "linucb-low": (1 / 3, "LinUCB (a third of it)"),
    "linucb-high": (3.0, "LinUCB (three times it)"),
}


@dataclass(frozen=True)
class _Cell:
    """One policy on one routing problem, and everything that its outcome depends on."""

    problem: str
    quality: str
    policy: str
    horizon: int
    runs: int
    seed: int
    delay: int
    feedback: float | str

    def key(self, made: ContextualProblem, policy: ContextualPolicy) -> str:
        """Return a digest of the settings, the queries and the code."""
        told = {**asdict(self), "settings": repr(policy), "names": made.names, "code": code_digest()}
        digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode())
        for part in (made.encoded, made.rewards, made.costs):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()[:16]


class Entry(NamedTuple):
    """A policy in a row."""

    policy: str
    over_single: float  # mean cost, over that of a*
    over_oracle: float  # over that of the best oracle
    over_bar: float  # mean quality, over the bar
    worst_run: float  # the same in the worst run
    regret: float  # one-sided, a decision, over the range of the costs
    judged: float  # share of the decisions
    seconds: float
    won: bool = False

    @property
    def held(self) -> bool:
        """Whether the bar was held."""
        return self.over_bar >= HELD[0] and self.worst_run >= HELD[1]


class Row(NamedTuple):
    """All policies on one routing problem under one bar."""

    problem: str
    quality: str
    horizon: int
    runs: int
    seed: int
    delay: int
    feedback: float | str
    bar: float
    single: str  # a*
    mix: float  # cost of the oracles, over that of a*
    segments: float
    linear: float
    entries: tuple[Entry, ...]


class Standing(NamedTuple):
    """A policy over all rows."""

    policy: str
    over_single: float  # geometric means
    over_oracle: float
    over_bar: float  # mean
    lowest: float  # the lowest quality over the bar of a row
    worst_run: float
    held: int  # rows
    judged: float  # mean
    regret: float  # mean
    won: int


class Board(NamedTuple):
    """What was run and what came out."""

    family: str
    policies: tuple[str, ...]
    settings: Settings
    rows: tuple[Row, ...]
    seconds: float
    problems: tuple[str, ...] = ()  # those that were asked for in place of the family's


def default_policies() -> tuple[str, ...]:
    """Return the policies that are compared by default: LinUCB only with weights that it was told."""
    own = [name for name in contextual_policies() if name not in BASELINES]
    return (*own, *(name for name in BASELINES if name != "linucb"), *_TOLD)


def chosen(given: Sequence[str]) -> list[str]:
    """Return the policies that are meant, each once; the defaults where none are given."""
    known = (*contextual_policies(), *_TOLD)
    for name in given:
        if name not in known:
            raise unknown_name("contextual policy", name, known)
    return list(dict.fromkeys(given or default_policies()))


def title_of(policy: str) -> str:
    """Return what tables call a policy."""
    return _TOLD[policy][1] if policy in _TOLD else contextual_title(policy)


def run(
    family: str,
    policies: Sequence[str],
    folder: Path,
    settings: Settings | None = None,
    workers: int | None = None,
    tell: Callable[[str, int, int], None] = lambda what, done, total: None,
    problems: Sequence[str] = (),
) -> Board:
    """Run policies on all routing problems of a family, or reuse what of that the folder has.

    The seed is also that of the first synthetic problem. `problems` are names or `.npz` files in place of the
    family's. `tell` is called with what comes next, the cells that are done and their number.
    """
    told = settings or Settings()
    started = time.perf_counter()
    given = tuple(problems) or _problems(told)
    under = [(_called(name), bar) for name in given for bar in _bars(name, told)]
    store = make_folder(folder / CONTEXTUAL)
    rows = []
    for place, (name, made) in enumerate(under):
        entries = []
        for number, policy in enumerate(policies):
            done, total = place * len(policies) + number, len(under) * len(policies)
            tell(f"{name}, {made.quality}, {policy}", done, total)
            entries.append(_outcome(_cell(family, name, made, policy, told), made, store, workers))
        rows.append(_row(_cell(family, name, made, policies[0], told), made, entries))
    return Board(family, tuple(policies), told, tuple(rows), time.perf_counter() - started, tuple(problems))


def _problems(settings: Settings) -> list[str]:
    kinds = ("synthetic", "misspecified")
    if settings.quick:
        return [f"{kind}-{settings.seed}" for kind in kinds]
    return ["digits-routing", *(f"{kind}-{settings.seed + more}" for kind in kinds for more in (0, 1))]


def _is_file(name: str) -> bool:
    return Path(name).suffix == ".npz"


def _called(name: str) -> str:
    """Return what a problem is called in tables: a file by its name alone."""
    return Path(name).stem if _is_file(name) else name


def _bars(name: str, settings: Settings) -> list[ContextualProblem]:
    """Return a problem under each bar: relative to the best, to that option by its name, and fixed there."""
    made = read_routing(name, _ANY) if _is_file(name) else routing_instance(name, _ANY)
    best, top = made.names[made.best_option], float(made.option_quality.max())
    relative = [f"relative-to-best:{alpha}" for alpha in ((_OTHER,) if settings.quick else _ALPHAS)]
    others = [f"relative-to:{best}:{_OTHER}", f"at-least:{round((1 - _OTHER) * top, 4)}"]
    return [made.with_quality(bar) for bar in (*relative, *others)]


def _cell(family: str, name: str, made: ContextualProblem, policy: str, settings: Settings) -> _Cell:
    horizon, runs = _QUICK if settings.quick else _FULL
    delay, feedback = _FEEDBACK[family]
    return _Cell(
        name, str(made.quality), policy, horizon, settings.runs or runs, settings.seed, delay, feedback
    )


def _policy(name: str, made: ContextualProblem) -> ContextualPolicy:
    if name not in _TOLD:
        return resolve_contextual(name)
    # Where the cheapest option is good enough the price is 0, and no weight is too great.
    price = max(made.oracle().best.price, 1e-3 * made.cost_range)
    return LinUCB(weight=_TOLD[name][0] / price)


def _outcome(cell: _Cell, made: ContextualProblem, folder: Path, workers: int | None) -> Entry:
    policy = _policy(cell.policy, made)
    path = folder / f"{cell.problem}-{cell.key(made, policy)}.json"
    kept = _read(path)
    if kept is not None:
        return kept
    # Compiled before the clock runs.
    simulate_contextual(made, policy, made.options + 1, 1, checkpoints=1, progress=False)
    start = time.perf_counter()
    result = simulate_contextual(
        made,
        policy,
        cell.horizon,
        cell.runs,
        cell.seed,
        1,
        workers,
        False,
        cell.delay,
        cell.feedback,
    )
    found = result.summary()
    entry = Entry(
        cell.policy,
        found.over_single,
        found.over_oracle,
        found.over_bar,
        found.worst,
        found.regret / made.cost_range,
        found.judged,
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


def _row(cell: _Cell, made: ContextualProblem, entries: Sequence[Entry]) -> Row:
    least = min(entry.regret for entry in entries)
    oracle = made.oracle()
    return Row(
        cell.problem,
        cell.quality,
        cell.horizon,
        cell.runs,
        cell.seed,
        cell.delay,
        cell.feedback,
        made.bar,
        made.names[made.optimal_option],
        oracle.mix.cost / oracle.single.cost,
        oracle.segments.cost / oracle.single.cost,
        oracle.linear.cost / oracle.single.cost,
        tuple(entry._replace(won=entry.regret == least) for entry in entries),
    )


def standings(rows: Sequence[Row]) -> list[Standing]:
    """Sum up rows by policy, the least regret first."""
    found = []
    for number, entry in enumerate(rows[0].entries):
        own = [row.entries[number] for row in rows]
        found.append(
            Standing(
                entry.policy,
                geometric_mean([each.over_single for each in own]),
                geometric_mean([each.over_oracle for each in own]),
                sum(each.over_bar for each in own) / len(own),
                min(each.over_bar for each in own),
                min(each.worst_run for each in own),
                sum(each.held for each in own),
                sum(each.judged for each in own) / len(own),
                sum(each.regret for each in own) / len(own),
                sum(each.won for each in own),
            )
        )
    return sorted(found, key=lambda standing: standing.regret)
