"""Many runs of a policy on a problem, on all cores, the same for any number of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import overload

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contextual.contract import ContextualPolicy
from frugalbandits.core.contract import EVENTS, Policy, Setting
from frugalbandits.core.options import check_horizon
from frugalbandits.core.registry import resolve
from frugalbandits.errors import InputError
from frugalbandits.lab.archive import EVENT
from frugalbandits.lab.contextual.problem import ContextualProblem
from frugalbandits.lab.contextual.result import ContextualResult
from frugalbandits.lab.contextual.running import simulate_contextual
from frugalbandits.lab.driver import drive_of, prepare
from frugalbandits.lab.instances.catalogue import as_problem
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.result import Result
from frugalbandits.lab.rewards import RewardModel, resolve_rewards
from frugalbandits.lab.running import check_count, check_seed, checkpoint_times, label, run_all
from frugalbandits.lab.watching import Progress, listener
from frugalbandits.lab.worlds.result import WorldResult
from frugalbandits.lab.worlds.running import simulate_world
from frugalbandits.lab.worlds.world import World

__all__ = ["check_count", "simulate"]

_NOTHING = (np.zeros(0, np.int64), np.zeros(0, np.int64))


@overload
def simulate(
    problem: Problem | str,
    policy: str | Policy,
    horizon: float,
    runs: int = 50,
    seed: int = 0,
    checkpoints: int | Sequence[int] = 500,
    workers: int | None = None,
    rewards: str | RewardModel = "bernoulli",
    progress: Progress = True,
) -> Result: ...


@overload
def simulate(
    problem: World,
    policy: str | Policy,
    horizon: float,
    runs: int = 50,
    seed: int = 0,
    checkpoints: int | Sequence[int] = 500,
    workers: int | None = None,
    rewards: str | RewardModel = "bernoulli",
    progress: Progress = True,
) -> WorldResult: ...


@overload
def simulate(
    problem: ContextualProblem,
    policy: str | ContextualPolicy,
    horizon: float,
    runs: int = 50,
    seed: int = 0,
    checkpoints: int | Sequence[int] = 500,
    workers: int | None = None,
    rewards: str | RewardModel = "bernoulli",
    progress: Progress = True,
    *,
    delay: int = 0,
    feedback: float | str = 1.0,
) -> ContextualResult: ...


def simulate(
    problem: Problem | World | ContextualProblem | str,
    policy: str | Policy | ContextualPolicy,
    horizon: float,
    runs: int = 50,
    seed: int = 0,
    checkpoints: int | Sequence[int] = 500,
    workers: int | None = None,
    rewards: str | RewardModel = "bernoulli",
    progress: Progress = True,
    *,
    delay: int = 0,
    feedback: float | str = 1.0,
) -> Result | WorldResult | ContextualResult:
    """Run a policy on a problem, in a world, or on queries that it looks at, many times.

    Parameters
    ----------
    problem
        The arms, their true means and costs, and what is good enough; or the name of a built-in instance.
        A `World` is simulated a decision at a time, and the result is a `WorldResult`. The queries of a
        `ContextualProblem` are drawn with replacement, and the result is a `ContextualResult`.
    policy
        A registered name (see `policies`) or a policy with settings, such as ``COF(delta=1e-6)``. On queries,
        one of those that look at them (see `contextual_policies`).
    horizon
        Pulls in each run; greater than the number of arms.
    runs
        Number of independent runs.
    seed
        The result depends on the problem, policy, horizon, rewards, runs and seed, and on nothing else.
        Run i is the same however many runs there are.
    checkpoints
        Number of evenly spaced times at which pulls are recorded, or the times themselves. The horizon is
        always the last one.
    workers
        Threads; all cores by default.
    rewards
        "bernoulli", "beta" or any reward model. Not for queries: their problem has the rewards.
    progress
        By default a bar on standard error, on a terminal or in a notebook, for what takes longer than two
        seconds; False for none. A function is called with the number of runs done and the number of runs,
        after each run.
    delay
        On queries: by how many decisions feedback is late.
    feedback
        On queries: the share of the decisions that are judged, at random, or "wanted": those of which the
        policy wants to know.

    Examples
    --------
    >>> problem = Problem(means=[0.2, 0.7, 0.8], costs=[1, 2, 9], alpha=0.2)
    >>> result = simulate(problem, "pe-cs", horizon=20_000, runs=3, seed=1, checkpoints=4)
    >>> result.times.tolist()
    [5000, 10000, 15000, 20000]
    >>> result.final_arm.tolist()
    [1, 1, 1]
    """
    if isinstance(problem, ContextualProblem):
        looking = _for_queries(policy, rewards)
        return simulate_contextual(
            problem, looking, horizon, runs, seed, checkpoints, workers, progress, delay, feedback
        )
    if (delay, feedback) != (0, 1.0):
        raise InputError(
            f"delay={delay!r} and feedback={feedback!r} are for a ContextualProblem; otherwise put the "
            "problem into a World, which has both"
        )
    if isinstance(policy, ContextualPolicy):
        raise InputError(
            f"{policy!r} looks at queries: it needs a ContextualProblem, but this is {problem!r}"
        )
    if isinstance(problem, World):
        return simulate_world(problem, policy, horizon, runs, seed, checkpoints, workers, rewards, progress)
    problem = as_problem(problem)
    total = check_horizon(horizon, problem.arms)
    count = check_count("runs", runs)
    chosen = resolve(policy)
    draws = resolve_rewards(rewards).draws(problem)
    times = checkpoint_times(checkpoints, total)
    threads = min(count, (os.cpu_count() or 1) if workers is None else check_count("workers", workers))
    setting = Setting.of(problem.costs, problem.quality, total, problem.reference, worth=problem.given_worth)
    check_seed(seed)
    heard = listener(progress, count)

    drive = drive_of(chosen)
    arms = problem.arms
    pulls = np.zeros((count, len(times), arms), np.int64)
    event_times = np.zeros((count, arms + 2), np.int64)
    journals: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = [_NOTHING] * count
    plans = np.zeros(count, np.int64)
    trial = chosen.begin(setting)
    sample = np.random.default_rng(0)
    stop = np.zeros(1, np.bool_)
    policy_sample = sample if chosen.randomised else None
    prepare(drive, label(policy), trial, draws, policy_sample, sample, times, pulls[0], event_times[0], stop)

    def one(run: int) -> None:
        state = chosen.begin(setting)
        # The child that SeedSequence(seed).spawn would give to this run.
        for_policy, for_rewards = np.random.SeedSequence(seed, spawn_key=(run,)).spawn(2)
        policy_rng = np.random.default_rng(for_policy) if chosen.randomised else None
        reward_rng = np.random.default_rng(for_rewards)
        plans[run] = drive(state, draws, policy_rng, reward_rng, times, pulls[run], event_times[run], stop)
        length = int(state.journal.length[0])
        journals[run] = (state.journal.kinds[:length], state.journal.arms[:length])

    with heard as tell:
        tell(label(policy), 0)
        run_all(one, count, threads, stop, partial(tell, label(policy)))

    back = np.argsort(problem.order)
    return Result(
        problem=problem,
        policy=label(policy),
        seed=seed,
        times=times,
        pulls=np.ascontiguousarray(pulls[:, :, back]),
        events=_events(problem, journals, event_times),
        plans=plans,
    )


def _for_queries(
    policy: str | Policy | ContextualPolicy, rewards: str | RewardModel
) -> str | ContextualPolicy:
    """Return a policy that may look at queries; refuse what is not for them."""
    if rewards != "bernoulli":
        raise InputError(f"a ContextualProblem has its rewards, but rewards={rewards!r} is given too")
    if isinstance(policy, Policy):
        raise InputError(f"{policy!r} looks at no query: on a ContextualProblem, say for instance 'voi-cs'")
    return policy


def _events(
    problem: Problem,
    journals: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
    event_times: NDArray[np.int64],
) -> NDArray[np.void]:
    rows = [
        (run, event_times[run, i], EVENTS[kind], problem.order[arm])
        for run, (kinds, arms) in enumerate(journals)
        for i, (kind, arm) in enumerate(zip(kinds, arms, strict=True))
    ]
    return np.array(rows, dtype=EVENT)
