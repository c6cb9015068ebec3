"""Made-up worlds with logs and full tables of them, for the tests and the benchmark of replays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import frugalbandits as fb
from frugalbandits.lab.replay.data import Log, Table

__all__ = ["KINDS", "Made", "made", "truth"]

#: Estimators, each with a log of the kind that it is for.
KINDS = ("full", "resample", "reject", "weights")


class Made(NamedTuple):
    """A world, and what was seen of it as columns of a log."""

    problem: fb.Problem
    past: Log | Table
    columns: dict[str, np.ndarray]


def made(kind: str, requests: int, seed: int) -> Made:
    """Return a random world and a log of it.

    Costs vary around their means. In a full table rewards of options go together: some requests are hard. The
    log for weights chooses by the difficulty of the request, so that plain means of its options are biased.
    """
    rng = np.random.default_rng([7, seed])
    options = int(rng.integers(3, 8))
    problem = fb.Problem(
        rng.uniform(0.3, 0.95, options),
        rng.uniform(0.1, 5, options),
        alpha=float(rng.choice([0.05, 0.1, 0.2])),
    )
    spread = rng.uniform(0.2, 0.8, options)
    if kind == "full":
        return _full(problem, requests, spread, rng)
    hard = rng.integers(0, 2, requests)
    chances = np.tile(rng.dirichlet(np.full(options, 3.0)), (2, 1))
    swing = np.zeros(options)
    if kind == "reject":
        chances = np.full((2, options), 1.0 / options)
    if kind == "weights":
        chances = 0.5 * rng.dirichlet(np.full(options, 2.0), 2) + 0.5 / options
        swing = np.minimum(0.1, np.minimum(problem.means, 1 - problem.means))
    own = chances[hard]
    choice = np.minimum((rng.random(requests)[:, None] > own.cumsum(axis=1)).sum(axis=1), options - 1)
    means = problem.means[choice] + np.where(hard == 1, -1, 1) * swing[choice]
    rewards = (rng.random(requests) < means).astype(float)
    costs = problem.costs[choice] * _factors(spread[choice], rng)
    chance = own[np.arange(requests), choice]
    columns = {"option": np.array(problem.names)[choice], "reward": rewards, "cost": costs}
    if kind == "weights":
        columns["propensity"] = chance
    pairs = np.stack([rewards, costs], axis=1)
    return Made(problem, Log(problem.names, choice, pairs, chance if kind == "weights" else None), columns)


def _full(problem: fb.Problem, requests: int, spread: np.ndarray, rng: np.random.Generator) -> Made:
    shape = (problem.arms, requests)
    level = np.where(rng.random(shape) < 0.5, rng.random(requests), rng.random(shape))
    rewards = (level < problem.means[:, None]).astype(float)
    costs = problem.costs[:, None] * _factors(np.broadcast_to(spread[:, None], shape), rng)
    columns = {f"reward:{name}": own for name, own in zip(problem.names, rewards, strict=True)}
    columns |= {f"cost:{name}": own for name, own in zip(problem.names, costs, strict=True)}
    return Made(problem, Table(problem.names, np.stack([rewards, costs], axis=2)), columns)


def _factors(spread: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.exp(spread * rng.standard_normal(spread.shape) - spread**2 / 2)


def truth(problem: fb.Problem, policy: str, requests: int, runs: int, seed: int) -> tuple[float, float]:
    """Return what a policy spends and reaches in the world itself, a request, by simulation."""
    result = fb.simulate(problem, policy, requests, runs=runs, checkpoints=1, seed=seed, progress=False)
    shares = result.pulls[:, -1].mean(axis=0) / requests
    return float(shares @ problem.costs), float(shares @ problem.means)
