"""How far a sweep is, and how long it will still take.

Policies differ a thousandfold in speed, so counting cells says little. A cell that has not begun is
expected to take as long as the nearest one that is known: the same cell of an earlier sweep, the same
policy on the same instance, or the same policy anywhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from frugalbandits.lab.sweeps.cells import Cell, Outcome

__all__ = ["Ledger", "Progress"]

# Seconds between two words to the watcher, and before a forecast is worth its name.
_PAUSE = 0.1
_WARM_UP = 2.0


class Progress(NamedTuple):
    """How far a sweep is."""

    total: int  # cells
    done: int  # cells that are finished, whether computed or reused
    reused: int  # cells that the store had
    running: tuple[str, ...]  # what is being computed now
    share: float  # of the work on the cells that the store did not have, from 0 to 1
    elapsed: float  # seconds
    left: float | None  # seconds; None as long as that would be a guess
    note: str  # what happens while no cell runs
    warnings: tuple[str, ...]  # all so far, one line each


class Ledger:
    """What is known of each cell of a sweep; tells a watcher of every change, though not too often.

    Parameters
    ----------
    total
        Number of cells.
    watch
        Called with the progress so far.
    """

    def __init__(self, total: int, watch: Callable[[Progress], None] | None) -> None:
        self.total = total
        self.reused = 0
        self._watch = watch
        self._start = time.monotonic()
        self._begun = self._start
        self._told = self._foreseen = -_PAUSE
        self._forecast: tuple[float, float | None] = 0.0, None
        self._waiting: dict[Cell, None] = {}
        self._running: dict[Cell, _Running] = {}
        self._finished: dict[Cell, float] = {}
        self._past = _Speeds()
        self._now = _Speeds()
        self._took = self._should = 0.0
        self._note = ""
        self._warnings: list[str] = []

    def reuse(self) -> None:
        """Count a cell that need not be computed."""
        self.reused += 1
        self._tell(at_once=self.reused == self.total)

    def warn(self, line: str) -> None:
        """Pass on a warning."""
        self._warnings.append(line)
        self._tell(at_once=True)

    def note(self, text: str) -> None:
        """Say what happens while no cell runs."""
        if text != self._note:
            self._note = text
            self._tell(at_once=True)

    def begin(self, missing: Iterable[Cell], known: Iterable[tuple[Cell, float]]) -> None:
        """Begin to compute; `known` has the seconds of cells of earlier sweeps."""
        self._waiting = dict.fromkeys(missing)
        for cell, seconds in known:
            self._past.learn(cell, seconds)
        self.restart_clock()

    def restart_clock(self) -> None:
        """Forecast from what is computed from now on: the time before was for something else."""
        self._begun = time.monotonic()

    def run(self, cells: Iterable[Cell]) -> None:
        """Note which cells run now."""
        now = time.monotonic()
        running = {cell: self._running.get(cell) or _Running(now, 0) for cell in cells}
        changed = running.keys() != self._running.keys()
        self._running = running
        if running:
            self._note = ""
        self._tell(at_once=changed)

    def advance(self, cell: Cell, done: int, runs: int) -> None:
        """Note how many runs of a cell are done."""
        self._running[cell] = self._running[cell]._replace(done=done)
        self._tell()

    def finish(self, outcome: Outcome) -> None:
        """Note that a cell is computed and saved."""
        self._running.pop(outcome.cell, None)
        del self._waiting[outcome.cell]
        self._finished[outcome.cell] = outcome.seconds
        before = self._past.per_run(outcome.cell, 0)
        if before is not None:
            self._took += outcome.seconds
            self._should += before * outcome.cell.runs
        self._now.learn(outcome.cell, outcome.seconds)
        self._tell(at_once=not self._waiting)

    def expected(self, cell: Cell) -> float | None:
        """Return the seconds that a cell will take, as far as that is known."""
        if cell in self._running and self._running[cell].done > 0:
            since, done = self._running[cell]
            return (time.monotonic() - since) * cell.runs / done
        for level in range(_Speeds.LEVELS):
            for speeds, scale in ((self._now, 1.0), (self._past, self._scale())):
                per_run = speeds.per_run(cell, level)
                if per_run is not None:
                    return per_run * scale * cell.runs
        return None

    def progress(self) -> Progress:
        """Return how far the sweep is."""
        self._foreseen = time.monotonic()
        self._forecast = self._foresee()
        return self._progress()

    def _progress(self) -> Progress:
        share, left = self._forecast
        return Progress(
            total=self.total,
            done=self.reused + len(self._finished),
            reused=self.reused,
            running=tuple(self._labels()),
            share=share,
            elapsed=time.monotonic() - self._start,
            left=left,
            note=self._note,
            warnings=tuple(self._warnings),
        )

    def _foresee(self) -> tuple[float, float | None]:
        """Return the share of the work that is done, and the seconds that are left."""
        expected = {cell: self.expected(cell) for cell in self._waiting}
        known = [seconds for seconds in (*expected.values(), *self._finished.values()) if seconds is not None]
        # Where nothing is known, all cells are the same.
        usual = sum(known) / len(known) if known else 1.0
        spent, ahead = sum(self._finished.values()), 0.0
        for cell, seconds in expected.items():
            part = self._running[cell].done / cell.runs if cell in self._running else 0.0
            spent += part * (usual if seconds is None else seconds)
            ahead += (1 - part) * (usual if seconds is None else seconds)
        # On several machines cells take longer than the sweep does.
        passed = time.monotonic() - self._begun
        sure = spent > 0 and passed > _WARM_UP and None not in expected.values()
        share = spent / (spent + ahead) if spent + ahead > 0 else 1.0
        return share, ahead * passed / spent if sure else None

    def _scale(self) -> float:
        """Return how slow this sweep is against the earlier ones: other threads, other machines."""
        return self._took / self._should if self._should else 1.0

    def _labels(self) -> Iterator[str]:
        for cell, (_, done) in self._running.items():
            yield f"{cell.label}, {done} of {cell.runs} runs" if done else cell.label

    def _tell(self, at_once: bool = False) -> None:
        now = time.monotonic()
        if self._watch is not None and (at_once or now - self._told >= _PAUSE):
            self._told = now
            # Of thousands of cells a forecast takes longer than some of the cells do.
            stale = not self._waiting or now - self._foreseen >= _PAUSE
            self._watch(self.progress() if stale else self._progress())


class _Running(NamedTuple):
    since: float
    done: int


class _Speeds:
    """Seconds per run of cells that are like a given one, from very much so to hardly."""

    LEVELS = 3

    def __init__(self) -> None:
        self._sums: dict[tuple[object, ...], tuple[float, int]] = {}

    def learn(self, cell: Cell, seconds: float) -> None:
        for level in range(self.LEVELS):
            sums = self._sums.get(self._kind(cell, level), (0.0, 0))
            self._sums[self._kind(cell, level)] = (sums[0] + seconds, sums[1] + cell.runs)

    def per_run(self, cell: Cell, level: int) -> float | None:
        seconds, runs = self._sums.get(self._kind(cell, level), (0.0, 0))
        return seconds / runs if runs else None

    @staticmethod
    def _kind(cell: Cell, level: int) -> tuple[object, ...]:
        kind = (cell.policy, cell.horizon, cell.instance, cell.alpha)
        return kind[: len(kind) - level]
