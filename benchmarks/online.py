"""Section 2: an ask and a tell of a session, against a pull and an update of River."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable
from statistics import median
from typing import Any

import frugalbandits as fb
from baselines import RIVER
from effort import Effort
from report import ratio, table

__all__ = ["section"]

HORIZON = 5_000_000

# alpha, and how many decisions are out before the feedback of the first comes back.
CASES = ((0.3, 0), (0.05, 0), (0.05, 50))

TEXT = """\
## Session

MovieLens (K = {arms}), {pairs:,} pairs of `ask` and `tell` from the first decision on, against as many pairs
of `pull` and `update` of River, on the same stream of Bernoulli rewards: microseconds a pair, median of
{sessions} sessions, and how many times as fast as River's UCB. With alpha 0.3 COF soon settles, with 0.05 it
explores to the end; with 50 decisions out, every pass is planned anew. Floor: COF is no slower than River's
UCB.
"""


def section(effort: Effort) -> str:
    problem = fb.instance("movielens", alpha=0.3)
    columns = [_case(problem.with_alpha(alpha), lag, effort) for alpha, lag in CASES]
    rows = []
    for name in columns[0]:
        row = [name]
        for times in columns:
            row += [f"{times[name] * 1e6:.1f}", ratio(times["River UCB"] / times[name])]
        rows.append(row)
    headers = ["policy"]
    for alpha, lag in CASES:
        headers += [f"alpha {alpha}" + (f", {lag} out" if lag else ""), "against UCB"]
    reached = all(times["cof"] <= times["River UCB"] for times in columns)
    text = TEXT.format(arms=problem.arms, pairs=effort.pairs, sessions=effort.sessions)
    verdict = f"COF no slower than River's UCB in every column: {'yes' if reached else 'NO'}."
    return f"{text}\n{table(headers, rows)}\n\n{verdict}\n"


def _case(problem: fb.Problem, lag: int, effort: Effort) -> dict[str, float]:
    """Return the median seconds of a pair, by name."""
    means = dict(zip(problem.names, problem.means.tolist(), strict=True))
    costs = dict(zip(problem.names, problem.costs.tolist(), strict=True))
    times: dict[str, list[float]] = {}
    fb.warm_up()
    for seed in range(effort.sessions):
        uniforms = _uniforms(effort.pairs, seed)
        for policy in fb.policies():
            session = fb.Session(costs, problem.alpha, policy, HORIZON, seed=seed)
            times.setdefault(policy, []).append(_pairs_of_session(session, means, lag, uniforms))
        for name, make in RIVER.items():
            times.setdefault(f"River {name}", []).append(_pairs_of_river(make, seed, means, lag, uniforms))
    return {name: median(each) for name, each in times.items()}


def _uniforms(number: int, seed: int) -> list[float]:
    draw = random.Random(seed).random
    return [draw() for _ in range(number)]


def _pairs_of_session(session: fb.Session, means: dict[str, float], lag: int, uniforms: list[float]) -> float:
    out: deque[tuple[int, float]] = deque()
    began = time.perf_counter()
    for uniform in uniforms:
        decision = session.ask()
        out.append((decision.id, 1.0 if uniform < means[decision.arm] else 0.0))
        if len(out) > lag:
            session.tell(*out.popleft())
    return (time.perf_counter() - began) / len(uniforms)


def _pairs_of_river(
    make: Callable[[int], Any], seed: int, means: dict[str, float], lag: int, uniforms: list[float]
) -> float:
    policy = make(seed)
    arms = list(means)
    out: deque[tuple[str, float]] = deque()
    began = time.perf_counter()
    for uniform in uniforms:
        arm = policy.pull(arms)
        out.append((arm, 1.0 if uniform < means[arm] else 0.0))
        if len(out) > lag:
            policy.update(*out.popleft())
    return (time.perf_counter() - began) / len(uniforms)
