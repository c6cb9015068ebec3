"""Many replays of several policies, on all cores: of the past itself, and of pasts that are drawn from it.

All policies meet the same resampled pasts in the same orders, so that what differs between them is their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contract import Policy, Setting
from frugalbandits.core.options import cost_order
from frugalbandits.core.quality import Quality
from frugalbandits.lab.driver import prepare
from frugalbandits.lab.replay.data import Floats, Past
from frugalbandits.lab.replay.driver import MATCHED, TABLED, Source, drive_of
from frugalbandits.lab.replay.resampling import Pool, pool_of, source_of
from frugalbandits.lab.running import label, run_all

__all__ = [
    "Batches",
    "Effort",
    "Job",
    "Player",
    "Replays",
    "Run",
    "effort_for",
    "interval",
    "run_replays",
    "stream",
]

#: Confidence of every interval.
CONFIDENCE = 0.95
# Requests that a replay of all policies may serve, before it makes do with fewer resampled pasts.
_AFFORDABLE = 4e8


class Effort(NamedTuple):
    """How much is run: runs on the past itself, resampled pasts, and runs on each of these."""

    runs: int
    resamples: int
    repeats: int


def effort_for(work: float) -> Effort:
    """Return what is run where one run of each policy serves `work` requests altogether.

    The numbers of resampled pasts are those of which a fortieth, with one more, is whole: see `interval`.

    Examples
    --------
    >>> effort_for(5 * 10_000)
    Effort(runs=200, resamples=199, repeats=5)
    >>> effort_for(5 * 1_000_000)
    Effort(runs=20, resamples=39, repeats=1)
    """
    for effort in (Effort(200, 199, 5), Effort(100, 199, 3), Effort(50, 119, 2), Effort(40, 79, 2)):
        if work * (effort.runs + effort.resamples * effort.repeats) <= _AFFORDABLE:
            return effort
    return Effort(20, 39, 1)


class Job(NamedTuple):
    """What is replayed: a past, how runs draw on it, for how many requests, and the bar."""

    past: Past
    kind: int
    weights: Floats | None
    quality: Quality
    reference: int | None
    horizon: int


class Replays(NamedTuple):
    """What runs gave, a request: rewards and costs along the last axis.

    `in_order` (policies x seeds x 2) is on the past as it was, None where an estimator has no order; `runs`
    (policies x runs x 2) on the past in random orders, or by draws from it, with `uses` (policies x runs x
    options) and `served` (policies x runs); `resampled` (policies x resamples x repeats x 2) on pasts drawn
    with replacement. `means` (options x 2) and `resampled_means` (resamples x options x 2) are of the
    options.
    """

    in_order: Floats | None
    runs: Floats
    uses: NDArray[np.int64]
    served: NDArray[np.int64]
    resampled: Floats
    means: Floats
    resampled_means: Floats


class Run(NamedTuple):
    """What one run gave: reward and cost, a request; uses of each option; requests served."""

    means: Floats
    uses: NDArray[np.int64]
    served: int


class Player(Protocol):
    """Who is run on a past."""

    @property
    def randomised(self) -> bool:
        """Whether another run on the same past may be another one."""

    def compile(self, job: Job, pool: Pool, stop: NDArray[np.bool_]) -> None:
        """Compile what runs need, once."""

    def run(self, job: Job, pool: Pool, source: Source, key: tuple[int, ...], stop: NDArray[np.bool_]) -> Run:
        """Run once; `key` is of the random numbers."""


def stream(seed: int, *key: int) -> np.random.Generator:
    """Return the random numbers of one purpose."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


class Batches:
    """A policy that looks at no request."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    @property
    def randomised(self) -> bool:
        """Whether the policy draws random numbers."""
        return bool(self._policy.randomised)

    def compile(self, job: Job, pool: Pool, stop: NDArray[np.bool_]) -> None:
        """Compile the driver of this kind of policy."""
        rng = np.random.default_rng(0)
        uses, sums = np.zeros(len(pool.means), np.int64), np.zeros(2)
        state, order = self._begin(job, pool)
        prepare(
            drive_of(self._policy),
            label(self._policy),
            state,
            source_of(pool, None),
            order,
            rng if self.randomised else None,
            rng,
            job.horizon,
            uses,
            sums,
            stop,
        )

    def run(self, job: Job, pool: Pool, source: Source, key: tuple[int, ...], stop: NDArray[np.bool_]) -> Run:
        """Run the policy on what a source gives."""
        state, order = self._begin(job, pool)
        for_policy = stream(*key, 0) if self.randomised else None
        uses, sums = np.zeros(len(pool.means), np.int64), np.zeros(2)
        source.cursor[0] = 0
        served = drive_of(self._policy)(
            state, source, order, for_policy, stream(*key, 1), job.horizon, uses, sums, stop
        )
        return Run(sums / max(served, 1), uses, served)

    def _begin(self, job: Job, pool: Pool) -> tuple[Any, NDArray[np.int64]]:
        # A policy knows what its options cost on average, in the past that it meets.
        costs = np.ascontiguousarray(pool.means[:, 1])
        setting = Setting.of(costs, job.quality, job.horizon, job.reference)
        return self._policy.begin(setting), cost_order(costs)


def run_replays(
    job: Job,
    players: Sequence[Player],
    effort: Effort,
    seed: int,
    threads: int,
    tell: Callable[[int], None],
) -> Replays:
    """Run all of it; `tell` hears how many of the `effort.runs + effort.resamples` parts are done."""
    options, count = len(job.past.names), len(players)
    own = pool_of(job.past, job.kind, job.weights, None)
    ordered = job.kind in (TABLED, MATCHED)
    made = Replays(
        np.zeros((count, effort.runs, 2)) if ordered else None,
        np.zeros((count, effort.runs, 2)),
        np.zeros((count, effort.runs, options), np.int64),
        np.zeros((count, effort.runs), np.int64),
        np.zeros((count, effort.resamples, effort.repeats, 2)),
        own.means,
        np.zeros((effort.resamples, options, 2)),
    )
    stop = np.zeros(1, np.bool_)
    for player in players:
        player.compile(job, own, stop)

    def on_the_past(number: int) -> None:
        source = source_of(own, stream(seed, 0, number))
        as_it_was = source_of(own, None)
        for which, player in enumerate(players):
            run = player.run(job, own, source, (seed, 0, number), stop)
            made.runs[which, number] = run.means
            made.uses[which, number] = run.uses
            made.served[which, number] = run.served
            # Only a policy that draws random numbers does something else the next time.
            if made.in_order is not None and (player.randomised or number == 0):
                run = player.run(job, own, as_it_was, (seed, 1, number), stop)
                made.in_order[which, number if player.randomised else slice(None)] = run.means

    def on_a_resampled_one(number: int) -> None:
        pool = pool_of(job.past, job.kind, job.weights, stream(seed, 2, number))
        made.resampled_means[number] = pool.means
        for repeat in range(effort.repeats):
            key = (seed, 3, number, repeat)
            source = source_of(pool, stream(*key))
            for which, player in enumerate(players):
                run = player.run(job, pool, source, key, stop)
                made.resampled[which, number, repeat] = run.means

    def one(number: int) -> None:
        if number < effort.runs:
            on_the_past(number)
        else:
            on_a_resampled_one(number - effort.runs)

    run_all(one, effort.runs + effort.resamples, threads, stop, tell)
    return made


def interval(values: Floats) -> tuple[float, float]:
    """Return the ends that all but a fortieth of the values on either side lie between.

    The ranks are those among one value more, the truth, which is as likely at any place among them: of 39
    values, the least and the greatest.

    Examples
    --------
    >>> interval(np.arange(39.0)), interval(np.arange(199.0))
    ((0.0, 38.0), (4.0, 194.0))
    """
    ordered = np.sort(values)
    rank = max(int((1.0 - CONFIDENCE) / 2 * (len(ordered) + 1) + 1e-9), 1)
    return float(ordered[rank - 1]), float(ordered[-rank])
