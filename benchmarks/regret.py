"""Regret of GLR-COF beside COF and PE-CS, on the paper's instances and on random problems.

Example: python benchmarks/regret.py --runs 50 --problems 300
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np

import frugalbandits as fb

CONCLUDING = "glr-cof:goal=conclusion"
PROVEN = "glr-cof:goal=conclusion,threshold=proven"
ALPHAS = (0.01, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--runs", type=int, default=50, help="runs on the paper's instances")
    parser.add_argument("--horizon", type=int, default=5_000_000)
    parser.add_argument("--problems", type=int, default=300, help="random problems, 20 runs of 200,000 each")
    parser.add_argument("--seed", type=int, default=0, help="of the runs and of the random problems")
    options = parser.parse_args(arguments)
    print(_paper(options.runs, options.horizon, options.seed), flush=True)
    print(_random(options.problems, options.seed), flush=True)


def _paper(runs: int, horizon: int, seed: int) -> str:
    lines = [
        "| instance | alpha | least | COF | PE-CS | GLR-COF | conclusion | proven | GLR-COF / COF | "
        "/ PE-CS | / least | ms a run |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    # Compiled before anything is timed.
    fb.simulate(fb.instance("nu1"), "glr-cof", 1_000, runs=1)
    for name in ("goodreads", "movielens"):
        for alpha in ALPHAS:
            problem = fb.instance(name, alpha=alpha)
            least = fb.bounds.least_regret(problem, horizon).value
            cof, pe, concluding, proven = (
                fb.simulate(problem, policy, horizon, runs, seed, checkpoints=1).summary().mean
                for policy in ("cof", "pe-cs", CONCLUDING, PROVEN)
            )
            began = time.perf_counter()
            result = fb.simulate(problem, "glr-cof", horizon, runs, seed, checkpoints=1, workers=1)
            each = (time.perf_counter() - began) / runs * 1000
            ours = result.summary().mean
            lines.append(
                f"| {name} | {alpha} | {least:,.0f} | {cof:,.0f} | {pe:,.0f} | {ours:,.0f} | "
                f"{concluding:,.0f} | {proven:,.0f} | {ours / cof:.3f} | {ours / pe:.3f} | "
                f"{f'{ours / least:.2f}' if least > 0 else '-'} | {each:.0f} |"
            )
    return "\n".join(lines) + "\n"


def _random(count: int, seed: int) -> str:
    lines = [
        f"| {count} random problems | regret / COF's: geometric mean | largest | late pulls on a* | "
        "runs settled on a* | on another arm |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    problems = fb.random_problems(count, seed=seed)
    cof: list[fb.Result] = []
    for policy in ("cof", "glr-cof", CONCLUDING, PROVEN):
        # Five checkpoints: late is the last fifth.
        ours = [fb.simulate(problem, policy, 200_000, 20, seed=seed, checkpoints=5) for problem in problems]
        cof = cof or ours
        ratios = np.array([a.summary().mean / b.summary().mean for a, b in zip(ours, cof, strict=True)])
        late = np.mean([result.late_on_optimal for result in ours])
        right = np.array([result.settled_arm == result.problem.optimal_arm for result in ours])
        wrong = np.array([result.settled_arm >= 0 for result in ours]) & ~right
        lines.append(
            f"| `{policy}` | {np.exp(np.log(ratios).mean()):.3f} | {ratios.max():.2f} | {late:.1%} | "
            f"{right.mean():.1%} | {wrong.mean():.2%} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
