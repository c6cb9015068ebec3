"""A promise on the average: cost and quality of MIX-CS on problems that it was not tuned on.

Problems are drawn by `fb.random_problems`, those of which the cheapest mix is one of two arms: seeds 0 to 99
were for tuning, and those from 1,000 on are held out. In every second one, costs range over two powers of 10.

Example: python benchmarks/mixing.py --count 8 --runs 5
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import frugalbandits as fb

HELD_OUT_SEED = 1_000
POLICY, SINGLE = "mix-cs", "voi-cs"
Bar = Callable[[fb.Problem], fb.Quality]

BARS: dict[str, Bar] = {
    "relative to the best": lambda problem: fb.RelativeToBest(problem.alpha),
    "relative to one": lambda problem: fb.RelativeTo(problem.names[problem.best_arm], problem.alpha),
    "fixed level": lambda problem: fb.AtLeast(round(problem.threshold, 4)),
}


class Figures(NamedTuple):
    """Of a policy on one problem: mean costs over those of mix and a*, quality of each run over the bar."""

    over_mix: float
    over_single: float
    quality: NDArray[np.float64]
    regret: float  # of a pull, in the range of the costs


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--count", type=int, default=30, help="problems")
    parser.add_argument("--runs", type=int, default=10, help="runs of each")
    parser.add_argument("--horizons", type=int, nargs="*", default=[5_000, 50_000])
    parser.add_argument("--tuning", action="store_true", help="the problems for tuning instead")
    options = parser.parse_args(arguments)
    problems = drawn(options.count, 0 if options.tuning else HELD_OUT_SEED)
    print(f"{len(problems)} problems, {options.runs} runs each\n")
    print(HEAD)
    for bar, made in BARS.items():
        barred = [problem.with_quality(made(problem)) for problem in problems]
        for horizon in options.horizons:
            for what, world in WORLDS.items():
                found = [of(problem, POLICY, horizon, options.runs, world) for problem in barred]
                print(_row(f"{bar}{what}", horizon, POLICY, found), flush=True)
            found = [of(problem, SINGLE, horizon, options.runs, {}) for problem in barred]
            print(_row(bar, horizon, SINGLE, found), flush=True)


WORLDS: dict[str, dict[str, Any]] = {
    "": {},
    ", 1,000 late": {"delay": 1_000},
    ", 10% judged": {"feedback": 0.1},
    ", as wanted": {"feedback": "wanted"},
}
HEAD = (
    "| bar | T | policy | cost over the mix | over a* | quality over the bar | 1 run in 100 | worst run | "
    "regret of a pull |\n|---|--:|---|--:|--:|--:|--:|--:|--:|"
)


def drawn(count: int, seed: int) -> list[fb.Problem]:
    """Return problems whose cheapest mix is of two arms, by seeds from one on."""
    found: list[fb.Problem] = []
    while len(found) < count:
        [problem] = fb.random_problems(
            1, arms=(3, 8), alpha=(0.02, 0.2), seed=seed, means=(0.3, 0.98), costs=(0.02, 1.0)
        )
        if seed % 2:
            problem = fb.Problem(problem.means, 100.0 ** (problem.costs - 1.0), problem.alpha)
        seed += 1
        if not problem.mix.alone:
            found.append(problem)
    return found


def of(problem: fb.Problem, policy: str, horizon: int, runs: int, world: dict[str, Any]) -> Figures:
    """Return the figures of a policy on one problem."""
    made: fb.Problem | fb.World = fb.World(problem, memory=None, **world) if world else problem
    result = fb.simulate(made, policy, horizon, runs, seed=7, checkpoints=1, progress=False)
    used = result.pulls[:, -1] / horizon
    cost, quality, mix = used @ problem.costs, used @ problem.means, problem.mix
    lost = np.maximum(cost - mix.cost, 0) + mix.price * np.maximum(mix.bar - quality, 0)
    return Figures(
        over_mix=float(cost.mean() / mix.cost),
        over_single=float(cost.mean() / problem.costs[problem.optimal_arm]),
        quality=quality / mix.bar,
        regret=float(lost.mean() / np.ptp(problem.costs)),
    )


def _row(bar: str, horizon: int, policy: str, found: Sequence[Figures]) -> str:
    quality = np.concatenate([each.quality for each in found])
    figures = [
        np.mean([each.over_mix for each in found]),
        np.mean([each.over_single for each in found]),
        quality.mean(),
        np.quantile(quality, 0.01),
        quality.min(),
    ]
    told = " | ".join(f"{value:.3f}" for value in figures)
    return f"| {bar} | {horizon:,} | {policy} | {told} | {np.mean([each.regret for each in found]):.4f} |"


if __name__ == "__main__":
    main()
