"""What moves and what it costs: regret of policies in worlds, beside the same where nothing moves.

Problems are those of `problems.py`: the ones for tuning, or with --held-out those that nobody looks at before
a policy is finished. Costs are scaled to their range.

Example: python benchmarks/worlds.py --quick --policy voi-cs --policy ts-cs
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import frugalbandits as fb
from frugalbandits.lab.worlds import WORLD_POLICIES
from problems import HELD_OUT_SEED, HELD_OUT_TABLES, TUNING_TABLES, families

ALPHA = 0.1
Problems = list[tuple[str, fb.Problem]]


class Bench:
    """How much is run, and the problems: kinds by name."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.policies: Sequence[str] = options.policy or WORLD_POLICIES
        self.horizon = options.horizon or (10_000 if options.quick else 100_000)
        self.runs = options.runs or (3 if options.quick else 50)
        self.seed = options.seed
        count = options.problems or (1 if options.quick else 10)
        tables = HELD_OUT_TABLES if options.held_out else TUNING_TABLES
        drawn = families(count, HELD_OUT_SEED if options.held_out else 0)
        self.kinds: dict[str, Problems] = {
            "tables": [(name, fb.instance(name, alpha=ALPHA)) for name in tables],
            "random": [
                (f"{name} {number}", problem)
                for name, problems in drawn.items()
                for number, problem in enumerate(problems)
            ],
        }

    def mean(
        self,
        kind: str,
        policy: str,
        make: Callable[[fb.Problem, int], fb.World],
        measure: Callable[[fb.WorldResult], float],
        horizon: int | None = None,
    ) -> float:
        """Return the mean of a measure over the problems of a kind; each has a world of its own seed."""
        return float(
            np.mean(
                [
                    self.each(problem, place, policy, make, measure, horizon)
                    for place, (_, problem) in enumerate(self.kinds[kind])
                ]
            )
        )

    def each(
        self,
        problem: fb.Problem,
        place: int,
        policy: str,
        make: Callable[[fb.Problem, int], fb.World],
        measure: Callable[[fb.WorldResult], float],
        horizon: int | None = None,
    ) -> float:
        """Return a measure of the runs on one problem."""
        world = make(problem, self.seed + place)
        total = max(horizon or self.horizon, problem.arms + 1)
        return measure(fb.simulate(world, policy, total, self.runs, self.seed, checkpoints=1, progress=False))


def scaled(result: fb.WorldResult) -> float:
    return result.summary("scaled").mean


def worst(result: fb.WorldResult) -> float:
    return float(result.scaled_regret[:, -1].max())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few problems, short runs")
    parser.add_argument("--policy", action="append", help="repeat for more")
    parser.add_argument("--horizon", type=int)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--problems", type=int, help="random ones of each kind")
    parser.add_argument("--held-out", action="store_true", help="problems that nothing was chosen on")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", choices=sorted(SECTIONS), help="repeat for more")
    options = parser.parse_args(arguments)
    bench = Bench(options)
    for name in options.only or SECTIONS:
        print(f"{SECTIONS[name](bench)}\n", flush=True)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---", *["--:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _worlds(**settings: Any) -> Callable[[fb.Problem, int], fb.World]:
    return lambda problem, seed: fb.World(problem, seed=seed, **settings)


def _named(name: str) -> Callable[[fb.Problem, int], fb.World]:
    return lambda problem, seed: fb.named_world(name, problem, seed)


def sparse(bench: Bench) -> str:
    """Return regret with a share judged, over what that many decisions, all judged, would give."""
    rows = []
    for kind in bench.kinds:
        for policy in bench.policies:
            row = [kind, policy]
            for share in (0.1, 0.02):
                judged = bench.mean(kind, policy, _worlds(feedback=share), scaled)
                short = max(int(share * bench.horizon), 50)
                full = bench.mean(kind, policy, _worlds(), scaled, short) / share
                row += [f"{judged:,.0f}", f"{full:,.0f}", f"{judged / full:.2f}"]
            rows.append(row)
    heads = ["sparse feedback", "policy"]
    for share in ("10%", "2%"):
        heads += [f"{share} judged", f"{share} of T, all judged, scaled up", "ratio"]
    return _table(heads, rows)


def wanted(bench: Bench) -> str:
    rows = []
    for kind in bench.kinds:
        for policy in bench.policies:
            every = bench.mean(kind, policy, _worlds(), scaled)
            chosen = bench.mean(kind, policy, _worlds(feedback="wanted"), scaled)
            share = bench.mean(kind, policy, _worlds(feedback="wanted"), lambda result: result.judged_share)
            rows.append(
                [kind, policy, f"{every:,.0f}", f"{chosen:,.0f}", f"{chosen / every:.2f}", f"{share:.1%}"]
            )
    return _table(["wanted feedback", "policy", "all judged", "what is wanted", "ratio", "judged"], rows)


def late(bench: Bench) -> str:
    return _against(
        bench, "late feedback", {f"{delay:,} late": _worlds(delay=delay) for delay in (100, 1_000)}
    )


def bills(bench: Bench) -> str:
    return _against(
        bench, "learned costs", {"lognormal bills, prior off by up to 2": _worlds(costs="lognormal")}
    )


def outages(bench: Bench) -> str:
    return _against(bench, "outages", {"20% down, one for a fifth": _named("outages")})


def everything(bench: Bench) -> str:
    return _against(bench, "all at once", {"all": _named("all")})


def _against(bench: Bench, what: str, worlds: dict[str, Callable[[fb.Problem, int], fb.World]]) -> str:
    """Return regret in worlds over regret where nothing moves, and the worst run."""
    rows = []
    for kind in bench.kinds:
        for policy in bench.policies:
            still = bench.mean(kind, policy, _worlds(), scaled)
            row = [kind, policy, f"{still:,.0f}"]
            for make in worlds.values():
                value = bench.mean(kind, policy, make, scaled)
                row += [
                    f"{value:,.0f}",
                    f"{value / still:.2f}",
                    f"{bench.mean(kind, policy, make, worst):,.0f}",
                ]
            rows.append(row)
    heads = [what, "policy", "nothing moves"]
    for name in worlds:
        heads += [name, "ratio", "worst run"]
    return _table(heads, rows)


DRIFTS: dict[str, Any] = {
    "nothing changes": (),
    "3 changes": 3,
    "10 changes": 10,
    "in use gets worse, twice": "worse",
    "slow": "slow",
    "unused gets better": "better",
}


def drift(bench: Bench) -> str:
    """Return regret where options change; over doing nothing, for policies that can be told not to look."""
    rows = []
    for kind in bench.kinds:
        for policy in bench.policies:
            row = [kind, policy]
            for drift in DRIFTS.values():
                value = bench.mean(kind, policy, _worlds(drift=drift), scaled)
                if policy.partition(":")[0] in FORGETTING:
                    nothing = bench.mean(kind, policy, _worlds(drift=drift, memory=None), scaled)
                    row.append(f"{value:,.0f} ({value / nothing:.2f} of doing nothing)")
                else:
                    row.append(f"{value:,.0f}")
            rows.append(row)
    return _table(["drift", "policy", *DRIFTS], rows)


FORGETTING = ("voi-cs",)
SECTIONS: dict[str, Callable[[Bench], str]] = {
    "sparse": sparse,
    "wanted": wanted,
    "late": late,
    "bills": bills,
    "drift": drift,
    "outages": outages,
    "all": everything,
}

if __name__ == "__main__":
    main()
