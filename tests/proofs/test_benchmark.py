"""The benchmark of the service runs: at sizes that say nothing on speed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import dataclasses, effort, service
print(service.section(dataclasses.replace(effort.QUICK, rounds=1)))
"""


@pytest.mark.slow
def test_the_benchmark_of_the_service_runs() -> None:
    folder = Path(__file__).parents[2] / "benchmarks"
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    for words in ("SQLite: asks", "PostgreSQL: tells, 100 a request", "last against a fifth", "kB each"):
        assert words in done.stdout


MANY = """
import dataclasses, effort, many_sessions
found = many_sessions.measure(3, dataclasses.replace(effort.QUICK, rounds=1))
print(found.sessions, min(found.made, found.asks, found.tells, found.scrape, *found.lags) > 0)
"""


@pytest.mark.slow
def test_the_benchmark_of_many_sessions_runs() -> None:
    folder = Path(__file__).parents[2] / "benchmarks"
    done = subprocess.run(
        [sys.executable, "-c", MANY], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.stdout, done.returncode) == ("3 True\n", 0), done.stderr
