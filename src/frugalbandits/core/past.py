"""What of the past still counts: an arm that has changed is known only since then.

Of each arm, what was told between two plans is a block of rewards. At most `BLOCKS` are kept: when there are
more, those two neighbours become one that are smallest for their age. An *alarm* is raised for one of K arms
when a split of its n rewards makes them n1 kl(m1, m) + n2 kl(m2, m) > b + 1.5 log n more likely, with
b = max(4.5 + log K, 2 + 0.5 log t): all before the split is dropped. The first term holds false alarms below
1% of sessions of 10,000 decisions, however early they come; the second one lets longer sessions wait longer.
Where alarms come, more is to be expected of every arm: what is held fades by min(alarms / t, 0.005) a
decision. A memory of N decisions makes it fade by 1 / N at least.

While nothing was dropped and nothing fades, what is held is the tally, exactly.

What is kept here is a fold in the order of plans; the tally itself has no order.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contract import Ranges
from frugalbandits.core.jit import inlined, inner, instead
from frugalbandits.core.likelihood import greatest

__all__ = ["BLOCKS", "LOGGED", "Past", "fading", "fold", "new_past", "past_contradiction", "past_ranges"]

BLOCKS = 64
LOGGED = 64  # alarms that are remembered; whoever plans reads them after each plan
_RARE = 4.5  # evidence, beyond what splits and arms take, that chance reaches in less than 1% of sessions
_FASTEST = 0.005  # what is held never fades faster by itself


class Past(NamedTuple):
    """Blocks of rewards by arm, oldest first, and what they add up to.

    `counts` and `totals` have no columns where nothing is ever forgotten; then only `pulls` and `sums` are
    of use, and they are the tally's. `told` and `paid` are the tally at the last plan. Alarm number i is in
    place i % `LOGGED` of the log: its arm, the time, and the means before and after.
    """

    memory: int
    counts: NDArray[np.float64]
    totals: NDArray[np.float64]
    used: NDArray[np.int64]
    told: NDArray[np.int64]
    paid: NDArray[np.float64]
    pulls: NDArray[np.float64]
    sums: NDArray[np.float64]
    cut: NDArray[np.bool_]  # whether an arm holds less than its tally
    clock: NDArray[np.float64]  # decisions at the last plan
    alarms: NDArray[np.int64]  # so far
    log_arm: NDArray[np.int64]
    log_time: NDArray[np.float64]
    log_before: NDArray[np.float64]
    log_after: NDArray[np.float64]


def new_past(arms: int, memory: int | None) -> Past:
    """Return the past of arms that nobody has pulled yet; `memory` as in `Setting`."""
    blocks, log = (0, 0) if memory is None else (BLOCKS, LOGGED)
    return Past(
        memory=0 if memory is None else memory,
        counts=np.zeros((arms, blocks)),
        totals=np.zeros((arms, blocks)),
        used=np.zeros(arms, np.int64),
        told=np.zeros(arms, np.int64),
        paid=np.zeros(arms),
        pulls=np.zeros(arms),
        sums=np.zeros(arms),
        cut=np.zeros(arms, np.bool_),
        clock=np.zeros(1),
        alarms=np.zeros(1, np.int64),
        log_arm=np.zeros(log, np.int64),
        log_time=np.zeros(log),
        log_before=np.zeros(log),
        log_after=np.zeros(log),
    )


def past_ranges(arms: int) -> Ranges:
    """Return the least and greatest values of its arrays, for stored states."""
    most = float(2**53)
    amounts = ("counts", "totals", "paid", "pulls", "sums", "clock", "log_time")
    return {
        **{f"past.{name}": (0.0, most) for name in amounts},
        "past.used": (0, BLOCKS),
        "past.told": (0, 2**53),
        "past.cut": (False, True),
        "past.alarms": (0, 2**53),
        "past.log_arm": (0, arms - 1),
        "past.log_before": (0.0, 1.0),
        "past.log_after": (0.0, 1.0),
    }


def past_contradiction(past: Past, tally: Any) -> str | None:
    """Say what in a stored past, each value of which is in its range, cannot be; None if nothing is."""
    if (past.told > tally.pulls).any():
        return f"rewards were looked at {past.told.tolist()} times, of {tally.pulls.tolist()}"
    if (past.sums > past.pulls).any():
        return f"of {past.pulls.tolist()} rewards, {past.sums.tolist()} are held"
    return None


def row(table: Any, arm: int) -> Any:
    """Return one row of a table, in the form that is read fastest."""
    return table[arm].tolist()


@instead(row)
def row_as_array(table: Any, arm: int) -> Any:
    """Return the row itself, for compiled code."""
    return table[arm]


@inlined
def fading(past: Any, time: float) -> float:
    """Return the share of what is held that one decision takes away."""
    rate = min(past.alarms[0] / max(time, 1.0), _FASTEST)
    return max(rate, 1.0 / past.memory) if past.memory > 0 else rate


@inner
def fold(past: Any, tally: Any, time: float) -> None:
    """Take in what was told since the last plan; `time` is the number of decisions so far."""
    arms = len(tally.pulls)
    if past.counts.shape[1] == 0:
        for k in range(arms):
            past.pulls[k] = tally.pulls[k]
            past.sums[k] = tally.sums[k]
        return
    fade(past, time)
    for k in range(arms):
        if tally.pulls[k] != past.told[k]:
            pulls = tally.pulls[k] - past.told[k]
            total = min(max(tally.sums[k] - past.paid[k], 0.0), float(pulls))
            past.told[k] = tally.pulls[k]
            past.paid[k] = tally.sums[k]
            append(past, k, float(pulls), total)
            look_for_a_change(past, k, time)
            if past.cut[k]:
                add_up(past, k)
        if not past.cut[k]:
            past.pulls[k] = tally.pulls[k]
            past.sums[k] = tally.sums[k]


@inner
def fade(past: Any, time: float) -> None:
    """Let what is held lose weight since the last plan."""
    passed = time - past.clock[0]
    past.clock[0] = time
    rate = fading(past, time)
    if rate <= 0 or passed <= 0:
        return
    stays = (1.0 - rate) ** passed
    for k in range(len(past.used)):
        if past.used[k] > 0:
            past.cut[k] = True
            for i in range(past.used[k]):
                past.counts[k, i] *= stays
                past.totals[k, i] *= stays
            past.pulls[k] *= stays
            past.sums[k] *= stays


@inner
def add_up(past: Any, arm: int) -> None:
    """Set what is held of an arm to the sum of its blocks."""
    pulls = 0.0
    total = 0.0
    counts, totals = row(past.counts, arm), row(past.totals, arm)
    for i in range(past.used[arm]):
        pulls += counts[i]
        total += totals[i]
    past.pulls[arm] = pulls
    past.sums[arm] = min(total, pulls)


@inner
def append(past: Any, arm: int, pulls: float, total: float) -> None:
    """Add a block; where there is no room, join the two neighbours that are smallest for their age."""
    used = past.used[arm]
    if used == past.counts.shape[1]:
        counts = row(past.counts, arm)
        after = pulls
        least = np.inf
        place = 0
        for i in range(used - 2, -1, -1):
            # Blocks i and i + 1; `after` is what came since.
            if i < used - 2:
                after += counts[i + 2]
            size = (counts[i] + counts[i + 1]) / (after + 1.0)
            if size < least:
                place, least = i, size
        past.counts[arm, place] += past.counts[arm, place + 1]
        past.totals[arm, place] += past.totals[arm, place + 1]
        for i in range(place + 1, used - 1):
            past.counts[arm, i] = past.counts[arm, i + 1]
            past.totals[arm, i] = past.totals[arm, i + 1]
        used -= 1
    past.counts[arm, used] = pulls
    past.totals[arm, used] = total
    past.used[arm] = used + 1


@inner
def look_for_a_change(past: Any, arm: int, time: float) -> None:
    """Raise an alarm where a split of an arm's rewards makes them much more likely; drop what was before."""
    used = past.used[arm]
    if used < 2:
        return
    counts, totals = row(past.counts, arm), row(past.totals, arm)
    pulls = 0.0
    total = 0.0
    for i in range(used):
        pulls += counts[i]
        total += totals[i]
    total = min(total, pulls)
    whole = greatest(pulls, total)
    least = max(_RARE + math.log(len(past.used)), 2.0 + 0.5 * math.log(max(time, 1.0)))
    most = least + 1.5 * math.log(max(pulls, 1.0))
    place = -1
    pulls_before = 0.0
    total_before = 0.0
    mean_before = 0.0
    mean_after = 0.0
    for i in range(used - 1):
        pulls_before += counts[i]
        total_before += totals[i]
        pulls_after = pulls - pulls_before
        total_after = min(max(total - total_before, 0.0), pulls_after)
        if pulls_before > 0 and pulls_after > 0:
            gain = greatest(pulls_before, min(total_before, pulls_before)) - whole
            gain += greatest(pulls_after, total_after)
            if gain > most:
                place, most = i, gain
                mean_before = min(total_before / pulls_before, 1.0)
                mean_after = total_after / pulls_after
    if place < 0:
        return
    for i in range(place + 1, used):
        past.counts[arm, i - place - 1] = past.counts[arm, i]
        past.totals[arm, i - place - 1] = past.totals[arm, i]
    for i in range(used - place - 1, used):
        past.counts[arm, i] = 0.0
        past.totals[arm, i] = 0.0
    past.used[arm] = used - place - 1
    past.cut[arm] = True
    logged = past.alarms[0] % len(past.log_arm)
    past.log_arm[logged] = arm
    past.log_time[logged] = time
    past.log_before[logged] = mean_before
    past.log_after[logged] = mean_after
    past.alarms[0] += 1
