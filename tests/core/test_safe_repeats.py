"""Safe repeats from any state whatever, not only from those that a short run comes by."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.tally import observe
from harness import setting_of

POLICIES = [
    fb.COF(0.05),
    fb.COF(0.4),
    fb.COF(0.4, combine=False),
    fb.COF(0.4, exclusive=False),
    fb.COF(0.4, tolerance=0.1),
    fb.COF(0.4, combine=False, tolerance=0.3),
    fb.COF(0.4, exclusive=False, tolerance=0.05),
    fb.UCBCS(),
    fb.ETCCS(budget=0.001),
]
PASSES = 150


def copy_of(state):
    """Copy a state with all its arrays."""
    parts = {
        name: value.copy()
        if isinstance(value, np.ndarray)
        else copy_of(value)
        if hasattr(value, "_asdict")
        else value
        for name, value in state._asdict().items()
    }
    return type(state)(**parts)


def outcomes(first, rng):
    """Yield ways for rewards to come: at the ends, one against all others, and at random."""
    yield lambda arm: 0.0
    yield lambda arm: 1.0
    yield lambda arm: float(arm == first)
    yield lambda arm: float(arm != first)
    coin = rng.integers(0, 2, 64).astype(float)
    yield lambda arm: coin[arm]
    yield lambda arm: float(rng.random() < 0.5)


@st.composite
def tallies(draw):
    """Draw pulls, means and a candidate, with many arms close to one another."""
    arms = draw(st.integers(2, 5))
    pulls = draw(st.lists(st.integers(1, 400), min_size=arms, max_size=arms))
    mean = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]))
    means = draw(st.lists(mean, min_size=arms, max_size=arms))
    sums = [float(round(n * m)) for n, m in zip(pulls, means, strict=True)]
    return pulls, sums, draw(st.integers(0, arms - 1)), draw(st.floats(0, 0.7)), draw(st.integers(0, 2**32))


BARS = {
    "best": fb.RelativeToBest,
    "last": lambda alpha: fb.RelativeTo("a2", alpha),
    "level": lambda alpha: fb.AtLeast(0.95 - alpha),
}
UNDER_BARS = [(policy, "best") for policy in POLICIES] + [
    (policy, bar) for policy in POLICIES if policy.any_bar for bar in ("last", "level")
]


@pytest.mark.parametrize(("policy", "bar"), UNDER_BARS, ids=repr)
@given(case=tallies())
def test_a_batch_is_planned_again_after_each_of_its_passes(policy, bar, case):
    pulls, sums, candidate, alpha, seed = case
    arms = len(pulls)
    state = policy.start(setting_of(np.arange(arms, dtype=float), BARS[bar](alpha), 10_000))
    for arm in range(arms):
        observe(state, arm, pulls[arm], sums[arm])
    if hasattr(state, "candidate"):
        state.candidate[0] = min(candidate, 1) if bar == "last" else candidate
        state.stride[0] = 64
    batch = policy.plan(state, None)
    noted = int(state.journal.length[0])
    if noted and state.settled[0]:
        return
    for reward in outcomes(int(batch.arms[0]), np.random.default_rng(seed)):
        replay = copy_of(state)
        for _ in range(min(batch.repeats, PASSES) - 1):
            for arm in batch.arms:
                observe(replay, int(arm), 1, reward(int(arm)))
            again = policy.plan(replay, None)
            assert again.arms.tolist() == batch.arms.tolist()
            assert int(replay.journal.length[0]) == noted
