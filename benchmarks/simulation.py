"""Section 1: decisions per second of a simulation, against step loops and against River."""

from __future__ import annotations

import time
from statistics import median

import frugalbandits as fb
from baselines import RIVER, RiverLoop, seconds_per_pull_of_step_loop
from effort import POLICIES, Effort
from report import count, milliseconds, ratio, table

__all__ = ["seconds_per_run", "section"]

# Each policy's counterpart in River, where it has one, and the floor of its ratio.
COUNTERPARTS = {"ucb-cs": "UCB", "ts-cs": "ThompsonSampling"}
FLOORS = {"cof": 1_000, "pe-cs": 10_000, "ucb-cs": 100, "ts-cs": 100, "etc-cs": 10_000}

TEXT = """\
## Simulation

Goodreads (K = {arms}), alpha {alpha}, T = {horizon:,}, one core. A run is timed as a call of `simulate` with
{runs} runs on one worker, divided by {runs}: median of {rounds} calls with different seeds. The step loop is
the plain Python of `tests/reference`, timed for {step_loop_seconds} s and carried on at its last pace to the
horizon, as an average over the whole run. River is `river.bandit.evaluate` on the same arms: the policy's
counterpart, or the faster of the two where it has none. Ratios compare times per decision; floors are for
the ratio against River.
"""


def seconds_per_run(
    problem: fb.Problem, policy: str, horizon: int, runs: int, seed: int
) -> tuple[float, float]:
    """Simulate on one core; return seconds per run and the median number of plans."""
    began = time.perf_counter()
    result = fb.simulate(problem, policy, horizon, runs=runs, seed=seed, workers=1)
    return (time.perf_counter() - began) / runs, median(result.plans.tolist())


def section(effort: Effort) -> str:
    problem = fb.instance("goodreads", alpha=0.3)
    for policy in POLICIES:
        seconds_per_run(problem, policy, 1_000, runs=1, seed=0)  # compiles
    loops = {name: RiverLoop(name, problem) for name in RIVER}
    river_times: dict[str, list[float]] = {name: [] for name in RIVER}
    run_times: dict[str, list[float]] = {policy: [] for policy in POLICIES}
    for seed in range(effort.rounds):
        for name, loop in loops.items():
            river_times[name].append(loop.seconds_per_step(effort.river_steps))
        for policy in POLICIES:
            run_times[policy].append(seconds_per_run(problem, policy, effort.horizon, effort.runs, seed)[0])
    river = {name: median(times) for name, times in river_times.items()}
    rows = [_row(policy, problem, median(run_times[policy]), river, effort) for policy in POLICIES]
    headers = ["policy", "ms a run", "decisions/s", "step loop", "against it", "River", "against it"]
    text = TEXT.format(
        arms=problem.arms,
        alpha=problem.alpha,
        horizon=effort.horizon,
        runs=effort.runs,
        rounds=effort.rounds,
        step_loop_seconds=effort.step_loop_seconds,
    )
    return f"{text}\n{table([*headers, 'floor', 'reached'], rows)}\n"


def _row(policy: str, problem: fb.Problem, run: float, river: dict[str, float], effort: Effort) -> list[str]:
    decision = run / effort.horizon
    loop = seconds_per_pull_of_step_loop(policy, problem, effort.horizon, effort.step_loop_seconds)
    rival = COUNTERPARTS.get(policy) or min(river, key=lambda name: river[name])
    factor = river[rival] / decision
    floor = FLOORS.get(policy)
    return [
        policy,
        milliseconds(run),
        count(1 / decision),
        f"{loop * 1e6:.2f} us a pull" if loop else "none",
        ratio(loop / decision) if loop else "-",
        f"{rival}, {river[rival] * 1e6:.1f} us a step",
        ratio(factor),
        ratio(floor) if floor else "none",
        ("yes" if factor >= floor else "NO") if floor else "-",
    ]
