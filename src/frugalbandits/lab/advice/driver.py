"""One run of a policy where only some decisions are judged, compiled: whole batches at a time.

The driver of worlds makes a decision at a time, as a session does. This one has the same law where feedback
that comes does so before the next decision, at the cost of the plans that are made: of n uses of an option a
binomial number is judged, and one draw gives the sum of their rewards. Only until something was heard of each
option that a batch names are decisions made one by one, because a session lets silent options rest.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.absence import LONGEST_REST, rest_after, stand_in
from frugalbandits.core.contract import Batch, Policy
from frugalbandits.core.jit import inner, specialised
from frugalbandits.core.tally import observe
from frugalbandits.lab.draws import draw_finite_sum
from frugalbandits.lab.driver import Drive
from frugalbandits.lab.worlds.hooks import always, hooks_of, mind_nobody, mind_nothing, never

__all__ = ["drive_of"]

# Stand for the functions of the policy that the driver is specialised to.


def plan(state: Any, rng: Any) -> Batch:
    """Return the next batch."""
    raise AssertionError("drive is a template: use drive_of(policy)")


wanted: Any = always
minds: Any = never
tell_usable: Any = mind_nobody
tell_all_usable: Any = mind_nothing


@inner
def take_in(state: Any, draws: Any, arm: int, uses: int, share: float, asked: bool, rng: Any) -> int:
    """Fold in what is heard of some uses of an arm; return how many were judged.

    `share` is that of decisions that are judged; below 0, those are that the policy asks for.
    """
    judged = uses
    if share < 0:
        judged = uses if asked else 0
    elif share < 1.0:
        judged = rng.binomial(uses, share)
    if judged > 0:
        observe(state, arm, judged, draw_finite_sum(draws, arm, judged, rng))
    state.tally.lost[arm] += uses - judged
    return judged


@inner
def let_rest(state: Any, silent: Any, time: int, usable: Any) -> int:
    """Leave out arms of which nothing was ever heard, for a while, if others are left; count the silent."""
    arms = len(usable)
    told, lost, left, count = 0, 0, arms, 0
    for k in range(arms):
        told += state.tally.pulls[k]
        lost += state.tally.lost[k]
        usable[k] = True
    for k in range(arms):
        if silent[k] >= 0:
            if state.tally.pulls[k] > 0 or time >= silent[k] + LONGEST_REST:
                silent[k] = -1
                continue
            count += 1
            if time < silent[k] + rest_after(state.tally.lost[k], lost, told):
                usable[k] = False
                left -= 1
    if left == 0:
        usable[:] = True
    return count


@inner
def all_heard_of(state: Any, arms: Any) -> bool:
    """Tell whether something was heard of every arm of a batch."""
    least = 1
    for arm in arms:
        least = min(least, state.tally.pulls[arm])
    return least > 0


def drive(
    state: Any,
    draws: Any,
    bar: tuple[float, int, float],
    share: float,
    policy_rng: Any,
    rng: Any,
    times: NDArray[np.int64],
    pulls: NDArray[np.int64],
    judged: NDArray[np.int64],
    stop: NDArray[np.bool_],
) -> int:
    """Run to times[-1]; fill pulls (checkpoints x arms) and how many were judged by the end, by arm.

    `bar` is keep, reference and level, as `stand_in` takes them. Returns the number of plans that were made.
    Another thread may set stop[0] to end the run early.
    """
    horizon = times[-1]
    count = pulls.shape[1]
    done = np.zeros(count, np.int64)
    out = np.zeros(count, np.int64)
    silent = np.full(count, -1, np.int64)
    usable = np.ones(count, np.bool_)
    arms = np.zeros(0, np.int64)
    everybody, want, quiet = True, True, 0
    at, repeats, time, checkpoint, plans = 0, 0, 0, 0, 0
    while time < horizon and not stop[0]:
        if quiet > 0 or not everybody:
            quiet = let_rest(state, silent, time, usable)
            everybody = bool(usable.all())
        if at == len(arms) and (everybody or repeats > 1 or not minds(state)):
            if repeats > 1:
                repeats -= 1
            else:
                batch = plan(state, policy_rng)
                plans += 1
                want = wanted(state)
                arms = batch.arms
                repeats = batch.repeats
            at = 0
        length = len(arms)
        passes = 0
        if at == 0 and length > 0 and quiet == 0 and everybody:
            heard = share >= 1.0 or (share < 0 and want) or all_heard_of(state, arms)
            passes = min(repeats, (horizon - time) // length) if heard else 0
        if passes > 0:
            end = time + passes * length
            while checkpoint < len(times) and times[checkpoint] <= end:
                ahead = times[checkpoint] - time
                for k in range(count):
                    pulls[checkpoint, k] = done[k]
                for i in range(length):
                    pulls[checkpoint, arms[i]] += ahead // length + (1 if i < ahead % length else 0)
                checkpoint += 1
            for i in range(length):
                out[arms[i]] += passes
            for i in range(length):
                arm = arms[i]
                if out[arm] > 0:
                    judged[arm] += take_in(state, draws, arm, out[arm], share, want, rng)
                    done[arm] += out[arm]
                    out[arm] = 0
            time = end
            at = length if passes == repeats else 0
            repeats = max(repeats - passes, 1)
            continue

        # One decision, as the driver of worlds makes it.
        if at < length and usable[arms[at]]:
            arm = arms[at]
            at += 1
            asked = want
        elif minds(state):
            tell_usable(state, usable)
            batch = plan(state, policy_rng)
            plans += 1
            asked = wanted(state)
            arm = batch.arms[0]
            tell_all_usable(state)
            arms = arms[:0]
            at, repeats = 0, 0
        else:
            arm = stand_in(state.tally, bar[0], bar[1], bar[2], usable)
            at += 1
            repeats = min(repeats, 1)
            asked = True
        got = take_in(state, draws, arm, 1, share, asked, rng)
        judged[arm] += got
        done[arm] += 1
        time += 1
        if got == 0 and state.tally.pulls[arm] == 0:
            quiet += silent[arm] < 0
            silent[arm] = time
        if checkpoint < len(times) and times[checkpoint] == time:
            for k in range(count):
                pulls[checkpoint, k] = done[k]
            checkpoint += 1
    return plans


@functools.cache
def _specialise(kind: type[Policy], fields: tuple[str, ...]) -> Drive:
    known = {"plan", "wanted", "minds", "tell_usable", "tell_all_usable"}
    parts = {name: part for name, part in hooks_of(kind, fields).items() if name in known}
    return specialised(drive, f"drive_advice_{kind.__name__}", **parts)


def drive_of(policy: Policy, state: Any) -> Drive:
    """Return the driver that has this kind of policy, with states like this one, compiled into it."""
    return _specialise(type(policy), state._fields)
