"""Regret with costs scaled on problems that no policy was tuned on, and the worst of many runs on hard ones.

Example: python benchmarks/held_out.py --runs 50
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

import frugalbandits as fb
import problems
from problems import Row

OURS = "voi-cs"
BEFORE = "glr-cof:sampling=first"
POLICIES = (OURS, "glr-cof", BEFORE, "ts-cs", "ucb-cs", "pe-cs")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--runs", type=int, default=50, help="runs of each row")
    parser.add_argument("--count", type=int, default=10, help="problems of each random family")
    parser.add_argument("--horizons", type=int, nargs="*", default=[5_000, 20_000, 100_000])
    parser.add_argument("--hard-runs", type=int, default=1_000, help="runs of each hard problem; 0 for none")
    parser.add_argument("--hard-horizons", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--tuning", action="store_true", help="the problems for tuning instead")
    options = parser.parse_args(arguments)
    horizons = tuple(options.horizons)
    make = problems.tuning if options.tuning else problems.held_out
    if horizons:
        print(_families(make(horizons, options.count), options.runs), flush=True)
    if options.hard_runs:
        seed = 0 if options.tuning else problems.HELD_OUT_SEED
        print(_hard(seed, options.hard_runs, options.hard_horizons), flush=True)


def scaled(problem: fb.Problem, policy: str, horizon: int, runs: int) -> np.ndarray:
    """Return the regret of each run at the end, with costs scaled by what a unit of quality is worth."""
    result = fb.simulate(problem, policy, horizon, runs, seed=7, checkpoints=1, progress=False)
    return result.scaled_regret[:, -1]


def geometric(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def _families(rows: Sequence[Row], runs: int) -> str:
    regrets: dict[str, list[dict[str, float]]] = {}
    for row in rows:
        means = {policy: float(scaled(row.problem, policy, row.horizon, runs).mean()) for policy in POLICIES}
        regrets.setdefault(f"{row.family}, T = {row.horizon:,}", []).append(means)
    lines = [
        f"| rows, {runs} runs each | problems | "
        + " | ".join(POLICIES)
        + " | over the best other | over the "
        "best of all | over GLR-COF as it was |",
        "|---|--:|" + "--:|" * (len(POLICIES) + 3),
    ]
    for name, found in [*regrets.items(), ("all", [each for part in regrets.values() for each in part])]:
        means = [float(np.mean([each[policy] for each in found])) for policy in POLICIES]
        others = [min(value for policy, value in each.items() if policy != OURS) for each in found]
        over = [each[OURS] / other for each, other in zip(found, others, strict=True)]
        lines.append(
            f"| {name} | {len(found)} | "
            + " | ".join(f"{value:,.1f}" for value in means)
            + f" | {geometric(over):.2f} | {geometric([max(ratio, 1.0) for ratio in over]):.2f} | "
            f"{means[0] / means[POLICIES.index(BEFORE)]:.2f} |"
        )
    return "\n".join(lines) + "\n"


def _hard(seed: int, runs: int, horizons: Sequence[int]) -> str:
    lines = [
        f"| hard problem, {runs:,} runs | T | mean | 99% within | worst | worst / mean |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for horizon in horizons:
        for i, problem in enumerate(problems.hard(seed)):
            regret = scaled(problem, OURS, horizon, runs)
            lines.append(
                f"| {i + 1} | {horizon:,} | {regret.mean():,.0f} | {np.percentile(regret, 99):,.0f} | "
                f"{regret.max():,.0f} | {regret.max() / regret.mean():.1f} |"
            )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
