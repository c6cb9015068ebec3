"""One run of a policy on a problem, compiled: plan, draw the sums, observe, until the horizon.

The cost of a run follows its plans, not its horizon. A checkpoint inside a batch is exact, because
which arm is pulled when within a batch is known before any reward is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contract import Batch, Policy
from frugalbandits.core.jit import announced, compile_for, has_compiler, specialised
from frugalbandits.core.tally import observe
from frugalbandits.lab.draws import draw_sum

__all__ = ["Drive", "drive_of", "prepare"]

Drive = Callable[..., Any]


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
