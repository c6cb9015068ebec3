"""How often a session believes that an option has changed when none has.

The documented rate is 1% of sessions of 10,000 decisions, with any number of options.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from frugalbandits.core.jit import machine_code
from frugalbandits.core.past import fold, new_past
from frugalbandits.core.tally import Tally

FOLD = machine_code(fold)
GROWTH = 100  # VOI-CS looks again after 1% more rewards


def raises_an_alarm(quality: float, arms: int, rewards: int, rng: np.random.Generator) -> bool:
    """Tell whether one of so many options with a fixed quality raises an alarm."""
    past = new_past(arms, 0)
    zeros = np.zeros(arms, np.int64)
    tally = Tally(zeros.copy(), zeros, np.zeros(arms), np.zeros(arms), zeros)
    time = 0
    while tally.pulls[0] < rewards:
        more = max(1, int(tally.pulls[0]) // GROWTH)
        tally.pulls[:] += more
        tally.sums[:] += rng.binomial(more, quality, arms)
        time += more * arms
        FOLD(past, tally, float(time))
        if past.alarms[0]:
            return True
    return False


@pytest.mark.parametrize(("quality", "arms"), [(0.83, 3), (0.5, 3), (0.95, 1)])
def test_short_sessions_raise_hardly_any_false_alarm(quality, arms):
    """Alarms without a change come early: nearly all within 100 rewards. 300 sessions, 1% is the limit.

    Should the seed be changed, 10 or more of 300 come with a chance of 0.1% at a rate of 1%, and of less at
    the rate of 0.5% that was measured.
    """
    rng = np.random.default_rng([19, arms])
    raised = sum(raises_an_alarm(quality, arms, 100, rng) for _ in range(300))
    assert raised < 10


SESSIONS = 2_000 if os.environ.get("FRUGALBANDITS_EXAMPLES") == "soak" else 300


@pytest.mark.slow
@pytest.mark.parametrize(("quality", "arms"), [(0.83, 3), (0.5, 1), (0.7, 20)])
def test_sessions_of_10_000_decisions_raise_an_alarm_in_one_of_a_hundred_at_most(quality, arms):
    """Every option gets the same share of the decisions, which is the most rewards that all can have.

    With 1,000 sessions of other seeds there were 6, 3 and 2. At a rate of 1% the test fails for one seed in
    2,500 (11 or more of 300; 37 or more of 2,000). At 3% it fails for 3 seeds of 10, in `make soak` for all.
    """
    rng = np.random.default_rng([20, arms])
    raised = sum(raises_an_alarm(quality, arms, 10_000 // arms, rng) for _ in range(SESSIONS))
    assert raised < (37 if SESSIONS == 2_000 else 11)


def test_a_few_failures_after_many_successes_are_no_change():
    """The alarm of the report: from 1 to 0, on rewards that 0.83 gives by chance."""
    past = new_past(3, 0)
    zeros = np.zeros(3, np.int64)
    tally = Tally(zeros.copy(), zeros, np.zeros(3), np.zeros(3), zeros)
    for step, reward in enumerate([1] * 14 + [0] * 3):
        tally.pulls[0] += 1
        tally.sums[0] += reward
        FOLD(past, tally, step + 4.0)
    assert past.alarms[0] == 0


def test_a_real_change_is_still_noticed():
    """From 0.85 to 0.3 within 40 rewards; 14 of these at 0.3 are expected to suffice. Fixed seed."""
    past = new_past(3, 0)
    zeros = np.zeros(3, np.int64)
    tally = Tally(zeros.copy(), zeros, np.zeros(3), np.zeros(3), zeros)
    rng = np.random.default_rng(5)
    for step in range(1_040):
        tally.pulls[0] += 1
        tally.sums[0] += rng.random() < (0.85 if step < 1_000 else 0.3)
        FOLD(past, tally, float(step + 1))
    assert past.alarms[0] >= 1
    assert past.log_time[0] > 1_000
