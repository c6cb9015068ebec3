"""Epochs of Thompson sampling: levels that fix the choice of nearly every step, and their exceptions.

`ts_stretch` says what levels and exceptions are. Here they are chosen: so that a step is as cheap as it
can be, given that planning an epoch takes time and that a longer epoch needs wider levels.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.compiled import inlined, inner
from frugalbandits.policies.ts_tails import ABOVE, BELOW, log_norm, mass, steepness

__all__ = ["INSIDE", "WORTH", "Stretch", "level_above", "new_epoch", "new_stretch", "parameters", "refresh"]

# Stretches are used while exceptions are rarer than this; else plain draws are as fast.
WORTH = 0.5
# What planning an epoch costs, in exceptions.
EPOCH_COST = 16.0
LONGEST_EPOCH = 1 << 40
HALVINGS = 10
# Stands in place of a tail point: theta lies inside its level.
INSIDE = -1.0


class Stretch(NamedTuple):
    """The epoch that is under way. Scalars are arrays of length one."""

    arm: NDArray[np.int64]  # c
    witness: NDArray[np.int64]  # w; c itself where no arm is cheaper or none is better suited
    levels: NDArray[np.float64]  # l_c, l_w
    above: NDArray[np.float64]  # per arm: probability of an exception in the upper tail
    below: NDArray[np.float64]  # per arm: probability of an exception in the lower tail
    norms: NDArray[np.float64]  # per arm: -log B(a, b) ...
    normed: NDArray[np.int64]  # ... and the pulls that it belongs to
    length: NDArray[np.int64]  # m
    end: NDArray[np.int64]  # pulls of c at which the epoch ends
    chance: NDArray[np.float64]  # log of the probability that a step is no exception
    thetas: NDArray[np.float64]  # per arm: the points of the exception that is due
    exception_at: NDArray[np.int64]  # pulls handed out in all when an exception is due, or -1
    pause: NDArray[np.int64]  # plain draws left before the next attempt
    backoff: NDArray[np.int64]


def new_stretch(arms: int) -> Stretch:
    """Return a stretch that has not been planned yet."""
    return Stretch(
        arm=np.zeros(1, np.int64),
        witness=np.zeros(1, np.int64),
        levels=np.zeros(2),
        above=np.zeros(arms),
        below=np.zeros(arms),
        norms=np.zeros(arms),
        normed=np.zeros(arms, np.int64),
        length=np.ones(1, np.int64),
        end=np.zeros(1, np.int64),
        chance=np.zeros(1),
        thetas=np.full(arms, INSIDE),
        exception_at=np.full(1, -1, np.int64),
        pause=np.zeros(1, np.int64),
        backoff=np.ones(1, np.int64),
    )


@inlined
def parameters(state: Any, arm: int) -> tuple[float, float]:
    """Parameters a, b of the arm's Beta posterior."""
    tally = state.tally
    return 1 + tally.sums[arm], 1 + tally.pulls[arm] - tally.sums[arm]


@inner
def believed(state: Any, arm: int) -> float:
    """Mean of the arm's posterior, which one lucky pull does not carry away."""
    a, b = parameters(state, arm)
    return a / (a + b)


@inner
def pick_arms(state: Any) -> None:
    """Set c, the arm that the posteriors speak for, and w, the arm with the best assured reward from c on."""
    stretch = state.stretch
    arms = len(state.tally.pulls)
    best = 0.0
    for k in range(arms):
        best = max(best, believed(state, k))
    c = 0
    while believed(state, c) < state.keep * best:
        c += 1
    w = c
    assured = -np.inf
    if c > 0:
        for k in range(c, arms):
            a, b = parameters(state, k)
            sure = (a - 4 * math.sqrt(a * b / (a + b))) / (a + b)
            if sure > assured:
                assured = sure
                w = k
    stretch.arm[0] = c
    stretch.witness[0] = w


@inlined
def level_above(state: Any, arm: int) -> float:
    """Return the level that the theta of an arm other than c must not exceed."""
    stretch = state.stretch
    ceiling = stretch.levels[0] / state.keep
    if arm < stretch.arm[0]:
        # A cheaper arm must stay below the bar, and must not lift the bar above theta_c either.
        return min(stretch.levels[1] * state.keep, ceiling)
    return ceiling


@inner
def set_above(state: Any, first: int, last: int) -> float:
    """Set the upper exceptions of the arms from first to last, which share a level; return their sum."""
    stretch = state.stretch
    total = 0.0
    if first < last:
        level = level_above(state, first)
        stretch.above[first:last] = 0.0
        if level < 1:
            log_x = math.log(level)
            log_rest = math.log1p(-level)
            for k in range(first, last):
                a, b = parameters(state, k)
                stretch.above[k] = mass(a, b, stretch.norms[k], level, log_x, log_rest, ABOVE)
                total += stretch.above[k]
    return total


@inner
def balance(state: Any, which: int, a: float, b: float, high: float) -> None:
    """Choose level `which` by halving, so that exceptions below it are an eighth of those above.

    The arm that the level belongs to is usually known far better than the others, so that room below
    the level is cheap.
    """
    stretch = state.stretch
    c = stretch.arm[0]
    w = stretch.witness[0]
    arms = len(state.tally.pulls)
    arm = c if which == 0 else w
    norm = log_norm(a, b)
    # Further down the density is zero to double precision: nothing is gained there.
    low = max(0.0, high - 64 * math.sqrt(a * b / (a + b)) / (a + b))
    for _ in range(HALVINGS):
        level = (low + high) / 2
        stretch.levels[which] = level
        if w == c:
            stretch.levels[1] = level
        under = 1.0
        if steepness(a, b, level, BELOW) * level > 1:
            under = mass(a, b, norm, level, math.log(level), math.log1p(-level), BELOW)
        stretch.below[arm] = under
        over = 0.0
        if which == 0:
            over += set_above(state, c + 1, arms)
        if which == 1 or w == c:
            over += set_above(state, 0, c)
        if 8 * under > over:
            high = level
        else:
            low = level


@inner
def solve(state: Any, length: int) -> float:
    """Set levels and exceptions for an epoch of `length` pulls; return the exceptions' probability."""
    stretch = state.stretch
    c = stretch.arm[0]
    w = stretch.witness[0]
    stretch.above[:] = 0.0
    stretch.below[:] = 0.0
    stretch.length[0] = length
    a, b = parameters(state, c)
    b += length
    high = min((a - 1) / (a + b - 2), (a - 0.5) / (a + b))
    if high <= 0:
        return 1.0
    balance(state, 0, a, b, high)
    if w != c:
        a, b = parameters(state, w)
        high = min((a - 1) / (a + b - 2), stretch.levels[0] / state.keep)
        if high <= 0:
            return 1.0
        balance(state, 1, a, b, high)
    set_chance(state)
    return -math.expm1(stretch.chance[0])


@inlined
def set_chance(state: Any) -> None:
    """Set the log of the probability that a step is no exception."""
    stretch = state.stretch
    inside_all = 1.0
    for k in range(len(stretch.above)):
        inside_all *= max(0.0, 1 - (stretch.above[k] + stretch.below[k]))
    exceptions = 0.0
    if inside_all > 0.5:
        # Near 1 the product has lost the digits that matter.
        for k in range(len(stretch.above)):
            exceptions += math.log1p(-(stretch.above[k] + stretch.below[k]))
        stretch.chance[0] = exceptions
    else:
        stretch.chance[0] = math.log(max(inside_all, 1e-300))


@inner
def price_of(state: Any, length: int) -> float:
    """Return what a step costs in an epoch of this length, in exceptions; infinite if it is not worth it."""
    exceptions = solve(state, length)
    return exceptions + EPOCH_COST / length if exceptions < WORTH else np.inf


@inner
def new_epoch(state: Any) -> bool:
    """Plan an epoch, of the length that makes steps cheapest; tell whether it is worth it."""
    stretch = state.stretch
    pick_arms(state)
    length = stretch.length[0]
    price = price_of(state, length)
    grown = False
    while length < LONGEST_EPOCH and price < np.inf:
        longer = price_of(state, 2 * length)
        if longer >= price:
            break
        length *= 2
        price = longer
        grown = True
    while length > 1 and not grown:
        shorter = price_of(state, length // 2)
        if shorter >= price and price < np.inf:
            break
        length //= 2
        price = shorter
    exceptions = solve(state, length)
    stretch.end[0] = state.tally.pulls[stretch.arm[0]] + length
    return exceptions < WORTH


@inlined
def refresh(state: Any) -> None:
    """Bring the exceptions of arms that were pulled since, other than c, up to date."""
    stretch = state.stretch
    c = stretch.arm[0]
    w = stretch.witness[0]
    changed = False
    for k in range(len(stretch.above)):
        if stretch.normed[k] != state.tally.pulls[k]:
            a, b = parameters(state, k)
            stretch.norms[k] = log_norm(a, b)
            stretch.normed[k] = state.tally.pulls[k]
            if k != c and stretch.end[0] > 0:
                set_above(state, k, k + 1)
                if k == w:
                    level = stretch.levels[1]
                    log_x, log_rest = math.log(level), math.log1p(-level)
                    stretch.below[k] = mass(a, b, stretch.norms[k], level, log_x, log_rest, BELOW)
                changed = True
    if changed:
        set_chance(state)
