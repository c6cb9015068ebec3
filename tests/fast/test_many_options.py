"""A plan among many options, compiled and in plain Python: the same decisions and the same state."""

from __future__ import annotations

import numpy as np
import pytest

from frugalbandits.core.contract import Setting, copied
from frugalbandits.core.jit import machine_code
from frugalbandits.core.policies.voi_cs import VOICS
from frugalbandits.core.quality import AtLeast, RelativeToBest
from frugalbandits.core.tally import charge, observe

PLAN = machine_code(VOICS.plan)


@pytest.mark.parametrize("quality", [RelativeToBest(0.1), AtLeast(0.7)])
@pytest.mark.parametrize("binary", [True, False])
def test_plans_among_many_options_are_the_same_compiled_and_plain(quality, binary):
    """With learned costs, so that prices change their order."""
    arms = 90
    rng = np.random.default_rng(1)
    means = rng.uniform(0.3, 0.9, arms)
    costs = np.sort(rng.uniform(0.1, 1, arms))
    state = VOICS().start(Setting(costs, quality, None, learn_costs=True))
    for decision in range(400):
        plain = copied(state)
        batch = PLAN(state, rng)
        if decision % 20 == 0:
            again = VOICS.plan(plain, rng)
            assert (batch.arms.tolist(), batch.repeats) == (again.arms.tolist(), again.repeats)
            assert state.question.tolist() == plain.question.tolist()
            assert state.stakes.tolist() == plain.stakes.tolist()
        arm = int(batch.arms[0])
        mean = means[arm]
        reward = float(rng.random() < mean) if binary else float(rng.beta(4 * mean, 4 * (1 - mean)))
        observe(state, arm, 1, reward)
        charge(state, arm, float(costs[arm] * rng.uniform(0.2, 1.8)))
