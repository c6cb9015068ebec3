"""How many queries a minute the simulation of routing takes, by policy; compiling is left out.

Example: python benchmarks/routing_steps.py --policy squarecb
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import frugalbandits as fb
from frugalbandits.core.tables import text_table

OPTIONS, FEATURES = 4, 32  # with the leading 1, queries of 33 numbers
DEFAULT = ("glr-cof", "ts-cs-linear", "linucb", "virtual-queue", "squarecb")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--policy", action="append", help="a contextual policy; repeat for more")
    parser.add_argument("--steps", type=int, default=200_000, help="queries of the run that is timed")
    options = parser.parse_args(arguments)
    drawn = fb.synthetic_routing(1, OPTIONS, FEATURES)
    problem = fb.ContextualProblem(drawn.features, None, drawn.rewards, drawn.costs[0], drawn.quality)
    rows = [timed(problem, policy, options.steps) for policy in options.policy or DEFAULT]
    print(f"one core, {OPTIONS} options, encoded queries of {problem.encoded.shape[1]} numbers")
    print(text_table(["policy", "microseconds a query", "million queries a minute"], rows, left={0}))


def timed(problem: fb.ContextualProblem, policy: str, steps: int) -> list[str]:
    fb.simulate(problem, policy, 100, 1, checkpoints=1, progress=False)
    start = time.perf_counter()
    fb.simulate(problem, policy, steps, 1, checkpoints=1, workers=1, progress=False)
    spent = time.perf_counter() - start
    return [policy, f"{1e6 * spent / steps:.2f}", f"{60 * steps / spent / 1e6:.1f}"]


if __name__ == "__main__":
    main()
