"""How routing comes out over many seeds: sessions as the plug-in for LiteLLM makes them, without LiteLLM."""

from __future__ import annotations

import argparse
import random
from statistics import mean

import frugalbandits as fb
from report import table

__all__ = ["main"]

ALPHA, FAILURES, JUDGED, WRONG = 0.1, 0.05, 0.1, 0.05
TABLES = ("routerbench-mbpp", "routerbench-arc", "aider-polyglot")


def run(problem: fb.Problem, calls: int, ranges: float, seed: int) -> tuple[float, float]:
    """Return what was spent against the oracle, and the quality against the bar, after the first quarter."""
    dice = random.Random(seed)
    costs = dict(zip(problem.names, problem.costs.tolist(), strict=True))
    quality = dict(zip(problem.names, problem.means.tolist(), strict=True))
    bar = (1 - ALPHA) * max(quality.values())
    good = sorted((name for name in costs if quality[name] >= bar), key=costs.__getitem__)
    worth = ranges * (max(costs.values()) - min(costs.values())) or None
    session = fb.Session(costs, ALPHA, learn_costs=True, time_to_live=86_400, worth=worth, seed=seed)
    spent = known = reached = 0.0
    for call in range(calls):
        down = {good[0]} if 0.5 * calls <= call < 0.7 * calls else set()
        failed = set(down)
        decision = session.ask(exclude=failed)
        while dice.random() < FAILURES and len(failed) < len(costs) - 1:
            session.forget(decision.id)
            failed.add(decision.option)
            decision = session.ask(exclude=failed)
        option = decision.option
        bill = costs[option] * dice.uniform(0.5, 1.5)
        session.tell(decision.id, cost=bill)
        if decision.wanted and dice.random() < JUDGED:
            session.tell(decision.id, reward=(dice.random() < quality[option]) != (dice.random() < WRONG))
        else:
            session.forget(decision.id)
        if 4 * call >= calls:
            spent += bill
            reached += quality[option] / (calls - calls // 4)
            left = 1.0
            for name in good:  # the oracle takes the next good one after a failure
                if name not in down:
                    known += left * (1 - FAILURES) * costs[name]
                    left *= FAILURES
    return spent / known, reached - bar


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=5)
    told = parser.parse_args()
    rows = []
    for name in TABLES:
        for ranges in (0.0, 3.0):
            problem = fb.instance(name, alpha=ALPHA)
            runs = [run(problem, told.calls, ranges, seed) for seed in range(told.seeds)]
            spent, above = [each[0] for each in runs], [each[1] for each in runs]
            rows.append(
                [
                    name,
                    f"{ranges:g} ranges" if ranges else "default",
                    f"{mean(spent):.2f} ({min(spent):.2f} to {max(spent):.2f})",
                    f"{mean(above):+.3f} ({min(above):+.3f} to {max(above):+.3f})",
                    f"{sum(s <= 1.15 and a >= 0 for s, a in runs)} of {told.seeds}",
                ]
            )
    print(table(["", "`worth`", "of the oracle's spend", "quality above the bar", "both as asked"], rows))


if __name__ == "__main__":
    main()
