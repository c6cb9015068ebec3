"""Section 11: replays of logs, how often their intervals hold the truth, and how long a large table takes.

Example: python benchmarks/replay.py --worlds 200 --requests 1000000
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

import frugalbandits as fb
from effort import Effort
from report import table

__all__ = ["section"]

# The worlds are those of the tests, where they are seeded and documented.
sys.path.append(str(Path(__file__).parents[1] / "tests"))

TEXT = """\
## Replay

How often the 95% intervals of `frugal replay` on a log of {rows:,} rows hold what a policy spends and
reaches in the world itself, simulated {truths} times: {worlds} made-up worlds of 3 to 7 options for each
estimator, and {policies} in each. Half-width: of the interval, over the estimate, median.
"""
SPEED = """\
A made-up full table of {requests:,} requests x {options} options, as Parquet: `frugal replay TABLE --alpha
0.1`, a new process with machine code on disk, took {seconds:.1f} s: reading, four policies, intervals.
"""
POLICIES = ("voi-cs", "cof", "pe-cs")
ROWS, TRUTHS, OPTIONS = 1_000, 200, 11


def section(effort: Effort) -> str:
    return f"{coverage(effort.replay_worlds)}\n{speed(effort.replay_requests)}"


def coverage(worlds: int, kinds: Sequence[str] | None = None) -> str:
    """Return a table of how often intervals hold the truth."""
    from replay_harness import KINDS, made, truth

    rows = []
    for kind in kinds or KINDS:
        held: list[tuple[bool, bool]] = []
        widths: list[tuple[float, float]] = []
        for seed in range(worlds):
            world = made(kind, ROWS, seed)
            found = fb.replay(
                world.columns,
                quality=world.problem.quality,
                policies=POLICIES,
                estimator=kind,
                resamples=39,
                progress=False,
            )
            for policy in POLICIES:
                true = truth(world.problem, policy, found.horizon, TRUTHS, 10_000 + seed)
                line = found[policy]
                both = tuple(zip((line.spend, line.quality), true, strict=True))
                held.append(tuple(each.low <= value <= each.high for each, value in both))
                widths.append(tuple((each.high - each.low) / 2 / each.value for each, _ in both))
            print(f"{kind}, world {seed + 1}: {np.mean(held, axis=0)}", file=sys.stderr, flush=True)
        shares, half = np.mean(held, axis=0), np.median(widths, axis=0)
        rows.append(
            [kind, str(len(held)), *(f"{share:.1%}" for share in shares), *(f"{w:.1%}" for w in half)]
        )
    heads = [
        "estimator",
        "intervals",
        "hold spend",
        "hold quality",
        "half-width, spend",
        "half-width, quality",
    ]
    told = TEXT.format(worlds=worlds, rows=ROWS, truths=TRUTHS, policies=", ".join(POLICIES))
    return f"{told}\n{table(heads, rows)}\n"


def speed(requests: int) -> str:
    """Return how long a full table takes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        _table(requests).write_parquet(path)
        small = Path(folder) / "small.parquet"
        _table(1_000).write_parquet(small)
        command = [sys.executable, "-m", "frugalbandits.cli", "replay"]
        # Compiles what is not on disk yet.
        subprocess.run([*command, str(small), "--alpha", "0.1"], check=True, capture_output=True)
        began = time.perf_counter()
        subprocess.run([*command, str(path), "--alpha", "0.1"], check=True, capture_output=True)
        seconds = time.perf_counter() - began
    return SPEED.format(requests=requests, options=OPTIONS, seconds=seconds)


def _table(requests: int) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    means, costs = np.linspace(0.45, 0.88, OPTIONS), np.geomspace(0.05, 6, OPTIONS)
    hard = rng.random(requests)
    columns = {}
    for option, (mean, cost) in enumerate(zip(means, costs, strict=True)):
        level = np.where(rng.random(requests) < 0.5, hard, rng.random(requests))
        columns[f"reward:m{option}"] = (level < mean).astype(float)
        columns[f"cost:m{option}"] = cost * rng.lognormal(-0.125, 0.5, requests)
    return pl.DataFrame(columns)


def main() -> None:
    description, example = (__doc__ or "").strip().split("\n\n")
    parser = argparse.ArgumentParser(description=description, epilog=example)
    parser.add_argument("--worlds", type=int, default=200)
    parser.add_argument("--estimator", action="append", help="full, resample, reject or weights; repeatable")
    parser.add_argument("--requests", type=int, default=1_000_000, help="0: coverage alone")
    options = parser.parse_args()
    if options.worlds:
        print(coverage(options.worlds, options.estimator), flush=True)
    if options.requests:
        print(speed(options.requests))


if __name__ == "__main__":
    main()
