"""Property 2 of the design: session equals simulator; and batches are what makes a run fast."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from driver_harness import drive_on_table
from frugalbandits.core.registry import policies, resolve
from harness import cases, pull_from


@pytest.mark.parametrize("name", policies())
@given(case=cases(horizons=(20, 600)), seed=st.integers(0, 2**32 - 1), data=st.data())
def test_session_equals_simulator(name, case, seed, data):
    costs, alpha, horizon, table = case
    # Sums of a batch are added up before they are folded in, so fractions must add up exactly.
    table = np.round(table * 64) / 64
    times = np.unique([*data.draw(st.lists(st.integers(1, horizon), max_size=20)), horizon])
    rng = np.random.default_rng(seed) if resolve(name).randomised else None
    pulls, events = drive_on_table(name, costs, alpha, table, times, rng)

    session = fb.Session(costs, alpha, name, horizon, seed=seed, memory=None)
    pull = pull_from(table)
    pulled = []
    for _ in range(horizon):
        decision = session.ask()
        arm = int(decision.arm[1:]) - 1
        session.tell(decision.id, pull(arm))
        pulled.append(arm)

    counts = np.array([np.bincount(pulled[:time], minlength=len(costs)) for time in times])
    assert np.array_equal(pulls, counts)
    told = [(time, event, int(arm[1:]) - 1) for time, event, arm in session.explain().events]
    assert told == events


@pytest.mark.parametrize(
    "name", ["cof", "cof-no-combine", "ucb-cs", "etc-cs", "cof-cost-biased", "pe-cs", "glr-cof"]
)
def test_batches_save_plans(name):
    """Guard against a policy that falls back to one pass a plan, which no equality would notice."""
    result = fb.simulate(fb.instance("goodreads", alpha=0.3), name, 500_000, runs=4)
    assert result.plans.max() < 25_000
