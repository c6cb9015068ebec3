"""Epochs of Thompson sampling: bounds within which nearly every theta lies, and what lies beyond.

`ts_stretch` says what bounds and exceptions are. Here they are chosen: so that a step is as cheap as it
can be, given that planning an epoch takes time and that a longer epoch needs wider bounds.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from frugalbandits.core.jit import inlined, inner
from frugalbandits.core.policies.ts_cs.tails import ABOVE, BELOW, log_norm, mass, steepness

__all__ = ["new_epoch", "refresh"]

# Rough costs in microseconds: an exception that is settled at once, each theta drawn in it, an exception
# that must wait for feedback, and an epoch.
SETTLED, DRAWN, WAITING, PLANNING = 0.1, 0.07, 0.6, 12.0
# Log of the chance of no exception, where exceptions are frequent.
FREQUENT = -0.2
# Steps in an epoch, for each pull of c that it allows.
PATIENCE = 4
# The bar, where it varies much, is spread over about a tenth of the interval.
SPREAD = 10.0
# An arm whose tail is likelier than this is drawn in every step.
LIKELY = 0.5
# With fewer pulls than this, an arm's bounds would be too wide to settle anything.
KNOWN = 300
# Half the width of the bounds of a known arm, in standard deviations.
REACH = 4.0
HALVINGS = 8


@inner
def favourite(arms: Any, keep: float) -> int:
    """Return the arm that the means of the posteriors speak for: one lucky pull does not move them much."""
    best = 0.0
    for k in range(len(arms)):
        best = max(best, arms[k].a / (arms[k].a + arms[k].b))
    c = 0
    while arms[c].a / (arms[c].a + arms[c].b) < keep * best:
        c += 1
    return c


@inner
def set_arms(arms: Any, epoch: Any, c: int) -> None:
    """Set c, and w, the arm with the best assured reward from c on."""
    w = c
    assured = -np.inf
    if c > 0:
        for k in range(c, len(arms)):
            sure = low_end(arms[k].a, arms[k].b)
            if sure > assured:
                assured = sure
                w = k
    epoch[0].arm = c
    epoch[0].witness = w


@inlined
def deviation(a: float, b: float) -> float:
    """Return the number of pulls that move a posterior by about its own width."""
    return math.sqrt(a * b / (a + b))


@inlined
def low_end(a: float, b: float) -> float:
    """Return the lower bound of a known arm: so far below the mean that hardly anything lies below."""
    return (a - REACH * deviation(a, b)) / (a + b)


@inlined
def tail_beyond(a: float, b: float, x: float, side: int) -> float:
    """Return the mass of the envelope of a tail."""
    return mass(a, b, log_norm(a, b), x, math.log(x), math.log1p(-x), side)


@inlined
def set_norm(arms: Any, k: int) -> None:
    """Bring the norm of an arm's posterior up to date."""
    if arms[k].normed != arms[k].pulls:
        arms[k].norm = log_norm(arms[k].a, arms[k].b)
        arms[k].normed = arms[k].pulls


@inner
def set_own(arms: Any, k: int) -> None:
    """Give an arm bounds of its own, that hold while it is pulled a few times more.

    As for c, what lies below is most at the posterior in which every reward to come is 0, and what lies
    above is most at the one in which every reward to come is 1.
    """
    arms[k].span = 0
    if arms[k].pulls < KNOWN:
        return
    a, b = arms[k].a, arms[k].b
    span = 1 + int(0.5 * deviation(a, b))
    low = low_end(a, b + span)
    high = 1 - low_end(b, a + span)
    # Where the mean is close to 0 or 1 the worst posterior need not be the one above.
    if low <= 0 or high >= 1 or low > (a - 0.5) / (a + b + span) or 1 - high > (b - 0.5) / (a + b + span):
        return
    arms[k].span = span
    arms[k].own_low = low
    arms[k].own_high = high
    arms[k].own_below = tail_beyond(a, b + span, low, BELOW)
    arms[k].own_above = tail_beyond(a + span, b, high, ABOVE)


@inlined
def level_above(epoch: Any, k: int) -> float:
    """Return the level that the theta of an arm other than c must not exceed."""
    ceiling = epoch[0].level / epoch[0].keep
    if k < epoch[0].arm:
        # A cheaper arm must stay below the bar, and must not lift the bar above theta_c either.
        return min(epoch[0].assured * epoch[0].keep, ceiling)
    return ceiling


@inner
def set_above(arms: Any, epoch: Any, first: int, last: int) -> float:
    """Set the upper exceptions of the arms from first to last, which share a level; return their sum."""
    total = 0.0
    if first < last:
        level = level_above(epoch, first)
        log_x = math.log(level) if level < 1 else 0.0
        log_rest = math.log1p(-level) if level < 1 else 0.0
        for k in range(first, last):
            if arms[k].span > 0 and arms[k].own_high <= level:
                arms[k].above = arms[k].own_above
            elif level >= 1:
                arms[k].above = 0.0
            else:
                beyond = mass(arms[k].a, arms[k].b, arms[k].norm, level, log_x, log_rest, ABOVE)
                arms[k].above = beyond if beyond < LIKELY else 1.0
                total += beyond
    return total


@inner
def balance(arms: Any, epoch: Any, for_witness: bool, a: float, b: float, high: float) -> None:
    """Choose l_c or l_w by halving, so that exceptions below it are an eighth of those above.

    The arm that the level belongs to is usually known far better than the others, so that room below
    the level is cheap; and an exception below it has to wait for feedback, so there are never many.
    """
    c = epoch[0].arm
    w = epoch[0].witness
    arm = w if for_witness else c
    norm = log_norm(a, b)
    # Further down the density is zero to double precision: nothing is gained there.
    low = max(0.0, high - 64 * deviation(a, b) / (a + b))
    for _ in range(HALVINGS):
        level = (low + high) / 2
        if for_witness or w == c:
            epoch[0].assured = level
        if not for_witness:
            epoch[0].level = level
        under = 1.0
        if steepness(a, b, level, BELOW) * level > 1:
            under = mass(a, b, norm, level, math.log(level), math.log1p(-level), BELOW)
        arms[arm].below = under
        over = 0.0
        if not for_witness:
            over += set_above(arms, epoch, c + 1, len(arms))
        if for_witness or w == c:
            over += set_above(arms, epoch, 0, c)
        if 8 * under > min(over, 0.1):
            high = level
        else:
            low = level


@inner
def solve(arms: Any, epoch: Any, length: int) -> float:
    """Set levels and exceptions for an epoch of `length` pulls; return what a step costs."""
    c = epoch[0].arm
    w = epoch[0].witness
    epoch[0].length = length
    for k in range(len(arms)):
        arms[k].below = 0.0
    a, b = arms[c].a, arms[c].b + length
    high = min((a - 1) / (a + b - 2), (a - 0.5) / (a + b))
    if high <= 0:
        return np.inf
    balance(arms, epoch, False, a, b, high)
    if w != c:
        a, b = arms[w].a, arms[w].b + arms[w].span
        high = min((a - 1) / (a + b - 2), (a - 0.5) / (a + b), epoch[0].level / epoch[0].keep)
        if high <= 0:
            return np.inf
        balance(arms, epoch, True, a, b, high)
    if max(arms[c].below, arms[w].below) >= LIKELY:
        return np.inf
    arms[c].above = 0.0
    set_chance(arms, epoch)
    exceptions = -math.expm1(epoch[0].chance)
    # An exception waits where the bar may fall within the bounds of c.
    open_ = min(1.0, SPREAD * (arms[c].a / (arms[c].a + arms[c].b) - epoch[0].level))
    waiting = arms[c].below + arms[w].below + exceptions * open_
    drawn = 0.0
    for k in range(len(arms)):
        drawn += arms[k].above
    return SETTLED * exceptions + DRAWN * drawn + WAITING * waiting + PLANNING / length


@inner
def set_chance(arms: Any, epoch: Any) -> None:
    """Set the log of the probability that a step is no exception."""
    inside_all = 1.0
    for k in range(len(arms)):
        inside_all *= max(0.0, 1 - (arms[k].above + arms[k].below))
    if inside_all > 0.5:
        # Near 1 the product has lost the digits that matter.
        exceptions = 0.0
        for k in range(len(arms)):
            exceptions += math.log1p(-(arms[k].above + arms[k].below))
        epoch[0].chance = exceptions
    else:
        epoch[0].chance = math.log(max(inside_all, 1e-300))


@inner
def best_length(arms: Any, epoch: Any) -> float:
    """Solve for the length of epoch that makes steps cheapest; return what a step costs then.

    The length of the epoch before is a good guess. Longer and shorter ones are tried in turn. Where
    exceptions are frequent, bounds should be narrow.
    """
    c = epoch[0].arm
    usual = 1 + int(deviation(arms[c].a, arms[c].b))
    length = max(epoch[0].length, usual // 4)
    if epoch[0].chance < FREQUENT:
        length = min(length, usual)
    price = solve(arms, epoch, length)
    epoch[0].epochs += 1
    longer = epoch[0].epochs % 2 == 0
    while True:
        if price == np.inf:
            # Too little is known of c: only a shorter epoch can help.
            longer = False
        other = 2 * length if longer else length // 2
        if other < 1 or (longer and other > usual and epoch[0].chance < FREQUENT):
            break
        tried = solve(arms, epoch, other)
        if tried >= price and price < np.inf:
            break
        price, length = tried, other
    return solve(arms, epoch, length)


@inner
def pick_arms(arms: Any, epoch: Any) -> float:
    """Choose c and the length of the epoch; return what a step costs."""
    c = favourite(arms, epoch[0].keep)
    before = epoch[0].arm
    if epoch[0].epochs % 8 > 0 and before < c and arms[before].span > 0:
        # The rival of the epoch before.
        set_arms(arms, epoch, before)
        return best_length(arms, epoch)
    if before != c:
        epoch[0].length = 1
    set_arms(arms, epoch, c)
    price = best_length(arms, epoch)
    # A cheaper arm that is chosen every now and then, because the bar moves, makes a better c.
    rival = 0
    while rival < c and not (arms[rival].span > 0 and arms[rival].above > 0.1):
        rival += 1
    if rival < c:
        set_arms(arms, epoch, rival)
        epoch[0].length = 1
        tried = best_length(arms, epoch)
        if tried <= price:
            return tried
        set_arms(arms, epoch, c)
        epoch[0].length = 1
        price = best_length(arms, epoch)
    return price


@inner
def new_epoch(arms: Any, epoch: Any, total: int) -> bool:
    """Plan an epoch; tell whether there is one. `total` pulls were handed out so far."""
    for k in range(len(arms)):
        set_norm(arms, k)
        set_own(arms, k)
    price = pick_arms(arms, epoch)
    c = epoch[0].arm
    if price == np.inf:
        # Plain draws for a while.
        arms[c].end = 0
        epoch[0].until = total + 1 + total // 256
        return False
    for k in range(len(arms)):
        if k != c:
            set_bounds(arms, epoch, k)
    length = epoch[0].length
    a, b = arms[c].a, arms[c].b
    high = 1 - low_end(b, a + length)
    arms[c].low = epoch[0].level
    arms[c].high = 1.0
    if high < 1 and 1 - high <= (b - 0.5) / (a + b + length):
        arms[c].high = high
        arms[c].above = tail_beyond(a + length, b, high, ABOVE)
    arms[c].end = arms[c].pulls + length
    epoch[0].until = total + PATIENCE * length + 32
    set_chance(arms, epoch)
    return True


@inner
def set_bounds(arms: Any, epoch: Any, k: int) -> None:
    """Set the bounds of an arm other than c, its exceptions, and how long they hold."""
    level = level_above(epoch, k)
    own = arms[k].span > 0 and arms[k].own_high <= level
    set_above(arms, epoch, k, k + 1)
    arms[k].high = arms[k].own_high if own else min(level, 1.0)
    arms[k].low = arms[k].own_low if own else 0.0
    arms[k].below = arms[k].own_below if own else 0.0
    arms[k].end = arms[k].pulls + arms[k].span if own else 0
    if k == epoch[0].witness:
        a, b = arms[k].a, arms[k].b + (arms[k].span if own else 0)
        arms[k].low = epoch[0].assured
        arms[k].below = 1.0
        if epoch[0].assured <= (a - 0.5) / (a + b):
            arms[k].below = tail_beyond(a, b, epoch[0].assured, BELOW)
    if arms[k].above == 1.0:
        # Drawn in every step, wherever it may lie.
        arms[k].below = 0.0


@inner
def refresh(arms: Any, epoch: Any) -> None:
    """Bring the exceptions of arms other than c up to date, where pulls since have outrun them."""
    c = epoch[0].arm
    if arms[c].end == 0:
        return
    changed = False
    for k in range(len(arms)):
        if k != c and arms[k].normed != arms[k].pulls and arms[k].end <= arms[k].pulls:
            set_norm(arms, k)
            if arms[k].end > 0:
                set_own(arms, k)
            else:
                arms[k].span = 0
            set_bounds(arms, epoch, k)
            changed = True
    if changed:
        set_chance(arms, epoch)
        if arms[epoch[0].witness].below >= LIKELY:
            # The witness has disappointed: the epoch is over.
            arms[c].end = 0
            epoch[0].until = 0
