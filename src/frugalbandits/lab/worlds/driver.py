"""One stretch of a run in a world, compiled: a decision at a time, as a session makes them.

Each step finds out who is up, plans if the batch is used up or its next arm is down, hands an arm out, draws
its reward and its bill, and delivers the feedback that is due. The policy's functions are those that the
session calls, and it is asked in the same way: see `Session`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.absence import LONGEST_REST, rest_after, stand_in
from frugalbandits.core.contract import Batch, Policy
from frugalbandits.core.jit import compiled, inner, specialised
from frugalbandits.core.tally import observe
from frugalbandits.lab.worlds.hooks import (
    always,
    charge_nobody,
    hooks_of,
    mind_nobody,
    mind_nothing,
    never,
    no_alarms,
    nobody,
)
from frugalbandits.lab.worlds.records import (
    BEST,
    CHECKPOINT,
    COST,
    JUDGED,
    LOST,
    PLANS,
    QUALITY,
    RAISED,
    SAME,
    SPEND,
)

__all__ = ["Drive", "drive", "drive_of"]

Drive = Callable[..., Any]

# Stand for the functions of the policy that the driver is specialised to.


def plan(state: Any, rng: Any) -> Batch:
    """Return the next batch."""
    raise AssertionError("drive is a template: use drive_of(policy)")


charge: Any = charge_nobody
wanted: Any = always
minds: Any = never
tell_usable: Any = mind_nobody
tell_all_usable: Any = mind_nothing
raised: Any = no_alarms
arm_of_alarm: Any = nobody


@compiled
def draw_reward(law: Any, option: int, mean: float, rng: Any) -> float:
    """Draw the reward of one use of an option with this mean."""
    if law.concentration > 0 and 0.0 < mean < 1.0:
        return rng.beta(law.concentration * mean, law.concentration * (1.0 - mean))
    chance = (mean - law.low) / (law.high - law.low)
    return law.high if rng.random() < chance else law.low


@inner
def who_is_up(law: Any, path: Any, epoch: int, rng: Any, up: Any) -> None:
    """Set which options can be used now; at least one can."""
    options = len(up)
    count = 0
    for k in range(options):
        # Drawn for all options, so that two runs meet the same calls whoever is there.
        fails = law.down > 0 and rng.random() < law.down
        up[k] = path.active[epoch, k] and not path.down[epoch, k] and not fails
        count += up[k]
    while count == 0:
        k = int(rng.random() * options)
        if path.active[epoch, k] and not path.down[epoch, k]:
            up[k] = True
            count = 1


@inner
def find_target(law: Any, means: Any, prices: Any, active: Any, up: Any, target: Any) -> None:
    """Work out what the best use of this moment is.

    It sets target[0], the cost of the cheapest option that is up and good enough; target[1], the mean that
    counts as good enough; and target[2], the cost of the best option that is up.
    """
    best = 0.0
    best_up = -1.0
    for k in range(len(means)):
        if active[k] and (law.reference < 0 or k == law.reference):
            best = max(best, means[k])
        if up[k]:
            best_up = max(best_up, means[k])
    bar = min(law.level, best) if law.level >= 0 else law.keep * best
    if best_up < bar * (1.0 - SAME):
        bar = best_up
    least = np.inf
    least_best = np.inf
    for k in range(len(means)):
        if up[k] and means[k] >= bar * (1.0 - SAME):
            least = min(least, prices[k])
        if up[k] and means[k] >= best_up:
            least_best = min(least_best, prices[k])
    target[0] = least
    target[1] = bar
    target[2] = least_best


@inner
def log_alarm(books: Any, time: int, option: int) -> None:
    """Write down an alarm."""
    place = books.counts[RAISED]
    if place < len(books.alarm_time):
        books.alarm_time[place] = time
        books.alarm_option[place] = option
    books.counts[RAISED] += 1


@inner
def send(mail: Any, time: int, delay: int, option: int, reward: float) -> None:
    """Put the feedback of the decision of this moment into the mail."""
    days = len(mail.first)
    letter = time % days
    day = (time + min(delay, days - 1)) % days
    mail.option[letter] = option
    mail.reward[letter] = reward
    mail.next[letter] = mail.first[day]
    mail.first[day] = letter
    mail.waiting[0] += 1


@inner
def let_rest(state: Any, mail: Any, time: int, seats: Any, up: Any, usable: Any) -> None:
    """Leave out arms of which no feedback was ever heard, for a while, if others are left."""
    told = 0
    lost = 0
    for k in range(len(usable)):
        told += state.tally.pulls[k]
        lost += state.tally.lost[k]
    left = 0
    for k in range(len(usable)):
        left += usable[k]
    for option in range(len(seats.ranks)):
        since = mail.silent[option]
        if since >= 0:
            arm = seats.ranks[option]
            if arm < 0 or state.tally.pulls[arm] > 0 or time >= since + LONGEST_REST:
                mail.silent[option] = -1
                mail.waiting[1] -= 1
            elif usable[arm] and time < since + rest_after(state.tally.lost[arm], lost, told):
                usable[arm] = False
                left -= 1
    if left == 0:
        for k in range(len(usable)):
            usable[k] = up[seats.who[k]]


@inner
def deliver(state: Any, mail: Any, time: int, ranks: Any, books: Any) -> None:
    """Fold in the feedback that is due after the decision of this moment."""
    day = time % len(mail.first)
    letter = mail.first[day]
    while letter >= 0:
        arm = ranks[mail.option[letter]]
        reward = mail.reward[letter]
        # Of an option that has left, nobody wants to know.
        if arm >= 0:
            state.tally.pending[arm] -= 1
            if reward == LOST:
                state.tally.lost[arm] += 1
                if state.tally.pulls[arm] == 0:
                    mail.waiting[1] += mail.silent[mail.option[letter]] < 0
                    mail.silent[mail.option[letter]] = time + 1
            else:
                observe(state, arm, 1, reward)
        if reward != LOST:
            books.counts[JUDGED] += 1
        mail.waiting[0] -= 1
        letter = mail.next[letter]
    mail.first[day] = -1


def drive(
    state: Any,
    path: Any,
    seats: Any,
    law: Any,
    policy_rng: Any,
    streams: Any,
    mail: Any,
    books: Any,
    first: int,
    last: int,
    stop: NDArray[np.bool_],
) -> None:
    """Make the decisions from number `first` to before number `last`.

    Another thread may set stop[0] to end the run early.
    """
    rewards, calls, feedback, bills = streams
    options = len(seats.ranks)
    ranks = len(seats.who)
    means = np.zeros(options)
    up = np.ones(options, np.bool_)
    usable = np.ones(ranks, np.bool_)
    target = np.zeros(3)
    arms = np.zeros(0, np.int64)
    at = 0
    repeats = 0
    want = True
    rested = False
    everybody = True
    epoch = -1
    alarms = raised(state)
    reference = seats.ranks[law.reference] if law.reference >= 0 else -1
    for time in range(first, last):
        if stop[0]:
            return
        entered = epoch < 0
        if entered:
            epoch = 0
        while path.starts[epoch + 1] <= time:
            epoch += 1
            entered = True
        moves = False
        for k in range(options):
            slope = path.slopes[epoch, k]
            if entered or slope != 0:
                means[k] = path.means[epoch, k] + slope * (time - path.starts[epoch])
                moves = True
        if entered or law.down > 0:
            who_is_up(law, path, epoch, calls, up)
            moves = True
        rests = mail.waiting[1] > 0
        if moves or rests or rested:
            for k in range(ranks):
                usable[k] = up[seats.who[k]]
            if rests:
                let_rest(state, mail, time, seats, up, usable)
            rested = rests
            everybody = bool(usable.all())
        prices = path.prices[epoch]
        if moves:
            find_target(law, means, prices, path.active[epoch], up, target)

        # Which arm: as a session hands it out.
        if at == len(arms) and (repeats > 1 or everybody or not (rests and minds(state))):
            if repeats > 1:
                repeats -= 1
            else:
                batch = plan(state, policy_rng)
                books.counts[PLANS] += 1
                while alarms < raised(state):
                    log_alarm(books, time, seats.who[arm_of_alarm(state, alarms)])
                    alarms += 1
                want = wanted(state)
                arms = batch.arms
                # A batch is the same whatever its own outcomes; what is still out may change it.
                repeats = 1 if mail.waiting[0] > 0 else batch.repeats
            at = 0
        if at < len(arms) and usable[arms[at]]:
            arm = arms[at]
            at += 1
            asked = want
        elif minds(state):
            # Planned for this call alone.
            tell_usable(state, usable)
            batch = plan(state, policy_rng)
            books.counts[PLANS] += 1
            while alarms < raised(state):
                log_alarm(books, time, seats.who[arm_of_alarm(state, alarms)])
                alarms += 1
            asked = wanted(state)
            arm = batch.arms[0]
            tell_all_usable(state)
            arms = arms[:0]
            at = 0
            repeats = 0
        else:
            arm = stand_in(state.tally, law.keep, reference, law.level, usable)
            at += 1
            # What the stand-in shows was not foreseen by the batch.
            repeats = min(repeats, 1)
            asked = True

        option = seats.who[arm]
        state.tally.pending[arm] += 1
        books.done[option] += 1
        mean = means[option]
        price = prices[option]
        books.running[COST] += max(price - target[0], 0.0)
        if mean < target[1] * (1.0 - SAME):
            books.running[QUALITY] += target[1] - mean
        books.running[SPEND] += price
        books.running[BEST] += target[2]

        reward = draw_reward(law, option, mean, rewards)
        if law.sigma >= 0:
            charge(state, arm, price * math.exp(law.sigma * bills.standard_normal() - 0.5 * law.sigma**2))
        judged = asked if law.judged < 0 else law.judged >= 1.0 or feedback.random() < law.judged
        delay = law.delay if law.delay >= 0 else feedback.geometric(law.chance) - 1
        send(mail, time, delay, option, reward if judged else LOST)
        deliver(state, mail, time, seats.ranks, books)

        place = books.counts[CHECKPOINT]
        if place < len(books.times) and books.times[place] == time + 1:
            for k in range(options):
                books.pulls[place, k] = books.done[k]
            for i in range(4):
                books.sums[place, i] = books.running[i]
            books.judged[place] = books.counts[JUDGED]
            books.counts[CHECKPOINT] += 1


@functools.cache
def _specialise(kind: type[Policy], fields: tuple[str, ...]) -> Drive:
    return specialised(drive, f"drive_world_{kind.__name__}", **hooks_of(kind, fields))


def drive_of(policy: Policy, state: Any) -> Drive:
    """Return the driver that has this kind of policy, with states like this one, compiled into it."""
    return _specialise(type(policy), state._fields)
