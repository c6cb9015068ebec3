"""The state of DualCOF: a few arrays, so that machine code is handed little; rows and entries have names."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contextual.contract import ContextualSetting
from frugalbandits.core.contextual.dual_cof.model import LEVEL, SLOPE

__all__ = ["DualCOFState", "new_state"]

Floats = NDArray[np.float64]

SMALLEST_RANGE = 1e-100  # of costs that differ: below it they count as equal, and a cost as nothing

# Rows of `arms`, an entry for each option.
TOLD = 0  # rewards that count; the sum of squares of what the model had not foreseen of them
ERRORS = 1
WEIGHT = 2  # the doubly robust mean: sums of weights, of weighted values, of squares of weighted surprises
ROBUST = 3
NOISE = 4
FORCE = 5  # and of what these squares should be by the variance of rewards
ASKED = 6  # decisions that count
QUALITY = 7  # the mean quality over queries, and its standard error
ERROR = 8
RATE = 9  # the least probability of being chosen where usable: the floor
BLIND = 10  # rewards of decisions that did not look at the query, and their sum
BLIND_SUM = 11
RUN = 12  # of these, since nothing was missing: how many, what is missing, and the number of such runs
MISSED = 13
RUNS = 14
ROWS = 15

# Entries of `numbers`.
CLOCK = 0  # decisions, all of them
SEEN = 1  # decisions that count: the same while nothing fades
HEARD = 2  # rewards of decisions that count; the sum of them, and of their squares, for all they stand for
SUM = 3
SQUARES = 4
PRICE = 5  # ln of lambda
DRIFT = 6  # the recent mean of what the model had not foreseen
SPENT = 7  # the cost of decisions that count, in units
BAR = 8
BAR_ERROR = 9
LOW = 10  # limits of ln of lambda
HIGH = 11
DEBT = 12  # what is missing of a fixed level
DUE = 13  # rewards at which the bar is estimated anew
FITTING = 14  # decisions at which the prior is fitted anew
FADED = 15  # decisions at which the past faded last
UPDATES = 16  # rewards since inverses were exact
FIRST_PRICE = 17  # ln of lambda at the start
WANTED = 18  # the share of decisions of which feedback is wanted
STOOD = 19  # decisions that the rewards stand for
OPEN = 20  # decisions that were wanted, and of these the told ones, lately; and those that were not
OPEN_TOLD = 21
OTHER = 22
OTHER_TOLD = 23
DARK = 24  # decisions that were out when the first reward came, but that one
STOOD_SQUARES = 25  # the sum of squares of what rewards stand for
NUMBERS = 26


class DualCOFState(NamedTuple):
    """What DualCOF knows. `unit` is the range of the usual costs; costs are counted in it."""

    inverse: Floats  # of A_k, by option
    gram: Floats  # sums of phi phi'
    moments: Floats  # sums of phi times the reward
    prior: Floats
    theta: Floats
    ridge: Floats
    queries: Floats  # sums of encoded queries, and of their squares
    arms: Floats
    numbers: Floats
    costs: Floats  # the usual ones, in units
    unit: float
    keep: float
    reference: int
    level: float
    features: int
    memory: int  # 0: nothing fades


def new_state(setting: ContextualSetting) -> DualCOFState:
    """Return the state before the first query."""
    arms, width = len(setting.costs), setting.width
    low, high = float(setting.costs.min()), float(setting.costs.max())
    # Dividing the largest cost by a smaller range could overflow.
    unit = high - low if high - low > SMALLEST_RANGE else 1.0
    ridge = np.full(width, SLOPE)
    ridge[0] = LEVEL
    prior = np.zeros((arms, width))
    prior[:, 0] = 0.5
    numbers = np.zeros(NUMBERS)
    first = float(np.median(setting.costs) - low) / unit / 0.2
    numbers[PRICE] = numbers[FIRST_PRICE] = math.log(min(max(first, 0.05), 5.0))
    numbers[LOW], numbers[HIGH] = numbers[PRICE] - math.log(100.0), numbers[PRICE] + math.log(100.0)
    numbers[WANTED] = 1.0
    numbers[BAR] = setting.level if setting.level >= 0 else setting.keep * 0.5
    inverse = np.zeros((arms, width, width))
    inverse[:] = np.diag(1.0 / ridge)
    return DualCOFState(
        inverse=inverse,
        gram=np.zeros((arms, width, width)),
        moments=np.zeros((arms, width)),
        prior=prior,
        theta=prior.copy(),
        ridge=ridge,
        queries=np.zeros((2, width)),
        arms=np.zeros((ROWS, arms)),
        numbers=numbers,
        costs=np.where(setting.costs > SMALLEST_RANGE * unit, setting.costs / unit, 0.0),
        unit=unit,
        keep=setting.keep,
        reference=setting.reference,
        level=setting.level,
        features=setting.features,
        memory=setting.memory or 0,
    )
