"""Outcomes made by hand: a world in which every claim of the paper holds, to be changed piece by piece."""

from __future__ import annotations

import numpy as np

from frugalbandits.lab.instances.catalogue import instance
from frugalbandits.lab.paper.experiments import ALPHAS, INSTANCES, PAPER_POLICIES
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.result import Result
from frugalbandits.lab.sweeps.cells import Cell, Outcome

T, MARKS, RUNS = 5_000_000, 10, 4
TIMES = np.arange(1, MARKS + 1) * (T // MARKS)
EVENT = np.dtype([("run", np.int64), ("time", np.int64), ("event", "U10"), ("arm", np.int64)])
FALLING = {alpha: 20_000 * 0.6**step for step, alpha in enumerate(ALPHAS)}


def made(key, wrong, arm=None, problem=None, events=None):
    """An outcome whose runs have pulled a wrong arm `wrong` times at each checkpoint, and a* otherwise.

    Unless events are given, COF and PE-CS have settled on a*.
    """
    name, alpha, policy = key
    problem = problem or instance(name, alpha)
    arm = int(np.argmax(gaps(problem))) if arm is None else arm
    wrong = np.rint(wrong).astype(np.int64)
    pulls = np.zeros((*wrong.shape, problem.arms), np.int64)
    pulls[:, :, arm] = wrong
    pulls[:, :, problem.optimal_arm] += TIMES[-wrong.shape[1] :] - wrong
    assert pulls.min() >= 0
    runs, marks = wrong.shape
    if events is None:
        settling = range(runs if policy in ("cof", "pe-cs") else 0)
        events = [(run, T // 10, "optimal", problem.optimal_arm) for run in settling]
    result = Result(
        problem, policy, 0, TIMES[-marks:], pulls, np.array(list(events), EVENT), np.ones(runs, np.int64)
    )
    return Outcome(Cell(name, alpha, policy, T, runs, 0, marks), result, 0.5)


def gaps(problem):
    return problem.cost_gaps + problem.quality_gaps


def worst(key):
    return gaps(instance(*key[:2])).max()


def flat(key, regret, runs=RUNS):
    """All regret early, and none later."""
    return made(key, np.full((runs, MARKS), round(regret / worst(key))))


def linear(key, regret, runs=RUNS):
    """A straight line."""
    return made(key, np.tile(TIMES * (regret / worst(key) / T), (runs, 1)))


def one_outlier(key, regret, times):
    """Runs with a flat regret, but the last one with a straight line up to `times` that regret."""
    wrong = np.full((RUNS, MARKS), regret / worst(key))
    wrong[-1] = TIMES * (times * regret / worst(key) / T)
    return made(key, wrong)


def late(start=4, cheap=True):
    """UCB-CS that turns to one arm for good after `start` of 10 checkpoints."""
    problem = Problem([0.2, 0.7, 0.8, 0.9], [1, 2, 3, 4], alpha=0.3)
    wrong = np.maximum(0, TIMES - TIMES[start - 1]) if start else TIMES
    return made(("movielens", 0.3, "ucb-cs"), np.tile(wrong, (RUNS, 1)), 0 if cheap else 2, problem)


def ablation(key, cost, quality, events=()):
    """Four runs with about this much cost and quality regret, from one expensive and one infeasible arm."""
    name, alpha, policy = key
    problem = instance(name, alpha)
    expensive = int(np.argmax(problem.cost_gaps))
    cheaper = problem.costs < problem.costs[problem.optimal_arm]
    cheap = int(np.argmax(np.where(cheaper, problem.quality_gaps, -1)))
    spread = np.array([0.98, 0.99, 1.01, 1.02])
    pulls = np.zeros((RUNS, MARKS, problem.arms), np.int64)
    pulls[:, :, expensive] = (spread * cost / problem.cost_gaps[expensive])[:, None]
    pulls[:, :, cheap] += (spread * quality / problem.quality_gaps[cheap]).astype(np.int64)[:, None]
    pulls[:, :, problem.optimal_arm] += TIMES - pulls.sum(axis=2)
    rows = [(run, time * spread[run], kind, arm) for time, kind, arm in events for run in range(RUNS)]
    result = Result(problem, policy, 0, TIMES, pulls, np.array(rows, EVENT), np.ones(RUNS, np.int64))
    return Outcome(Cell(name, alpha, policy, T, RUNS, 0, MARKS), result, 0.5)


NU1, NU1_WITHOUT = ("nu1", 0.8, "cof"), ("nu1", 0.8, "cof-no-exclusive")
NU2, NU2_WITHOUT = ("nu2", 0.3, "cof"), ("nu2", 0.3, "cof-no-combine")
BIASED, UNBIASED = ("cost-biased", 0.25, "cof-cost-biased"), ("cost-biased", 0.25, "cof")


def nu2_events(*times):
    return [(time, "infeasible", arm) for arm, time in enumerate(times)]


def nu1_events(first, second):
    return [(first, "infeasible", 0), (second, "optimal", 1)]


def world():
    """Everything as the paper says, by cell."""
    found = {}
    for name in INSTANCES:
        for alpha in ALPHAS:
            cof = FALLING[alpha]
            regrets = {"cof": cof, "pe-cs": cof / 1.25 if alpha <= 0.05 else 8_000, "etc-cs": 30_000}
            regrets |= {"ucb-cs": cof / 10, "ts-cs": cof / 10}
            for policy in PAPER_POLICIES:
                key = (name, alpha, policy)
                found[key] = flat(key, regrets[policy])
            if 0.15 <= alpha <= 0.35:
                found[name, alpha, "ucb-cs"] = linear((name, alpha, "ucb-cs"), 100_000)
    for place in (("goodreads", 0.3), ("goodreads", 0.35), ("movielens", 0.25)):
        found[*place, "ts-cs"] = one_outlier((*place, "ts-cs"), FALLING[place[1]] / 10, 50)
    found["movielens", 0.3, "ucb-cs"] = late()
    found[NU1] = ablation(NU1, 100_000, 300, nu1_events(30_000, 50_000))
    found[NU1_WITHOUT] = ablation(NU1_WITHOUT, 180_000, 300, nu1_events(30_000, 75_000))
    found[NU2] = ablation(NU2, 100_000, 2_000, nu2_events(50_000, 100_000, 200_000))
    found[NU2_WITHOUT] = ablation(NU2_WITHOUT, 150_000, 3_000, nu2_events(80_000, 190_000, 700_000))
    found[UNBIASED] = ablation(UNBIASED, 500_000, 500)
    found[BIASED] = ablation(BIASED, 100_000, 600)
    return found
