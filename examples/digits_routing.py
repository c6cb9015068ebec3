"""Five classifiers for handwritten digits, from cheap to dear, and who is asked when.

Most digits are easy, and the cheapest classifier gets them right. A router that looks at the digit asks the
dear ones only where they are needed, and keeps the share of right answers, over all digits, within 5% of
the best classifier's. Run it with a number of decisions, such as 50000; by default it is a short look. With
the name of a file as well, the picture goes there.
"""

from __future__ import annotations

import sys

import frugalbandits as fb
from frugalbandits.lab.figures import plot_routing, save

DECISIONS = int(sys.argv[1]) if len(sys.argv) > 1 else 4_000
RUNS = 2 if DECISIONS < 10_000 else 10


def show_options(problem: fb.ContextualProblem) -> None:
    """Print what each classifier costs and gets right, had it taken every digit."""
    print(f"{problem.queries:,} digits; good enough is a share of {problem.bar:.3f} right answers")
    for name, cost, right in zip(problem.names, problem.option_cost, problem.option_quality, strict=True):
        print(f"  {name:<20} costs {cost:>4.0f}, right {right:.3f}")


def show_oracles(problem: fb.ContextualProblem) -> None:
    """Print the least that rules cost which know everything."""
    oracle = problem.oracle()
    print(f"\nThe cheapest that is good enough alone: {problem.names[problem.optimal_option]}")
    words = {
        "mix": "a mix of two, whatever the digit",
        "segments": "by what the digit looks like to the cheapest one",
        "linear": "by a linear rule on that and 16 numbers of the picture",
    }
    for rule in oracle.rules:
        print(f"  {words[rule.kind]:<56} {rule.cost / oracle.single.cost:.0%} of its cost")


def show_routing(result: fb.ContextualResult) -> None:
    """Print who was asked when: a row for what the digit looks like, a column for each classifier."""
    names = result.problem.names
    print(f"\n{result.policy}: who was asked, by what the digit looks like to the cheapest one")
    print(" " * 14 + "".join(f"{name:>21}" for name in names))
    for segment, shares in zip(result.problem.segment_names, result.shares, strict=True):
        print(f"{segment:<14}" + "".join(f"{share:>21.0%}" for share in shares))


def main() -> None:
    """Route digits with the policies that look at them, and say what it cost."""
    problem = fb.routing_instance("digits-routing", "relative-to-best:0.05")
    show_options(problem)
    show_oracles(problem)
    known = [name for name in ("dual-cof", "squarecb", "virtual-queue") if name in fb.contextual_policies()]
    results = [fb.simulate(problem, name, DECISIONS, RUNS, checkpoints=20, progress=False) for name in known]
    print(f"\n{RUNS} runs of {DECISIONS:,} decisions, feedback on each of them:")
    for result in results:
        told = result.summary()
        print(
            f"  {told.policy:<14} cost {told.over_single:.0%} of the cheapest good one alone, right answers "
            f"{told.over_bar:.1%} of the bar, {told.worst:.1%} in the worst run"
        )
    show_routing(results[0])
    if len(sys.argv) > 2:
        save(plot_routing(results, "digits-routing"), sys.argv[2])


if __name__ == "__main__":
    main()
