"""Stretches of Thompson sampling that equal drawing every posterior, in law.

Take the arm c that the posterior means speak for. It is chosen whenever

- theta_k <= l_c / (1 - alpha) for every other arm k, and theta_c >= l_c, and
- theta_j <= (1 - alpha) l_w for every arm j cheaper than c, and theta_w >= l_w for one witness w,

whatever the levels l_c and l_w are. So a step can choose another arm only if some theta falls in the
tail beyond its level. Each tail has an envelope of known mass (see `ts_tails`): with that probability
the step is an *exception*, in which a point is drawn from the envelope and taken or rejected. All other
thetas lie inside their levels and need not be known.

While c is pulled the other posteriors stay put, and the mass for c is taken at the worst posterior that
m pulls can lead to (all rewards 0). It is largest there as long as l_c <= (a - 1/2) / (a + b + m),
because the envelope's mass falls in a and rises in b; an exception is thinned to the posterior that c
has by then. So the probability of an exception is the same in each of the m steps, and the number of
steps before the first one is geometric. These steps are one batch.

Levels are kept for an *epoch* of m pulls of c; an arm that is pulled in an exception only gets its own
mass computed anew.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.compiled import inlined, inner
from frugalbandits.policies.ts_epoch import INSIDE, WORTH, level_above, new_epoch, parameters, refresh
from frugalbandits.policies.ts_tails import ABOVE, BELOW, log_norm, tail_point

__all__ = ["choose", "draw_all", "draw_exception", "next_quiet"]

# Stands in place of a tail point: it waits for the posterior that c will have.
WAITS = -2.0


@inlined
def choose(thetas: NDArray[np.float64], keep: float) -> int:
    """Return the cheapest arm with theta_k >= (1 - alpha) max theta."""
    bar = keep * thetas.max()
    arm = 0
    while thetas[arm] < bar:
        arm += 1
    return arm


@inner
def draw_all(state: Any, rng: Any) -> NDArray[np.float64]:
    """Draw theta of every arm."""
    arms = len(state.tally.pulls)
    thetas = np.empty(arms)
    for k in range(arms):
        a, b = parameters(state, k)
        thetas[k] = rng.beta(a, b)
    return thetas


@inlined
def draw_tails(state: Any, rng: Any) -> bool:
    """Draw the tail points of a step that is an exception; tell whether it may choose another arm than c.

    The first exception is drawn given that there is one; those after it are free. Points of arms other
    than c are settled here, because their posteriors stay put. That of c waits until its posterior of
    that step is known: `WAITS` marks it.
    """
    stretch = state.stretch
    thetas = stretch.thetas
    c = stretch.arm[0]
    point = rng.random() * -math.expm1(stretch.chance[0])
    passed = 0.0
    met = False
    open_ = False
    for k in range(len(thetas)):
        thetas[k] = INSIDE
        exception = stretch.above[k] + stretch.below[k]
        if exception == 0.0:
            continue
        if met:
            hit = rng.random() < exception
        else:
            passed += (1 - passed) * exception
            hit = point < passed
            met = hit
        if hit:
            if k == c:
                thetas[k] = WAITS
                open_ = True
                continue
            a, b = parameters(state, k)
            norm = stretch.norms[k]
            if rng.random() * exception < stretch.above[k]:
                thetas[k] = tail_point(a, b, norm, level_above(state, k), ABOVE, stretch.above[k], rng)
            else:
                thetas[k] = tail_point(a, b, norm, stretch.levels[1], BELOW, stretch.below[k], rng)
            open_ = open_ or thetas[k] >= 0
    return open_


@inlined
def next_quiet(state: Any, rng: Any, total: int) -> int:
    """Return how many steps from now on are sure to choose `stretch.arm`, or -1 if it does not pay to ask.

    0 means that the very next step is an exception. `total` is the number of pulls handed out so far.
    """
    stretch = state.stretch
    refresh(state)
    room = stretch.end[0] - state.tally.pulls[stretch.arm[0]]
    if room <= 0 or stretch.chance[0] < math.log1p(-WORTH):
        if not new_epoch(state):
            stretch.end[0] = 0
            return -1
        room = stretch.length[0]
    steps = 0
    while steps < room and stretch.chance[0] < 0.0:
        quiet = math.log(1 - rng.random()) / stretch.chance[0]
        if quiet >= room - steps:
            break
        steps += int(quiet)
        if draw_tails(state, rng):
            stretch.exception_at[0] = total + steps
            return steps
        # Every point was rejected: this step chooses c like any other.
        steps += 1
    return room


@inlined
def inside(state: Any, arm: int, rng: Any) -> float:
    """Draw theta of an arm that is no exception."""
    stretch = state.stretch
    low = 0.0
    if arm == stretch.arm[0]:
        low = stretch.levels[0]
    elif arm == stretch.witness[0]:
        low = stretch.levels[1]
    high = 1.0 if arm == stretch.arm[0] else level_above(state, arm)
    a, b = parameters(state, arm)
    while True:
        theta = rng.beta(a, b)
        if low <= theta <= high:
            return theta


@inlined
def choose_below(state: Any, highest: float, rng: Any) -> int:
    """Return the choice where the highest theta is known but for that of c: only arms up to it are drawn."""
    stretch = state.stretch
    thetas = stretch.thetas
    c = stretch.arm[0]
    thetas[c] = inside(state, c, rng)
    bar = state.keep * max(highest, thetas[c])
    k = 0
    while True:
        if thetas[k] < 0 and (k > c or level_above(state, k) >= bar):
            thetas[k] = inside(state, k, rng)
        if thetas[k] >= bar:
            return k
        k += 1


@inlined
def draw_exception(state: Any, rng: Any) -> int:
    """Return the choice of a step in which some theta is beyond its level, as `draw_tails` left them."""
    stretch = state.stretch
    thetas = stretch.thetas
    arms = len(thetas)
    c = stretch.arm[0]
    ceiling = stretch.levels[0] / state.keep
    if thetas[c] == WAITS:
        a, b = parameters(state, c)
        thetas[c] = tail_point(a, b, log_norm(a, b), stretch.levels[0], BELOW, stretch.below[c], rng)
    lowered = thetas[c] >= 0 or 0 <= thetas[stretch.witness[0]] < stretch.levels[1]
    highest = -1.0
    for k in range(arms):
        if k != c:
            highest = max(highest, thetas[k])
    if not lowered:
        if highest < 0:
            return c
        if highest >= ceiling:
            return choose_below(state, highest, rng)
        # Only cheaper arms stand out. They fail as soon as one theta, most likely that of the witness,
        # puts the bar above them.
        w = stretch.witness[0]
        thetas[w] = inside(state, w, rng)
        if state.keep * thetas[w] > highest:
            return c
    for k in range(arms):
        if thetas[k] < 0:
            thetas[k] = inside(state, k, rng)
    return choose(thetas, state.keep)
