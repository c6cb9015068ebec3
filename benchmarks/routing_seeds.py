"""How routing comes out over many seeds: sessions as the plug-in for LiteLLM makes them, without LiteLLM.

A judge that is wrong now and then is all that anybody knows of quality: the bar and what was reached are as
such a judge sees them on average. The oracle knows the cheapest single option that is good enough.

Example: python benchmarks/routing_seeds.py --seeds 6
"""

from __future__ import annotations

import argparse
import random
from statistics import mean
from typing import Any

import frugalbandits as fb
from report import table

__all__ = ["main"]

ALPHA, FAILURES, JUDGED, WRONG = 0.1, 0.05, 0.1, 0.05
DEARER = 1.15  # than the oracle, at most
SHORT = 0.005  # of the bar: an average that is held at the bar is a little below it half of the time
#: What a session is told, by what tables call it; `worth` in ranges of the costs.
KINDS: dict[str, dict[str, Any]] = {
    "each, default": {},
    "each, `worth` of 3 ranges": {"ranges": 3.0},
    "on average": {"over": "queries"},
}
TABLES = ("routerbench-mbpp", "routerbench-arc", "aider-polyglot")


def run(
    problem: fb.Problem, calls: int, seed: int, ranges: float = 0.0, over: str = "each"
) -> tuple[float, float]:
    """Return what was spent against the oracle, and the quality against the bar, after the first quarter."""
    dice = random.Random(seed)
    costs = dict(zip(problem.names, problem.costs.tolist(), strict=True))
    quality = dict(zip(problem.names, (WRONG + (1 - 2 * WRONG) * problem.means).tolist(), strict=True))
    bar = (1 - ALPHA) * max(quality.values())
    good = sorted((name for name in costs if quality[name] >= bar), key=costs.__getitem__)
    worth = ranges * (max(costs.values()) - min(costs.values())) or None
    session = fb.Session(
        costs, ALPHA, learn_costs=True, time_to_live=86_400, worth=worth, seed=seed, over=over
    )
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
            session.tell(decision.id, reward=dice.random() < quality[option])
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
    return spent / known, reached / bar


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=5)
    told = parser.parse_args()
    rows = []
    for name in TABLES:
        problem = fb.instance(name, alpha=ALPHA)
        for kind, settings in KINDS.items():
            runs = [run(problem, told.calls, seed, **settings) for seed in range(told.seeds)]
            spent, reached = [each[0] for each in runs], [each[1] for each in runs]
            rows.append(
                [
                    name,
                    kind,
                    f"{mean(spent):.2f} ({min(spent):.2f} to {max(spent):.2f})",
                    f"{mean(reached):.3f} ({min(reached):.3f} to {max(reached):.3f})",
                    f"{sum(s <= DEARER and r >= 1 - SHORT for s, r in runs)} of {told.seeds}",
                ]
            )
    print(table(["", "promise", "spend over the oracle's", "quality over the bar", "both as asked"], rows))


if __name__ == "__main__":
    main()
