"""One replay of a policy, compiled: plan, look up what each request gave, observe, until the horizon.

A request is served at a time, as a session does it. Where the reward and the cost of a request come from is
the matter of a `Source`, of which there are four kinds; one compiled driver serves all of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contract import Batch, Policy
from frugalbandits.core.jit import inlined, specialised
from frugalbandits.core.tally import add

__all__ = ["DRAWN", "MATCHED", "TABLED", "WEIGHTED", "Source", "drive_of", "find"]

Drive = Callable[..., Any]

#: Kinds of sources: the next request of a full table; a row of the option, drawn; drawn by weight; and the
#: next row of a log that has the option, with the rows before it thrown away.
TABLED, DRAWN, WEIGHTED, MATCHED = range(4)


class Source(NamedTuple):
    """Where rewards and costs come from.

    `pairs` are rows of (reward, cost). `rows` says which of them comes when: for `TABLED` the requests, each
    of which has the row `starts[k]` + request for option k; for `MATCHED` the rows of the log, of which
    `choice` has the option; for the other two, the rows of option k from `starts[k]` to before `starts[k +
    1]`, with running sums of their `weights` within the option for `WEIGHTED`. `cursor` is the place in
    `rows` that is reached.
    """

    kind: int
    pairs: NDArray[np.float64]
    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    weights: NDArray[np.float64]
    choice: NDArray[np.int64]
    cursor: NDArray[np.int64]


def plan(state: Any, rng: Any) -> Batch:
    """Stand for the plan of the policy that the driver is specialised to."""
    raise AssertionError("drive is a template: use drive_of(policy)")


@inlined
def find(
    kind: int, rows: Any, starts: Any, weights: Any, choice: Any, cursor: Any, option: int, rng: Any
) -> int:
    """Return the row of `pairs` that a use of this option gives now; -1 where there is none left.

    The parts of a source come one by one: to hand on all of it, reference counts and all, takes longer than
    the rest.
    """
    if kind == TABLED:
        place = cursor[0]
        if place == len(rows):
            return -1
        cursor[0] = place + 1
        return starts[option] + rows[place]
    if kind == MATCHED:
        place = cursor[0]
        while place < len(rows) and choice[rows[place]] != option:
            place += 1
        cursor[0] = min(place + 1, len(rows))
        return rows[place] if place < len(rows) else -1
    first = starts[option]
    after = starts[option + 1]
    if kind == DRAWN:
        return rows[first + int(rng.random() * (after - first))]
    level = rng.random() * weights[after - 1]
    last = after - 1
    while first < last:
        middle = (first + last) // 2
        if weights[middle] > level:
            last = middle
        else:
            first = middle + 1
    return rows[first]


def drive(
    state: Any,
    source: Any,
    who: NDArray[np.int64],
    policy_rng: Any,
    row_rng: Any,
    horizon: int,
    uses: NDArray[np.int64],
    sums: NDArray[np.float64],
    stop: NDArray[np.bool_],
) -> int:
    """Serve up to `horizon` requests; add up uses of each option, and rewards and costs of all.

    `who` has the options from cheapest to most expensive, as the policy counts them. Returns the requests
    that were served: fewer where the source has ended. Another thread may set stop[0] to end the run early.
    """
    kind, pairs, rows, starts, weights, choice, cursor = source
    # As `observe` folds them in, one by one.
    pulls, rewards, carry = state.tally.pulls, state.tally.sums, state.tally.carry
    quality = 0.0
    spend = 0.0
    time = 0
    left = True
    while left and time < horizon and not stop[0]:
        batch = plan(state, policy_rng)
        arms = batch.arms
        at = 0
        repeats = batch.repeats
        while time < horizon and repeats > 0:
            arm = arms[at]
            option = who[arm]
            row = find(kind, rows, starts, weights, choice, cursor, option, row_rng)
            if row < 0:
                left = False
                break
            pulls[arm] += 1
            add(rewards, carry, arm, pairs[row, 0])
            uses[option] += 1
            quality += pairs[row, 0]
            spend += pairs[row, 1]
            time += 1
            at += 1
            if at == len(arms):
                at = 0
                repeats -= 1
    sums[0] += quality
    sums[1] += spend
    return time


@functools.cache
def _specialise(plan_function: Any, name: str) -> Drive:
    return specialised(drive, f"drive_replay_{name}", plan=plan_function)


def drive_of(policy: Policy) -> Drive:
    """Return the driver that has this kind of policy compiled into it."""
    kind = type(policy)
    return _specialise(kind.plan, kind.__name__)
