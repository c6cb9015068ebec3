"""The baselines for means that change, against their references with settings that show in short runs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.policies.ucb_cs_restarts import index
from frugalbandits.core.registry import policies, resolve
from frugalbandits.core.tally import observe
from harness import MODES, cases, planner, play, pull_from, setting_of
from reference import ucb_cs_restarts, ucb_cs_window
from reference.ts_cs_discounted import run as discounted


@pytest.mark.parametrize("mode", MODES)
@given(
    case=cases(horizons=(20, 600)),
    discount=st.sampled_from([0.5, 0.97, 0.9995, 1.0]),
    seed=st.integers(0, 99),
)
def test_discounted_ts_cs_draws_what_its_reference_draws(mode, case, discount, seed):
    costs, alpha, horizon, table = case
    # Whole rewards: what is told since the last plan is then exact.
    table = np.round(table)
    policy = fb.DiscountedTSCS(discount)
    rng = np.random.default_rng(seed)
    pulled, _ = play(policy, costs, alpha, horizon, pull_from(table), rng=rng, mode=mode)
    expected, _ = discounted(
        pull_from(table), costs, alpha, horizon, rng=np.random.default_rng(seed), discount=discount
    )
    assert pulled == expected


@pytest.mark.parametrize("mode", MODES)
@given(case=cases(horizons=(20, 500)), window=st.integers(1, 120))
def test_short_windows(mode, case, window):
    costs, alpha, horizon, table = case
    # Multiples of 1/64: a window's sum is the same whichever way it was come by.
    table = np.round(table * 64) / 64
    pulled, _ = play(fb.WindowUCBCS(window), costs, alpha, horizon, pull_from(table), mode=mode)
    assert pulled == ucb_cs_window.run(pull_from(table), costs, alpha, horizon, window=window)[0]


@pytest.mark.parametrize("mode", MODES)
@given(seed=st.integers(0, 999), exploration=st.sampled_from([0.1, 1.0, 5.0]))
def test_restarts_on_changes(mode, seed, exploration):
    """Options that turn from good to bad and back: there is something to restart on."""
    rng = np.random.default_rng(seed)
    horizon = 450
    means = np.where((np.arange(horizon) // 150 + np.arange(3)[:, None]) % 2, 0.95, 0.1)
    table = (rng.random((3, horizon)) < means).astype(float)
    policy = fb.RestartingUCBCS(exploration)
    restarts = []
    pulled, _ = play(
        policy,
        [1, 2, 3],
        0.13,
        horizon,
        pull_from(table),
        mode=mode,
        record=lambda state, batch, time: restarts.append(int(state.restarts[0])),
    )
    expected, _ = ucb_cs_restarts.run(pull_from(table), [1, 2, 3], 0.13, horizon, exploration=exploration)
    assert pulled == expected
    assert restarts[-1] > 0


@given(pulls=st.integers(1, 10**6), share=st.floats(0, 1), level=st.floats(0, 30))
def test_kl_indices(pulls, share, level):
    total = round(share * pulls)
    found = index(float(pulls), float(total), level)
    assert total / pulls <= found <= 1.0
    assert found == pytest.approx(ucb_cs_restarts.klucb(pulls, total, level), abs=1e-9)


@pytest.mark.parametrize("name", policies(moving=True))
def test_a_tally_that_it_has_not_planned_is_taken_in(name):
    """As after a change of options or prices: what was seen is there at once."""
    policy = resolve(name)
    state = policy.begin(setting_of([1, 2, 3], 0.1, 1_000))
    for arm, reward_sum in enumerate((20.0, 180.0, 190.0)):
        observe(state, arm, 200, reward_sum)
    plan = planner(policy, "plain")
    arms = []
    rng = np.random.default_rng(0) if policy.randomised else None
    for _ in range(50):
        batch = plan(state, rng)
        arms.append(int(batch.arms[0]))
        state.tally.pending[batch.arms[0]] += 1
    assert arms.count(1) >= 25


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: fb.DiscountedTSCS(0.0), r"discount must lie in \(0, 1\], but it is 0.0"),
        (lambda: fb.DiscountedTSCS(1.5), "but it is 1.5"),
        (lambda: fb.WindowUCBCS(0), "window must be a whole number from 1 to .* but it is 0"),
        (lambda: fb.WindowUCBCS(2.5), "but it is 2.5"),
        (lambda: fb.WindowUCBCS(True), "but it is True"),
        (lambda: fb.RestartingUCBCS(0.0), r"exploration must lie in \(0, 100\], but it is 0.0"),
    ],
)
def test_bad_settings(make, words):
    with pytest.raises(fb.InputError, match=words):
        make()


def test_who_is_made_for_means_that_change():
    assert policies(moving=True) == ("ts-cs-discounted", "ucb-cs-window", "ucb-cs-restarts")
    assert set(policies()) == {*policies(moving=True), *policies(moving=False)}
