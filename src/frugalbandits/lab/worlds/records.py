"""What a run in a world works with: the truth, the mail and the books, as named tuples of arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ALARMS",
    "BEST",
    "CHECKPOINT",
    "COST",
    "JUDGED",
    "LOST",
    "PLANS",
    "QUALITY",
    "RAISED",
    "SAME",
    "SPEND",
    "Books",
    "Law",
    "Mail",
    "Path",
    "Seats",
    "Streams",
    "new_books",
    "new_mail",
]

#: Alarms of a run that are written down; further ones are counted.
ALARMS = 512
LOST = -1.0  # in place of a reward that never comes
# As in `Problem`: means that differ by less than this share are the same number.
SAME = 1e-12
# What the running sums are of.
COST, QUALITY, SPEND, BEST = 0, 1, 2, 3
# What is counted.
CHECKPOINT, JUDGED, PLANS, RAISED = 0, 1, 2, 3


class Path(NamedTuple):
    """What is true in each epoch (rows), of each option (columns), in the caller's order."""

    starts: NDArray[np.int64]  # first decision of each epoch, and the horizon
    means: NDArray[np.float64]
    slopes: NDArray[np.float64]  # by how much the means move a decision
    down: NDArray[np.bool_]
    active: NDArray[np.bool_]
    prices: NDArray[np.float64]


class Seats(NamedTuple):
    """Which option each arm is, by rank of told cost; and the rank of each option, -1 if it is not there."""

    who: NDArray[np.int64]
    ranks: NDArray[np.int64]


class Law(NamedTuple):
    """How rewards and bills spread, when feedback comes, and what is good enough."""

    low: float
    high: float
    concentration: float  # of Beta rewards; 0 for rewards that are low or high
    sigma: float  # of bills; -1 where costs are known
    judged: float  # share; -1: what is wanted
    delay: int  # decisions; -1 where delays are geometric
    chance: float  # of geometric delays to end with the next decision
    down: float
    keep: float
    reference: int  # an option, in the caller's order; -1 for none
    level: float


class Streams(NamedTuple):
    """Random numbers, by what they are for, so that two policies meet the same world."""

    rewards: Any
    calls: Any
    feedback: Any
    bills: Any


class Mail(NamedTuple):
    """Feedback under way: a ring of days, each with a list of letters; a decision has a place for its own."""

    first: NDArray[np.int64]  # of each day; -1 for none
    next: NDArray[np.int64]  # of each letter
    option: NDArray[np.int64]
    reward: NDArray[np.float64]
    waiting: NDArray[np.int64]  # how many are under way; how many options are in `silent`
    silent: NDArray[np.int64]  # when an option's feedback was last lost, if none has ever come; else -1


class Books(NamedTuple):
    """What is written down: a row per checkpoint, and what is being added up."""

    times: NDArray[np.int64]
    pulls: NDArray[np.int64]
    sums: NDArray[np.float64]  # checkpoints x 4: cost and quality regret, spend, spend on the best
    judged: NDArray[np.int64]
    done: NDArray[np.int64]  # by option, so far
    running: NDArray[np.float64]  # the four sums so far
    counts: NDArray[np.int64]  # checkpoints passed, judged, plans, alarms
    alarm_time: NDArray[np.int64]
    alarm_option: NDArray[np.int64]


def new_mail(longest: int, options: int) -> Mail:
    """Return no mail; a letter takes at most `longest` decisions."""
    days = longest + 1
    return Mail(
        np.full(days, -1, np.int64),
        np.zeros(days, np.int64),
        np.zeros(days, np.int64),
        np.zeros(days),
        np.zeros(2, np.int64),
        np.full(options, -1, np.int64),
    )


def new_books(times: NDArray[np.int64], options: int) -> Books:
    """Return empty books."""
    marks = len(times)
    return Books(
        times,
        np.zeros((marks, options), np.int64),
        np.zeros((marks, 4)),
        np.zeros(marks, np.int64),
        np.zeros(options, np.int64),
        np.zeros(4),
        np.zeros(4, np.int64),
        np.zeros(ALARMS, np.int64),
        np.zeros(ALARMS, np.int64),
    )
