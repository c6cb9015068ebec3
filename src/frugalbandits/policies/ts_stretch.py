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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.compiled import compiled
from frugalbandits.policies.ts_tails import ABOVE, BELOW, log_norm, mass, steepness, tail_point

__all__ = ["LONGEST_PAUSE", "Stretch", "choose", "draw_all", "draw_exception", "new_stretch", "next_quiet"]

# Stretches are used while exceptions are rarer than this; else plain draws are as fast.
WORTH = 0.5
# What planning an epoch costs, in exceptions.
EPOCH_COST = 16.0
LONGEST_PAUSE = 64
LONGEST_EPOCH = 1 << 40
HALVINGS = 10


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
        exception_at=np.full(1, -1, np.int64),
        pause=np.zeros(1, np.int64),
        backoff=np.ones(1, np.int64),
    )


@compiled
def parameters(state: Any, arm: int) -> tuple[float, float]:
    """Parameters a, b of the arm's Beta posterior."""
    tally = state.tally
    return 1 + tally.sums[arm], 1 + tally.pulls[arm] - tally.sums[arm]


@compiled
def choose(thetas: NDArray[np.float64], keep: float) -> int:
    """Return the cheapest arm with theta_k >= (1 - alpha) max theta."""
    bar = keep * thetas.max()
    arm = 0
    while thetas[arm] < bar:
        arm += 1
    return arm


@compiled
def draw_all(state: Any, rng: Any) -> NDArray[np.float64]:
    """Draw theta of every arm."""
    arms = len(state.tally.pulls)
    thetas = np.empty(arms)
    for k in range(arms):
        a, b = parameters(state, k)
        thetas[k] = rng.beta(a, b)
    return thetas


@compiled
def believed(state: Any, arm: int) -> float:
    """Mean of the arm's posterior, which one lucky pull does not carry away."""
    a, b = parameters(state, arm)
    return a / (a + b)


@compiled
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


@compiled
def level_above(state: Any, arm: int) -> float:
    """Return the level that the theta of an arm other than c must not exceed."""
    stretch = state.stretch
    ceiling = stretch.levels[0] / state.keep
    if arm < stretch.arm[0]:
        # A cheaper arm must stay below the bar, and must not lift the bar above theta_c either.
        return min(stretch.levels[1] * state.keep, ceiling)
    return ceiling


@compiled
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


@compiled
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


@compiled
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
    return 1 - math.exp(log_quiet(state))


@compiled
def log_quiet(state: Any) -> float:
    """Return the log of the probability that a step is no exception."""
    stretch = state.stretch
    total = 0.0
    for k in range(len(stretch.above)):
        exception = stretch.above[k] + stretch.below[k]
        if exception >= 1:
            return -np.inf
        total += math.log1p(-exception)
    return total


@compiled
def price_of(state: Any, length: int) -> float:
    """Return what a step costs in an epoch of this length, in exceptions; infinite if it is not worth it."""
    exceptions = solve(state, length)
    return exceptions + EPOCH_COST / length if exceptions < WORTH else np.inf


@compiled
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


@compiled
def refresh(state: Any) -> None:
    """Bring the exceptions of arms that were pulled since, other than c, up to date."""
    stretch = state.stretch
    c = stretch.arm[0]
    w = stretch.witness[0]
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


@compiled
def next_quiet(state: Any, rng: Any, total: int) -> int:
    """Return how many steps from now on are sure to choose `stretch.arm`, or -1 if it does not pay to ask.

    0 means that the very next step is an exception. `total` is the number of pulls handed out so far.
    """
    stretch = state.stretch
    refresh(state)
    room = stretch.end[0] - state.tally.pulls[stretch.arm[0]]
    chance = log_quiet(state)
    if room <= 0 or chance < math.log1p(-WORTH):
        if not new_epoch(state):
            stretch.end[0] = 0
            return -1
        room = stretch.length[0]
        chance = log_quiet(state)
    if chance == 0.0:
        return room
    quiet = math.log(1 - rng.random()) / chance
    if quiet > room:
        return room
    stretch.exception_at[0] = total + int(quiet)
    return int(quiet)


@compiled
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


@compiled
def draw_exception(state: Any, rng: Any) -> int:
    """Return the choice of a step in which at least one arm is an exception."""
    stretch = state.stretch
    arms = len(state.tally.pulls)
    c = stretch.arm[0]
    thetas = np.full(arms, -1.0)
    # The first exception is drawn given that there is one; those after it are free.
    point = rng.random() * -math.expm1(log_quiet(state))
    passed = 0.0
    met = False
    highest = -1.0
    lowered = False
    for k in range(arms):
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
            a, b = parameters(state, k)
            norm = log_norm(a, b)
            if rng.random() * exception < stretch.above[k]:
                thetas[k] = tail_point(a, b, norm, level_above(state, k), ABOVE, stretch.above[k], rng)
                highest = max(highest, thetas[k])
            else:
                level = stretch.levels[0] if k == c else stretch.levels[1]
                thetas[k] = tail_point(a, b, norm, level, BELOW, stretch.below[k], rng)
                lowered = lowered or thetas[k] >= 0
    if highest < 0 and not lowered:
        return c
    if lowered or highest < stretch.levels[0] / state.keep:
        for k in range(arms):
            if thetas[k] < 0:
                thetas[k] = inside(state, k, rng)
        return choose(thetas, state.keep)
    # No theta but that of c can exceed the highest exception, so only arms up to the choice are drawn.
    thetas[c] = inside(state, c, rng)
    bar = state.keep * max(highest, thetas[c])
    for k in range(arms):
        if thetas[k] < 0:
            if k < c and level_above(state, k) < bar:
                continue
            thetas[k] = inside(state, k, rng)
        if thetas[k] >= bar:
            return k
    return c
