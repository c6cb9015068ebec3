"""The suite itself: where it is started must not matter, and its longest tests come first."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(os.name != "posix", reason="SIGINT is ignored like this on POSIX only")
def test_the_suite_ends_where_interrupts_are_ignored() -> None:
    """In the background, under nohup and in some runners SIGINT is ignored, and children inherit that."""
    test = "tests/lab/test_simulation.py::test_runs_that_have_begun_are_stopped_too"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


class Item:
    """What the order of tests looks at: a number, and the file; every `step`-th file has long tests."""

    def __init__(self, number: int, step: int) -> None:
        self.number, self.path = number, number // 3
        self.long = step > 1 and self.path % step == 0

    def get_closest_marker(self, name: str) -> object:
        return "marked" if self.long and name == "slow" else None


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("size", [0, 1, 2, 7, 40])
@pytest.mark.parametrize("step", [1, 2, 5])
def test_workers_begin_with_long_tests_and_files_stay_together(
    size: int, step: int, workers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from conftest import pytest_collection_modifyitems

    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", workers)
    items = [Item(number, step) for number in range(size)]
    pytest_collection_modifyitems(items)  # type: ignore[arg-type]
    assert sorted(item.number for item in items) == list(range(size))
    short = [item.number for item in items if not item.long]
    assert short == sorted(short)
    long = [item.path for item in items if item.long]
    assert len(list(itertools.groupby(long))) == len(set(long))
    if len(set(long)) > 1:
        assert items[0].long and (workers == "1" or items[size // 2].long or size < 20)
