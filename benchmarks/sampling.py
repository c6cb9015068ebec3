"""Scaled regret of GLR-COF's two sampling rules beside TS-CS, and on the paper's instances beside VOI-CS.

Example: python benchmarks/sampling.py --runs 200 --long-runs 20
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

import numpy as np

import frugalbandits as fb

POLICIES = ("glr-cof:sampling=first", "glr-cof", "ts-cs")
SEEDS = range(10)  # of random problems; the limits of the rule were chosen on these
HEAD = "| {} | first | stakes | TS-CS | worst run: first | stakes | TS-CS |\n|---|--:|--:|--:|--:|--:|--:|"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, help="runs on each built-in instance; 0 for none")
    parser.add_argument("--horizon", type=int, default=20_000, help="of the built-in instances")
    parser.add_argument(
        "--random-runs", type=int, default=20, help="runs on each of 100 random problems; 0 for none"
    )
    parser.add_argument("--long-runs", type=int, default=20, help="runs of 5,000,000 pulls; 0 for none")
    options = parser.parse_args(arguments)
    if options.runs:
        print(_instances(options.horizon, options.runs), flush=True)
    if options.random_runs:
        print(_random(options.random_runs), flush=True)
    if options.long_runs:
        print(_long(options.long_runs), flush=True)


def _ends(problem: fb.Problem, horizon: int, runs: int, policies: Iterable[str]) -> list[np.ndarray]:
    """Return the scaled regret of each run at the horizon, policy by policy."""
    return [
        fb.simulate(problem, policy, horizon, runs, checkpoints=1, progress=False).scaled_regret[:, -1]
        for policy in policies
    ]


def _line(name: str, means: Iterable[float], worst: Iterable[float]) -> str:
    return f"| {name} | " + " | ".join(f"{value:,.0f}" for value in [*means, *worst]) + " |"


def _instances(horizon: int, runs: int) -> str:
    lines = [HEAD.format(f"T = {horizon:,}, {runs} runs")]
    table = []
    for name in fb.instances():
        for alpha in (0.05, 0.1):
            ends = _ends(fb.instance(name, alpha=alpha), horizon, runs, POLICIES)
            table.append([each.mean() for each in ends])
            lines.append(_line(f"{name} {alpha}", table[-1], (each.max() for each in ends)))
    return "\n".join(lines) + f"\n\n{_summed_up(np.array(table))}\n"


def _random(runs: int) -> str:
    lines = [HEAD.format(f"100 random problems, {runs} runs")]
    told = []
    problems = [problem for seed in SEEDS for problem in fb.random_problems(10, seed=seed)]
    for horizon in (5_000, 20_000, 100_000):
        ends = [_ends(problem, horizon, runs, POLICIES) for problem in problems]
        table = np.array([[each.mean() for each in row] for row in ends])
        worst = np.array([[each.max() for each in row] for row in ends]).max(axis=0)
        lines.append(_line(f"T = {horizon:,}", table.mean(axis=0), worst))
        told.append(f"T = {horizon:,}: {_summed_up(table)}")
    return "\n".join([*lines, "", *told]) + "\n"


def _summed_up(table: np.ndarray) -> str:
    """Say the geometric mean of each column over the best of its row; less than 1 counts as 1."""
    counted = np.maximum(table, 1.0)
    ratios = np.exp(np.log(counted / counted.min(axis=1, keepdims=True)).mean(axis=0))
    parts = (f"{policy} {ratio:.2f}" for policy, ratio in zip(POLICIES, ratios, strict=True))
    return f"geometric mean over the best of the row: {', '.join(parts)}"


def _long(runs: int) -> str:
    lines = [
        f"| T = 5,000,000, {runs} runs | first | stakes | VOI-CS | stakes / first | VOI-CS / first |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    ratios = []
    for name in ("goodreads", "movielens"):
        for alpha in (0.01, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3):
            first, stakes, voi = (
                each.mean()
                for each in _ends(fb.instance(name, alpha=alpha), 5_000_000, runs, (*POLICIES[:2], "voi-cs"))
            )
            ratios.append([stakes / first, voi / first])
            lines.append(
                f"| {name} {alpha} | {first:,.0f} | {stakes:,.0f} | {voi:,.0f} | {ratios[-1][0]:.2f} | "
                f"{ratios[-1][1]:.2f} |"
            )
    means = np.exp(np.log(ratios).mean(axis=0))
    return "\n".join(lines) + f"\n\ngeometric mean: stakes {means[0]:.2f}, VOI-CS {means[1]:.2f}\n"


if __name__ == "__main__":
    main()
