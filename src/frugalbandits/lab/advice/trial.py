"""Many runs of a policy, each in a truth of its own, and what can be read off them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contract import Policy, Setting
from frugalbandits.core.registry import resolve
from frugalbandits.lab.advice.case import Case, Feedback, Truth
from frugalbandits.lab.advice.driver import drive_of
from frugalbandits.lab.driver import Drive, prepare
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.running import label, run_all

__all__ = [
    "KNOWS",
    "Trial",
    "default_runs",
    "known_after",
    "lost_on",
    "moments",
    "run_trial",
    "stretches",
    "truths",
]

#: The share of decisions that go to the option it ends on, from when on it knows.
KNOWS = 0.95
_STRETCH = 1.05  # how much longer each stretch is whose decisions are counted
_FIRST = 10  # decisions of the first stretch
_LATE = 0.9  # of the decisions have been made when it begins to end
# What a run takes grows with the square of the options, and with the digits of the horizon beyond 4.5; the
# whole is to take less than ten seconds.
_BUDGET, _START, _SQUARE = 5_000.0, 10.0, 0.5  # milliseconds
_FEWEST, _MOST, _DIGITS = 30, 300, 4.5


def default_runs(arms: int, horizon: int) -> int:
    """Return how many runs are made where nothing is said: the same on every machine.

    Examples
    --------
    >>> [default_runs(arms, 30_000) for arms in (2, 6, 12, 40)]
    [300, 178, 60, 30]
    >>> default_runs(2, 300_000_000)
    159
    """
    runs = min(_BUDGET / (_START + _SQUARE * arms**2), _MOST)
    return int(max(runs / max(math.log10(horizon) / _DIGITS, 1.0), _FEWEST))


def truths(case: Case, runs: int, seed: int) -> list[Truth]:
    """Draw what may be true in each run; run i is the same however many there are."""
    return [case.truth(np.random.default_rng(_streams(seed, run)[0])) for run in range(runs)]


def stretches(horizon: int) -> NDArray[np.int64]:
    """Return the ends of stretches of time: ten decisions, and then a 20th of all before, at most.

    Examples
    --------
    >>> stretches(14).tolist(), len(stretches(30_000)), stretches(3).tolist()
    ([10, 11, 12, 13, 14], 162, [3])
    """
    first = min(_FIRST, horizon)
    steps = math.ceil(math.log(horizon / first) / math.log(_STRETCH))
    return np.unique(np.round(np.geomspace(first, horizon, steps + 1)).astype(np.int64))


def moments(case: Case) -> NDArray[np.int64]:
    """Return the times at which uses are counted: the ends of stretches, and of days."""
    days = case.volume * np.arange(1, case.days + 1, dtype=np.int64)
    return np.unique(np.concatenate([days, stretches(case.horizon)]))


@dataclass(frozen=True, eq=False)
class Trial:
    """Runs of one policy.

    Attributes
    ----------
    problems
        What is true in each run.
    times
        Decisions at the checkpoints: the ends of the days are among them.
    pulls
        Uses of each option up to each checkpoint: runs x checkpoints x options.
    judged
        Decisions that were judged, by run.
    """

    case: Case
    policy: str
    feedback: Feedback
    seed: int
    problems: tuple[Problem, ...]
    times: NDArray[np.int64]
    pulls: NDArray[np.int64]
    judged: NDArray[np.int64]

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.problems)

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """The true means: runs x options."""
        return np.array([problem.means for problem in self.problems])

    @cached_property
    def gaps(self) -> NDArray[np.float64]:
        """What each option lacks to be good enough: runs x options."""
        return np.array([problem.quality_gaps for problem in self.problems])

    @cached_property
    def by_day(self) -> NDArray[np.int64]:
        """Uses of each option on each day: runs x days x options."""
        ends = np.searchsorted(self.times, self.case.volume * np.arange(1, self.case.days + 1))
        return np.diff(self.pulls[:, ends], axis=1, prepend=0)

    @cached_property
    def judging(self) -> NDArray[np.float64]:
        """What judgements cost in each run."""
        return np.asarray(self.judged * self.case.judge_price, np.float64)

    @cached_property
    def spend(self) -> NDArray[np.float64]:
        """What each run costs, judgements included."""
        return self.pulls[:, -1] @ self.case.costs + self.judging

    @cached_property
    def quality(self) -> NDArray[np.float64]:
        """The mean quality of each run."""
        return np.asarray((self.pulls[:, -1] * self.means).sum(axis=1) / self.times[-1])

    @cached_property
    def lack(self) -> NDArray[np.float64]:
        """What each run lacks of good enough, a decision."""
        return np.asarray((self.pulls[:, -1] * self.gaps).sum(axis=1) / self.times[-1])

    @cached_property
    def loss(self) -> NDArray[np.float64]:
        """What each run costs more than the right option would, with what its lack of quality is worth.

        A cheaper option that is not good enough saves nothing here.
        """
        return np.asarray((self.pulls[:, -1] * self.losses).sum(axis=1) + self.judging)

    @cached_property
    def losses(self) -> NDArray[np.float64]:
        """The same of one decision for each option: runs x options."""
        return np.array([lost_on(problem) for problem in self.problems])

    def first(self, runs: int) -> Trial:
        """Return the same with the first runs only."""
        return replace(
            self, problems=self.problems[:runs], pulls=self.pulls[:runs], judged=self.judged[:runs]
        )

    @cached_property
    def known(self) -> NDArray[np.float64]:
        """After how many decisions each run knew; inf where it did not."""
        right = np.array([_right(problem) for problem in self.problems])
        ends = stretches(self.case.horizon)
        return known_after(ends, self.pulls[:, np.searchsorted(self.times, ends)], right)[0]

    @cached_property
    def ends_right(self) -> NDArray[np.bool_]:
        """Whether each run ends on an option that is good enough, and the cheapest of those."""
        right = np.array([_right(problem) for problem in self.problems])
        return right[np.arange(self.runs), self.ends_on]

    @cached_property
    def ends_on(self) -> NDArray[np.int64]:
        """The option that each run ends on: the most used one of the last tenth."""
        ends = stretches(self.case.horizon)
        return _ends_on(ends, self.pulls[:, np.searchsorted(self.times, ends)])


def lost_on(problem: Problem) -> NDArray[np.float64]:
    """Return the regret of a decision for each option, in money: of cost, and of quality by its worth."""
    return problem.cost_gaps + problem.worth * problem.quality_gaps


def _right(problem: Problem) -> NDArray[np.bool_]:
    return np.asarray(problem.feasible & (problem.costs <= problem.costs[problem.optimal_arm]))


def _ends_on(times: NDArray[np.int64], pulls: NDArray[np.int64]) -> NDArray[np.int64]:
    late = max(int(np.searchsorted(times, _LATE * times[-1], side="right")) - 1, 0)
    before = pulls[:, late] if late < len(times) - 1 else 0
    return np.asarray(np.argmax(pulls[:, -1] - before, axis=1), np.int64)


def known_after(
    times: NDArray[np.int64], pulls: NDArray[np.int64], right: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return after how many decisions each run knew, and the option that it ends on.

    A run knows from when on at least 95% of the decisions of every stretch go to the option that it ends on.
    Where that is one of those that are `right` (runs x options), the others count as it: they cost the same
    and are good enough too. A run whose last stretch is not so never knew: inf.

    Examples
    --------
    >>> times, pulls = np.array([10, 20, 30, 40]), np.array([[[5, 5], [6, 14], [6, 24], [6, 34]]])
    >>> known_after(times, pulls, np.array([[False, True]]))
    (array([20.]), array([1]))
    """
    runs = len(pulls)
    ends = _ends_on(times, pulls)
    same = np.zeros((runs, pulls.shape[2]), np.bool_)
    same[np.arange(runs), ends] = True
    same |= right & right[np.arange(runs), ends][:, None]
    uses = np.diff((pulls * same[:, None, :]).sum(axis=2), axis=1, prepend=0)
    short = uses < KNOWS * np.diff(times, prepend=0)
    # The end of the last stretch that falls short.
    last = np.where(short.any(axis=1), short.shape[1] - 1 - np.argmax(short[:, ::-1], axis=1), -1)
    after = np.concatenate([times, [0]])[last].astype(np.float64)
    after[last == len(times) - 1] = np.inf
    return after, ends


def run_trial(
    case: Case,
    policy: str | Policy,
    drawn: Sequence[Truth],
    seed: int,
    workers: int | None = None,
    feedback: Feedback | None = None,
    tell: Callable[[int], None] = lambda done: None,
) -> Trial:
    """Run a policy once in each of some truths, as a session would; `feedback` in place of the case's own."""
    chosen = resolve(policy)
    judged_share = case.feedback if feedback is None else feedback
    share = -1.0 if judged_share == "wanted" else float(judged_share)
    setting = Setting.of(
        case.costs,
        case.quality,
        case.horizon,
        case.expected.reference,
        worth=case.given_worth,
        memory=0 if chosen.forgets else None,
        judge_price=case.judge_price,
    )
    times = moments(case)
    pulls = np.zeros((len(drawn), len(times), len(case.names)), np.int64)
    judged = np.zeros((len(drawn), len(case.names)), np.int64)
    stop = np.zeros(1, np.bool_)
    drive = drive_of(chosen, chosen.begin(setting))

    def arguments(run: int) -> tuple[Any, ...]:
        _, for_policy, for_rewards = _streams(seed, run)
        rng = np.random.default_rng(for_policy) if chosen.randomised else None
        bar = setting.keep, setting.reference, setting.level
        rewards = np.random.default_rng(for_rewards)
        state = chosen.begin(setting)
        return state, drawn[run].draws, bar, share, rng, rewards, times, pulls[run], judged[run], stop

    prepare(drive, label(policy), *arguments(0))
    _run(drive, arguments, len(drawn), workers, stop, tell)
    back = np.argsort(case.expected.order)
    return Trial(
        case=case,
        policy=label(policy),
        feedback=judged_share,
        seed=seed,
        problems=tuple(truth.problem for truth in drawn),
        times=times,
        pulls=np.ascontiguousarray(pulls[:, :, back]),
        judged=judged.sum(axis=1),
    )


def _run(
    drive: Drive,
    arguments: Callable[[int], tuple[Any, ...]],
    runs: int,
    workers: int | None,
    stop: NDArray[np.bool_],
    tell: Callable[[int], None],
) -> None:
    def one(run: int) -> None:
        drive(*arguments(run))

    run_all(one, runs, min(runs, workers or os.cpu_count() or 1), stop, tell)


def _streams(seed: int, run: int) -> list[np.random.SeedSequence]:
    """Return the seeds of a run: of what is true, of the policy, of the rewards."""
    return np.random.SeedSequence(seed, spawn_key=(run,)).spawn(3)
