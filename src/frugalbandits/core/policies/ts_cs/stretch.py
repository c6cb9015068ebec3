"""Stretches of Thompson sampling that equal drawing every posterior, in law.

Every arm has *bounds*: its theta lies between them except with a small probability. They are chosen
around one arm c so that c is chosen whenever every theta lies within its bounds:

- theta_c >= l_c, and theta_k <= l_c / (1 - alpha) for every other arm k;
- theta_j <= (1 - alpha) l_w for every arm j cheaper than c, and theta_w >= l_w for one witness w.

So a step can choose another arm only if some theta falls in the tail beyond its bound. Each tail has an
envelope of known mass (see `ts_tails`): with that probability the step is an *exception*, in which a point
is drawn from the envelope and taken or rejected. All other thetas lie within their bounds. Often these
bounds settle the choice of an exceptional step too; where they do not, further thetas are drawn within
their bounds until it is settled.

The posterior of an arm that is pulled changes. Arms of which much is known have bounds that hold for a
number of further pulls: what lies below is taken at the worst posterior that m pulls can lead to (all
rewards 0), what lies above at the other extreme. It is largest there as long as the bound below is at most
(a - 1/2) / (a + b + m), because the envelope's mass falls in a and rises in b; an exception is thinned to
the posterior that the arm has by then. So the probability of an exception is the same in each of these
steps, and the number of steps before the first one is geometric. All these steps are one batch, up to the
first pull of an arm of which little is known, or the first exception that hangs on feedback that is not in.

Bounds are kept for an *epoch* of m pulls of c; other arms get theirs anew when their pulls run out.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contract import Batch, single
from frugalbandits.core.jit import inlined, inner
from frugalbandits.core.policies.ts_cs.epoch import new_epoch, refresh, set_norm
from frugalbandits.core.policies.ts_cs.records import INSIDE
from frugalbandits.core.policies.ts_cs.tails import ABOVE, BELOW, tail_point

__all__ = ["NOTHING", "choose", "draw_all", "next_ahead", "next_batch"]

# Stand in place of a theta: it is in a tail, if at all, but the posterior it comes from is not known yet.
WAITS_ABOVE = -2.0
WAITS_BELOW = -3.0
# Returned in place of an arm: the choice hangs on feedback that is not in.
UNKNOWN = -1
# What comes after the quiet steps that were drawn.
NOTHING, EXCEPTION, WAITING = 0, 1, 2
# Bounds hold much more than one draw in a hundred, so that this never runs out while they do.
TRIES = 10_000
# The most pulls in a batch that is not all for one arm.
LONGEST = 256


@inlined
def choose(thetas: NDArray[np.float64], keep: float) -> int:
    """Return the cheapest arm with theta_k >= (1 - alpha) max theta."""
    bar = keep * thetas.max()
    arm = 0
    while thetas[arm] < bar:
        arm += 1
    return arm


@inner
def draw_all(arms: Any, rng: Any) -> NDArray[np.float64]:
    """Draw theta of every arm."""
    thetas = np.empty(len(arms))
    for k in range(len(arms)):
        thetas[k] = rng.beta(arms[k].a, arms[k].b)
    return thetas


@inner
def draw_tail(arms: Any, k: int, side: int, rng: Any) -> float:
    """Return a point of a tail, or `INSIDE` if it was rejected."""
    set_norm(arms, k)
    if side == ABOVE:
        return tail_point(arms[k].a, arms[k].b, arms[k].norm, arms[k].high, ABOVE, arms[k].above, rng)
    return tail_point(arms[k].a, arms[k].b, arms[k].norm, arms[k].low, BELOW, arms[k].below, rng)


@inner
def draw_exception(arms: Any, epoch: Any, rng: Any) -> bool:
    """Draw what is exceptional in a step that is an exception; tell whether anything remains of it.

    The first exceptional arm is drawn given that there is one; those after it are free. The point of an
    arm that the batch pulls has to wait until the feedback is in.
    """
    point = rng.random() * -math.expm1(epoch[0].chance)
    passed = 0.0
    met = False
    open_ = False
    for k in range(len(arms)):
        arms[k].theta = INSIDE
        above = arms[k].above
        exception = above + arms[k].below
        if exception == 0.0:
            continue
        if met:
            hit = rng.random() < exception
        else:
            passed += (1 - passed) * exception
            hit = point < passed
            met = hit
        if hit:
            if above == 1.0:
                arms[k].theta = rng.beta(arms[k].a, arms[k].b)
            else:
                side = ABOVE if above > 0.0 and rng.random() * exception < above else BELOW
                if arms[k].taken > 0:
                    arms[k].theta = WAITS_ABOVE if side == ABOVE else WAITS_BELOW
                else:
                    arms[k].theta = draw_tail(arms, k, side, rng)
            open_ = open_ or arms[k].theta != INSIDE
    return open_


@inner
def draw_inside(arms: Any, k: int, rng: Any) -> float:
    """Draw theta of an arm that lies within its bounds.

    Late feedback may have moved the posterior so far that it hardly ever does: the nearer bound is taken.
    """
    theta = 0.0
    for _ in range(TRIES):
        theta = rng.beta(arms[k].a, arms[k].b)
        if arms[k].low <= theta <= arms[k].high:
            return theta
    return arms[k].low if theta < arms[k].low else arms[k].high


@inlined
def least(arms: Any, k: int) -> float:
    """Return what theta is known to reach."""
    return arms[k].theta if arms[k].theta >= 0 else arms[k].low


@inlined
def most(arms: Any, k: int) -> float:
    """Return what theta is known not to exceed."""
    return arms[k].theta if arms[k].theta >= 0 else arms[k].high


@inner
def arm_to_draw(arms: Any, w: int, arm: int, sure: float, others: float) -> int:
    """Return the arm to draw next, where it is open whether `arm` is good enough.

    The highest theta of the others lies between `sure` and `others`. The witness is likely to have it.
    """
    if others <= sure:
        return arm
    if w != arm and arms[w].theta < 0 and arms[w].high > sure:
        return w
    pick = -1
    for k in range(len(arms)):
        if k != arm and arms[k].theta < 0 and (pick < 0 or arms[k].high > arms[pick].high):
            pick = k
    return pick


@inner
def settle(arms: Any, epoch: Any, rng: Any) -> int:
    """Return the choice of an exceptional step, or `UNKNOWN` if it hangs on feedback that is not in."""
    keep = epoch[0].keep
    for k in range(len(arms)):
        if arms[k].theta < INSIDE:
            if arms[k].taken > 0:
                return UNKNOWN
            arms[k].theta = draw_tail(arms, k, ABOVE if arms[k].theta == WAITS_ABOVE else BELOW, rng)
    while True:
        sure = 0.0
        for k in range(len(arms)):
            sure = max(sure, least(arms, k))
        arm = 0
        while most(arms, arm) < keep * sure:
            arm += 1
        others = 0.0
        for k in range(len(arms)):
            if k != arm:
                others = max(others, most(arms, k))
        if least(arms, arm) >= keep * others:
            return arm
        pick = arm_to_draw(arms, epoch[0].witness, arm, sure, others)
        if arms[pick].taken > 0:
            return UNKNOWN
        arms[pick].theta = draw_inside(arms, pick, rng)


@inlined
def quiet_steps(chance: float, room: int, rng: Any) -> int:
    """Draw the number of steps before the next exception, at most `room`."""
    if chance == 0.0:
        return room
    quiet = math.log(1 - rng.random()) / chance
    return int(quiet) if quiet < room else room


@inlined
def leave(epoch: Any, quiet: int, after: int, at: int) -> None:
    """Keep what was drawn but not handed out for the next plan."""
    epoch[0].quiet = quiet
    epoch[0].after = after
    epoch[0].at = at


@inlined
def nothing_taken(arms: Any) -> None:
    """Begin a batch."""
    for k in range(len(arms)):
        arms[k].taken = 0


@inner
def next_ahead(arms: Any, epoch: Any, rng: Any, total: int) -> int:
    """Return the next choice of those drawn ahead, while feedback is out; -1 if there is none."""
    nothing_taken(arms)
    if epoch[0].quiet > 0:
        leave(epoch, epoch[0].quiet - 1, epoch[0].after, total + 1)
        return epoch[0].arm
    after = epoch[0].after
    leave(epoch, 0, NOTHING, -1)
    if after == NOTHING:
        return -1
    if after == EXCEPTION and not draw_exception(arms, epoch, rng):
        return epoch[0].arm
    return settle(arms, epoch, rng)


@inner
def next_batch(arms: Any, epoch: Any, rng: Any, total: int) -> Batch:
    """Return the longest batch that needs no feedback, empty if there is none.

    `total` is the number of pulls handed out so far. What was left by the plan before is used up first.
    """
    quiet, after = epoch[0].quiet, epoch[0].after
    pulls = np.empty(LONGEST, np.int64)
    count = 0
    leave(epoch, 0, NOTHING, -1)
    nothing_taken(arms)
    if after == WAITING:
        arm = settle(arms, epoch, rng)
        pulls[0] = arm
        count = 1
        arms[arm].taken = 1
        if arms[arm].end <= arms[arm].pulls + 1:
            return Batch(pulls[:1], 1)
        after = NOTHING
    if after == NOTHING:
        refresh(arms, epoch)
        c = epoch[0].arm
        if epoch[0].until <= total or arms[c].end <= arms[c].pulls + count:
            if count > 0:
                return Batch(pulls[:1], 1)
            waits = arms[c].end == 0 and total < epoch[0].until
            if waits or not new_epoch(arms, epoch, total):
                return Batch(pulls[:0], 0)
    c = epoch[0].arm
    while True:
        if after == NOTHING:
            room = arms[c].end - arms[c].pulls - arms[c].taken
            quiet = quiet_steps(epoch[0].chance, room, rng)
            after = EXCEPTION if quiet < room else NOTHING
        if count + quiet >= LONGEST:
            if count == 0:
                leave(epoch, 0, after, total + quiet)
                return Batch(single(c), quiet)
            leave(epoch, quiet, after, total + count)
            return Batch(pulls[:count], 1)
        pulls[count : count + quiet] = c
        count += quiet
        arms[c].taken += quiet
        if after == NOTHING:
            break
        after = NOTHING
        arm = settle(arms, epoch, rng) if draw_exception(arms, epoch, rng) else c
        if arm == UNKNOWN:
            leave(epoch, 0, WAITING, total + count)
            break
        pulls[count] = arm
        count += 1
        arms[arm].taken += 1
        if arms[arm].end <= arms[arm].pulls + arms[arm].taken:
            break
    return Batch(pulls[:count], 1)
