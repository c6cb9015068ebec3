"""A sweep computes each cell once, whatever interrupts it, and says how far it is."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from frugalbandits.errors import InputError
from frugalbandits.lab.sweeps import display as display_module
from frugalbandits.lab.sweeps import progress as progress_module
from frugalbandits.lab.sweeps import sweep as sweep_module
from frugalbandits.lab.sweeps.cells import Cell, Outcome
from frugalbandits.lab.sweeps.compute import compute
from frugalbandits.lab.sweeps.display import display, line
from frugalbandits.lab.sweeps.progress import Ledger, Progress
from frugalbandits.lab.sweeps.store import Store
from frugalbandits.lab.sweeps.sweep import sweep
from sweep_harness import SLOW, all_the_same, same_result

TINY = [
    Cell(instance, 0.3, policy, horizon=1_000, runs=5, seed=0, checkpoints=4)
    for instance in ("nu1", "nu2")
    for policy in ("pe-cs", "etc-cs")
]


def times_of(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


@pytest.fixture
def computed(monkeypatch) -> list[Cell]:
    """The cells that are computed from now on."""
    cells: list[Cell] = []

    def noted(cell, *arguments):
        cells.append(cell)
        return compute(cell, *arguments)

    monkeypatch.setattr(sweep_module, "compute", noted)
    return cells


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> dict[Cell, Outcome]:
    """Also leaves the compiled code on disk, so that the programs started below need not compile."""
    return sweep(SLOW, tmp_path_factory.mktemp("uninterrupted"))


# Order and reuse.


def test_cells_come_in_the_order_given_each_computed_once(tmp_path, computed):
    wanted = [TINY[2], TINY[0], TINY[2], TINY[1]]
    done = sweep(wanted, tmp_path)
    assert list(done) == computed == [TINY[2], TINY[0], TINY[1]]
    assert all(cell == outcome.cell and outcome.seconds > 0 for cell, outcome in done.items())
    before = times_of(tmp_path)
    more = sweep(TINY, Store(tmp_path))
    assert list(more) == TINY and computed[3:] == [TINY[3]]
    assert before.items() <= times_of(tmp_path).items()
    assert all(same_result(more[cell], done[cell]) for cell in done)
    assert more[TINY[0]].seconds == done[TINY[0]].seconds


def test_nothing_to_do(tmp_path, computed):
    seen: list[Progress] = []
    assert sweep([], tmp_path, watch=seen.append) == {}
    sweep(TINY, tmp_path)
    del computed[:]
    sweep(TINY, tmp_path, watch=seen.append)
    assert computed == []
    assert (seen[-1].done, seen[-1].reused, seen[-1].total, seen[-1].share) == (4, 4, 4, 1.0)


def test_workers_do_not_matter(tmp_path):
    one, two, five = (sweep(TINY, tmp_path / str(workers), workers=workers) for workers in (1, 2, 5))
    assert all_the_same(one, two) and all_the_same(one, five)


def test_a_damaged_file_is_computed_again_and_replaced(tmp_path, computed):
    store = Store(tmp_path)
    first = sweep(TINY, store)
    del computed[:]
    for damage in (b"", b"PK", store.path(TINY[0]).read_bytes()[:-1]):
        store.path(TINY[1]).write_bytes(damage)
        seen: list[Progress] = []
        assert all_the_same(sweep(TINY, store, watch=seen.append), first)
        assert len(seen[-1].warnings) == 1 and "etc-cs" in seen[-1].warnings[0]
        assert seen[-1].reused == 3
    assert computed == [TINY[1]] * 3
    store.path(TINY[1]).write_bytes(b"x")
    with pytest.warns(UserWarning, match="is damaged"):
        sweep(TINY, store)
    assert TINY[1] in store


def test_bad_input_is_named_before_any_work(tmp_path, computed):
    for change, words in (
        ({"horizon": 3}, "horizon"),
        ({"policy": "coff"}, "'coff'"),
        ({"instance": "nu9"}, "'nu9'"),
    ):
        with pytest.raises(InputError, match=words):
            sweep([*TINY, replace(TINY[0], **change)], tmp_path)
    with pytest.raises(InputError, match="workers must be"):
        sweep(TINY, tmp_path, workers=0)
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_that_fails_keeps_what_it_has(tmp_path, computed):
    def stop(progress: Progress) -> None:
        if progress.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(TINY, tmp_path, watch=stop)
    kept = times_of(tmp_path)
    assert len(kept) == 2
    del computed[:]
    assert list(sweep(TINY, tmp_path)) == TINY
    assert computed == TINY[2:] and kept.items() <= times_of(tmp_path).items()


# Killed and interrupted, as a program of its own.

PROGRAM = """
import signal, sys
# A test run may itself have been started with interrupts ignored, and that is inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)
from frugalbandits.cli.interrupts import interruptible
from frugalbandits.lab.sweeps.sweep import sweep
from sweep_harness import ENDLESS, SLOW

def watch(progress):
    print(progress.done, *progress.running, flush=True)

try:
    with interruptible("interrupted"):  # as in every command
        sweep([*SLOW[:2], ENDLESS, *SLOW[2:]], sys.argv[1], watch=watch)
except KeyboardInterrupt:
    sys.exit(130)
"""


def stopped_in_the_middle(folder: Path, number: int) -> tuple[int, float]:
    """Start a sweep and send it a signal in the endless cell; return exit code and seconds to the end."""
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    ) as program:
        watchdog = threading.Timer(120, program.kill)
        watchdog.start()
        try:
            for said in program.stdout:
                if re.match(r"2 .* of \d+ runs", said):
                    break
            program.send_signal(number)
            sent = time.monotonic()
            program.stdout.read()
            code = program.wait()
        finally:
            watchdog.cancel()
            program.kill()
    return code, time.monotonic() - sent


def goes_on(folder: Path, uninterrupted: dict[Cell, Outcome], computed: list[Cell]) -> None:
    """The same call again computes what is missing and nothing else, and gives what it would have given."""
    store = Store(folder)
    assert [cell for cell in SLOW if cell in store] == SLOW[:2]
    saved = times_of(folder)
    assert len(saved) == 2
    assert all_the_same(sweep(SLOW, store), uninterrupted)
    assert computed == SLOW[2:]
    assert saved.items() <= times_of(folder).items()


def test_a_sweep_that_was_killed_goes_on_and_ends_the_same(tmp_path, uninterrupted, computed):
    code, _ = stopped_in_the_middle(tmp_path, signal.SIGKILL)
    assert code == -signal.SIGKILL
    goes_on(tmp_path, uninterrupted, computed)


def test_ctrl_c_ends_a_sweep_soon_and_keeps_what_it_has(tmp_path, uninterrupted, computed, capfd):
    code, took = stopped_in_the_middle(tmp_path, signal.SIGINT)
    assert code == 130 and took < 5
    assert "Traceback" not in capfd.readouterr().err
    goes_on(tmp_path, uninterrupted, computed)


# How far, and how long.


def test_a_watcher_sees_it_all(tmp_path):
    sweep(TINY[:1], tmp_path)
    seen: list[Progress] = []
    sweep(TINY, tmp_path, watch=seen.append)
    done = [progress.done for progress in seen]
    assert done == sorted(done) and done[-1] == 4
    assert {progress.total for progress in seen} == {4} and seen[-1].reused == 1
    assert {running for progress in seen for running in progress.running} >= {cell.label for cell in TINY[1:]}
    assert {"preparing pe-cs", "preparing etc-cs"} <= {progress.note for progress in seen}
    assert seen[-1].share == 1.0
    assert all(0 <= progress.share <= 1 for progress in seen)


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[0])
    return now


FAST, MEDIUM, LONG = (Cell("nu1", alpha, "pe-cs", 1_000, 10, 0, 4) for alpha in (0.1, 0.2, 0.3))
OTHER = replace(FAST, policy="etc-cs")


def finished(cell: Cell, seconds: float) -> Outcome:
    return compute(cell)._replace(seconds=seconds)


def test_time_left_is_told_once_it_means_something(clock):
    ledger = Ledger(3, None)
    ledger.begin([FAST, MEDIUM, OTHER], [])
    ledger.run([FAST])
    clock[0] += 8
    assert ledger.progress().left is None  # nothing is known of any cell
    ledger.advance(FAST, 8, 10)
    assert ledger.progress().left is None  # nothing is known of etc-cs
    clock[0] += 2
    ledger.finish(finished(FAST, 10.0))
    assert ledger.progress().left is None
    ledger.run([OTHER])
    clock[0] += 1
    ledger.finish(finished(OTHER, 1.0))
    now = ledger.progress()
    assert now.left == pytest.approx(10.0) and now.share == pytest.approx(11 / 21)
    ledger.run([MEDIUM])
    clock[0] += 4
    ledger.advance(MEDIUM, 2, 10)  # slower than the one before: 20 seconds, not 10
    now = ledger.progress()
    assert now.left == pytest.approx(16.0) and now.share == pytest.approx(15 / 31)
    assert now.running == ("nu1, alpha 0.2, pe-cs, 2 of 10 runs",)


def test_time_left_learns_from_earlier_sweeps(clock):
    ledger = Ledger(3, None)
    # Twice as many runs back then: 1, 3 and 100 seconds for ten.
    known = [(replace(cell, runs=20), seconds) for cell, seconds in ((FAST, 2), (MEDIUM, 6), (LONG, 200))]
    ledger.begin([FAST, MEDIUM, LONG], known)
    assert [ledger.expected(cell) for cell in (FAST, MEDIUM, LONG)] == [1.0, 3.0, 100.0]
    assert ledger.expected(OTHER) is None
    ledger.run([FAST])
    clock[0] += 5  # this machine is five times slower
    ledger.finish(finished(FAST, 5.0))
    assert ledger.expected(LONG) == 500.0
    assert ledger.progress().left == pytest.approx(515.0)


def test_several_machines_are_faster_than_one(clock):
    ledger = Ledger(3, None)
    ledger.begin([FAST, MEDIUM, LONG], [])
    ledger.run([FAST, MEDIUM])
    clock[0] += 10
    ledger.finish(finished(FAST, 10.0))
    ledger.finish(finished(MEDIUM, 10.0))
    assert ledger.progress().left == pytest.approx(5.0)


def test_thousands_of_cells_are_not_forecast_thousands_of_times(clock, monkeypatch):
    forecasts: list[float] = []
    real = Ledger._foresee

    def noted(ledger: Ledger) -> tuple[float, float | None]:
        forecasts.append(clock[0])
        return real(ledger)

    monkeypatch.setattr(Ledger, "_foresee", noted)
    seen: list[Progress] = []
    ledger = Ledger(1000, seen.append)
    cells = [replace(FAST, seed=seed) for seed in range(1000)]
    result = finished(FAST, 0.001).result
    ledger.begin(cells, [])
    for cell in cells:
        ledger.run([cell])
        clock[0] += 0.001
        ledger.finish(Outcome(cell, result, 0.001))
    assert len(forecasts) < 20
    assert len(seen) > 900 and [progress.done for progress in seen[:3]] == [0, 1, 2]
    assert (seen[-1].done, seen[-1].share) == (1000, 1.0)


# The display.

NOW = Progress(136, 12, 3, ("movielens, alpha 0.3, ts-cs, 21 of 50 runs",), 0.08, 83.4, 912.0, "", ())


def test_lines_where_there_is_no_terminal(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(display_module.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    with display(stream) as show:
        for second in range(200):
            now[0] = float(second)
            show(NOW._replace(done=12 + second // 100))
        show(NOW._replace(done=136, warnings=("a file\nis damaged",)))
        show(NOW._replace(done=136, warnings=("a file\nis damaged",)))
    written = stream.getvalue().splitlines()
    assert written[0] == line(NOW) == (
        "12 of 136 cells, 3 reused, 8% of the work, 1 min 23 s, about 16 min left: "
        "movielens, alpha 0.3, ts-cs, 21 of 50 runs"
    )  # fmt: skip
    assert [text.split(" ")[0] for text in written] == ["12", "12", "13", "13", "frugal:", "136"]
    assert written[-2] == "frugal: warning: a file is damaged"


def test_a_short_sweep_has_no_lines_however_long_it_compiled(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(display_module.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    with display(stream) as show:
        show(NOW._replace(done=0, running=(), note="preparing cof"))
        now[0] = 30.0
        show(NOW._replace(done=0, running=(), note="preparing pe-cs"))
        for second in range(40, 49):
            now[0] = float(second)
            show(NOW._replace(done=second))
        show(NOW._replace(done=136, running=()))
    assert stream.getvalue() == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [1, 8, 24, 40, 80, 200])
def test_the_live_display_fits_any_terminal(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with display(stream) as show:
        # A warning draws all anew at once.
        labels = tuple(f"movielens, alpha 0.{i}, ts-cs" for i in range(5))
        show(NOW._replace(running=labels, warnings=("this is damaged",)))
        show(NOW._replace(note="waiting for workers", warnings=("this is damaged", "that too")))
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue()).replace("\r", "\n").splitlines()
    drawn = [text for text in plain if not text.startswith("frugal: warning:")]
    assert max(map(len, drawn)) <= columns
    assert len(plain) - len(drawn) == 2
    if columns >= 80:
        assert "12 of 136 cells, 3 reused" in plain
        assert any("8% 1 min 23 s, about 16 min left" in text for text in plain)
        assert "  movielens, alpha 0.2, ts-cs" in plain and "  and 2 more" in plain
    if columns >= 24:
        assert any(text.startswith("  waiting for workers") for text in plain)
    assert "\x1b[?25h" in stream.getvalue()  # the cursor is back
