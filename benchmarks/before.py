"""Section 10: the compiled simulator against another commit of this repository, in one run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from effort import Effort
from report import milliseconds, ratio, table

__all__ = ["SAME", "Worker", "checked_out", "section", "worker"]

ROOT = Path(__file__).parents[1]

# The first commit in which the package has rooms brought this file; it is compared with the one before it.
_ROOMS = "src/frugalbandits/core/contract.py"
# A policy whose default is another rule by now is compared by the rule that it had.
SAME = {"glr-cof": "glr-cof:sampling=first"}

TEXT = """\
## Against the commit before the rooms

{old} (old) against this tree (new), alpha 0.3, T = {horizon:,}, one core, both with warm caches.
Each is a process that waits; in every one of {rounds} rounds each simulates {runs} runs of a policy with the
same seed, old and new in turn, and the one that begins changes from round to round. Milliseconds a run,
medians; a ratio above 1 says that the new one is faster. Every pair has the same pulls and the same events.
"""

_PROCESS = """
import hashlib, json, sys, time
import frugalbandits as fb

for line in sys.stdin:
    instance, policy, horizon, runs, seed = json.loads(line)
    problem = fb.instance(instance, alpha=0.3)
    began = time.perf_counter()
    result = fb.simulate(problem, policy, horizon, runs=runs, seed=seed, workers=1)
    seconds = time.perf_counter() - began
    told = hashlib.sha256(result.pulls.tobytes() + repr(result.events.tolist()).encode()).hexdigest()
    print(json.dumps([seconds, told, list(fb.policies())]), flush=True)
"""


def section(effort: Effort) -> str:
    with (
        checked_out(_ROOMS) as (name, old_tree),
        worker(old_tree, _PROCESS) as old,
        worker(ROOT, _PROCESS) as new,
    ):
        rows, ratios = [], []
        warm = new.ask("nu1", "cof", 1_000, 1, 0)
        old_policies = old.ask("nu1", "cof", 1_000, 1, 0)[2]
        for instance in ("goodreads", "movielens"):
            for policy in [each for each in warm[2] if each in old_policies]:
                before, after = _measured(old, new, instance, policy, effort)
                ratios.append(before / after)
                rows.append(
                    [instance, policy, milliseconds(before), milliseconds(after), f"{ratios[-1]:.2f}x"]
                )
    text = TEXT.format(old=name, horizon=effort.horizon, rounds=effort.rounds, runs=effort.runs)
    whole = f"Geometric mean of the ratios: {geometric_mean(ratios):.2f}x; the least: {ratio(min(ratios))}."
    return f"{text}\n{table(['instance', 'policy', 'old ms', 'new ms', 'old/new'], rows)}\n\n{whole}\n"


class Worker:
    """A process that does what it is told to."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def ask(self, *what: object) -> list[Any]:
        """Have it done, and return what the process says of it."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"a benchmark process ended on {what!r}")
        told: list[Any] = json.loads(line)
        return told


def _measured(old: Worker, new: Worker, instance: str, policy: str, effort: Effort) -> tuple[float, float]:
    """Return the median seconds a run of both."""
    names = {old: policy, new: SAME.get(policy, policy)}
    for each in (old, new):
        each.ask(instance, names[each], 1_000, 1, 0)  # compiles, or loads what was compiled
    times: dict[Worker, list[float]] = {old: [], new: []}
    for seed in range(effort.rounds):
        told = set()
        for each in (old, new) if seed % 2 else (new, old):
            seconds, digest, _ = each.ask(instance, names[each], effort.horizon, effort.runs, seed)
            times[each].append(seconds / effort.runs)
            told.add(digest)
        if len(told) > 1:
            raise RuntimeError(f"{policy} on {instance} with seed {seed} has other results than before")
    return median(times[old]), median(times[new])


@contextmanager
def worker(tree: Path, code: str) -> Iterator[Worker]:
    """Start a process that runs code with the package of a tree: it answers each line with a line."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    command = [sys.executable, "-c", code]
    pipe = subprocess.PIPE
    with (
        tempfile.TemporaryDirectory() as folder,  # `python -c` looks for modules where it is started
        subprocess.Popen(command, env=environment, cwd=folder, stdin=pipe, stdout=pipe, text=True) as process,
    ):
        try:
            yield Worker(process)
        finally:
            process.kill()


@contextmanager
def checked_out(file: str) -> Iterator[tuple[str, Path]]:
    """Check out the commit before the one that brought a file; FRUGALBANDITS_BEFORE names another one."""
    commit = os.environ.get("FRUGALBANDITS_BEFORE") or f"{_first_with(file)}^"
    name = _git("log", "-1", "--format=%h", commit)
    with tempfile.TemporaryDirectory(prefix="frugalbandits-before-") as folder:
        tree = Path(folder) / "tree"
        _git("worktree", "add", "--detach", str(tree), commit)
        try:
            yield name, tree
        finally:
            _git("worktree", "remove", "--force", str(tree))


def _first_with(file: str) -> str:
    return _git("log", "--diff-filter=A", "--format=%H", "--no-renames", "--", file).splitlines()[-1]


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"git {' '.join(words)} failed:\n{done.stderr}")
    return done.stdout.strip()
