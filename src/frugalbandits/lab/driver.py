"""One run of a policy on a problem, compiled: plan, draw the sums, observe, until the horizon.

The cost of a run follows its plans, not its horizon. A checkpoint inside a batch is exact, because
which arm is pulled when within a batch is known before any reward is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contract import Batch, Policy, Setting, observe
from frugalbandits.core.jit import announced, compile_for, has_compiler, specialised
from frugalbandits.core.planner import How, made_ready
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.rewards import Bernoulli, draw_sum

__all__ = ["Drive", "Warmed", "drive_of", "prepare", "warm_up_driver"]

Drive = Callable[..., int]


def plan(state: Any, rng: Any) -> Batch:
    """Stand for the plan of the policy that the driver is specialised to."""
    raise AssertionError("drive is a template: use drive_of(policy)")


def drive(
    state: Any,
    draws: Any,
    policy_rng: Any,
    reward_rng: Any,
    times: NDArray[np.int64],
    pulls: NDArray[np.int64],
    event_times: NDArray[np.int64],
    stop: NDArray[np.bool_],
) -> int:
    """Run to times[-1]; fill pulls (checkpoints x arms) and the time of each journal entry.

    Returns the number of plans that were made. Another thread may set stop[0] to end the run early.
    """
    horizon = times[-1]
    arms = pulls.shape[1]
    done = np.zeros(arms, np.int64)
    out = np.zeros(arms, np.int64)
    time = 0
    checkpoint = 0
    noted = 0
    plans = 0
    while time < horizon and not stop[0]:
        batch = plan(state, policy_rng)
        plans += 1
        while noted < state.journal.length[0]:
            event_times[noted] = time
            noted += 1
        length = len(batch.arms)
        passes = min(batch.repeats, (horizon - time) // length)
        # A pass that the horizon cuts short.
        rest = (horizon - time) - passes * length if passes < batch.repeats else 0
        end = time + passes * length + rest
        while checkpoint < len(times) and times[checkpoint] <= end:
            ahead = times[checkpoint] - time
            for k in range(arms):
                pulls[checkpoint, k] = done[k]
            for i in range(length):
                pulls[checkpoint, batch.arms[i]] += ahead // length + (1 if i < ahead % length else 0)
            checkpoint += 1
        # An arm may stand in a batch more than once: one draw serves all its pulls.
        for i in range(length):
            out[batch.arms[i]] += passes + (1 if i < rest else 0)
        for i in range(length):
            arm = batch.arms[i]
            if out[arm] > 0:
                observe(state, arm, out[arm], draw_sum(draws, arm, out[arm], reward_rng))
                done[arm] += out[arm]
                out[arm] = 0
        time = end
    return plans


@functools.cache
def _specialise(plan_function: Any, name: str) -> Drive:
    return specialised(drive, f"drive_{name}", plan=plan_function)


def drive_of(policy: Policy) -> Drive:
    """Return the driver that has this kind of policy compiled into it."""
    kind = type(policy)
    return _specialise(kind.plan, kind.__name__)


def prepare(drive: Drive, name: str, *arguments: Any) -> None:
    """Compile, or load from disk, before the first run; with a word to the user if it takes long."""
    # Nothing is left to do after the first time, or where there is no compiler.
    if has_compiler() and not getattr(drive, "signatures", None):
        with announced(name, (__name__,)):
            compile_for(drive, *arguments)


class Warmed(NamedTuple):
    """What it took to have a policy's driver ready, and where its machine code is kept."""

    seconds: float
    how: How
    folder: Path | None  # None where no folder can be written


def warm_up_driver(policy: Policy) -> Warmed:
    """Compile the driver of a policy, or load it from disk, without running it.

    Examples
    --------
    >>> from frugalbandits.core.registry import resolve
    >>> first, again = warm_up_driver(resolve("etc-cs")), warm_up_driver(resolve("etc-cs"))
    >>> again.how, again.folder == first.folder
    ('there already', True)
    """
    # Any problem will do: what is compiled depends on the types of these, and on none of their values.
    problem = Problem([0.5, 0.5], [1.0, 2.0], alpha=0.1)
    state = policy.begin(Setting.of(problem.costs, problem.quality, 100, problem.reference))
    rng = np.random.default_rng(0)
    arguments = (
        state,
        Bernoulli().draws(problem),
        rng if policy.randomised else None,
        rng,
        np.array([100]),
        np.zeros((1, 2), np.int64),
        np.zeros(4, np.int64),
        np.zeros(1, np.bool_),
    )
    drive: Any = drive_of(policy)
    seconds, how = made_ready(drive, *arguments)
    place = drive.stats.cache_path
    return Warmed(seconds, how, None if place is None else Path(place))
