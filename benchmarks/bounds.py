"""Section 8: the bounds of a problem, and measured regret over the least as a figure.

Example: python benchmarks/bounds.py docs/images/bounds-ratio.png
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from statistics import median

import numpy as np

import frugalbandits as fb
from effort import Effort
from report import milliseconds, table

__all__ = ["section"]

TEXT = """\
## Bounds

Milliseconds for the bounds of one problem at T = 10^6, median of {rounds} rounds: all lower bounds, the joint
bounds of all cheap arms, the least regret as a linear programme, COF's upper bounds, and everything that
`frugal bounds` shows, which is six programmes. Half of the arms are cheap and half share the joint bounds,
none of which the arms' own bounds meet: the hardest kind.
"""

HORIZONS = tuple(10**k for k in range(4, 9))


def section(effort: Effort) -> str:
    rows = []
    for arms in (20, 100, 500):
        problem = _hard(arms)
        calls = (
            lambda p=problem: fb.bounds.lower_pulls(p, 10**6),
            lambda p=problem: fb.bounds.joints(p, 10**6),
            lambda p=problem: fb.bounds.least_regret(p, 10**6),
            lambda p=problem: fb.bounds.cof_upper(p, 10**6),
            lambda p=problem: fb.bounds.overview(p, 10**6),
        )
        rows.append([str(arms), *(milliseconds(_seconds(call, effort.rounds)) for call in calls)])
    headers = ["arms", "lower bounds", "joint bounds", "least regret", "upper bounds", "everything"]
    return f"{TEXT.format(rounds=effort.rounds)}\n{table(headers, rows)}\n"


def _hard(arms: int) -> fb.Problem:
    """Return a problem whose threshold is near 0.4: cheap arms below, a* at 0.51, the rest above 0.7."""
    rng = np.random.default_rng(arms)
    half = arms // 2
    means = np.concatenate([rng.uniform(0.3, 0.35, half), [0.51], rng.uniform(0.72, 0.8, arms - half - 1)])
    costs = np.concatenate([rng.uniform(0, 1, half), [1], rng.uniform(1.1, 9, arms - half - 1)])
    problem = fb.Problem(means, costs, alpha=0.5)
    assert fb.bounds.least_regret(problem, 10**6).tight[-1].startswith("joint")
    return problem


def _seconds(call: Callable[[], object], rounds: int) -> float:
    call()  # imports the solver
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return median(taken)


def draw_ratio(path: str, runs: int = 50) -> None:
    """Draw COF's and PE-CS's regret over the least on the paper's two instances, and print the means."""
    from frugalbandits.lab.figures import panels as figures
    from frugalbandits.lab.figures.bounds import plot_ratio, ratio_curve

    curves = []
    for name in ("goodreads", "movielens"):
        problem = fb.instance(name, alpha=0.05)
        for policy in ("cof", "pe-cs"):
            results = [
                fb.simulate(problem, policy, horizon, runs=runs, checkpoints=1) for horizon in HORIZONS
            ]
            curves.append(ratio_curve(f"{name}, alpha = {problem.alpha:g}", results))
            means = ", ".join(f"{ratio:.2f}" for ratio in curves[-1].ratios.mean(axis=1))
            print(f"{name}, {policy}, T = 10^4 to 10^8: {means}", flush=True)
    figures.save(plot_ratio(curves), path)


if __name__ == "__main__":
    draw_ratio(*sys.argv[1:2])
