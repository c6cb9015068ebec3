"""The tables of a report, from outcomes and claims."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import NamedTuple

import numpy as np

from frugalbandits.lab.documents.parts import Cell, Mark, Table
from frugalbandits.lab.paper.claims.checked import Claim, event_times, factors
from frugalbandits.lab.paper.claims.evidence import CORRECT, Evidence, places
from frugalbandits.lab.paper.experiments import ALPHAS, INSTANCES, PAPER_POLICIES
from frugalbandits.lab.result import Result
from frugalbandits.lab.sweeps.cells import Outcome
from frugalbandits.lab.text import DASH, counted, percent, readable, seconds, shown, title

__all__ = [
    "RunTime",
    "claims_table",
    "event_table",
    "regret_tables",
    "right_arm_tables",
    "run_times",
    "runtime_table",
    "settings_table",
    "system_table",
]

_NONE = Cell(DASH)


def claims_table(claims: Sequence[Claim]) -> Table:
    """Return the claims with what was measured and how the verdict comes about."""
    rows = tuple(
        (
            Cell(claim.verdict, mark=claim.verdict),
            Cell(claim.words, claim.place, "strong"),
            Cell(claim.measured, f"Rule: {claim.rule}"),
        )
        for claim in claims
    )
    return Table(
        "Verdicts and what they rest on", ("verdict", "claim", "measured"), "lll", rows, stacked=True
    )


def regret_tables(outcomes: Sequence[Outcome]) -> list[Table]:
    """Return, for each instance, regret by alpha and policy, and how many times that of COF it is."""
    rivals = [policy for policy in PAPER_POLICIES if policy != "cof"]
    heads = ("alpha", *map(title, PAPER_POLICIES), *(f"{title(rival)} / COF" for rival in rivals))
    tables = []
    for name in INSTANCES:
        rows = []
        for row in factors(outcomes):
            if row.instance != name:
                continue
            lowest = min(row.regrets.values())
            cells = [Cell(f"{row.alpha:g}")]
            for policy in PAPER_POLICIES:
                regret = row.regrets.get(policy)
                mark: Mark = "strong" if regret == lowest and len(row.regrets) > 1 else ""
                cells.append(_NONE if regret is None else Cell(readable(regret), mark=mark))
            for rival in rivals:
                factor = row.factors.get(rival)
                worse = factor is not None and factor < 1
                cells.append(_NONE if factor is None else Cell(shown(factor), mark="weak" if worse else ""))
            rows.append(tuple(cells))
        if rows:
            caption = f"{title(name)}: mean summed regret at the horizon, and over that of COF"
            tables.append(Table(caption, heads, "r" * len(heads), tuple(rows)))
    return tables


def right_arm_tables(outcomes: Sequence[Outcome]) -> list[Table]:
    """Return, for each instance, the share of late pulls on a* and of runs that settled on it, by alpha."""
    evidence = Evidence(outcomes)
    whats: tuple[tuple[str, Callable[[Result], float | None]], ...] = (
        ("late pulls that went to the optimal arm a*", lambda result: result.late_on_optimal),
        ("runs that settled on the optimal arm a*", lambda result: result.settled_on_optimal),
    )
    tables = []
    for name in INSTANCES:
        for what, share_of in whats:
            shares: dict[str, list[float]] = {policy: [] for policy in PAPER_POLICIES}
            rows = []
            for alpha in ALPHAS:
                known = [policy for policy in PAPER_POLICIES if (name, alpha, policy) in evidence]
                cells = dict.fromkeys(PAPER_POLICIES, _NONE)
                for policy in known:
                    share = share_of(evidence.result((name, alpha), policy))
                    if share is not None:
                        shares[policy].append(share)
                        cells[policy] = _share(share)
                if known:
                    rows.append((Cell(f"{alpha:g}"), *cells.values()))
            if len(rows) > 1:
                means = [_share(float(np.mean(each))) if each else _NONE for each in shares.values()]
                rows.append((Cell("all"), *means))
            if rows:
                heads = ("alpha", *map(title, PAPER_POLICIES))
                tables.append(Table(f"{title(name)}: share of {what}", heads, "r" * len(heads), tuple(rows)))
    return tables


def _share(share: float) -> Cell:
    return Cell(percent(share), mark="" if share >= CORRECT else "weak")


def event_table(outcomes: Sequence[Outcome]) -> Table | None:
    """Return when the conclusions of the ablations were drawn, if there are any."""
    rows = tuple(
        (
            Cell(row.instance),
            Cell(row.event),
            Cell(_with_error(row.cof_mean, row.cof_error), _without(row.cof_missing, row.runs)),
            Cell(title(row.variant)),
            Cell(_with_error(row.variant_mean, row.variant_error), _without(row.variant_missing, row.runs)),
            Cell(f"{row.difference:+.1f}" if math.isfinite(row.difference) else DASH),
        )
        for row in event_times(outcomes)
    )
    heads = ("instance", "event", "time, COF", "variant", "time, variant", "later by (standard errors)")
    caption = "Mean times of the ablations' events ± standard error"
    return Table(caption, heads, "llrlrr", rows) if rows else None


def _with_error(mean: float, error: float) -> str:
    return f"{mean:,.0f}" + ("" if math.isnan(error) else f" ± {error:,.0f}")


def _without(missing: int, runs: int) -> str:
    return f"{missing:,} of {counted(runs, 'run')} without it" if missing else ""


class RunTime(NamedTuple):
    """What the cells of a policy, or of all of them, took."""

    policy: str
    cells: int
    decisions: int
    seconds: float
    decisions_a_second: float | None


def run_times(outcomes: Sequence[Outcome]) -> list[RunTime]:
    """Return what each policy's cells took, and in the end what all took."""
    names = list(dict.fromkeys(outcome.cell.policy for outcome in outcomes))
    own = [
        _run_time(name, [outcome for outcome in outcomes if outcome.cell.policy == name]) for name in names
    ]
    return [*own, _run_time("all", outcomes)] if len(own) > 1 else own


def runtime_table(outcomes: Sequence[Outcome]) -> Table:
    """Return what each policy's cells took, as a table."""
    rows = [
        (
            Cell(title(name)),
            Cell(f"{cells:,}"),
            Cell(f"{decisions:,}"),
            Cell(seconds(spent)),
            _NONE if rate is None else Cell(readable(rate)),
        )
        for name, cells, decisions, spent, rate in run_times(outcomes)
    ]
    heads = ("policy", "cells", "decisions", "seconds", "decisions a second")
    return Table("Run time by policy", heads, "lrrrr", tuple(rows))


def _run_time(name: str, own: Sequence[Outcome]) -> RunTime:
    decisions = sum(outcome.cell.runs * outcome.cell.horizon for outcome in own)
    spent = sum(outcome.seconds for outcome in own)
    return RunTime(name, len(own), decisions, spent, decisions / spent if spent > 0 else None)


def settings_table(outcomes: Sequence[Outcome]) -> Table:
    """Return what was run, a row for each instance and scale."""
    groups: dict[tuple[str, int, int, int, int], list[Outcome]] = {}
    for outcome in outcomes:
        cell = outcome.cell
        scale = (cell.instance, cell.horizon, cell.runs, cell.seed, cell.checkpoints)
        groups.setdefault(scale, []).append(outcome)
    rows = []
    for (name, horizon, runs, seed, checkpoints), own in groups.items():
        arms = own[0].result.problem.arms
        alphas = sorted({outcome.cell.alpha for outcome in own})
        policies = dict.fromkeys(title(outcome.cell.policy) for outcome in own)
        rows.append(
            (
                Cell(title(name)),
                Cell(", ".join(policies)),
                Cell(_alphas(alphas)),
                Cell(str(arms)),
                Cell(f"{horizon:,}"),
                Cell(f"{runs:,}"),
                Cell(str(seed)),
                Cell(f"{checkpoints:,}"),
                Cell(f"{arms**2 / horizon**2:.3g}"),
            )
        )
    heads = (
        "instance",
        "policies",
        "alpha",
        "arms K",
        "horizon T",
        "runs",
        "seed",
        "checkpoints",
        "delta = K²/T²",
    )
    return Table("What was run", heads, "lllrrrrrr", tuple(rows))


def _alphas(alphas: Sequence[float]) -> str:
    if all(alpha in ALPHAS for alpha in alphas):
        return places((INSTANCES[0], alpha) for alpha in alphas).removeprefix(f"{title(INSTANCES[0])} ")
    return ", ".join(f"{alpha:g}" for alpha in alphas)


def system_table() -> Table:
    """Return what it ran on, without anything that names the machine."""
    rows = [("cores", str(os.cpu_count() or "unknown")), ("system", platform.system() or "unknown")]
    rows.append(("Python", platform.python_version()))
    rows += [(package, version(package)) for package in ("frugalbandits", "numpy", "numba", "scipy")]
    return Table("What it ran on", ("what", "value"), "ll", tuple((Cell(a), Cell(b)) for a, b in rows))
