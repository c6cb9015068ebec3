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
from report import ratio, table

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
    "session": "fb.Session(problem.costs, problem.alpha, {policy!r}, horizon=1000, seed=0).ask()",
}


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
        cold, warm = _first_use(_USE[use].format(policy=policy), effort.warm_starts)
        rows.append([f"{use} {policy}", f"{cold:.1f}", f"{warm:.2f}", ratio(cold / warm), ratio(warm / bare)])
    headers = ["first use", "empty cache", "warm cache", "empty against warm", "warm against bare python"]
    return (
        f"{TEXT.format(imports=effort.imports)}\n{imports}\n\n"
        f"Does the import load {' or '.join(NOT_IMPORTED)}? {verdict}.\n\n"
        f"{TEXT_FIRST_USE.format(starts=effort.warm_starts)}\n{table(headers, rows)}\n"
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
