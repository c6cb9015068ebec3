"""What the benchmark compares with: River's bandits, and the plain step loops of tests/reference."""

from __future__ import annotations

import importlib
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from river import bandit, proba

import frugalbandits as fb

__all__ = ["RIVER", "BernoulliArms", "RiverLoop", "seconds_per_pull_of_step_loop"]

# Makers of River's policies, by name. UCB(1) is UCB1; Beta() is the uniform prior on a Bernoulli mean.
RIVER: dict[str, Callable[[int], Any]] = {
    "UCB": lambda seed: bandit.UCB(delta=1, seed=seed),
    "ThompsonSampling": lambda seed: bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=seed),
}


class BernoulliArms(gymnasium.Env[Any, Any]):
    """Bernoulli arms for River's loop; as little work in a step as the interface allows."""

    def __init__(self, means: Sequence[float]) -> None:
        self.means = list(means)
        self.action_space = gymnasium.spaces.Discrete(len(self.means))
        self.observation_space = gymnasium.spaces.Discrete(1)
        self.random = random.Random(0)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Start an episode, which has no end."""
        self.random.seed(seed)
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Draw a reward of an arm."""
        reward = 1.0 if self.random.random() < self.means[action] else 0.0
        return 0, reward, False, False, {}


class RiverLoop:
    """`river.bandit.evaluate` of one policy, a stretch of steps at a time."""

    def __init__(self, name: str, problem: fb.Problem) -> None:
        arms = BernoulliArms(problem.means.tolist())
        self._steps: Iterator[Any] = bandit.evaluate([RIVER[name](0)], arms, n_episodes=1, seed=0)
        self.seconds_per_step(1_000)  # every arm has been seen, every code path warmed up

    def seconds_per_step(self, steps: int) -> float:
        """Run on for some steps."""
        began = time.perf_counter()
        for _ in islice(self._steps, steps):
            pass
        return (time.perf_counter() - began) / steps


class _TimeIsUp(Exception):
    pass


def seconds_per_pull_of_step_loop(
    policy: str, problem: fb.Problem, horizon: int, seconds: float
) -> float | None:
    """Time the step loop of a policy, on average over a whole run to the horizon; None if it has none.

    A loop that is not done in the given time is stopped, and goes on in thought at the pace of the last
    fifth of that time: a policy that has settled is much faster than one that still explores.
    """
    loop = _step_loops().get(policy)
    if loop is None:
        return None
    means = problem.means.tolist()
    draw = random.Random(0).random
    marks: list[tuple[int, float]] = [(0, 0.0)]
    pulls = 0
    began = time.perf_counter()

    def pull(arm: int) -> float:
        nonlocal pulls
        pulls += 1
        if pulls % 1_000 == 0:
            passed = time.perf_counter() - began
            marks.append((pulls, passed))
            if passed > seconds:
                raise _TimeIsUp
        return 1.0 if draw() < means[arm] else 0.0

    try:
        loop(pull, problem.costs.tolist(), problem.alpha, horizon, rng=np.random.default_rng(0))
    except _TimeIsUp:
        done, passed = marks[-1]
        late, late_passed = next((n, at) for n, at in reversed(marks[:-1]) if at <= 0.8 * passed)
        pace = (passed - late_passed) / (done - late)
        return (passed + (horizon - done) * pace) / horizon
    return (time.perf_counter() - began) / horizon


def _step_loops() -> dict[str, Callable[..., Any]]:
    tests = str(Path(__file__).resolve().parents[1] / "tests")
    if tests not in sys.path:
        sys.path.append(tests)
    loops: dict[str, Callable[..., Any]] = importlib.import_module("reference").REFERENCES
    return loops
