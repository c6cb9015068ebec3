"""Many runs of a contextual policy on a population of queries, the same for any number of cores."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import partial

import numpy as np

from frugalbandits.core.contextual.contract import ContextualPolicy
from frugalbandits.core.contextual.registry import resolve_contextual
from frugalbandits.core.options import check_horizon
from frugalbandits.core.quality import finite_number
from frugalbandits.errors import InputError
from frugalbandits.lab.contextual.driver import WANTED, Books, Population, Streams, drive_of, new_books
from frugalbandits.lab.contextual.problem import ContextualProblem
from frugalbandits.lab.contextual.result import ContextualResult
from frugalbandits.lab.driver import prepare
from frugalbandits.lab.running import check_count, check_seed, checkpoint_times, run_all
from frugalbandits.lab.watching import Progress, listener

__all__ = ["simulate_contextual"]


def simulate_contextual(
    problem: ContextualProblem,
    policy: str | ContextualPolicy,
    horizon: float,
    runs: int = 50,
    seed: int = 0,
    checkpoints: int | Sequence[int] = 500,
    workers: int | None = None,
    progress: Progress = True,
    delay: int = 0,
    feedback: float | str = 1.0,
) -> ContextualResult:
    """Run a policy on queries drawn with replacement; `simulate` does this, and states the parameters.

    Run i depends on the problem, policy, horizon, delay, feedback, seed and i alone. Queries, luck and which
    decisions are judged are the same for all policies.
    """
    total = check_horizon(horizon, problem.options)
    count = check_count("runs", runs)
    chosen = resolve_contextual(policy)
    times = checkpoint_times(checkpoints, total)
    threads = min(count, (os.cpu_count() or 1) if workers is None else check_count("workers", workers))
    check_seed(seed)
    share = check_feedback(feedback)
    late = check_delay(delay)
    heard = listener(progress, count)
    population = Population(
        problem.encoded, problem.rewards, problem.costs, problem.segment, problem.realised, share, late
    )
    setting = problem.setting()
    name = policy if isinstance(policy, str) else repr(policy)
    drive = drive_of(chosen)
    stop = np.zeros(1, np.bool_)
    books = [new_books(times, len(problem.segment_names), problem.options) for _ in range(count)]
    sample = np.random.default_rng(0)
    streams = Streams(sample, sample, sample)
    prepare(drive, name, chosen.start(setting), population, sample, streams, books[0], stop)

    def one(run: int) -> None:
        # The children that SeedSequence(seed).spawn would give to this run.
        for_policy, *others = np.random.SeedSequence(seed, spawn_key=(run,)).spawn(4)
        made = drive(
            chosen.start(setting),
            population,
            np.random.default_rng(for_policy),
            Streams(*map(np.random.default_rng, others)),
            books[run],
            stop,
        )
        if made < total and not stop[0]:
            raise InputError(f"{name} chose what is no option in decision {made + 1:,} of run {run}")

    with heard as tell:
        tell(name, 0)
        run_all(one, count, threads, stop, partial(tell, name))
    return _result(problem, name, seed, late, share, books)


def check_feedback(feedback: float | str) -> float:
    """Return the share of decisions that are judged, or the sign for those that are wanted."""
    if feedback == "wanted":
        return WANTED
    if isinstance(feedback, str):
        raise InputError(f"feedback must be a share in (0, 1] or 'wanted', but it is {feedback!r}")
    share = finite_number("feedback", feedback)
    if not 0.0 < share <= 1.0:
        raise InputError(f"feedback must be a share in (0, 1] or 'wanted', but it is {feedback!r}")
    return share


def check_delay(delay: int) -> int:
    """Return by how many decisions feedback is late, 0 or more."""
    if isinstance(delay, bool) or not isinstance(delay, int | np.integer) or delay < 0:
        raise InputError(f"delay must be a whole number of decisions, 0 or more, but it is {delay!r}")
    return int(delay)


def _result(
    problem: ContextualProblem, name: str, seed: int, delay: int, share: float, books: Sequence[Books]
) -> ContextualResult:
    times = books[0].times
    return ContextualResult(
        problem=problem,
        policy=name,
        seed=seed,
        times=times,
        cost=np.stack([each.cost for each in books]) / times,
        quality=np.stack([each.quality for each in books]) / times,
        segment_pulls=np.stack([each.pulls for each in books]),
        judged=np.stack([each.judged for each in books]),
        delay=delay,
        feedback=math.nan if share == WANTED else share,
    )
