"""The simulator's own driver on a table of rewards."""

from __future__ import annotations

from types import FunctionType

import numpy as np

from frugalbandits.core.contract import EVENTS
from frugalbandits.core.registry import resolve
from frugalbandits.lab import driver
from harness import planner, pull_from, setting_of


def drive_on_table(name, costs, bar, table, times, rng=None):
    """Run the simulator's own driver, uncompiled, with rewards from a table in place of random ones."""
    policy = resolve(name)
    order = np.argsort(np.asarray(costs, float), kind="stable")
    pull = pull_from(table)

    def table_sum(draws, rank, pulls, reward_rng):
        return sum(pull(int(order[rank])) for _ in range(pulls))

    scope = {**driver.drive.__globals__, "plan": planner(policy), "draw_sum": table_sum}
    drive = FunctionType(driver.drive.__code__, scope)
    state = policy.begin(setting_of(costs, bar, int(times[-1])))
    pulls = np.zeros((len(times), len(costs)), np.int64)
    event_times = np.zeros(len(costs) + 2, np.int64)
    drive(state, None, rng, None, np.asarray(times), pulls, event_times, np.zeros(1, bool))
    journal = state.journal
    events = [
        (int(event_times[i]), EVENTS[journal.kinds[i]], int(order[journal.arms[i]]))
        for i in range(int(journal.length[0]))
    ]
    return pulls[:, np.argsort(order)], events
