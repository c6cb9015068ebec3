"""The numbers behind the figures as tidy tables: CSV files that anything can read."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from frugalbandits.core.files import write_text
from frugalbandits.lab.sweeps.cells import Outcome

__all__ = ["write_tables"]

_CELL = ("instance", "alpha", "policy", "horizon", "runs", "seed")


def write_tables(folder: Path, outcomes: Sequence[Outcome]) -> list[Path]:
    """Write `terminal.csv`, `curves.csv`, `events.csv` and `cells.csv`; return their paths.

    - `terminal.csv`: a row per run, with its regrets at the horizon, the share of its late pulls that went to
      a*, and the arms that it settled on and ended on, empty where there is none;
    - `curves.csv`: a row per cell and checkpoint, with mean and 20-80 percentiles of each regret;
    - `events.csv`: a row per conclusion of a run;
    - `cells.csv`: a row per cell, with its size and the seconds that it took.
    """
    tables = {
        "terminal.csv": ((*_CELL, "run", *_REGRETS, *_ENDS), _terminal(outcomes)),
        "curves.csv": (
            (*_CELL, "time", *(f"{r}_{s}" for r in _REGRETS for s in ("mean", "p20", "p80"))),
            _curves(outcomes),
        ),
        "events.csv": ((*_CELL, "run", "time", "event", "arm"), _events(outcomes)),
        "cells.csv": ((*_CELL, "checkpoints", "seconds"), _cells(outcomes)),
    }
    paths = []
    for name, (heads, rows) in tables.items():
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(heads)
        writer.writerows(rows)
        write_text(folder / name, text.getvalue())
        paths.append(folder / name)
    return paths


_REGRETS = ("cost", "quality", "summed", "scaled")
_ENDS = ("late_share", "settled_arm", "final_arm")


def _told(outcome: Outcome) -> tuple[object, ...]:
    return tuple(getattr(outcome.cell, name) for name in _CELL)


def _terminal(outcomes: Iterable[Outcome]) -> Iterator[tuple[object, ...]]:
    for outcome in outcomes:
        result = outcome.result
        names = result.problem.names
        late = result.late_share.tolist()
        for run in range(result.runs):
            ends = (float(getattr(result, f"{regret}_regret")[run, -1]) for regret in _REGRETS)
            arms = (
                names[arm] if arm >= 0 else "" for arm in (result.settled_arm[run], result.final_arm[run])
            )
            yield (*_told(outcome), run, *ends, late[run], *arms)


def _curves(outcomes: Iterable[Outcome]) -> Iterator[tuple[object, ...]]:
    for outcome in outcomes:
        result = outcome.result
        columns = []
        for regret in _REGRETS:
            values = getattr(result, f"{regret}_regret")
            columns += [values.mean(axis=0), *np.percentile(values, [20, 80], axis=0)]
        for i, time in enumerate(result.times.tolist()):
            yield (*_told(outcome), time, *(float(column[i]) for column in columns))


def _events(outcomes: Iterable[Outcome]) -> Iterator[tuple[object, ...]]:
    for outcome in outcomes:
        names = outcome.result.problem.names
        for event in outcome.result.events:
            yield (
                *_told(outcome),
                int(event["run"]),
                int(event["time"]),
                str(event["event"]),
                names[event["arm"]],
            )


def _cells(outcomes: Iterable[Outcome]) -> Iterator[tuple[object, ...]]:
    for outcome in outcomes:
        yield (*_told(outcome), outcome.cell.checkpoints, round(outcome.seconds, 4))
