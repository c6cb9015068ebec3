"""The suite itself: where it is started must not matter, and its longest tests come first."""

from __future__ import annotations

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


@pytest.mark.parametrize("size", [0, 1, 2, 7, 40])
@pytest.mark.parametrize("step", [1, 2, 5])
def test_both_halves_of_the_list_begin_with_long_tests(size: int, step: int) -> None:
    from conftest import pytest_collection_modifyitems

    class Item:
        def __init__(self, number: int) -> None:
            self.number, self.long = number, number % step == 0 and step > 1

        def get_closest_marker(self, name: str) -> object:
            return "marked" if self.long and name == "slow" else None

    items = [Item(number) for number in range(size)]
    given = sorted(items, key=lambda item: item.number)
    pytest_collection_modifyitems(items)  # type: ignore[arg-type]
    assert sorted(item.number for item in items) == [item.number for item in given]
    long = sum(item.long for item in items)
    if 1 < long <= size // 2:
        assert items[0].long and items[size // 2].long
    short = [item.number for item in items if not item.long]
    assert short == sorted(short)
