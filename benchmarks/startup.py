"""Section 6: the time to import the package and to use a policy for the first time, in new processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from statistics import median

from effort import Effort
from report import milliseconds, ratio, table

__all__ = ["section"]

NOT_IMPORTED = ("matplotlib", "polars")

TEXT = """\
## Start-up

Seconds of a new process, median of {imports} processes; the bare interpreter is the baseline.
"""

TEXT_FIRST_USE = """\
First use of a policy: seconds of a new process that imports the package and simulates one run, or opens a
session and asks once; with an empty cache, which compiles, and again with the cache that this left behind
(median of {starts} processes).
"""

_USE = {
    "simulate": "fb.simulate(problem, {policy!r}, horizon=1000, runs=1, workers=1)",
    "replay": (
        "import numpy as np; rng = np.random.default_rng(0); used = rng.choice(['a', 'b'], 3000); "
        "log = {{'option': used, 'reward': rng.random(3000) < 0.8}}; "
        "log['cost'] = np.where(used == 'a', 1.0, 3.0); "
        "fb.replay(log, alpha=0.1, {policies}resamples=39)"
    ),
    "advise": (
        "fb.advise({{'small': 0.2, 'large': 3.0}}, alpha=0.1, {policies}runs=30, "
        "guesses={{'small': 0.8, 'large': 0.9}})"
    ),
    "session": "fb.Session(problem.costs, problem.alpha, {policy!r}, horizon=1000, seed=0).ask()",
}


TEXT_ASKS = """\
The first {asks} asks of a session with {options} options in a new process: milliseconds of the slowest and of
all, with an empty cache (plain Python), with machine code on disk, and loaded before the first ask
(`load_machine_code`, which is not counted).
"""
_ASKS = """
import json, sys, time, frugalbandits as fb
session = fb.Session([1 + each / {options} for each in range({options})], 0.1, seed=0)
{before}
took = []
for turn in range({asks}):
    began = time.perf_counter()
    session.tell(session.ask().id, turn % 2)
    took.append(time.perf_counter() - began)
print(json.dumps([max(took), sum(took)]))
"""


def _first_asks(options: int, asks: int) -> str:
    def timed(cache: str, before: str = "") -> list[float]:
        found: list[float] = json.loads(_run(_ASKS.format(options=options, asks=asks, before=before), cache))
        return found

    with tempfile.TemporaryDirectory(prefix="frugalbandits-bench-") as folder:
        plain = timed(folder)
        _run("import frugalbandits as fb; fb.warm_up('voi-cs')", folder)
        found = {
            "empty cache": plain,
            "code on disk": timed(folder),
            "code loaded before": timed(folder, "session.load_machine_code()"),
        }
    rows = [
        [what, milliseconds(slowest), milliseconds(whole), ratio(whole / plain[1])]
        for what, (slowest, whole) in found.items()
    ]
    text = TEXT_ASKS.format(asks=asks, options=options)
    return f"{text}\n{table(['asks', 'slowest', 'all', 'against an empty cache'], rows)}\n"


def section(effort: Effort) -> str:
    bare = _seconds("pass", effort.imports)
    lines = {
        "python": bare,
        "python, import numpy, numba": _seconds("import numpy, numba", effort.imports),
        "python, import frugalbandits": _seconds("import frugalbandits", effort.imports),
    }
    rows = [[what, f"{seconds:.2f}", ratio(seconds / bare)] for what, seconds in lines.items()]
    imports = table(["process", "seconds", "against the first"], rows)
    loaded = _loaded(NOT_IMPORTED)
    verdict = "no" if not loaded else f"YES: {', '.join(loaded)}"

    rows = []
    for use, policy in effort.first_uses:
        policies = f"policies=[{policy!r}], " if policy else ""
        cold, warm = _first_use(_USE[use].format(policy=policy, policies=policies), effort.warm_starts)
        rows.append(
            [
                f"{use} {policy or 'by default'}",
                f"{cold:.1f}",
                f"{warm:.2f}",
                ratio(cold / warm),
                ratio(warm / bare),
            ]
        )
    headers = ["first use", "empty cache", "warm cache", "empty against warm", "warm against bare python"]
    return (
        f"{TEXT.format(imports=effort.imports)}\n{imports}\n\n"
        f"Does the import load {' or '.join(NOT_IMPORTED)}? {verdict}.\n\n"
        f"{TEXT_FIRST_USE.format(starts=effort.warm_starts)}\n{table(headers, rows)}\n\n"
        f"{_first_asks(max(effort.arms), 19)}"
    )


def _first_use(use: str, repeats: int) -> tuple[float, float]:
    """Return the seconds with an empty cache and with a warm one."""
    code = f"import frugalbandits as fb; problem = fb.instance('goodreads', alpha=0.3); {use}"
    with tempfile.TemporaryDirectory(prefix="frugalbandits-bench-") as folder:
        cold = _once(code, folder)
        return cold, median(_once(code, folder) for _ in range(repeats))


def _seconds(code: str, repeats: int) -> float:
    _once(code)  # reads the files into the system's cache, writes byte code
    return median(_once(code) for _ in range(repeats))


def _once(code: str, cache: str | None = None) -> float:
    began = time.perf_counter()
    _run(code, cache)
    return time.perf_counter() - began


def _loaded(modules: tuple[str, ...]) -> list[str]:
    code = f"import frugalbandits, json, sys; print(json.dumps([m for m in {modules!r} if m in sys.modules]))"
    loaded: list[str] = json.loads(_run(code))
    return loaded


def _run(code: str, cache: str | None = None) -> str:
    environment = dict(os.environ)
    if cache is not None:
        environment["FRUGALBANDITS_CACHE_DIR"] = cache
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"a benchmark process failed:\n{done.stderr}")
    return done.stdout
