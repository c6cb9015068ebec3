"""DualCOF against its plain reference, its parts against exact ones, and what it promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextual_harness import POLICY, World, made_world, run, setting_for
from frugalbandits.core.contextual.dual_cof import algorithm, model, wanting
from frugalbandits.core.contextual.dual_cof import state as fields
from frugalbandits.core.jit import machine_code
from frugalbandits.core.quality import AtLeast, Quality, RelativeTo, RelativeToBest
from reference.dual_cof import DualCOF as Plain

BARS: list[tuple[Quality, tuple]] = [
    (RelativeToBest(0.05), ("best", 0.05)),
    (RelativeTo("a3", 0.1), ("option", 0.1)),
    (AtLeast(0.6), ("level", 0.6)),
    (AtLeast(0.97), ("level", 0.97)),
]


class Draws:
    """A generator whose draws are written down."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.normals: list[float] = []
        self.coins: list[float] = []

    def standard_normal(self) -> float:
        self.normals.append(self.rng.standard_normal())
        return self.normals[-1]

    def random(self) -> float:
        self.coins.append(self.rng.random())
        return self.coins[-1]


@pytest.mark.parametrize("quality, rule", BARS)
@pytest.mark.parametrize("late", [0, 7])
@pytest.mark.parametrize("told", ["all", "wanted", "some of it"])
def test_every_decision_is_that_of_the_plain_reference(quality, rule, late, told, monkeypatch):
    # Soon not all are wanted.
    if told != "all":
        monkeypatch.setattr(wanting, "ALL", 60.0)
    world = made_world(3, options=3)
    setting = setting_for(world, quality)
    state = POLICY.start(setting)
    plain = Plain(world.costs, (*rule, setting.reference), setting.width, setting.features, wanting.ALL)
    rng, waiting = np.random.default_rng(5), []
    for t in range(350):
        phi = world.queries[rng.integers(len(world.queries))]
        usable = np.ones(3, np.bool_)
        if t % 11 == 5:
            usable[rng.integers(3)] = False
        costs = world.costs * rng.uniform(0.8, 1.2) if t % 5 == 0 else world.costs
        draws = Draws(t)
        arm, propensity, wanted = algorithm.choose(state, phi, costs, usable, draws, floors := np.zeros(3))
        known = plain.choose(phi, costs, usable, draws.normals, draws.coins[0])
        assert (arm, pytest.approx(propensity)) == known, t
        # Half of the feedback is bad luck, so that a level is missed and decisions turn blind.
        if wanted or told == "all" or (told == "some of it" and t % 3 == 0):
            waiting.append((phi, arm, propensity, float(rng.random() < 0.5), floors))
        if len(waiting) > late and t % 4:
            heard = waiting.pop(rng.integers(len(waiting)))
            algorithm.learn(state, *heard)
            plain.learn(*heard)
    assert (plain.handed[0] > 30) == (told != "all")
    assert plain.handed[0] == state.numbers[fields.OTHER]
    assert sum(plain.stand) == pytest.approx(state.numbers[fields.STOOD])
    assert math.exp(plain.log_price) == pytest.approx(math.exp(state.numbers[fields.PRICE]))
    assert plain.debt == pytest.approx(state.numbers[fields.DEBT])


def test_the_reference_saw_blind_decisions_and_trials():
    # Otherwise the test above would prove less than it seems to.
    world = made_world(3, options=3)
    state = POLICY.start(setting_for(world, AtLeast(0.97)))
    _, propensities = run(state, world, 800, 0)
    assert (propensities == 1.0).any()
    state = POLICY.start(setting_for(world, RelativeToBest(0.05)))
    _, propensities = run(state, world, 300, 0)
    assert (propensities < 0.5).any() and (propensities < 1.0).all()


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 200))
def test_an_inverse_kept_by_updates_is_the_exact_one(seed, width, rewards):
    world = made_world(seed, options=2, features=width, segments=0, queries=rewards)
    state = POLICY.start(setting_for(world, AtLeast(0.5)))
    for phi in world.queries:
        model.take_in(state, 0, phi, 0.5)
    exact = np.linalg.inv(np.diag(state.ridge) + world.queries.T @ world.queries)
    np.testing.assert_allclose(state.inverse[0], exact, rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(state.inverse[0], state.inverse[0].T)
    np.testing.assert_allclose(
        model.spreads(state.inverse, world.queries[0])[0],
        world.queries[0] @ exact @ world.queries[0],
        rtol=1e-8,
    )


@given(st.integers(0, 10_000), st.integers(1, 15))
def test_a_matrix_is_inverted(seed, width):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(width + 3, width)) * rng.uniform(0.01, 100)
    matrix = root.T @ root
    inverse = matrix.copy()
    model.invert(inverse)
    np.testing.assert_allclose(inverse, np.linalg.inv(matrix), rtol=1e-5, atol=1e-9 * np.abs(inverse).max())


@pytest.mark.parametrize("quality, rule", BARS)
def test_machine_code_makes_the_same_decisions_to_the_last_bit(quality, rule):
    world = made_world(4, options=4, features=5, segments=3)
    setting = setting_for(world, quality, memory=200)
    plain, compiled = POLICY.start(setting), POLICY.start(setting)
    first = run(plain, world, 500, 1, late=5)
    second = run(
        compiled,
        world,
        500,
        1,
        late=5,
        choose=machine_code(algorithm.choose),
        learn=machine_code(algorithm.learn),
    )
    for one, other in zip((*first, *plain), (*second, *compiled), strict=True):
        np.testing.assert_array_equal(one, other)


def hard_world() -> World:
    """Return a world where the best option is dear and pays on hard queries alone, which no model can see."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(2_000, 1))
    phi = np.hstack([np.ones((2_000, 1)), x])
    hard = np.abs(x[:, 0]) > 0.8
    means = np.column_stack([np.where(hard, 0.05, 0.85), np.where(hard, 0.5, 0.98)])
    return World(phi, means, np.array([1.0, 30.0]), 1)


def test_the_bar_is_estimated_with_propensities():
    # The dear option is used where the cheap one fails: its own rewards make it look far worse than it is.
    rng = np.random.default_rng(1)
    state = POLICY.start(setting_for(hard_world(), RelativeToBest(0.1)))
    floors = np.full(2, 0.05)
    world, seen = hard_world(), []
    truth = world.means[:, 1].mean()
    for _ in range(4_000):
        place = rng.integers(len(world.queries))
        greedy = int(world.means[place, 0] < 0.5)
        tried = rng.random() < 0.1
        arm = int(rng.integers(2)) if tried else greedy
        propensity = 0.05 + 0.9 * (arm == greedy)
        reward = float(rng.random() < world.means[place, arm])
        if arm == 1:
            seen.append(reward)
        algorithm.learn(state, world.queries[place], arm, propensity, reward, floors)
    robust = state.arms[fields.ROBUST, 1] / state.arms[fields.WEIGHT, 1]
    noise = max(state.arms[fields.NOISE, 1], 0.5 * state.arms[fields.FORCE, 1])
    error = math.sqrt(noise) / state.arms[fields.WEIGHT, 1]
    assert abs(np.mean(seen) - truth) > 0.15
    # Four standard errors: a false alarm in 16,000 seeds.
    assert error < 0.04 and abs(robust - truth) < 4 * error


def test_lambda_does_not_wind_up():
    world = made_world(2)
    state = POLICY.start(setting_for(world, RelativeToBest(0.05)))
    own, usable, floors = np.random.default_rng(0), np.ones(3, np.bool_), np.zeros(3)
    phi = world.queries[0]

    def go_on(reward, decisions):
        for _ in range(decisions):
            choice = algorithm.choose(state, phi, world.costs, usable, own, floors)
            low, price, high = state.numbers[[fields.LOW, fields.PRICE, fields.HIGH]]
            assert low <= price <= high
            algorithm.learn(state, phi, choice.arm, choice.propensity, reward(choice.arm), floors)

    # The dearest option alone is any good, but not good enough for what is owed: lambda goes to its limit.
    go_on(lambda arm: 0.1 * arm, 600)
    at_most = state.numbers[fields.HIGH]
    go_on(lambda arm: 0.1 * arm, 600)
    assert state.numbers[fields.PRICE] <= at_most + math.log(1.5)
    # Then all are as good, and it comes down within a few hundred decisions, whatever went before.
    before = state.numbers[fields.PRICE]
    go_on(lambda arm: 1.0, 600)
    assert state.numbers[fields.PRICE] < before - 1.0


def test_a_use_that_was_no_decision_teaches_the_model_alone():
    world = made_world(2)
    state = POLICY.start(setting_for(world, RelativeToBest(0.05)))
    algorithm.learn(state, world.queries[0], 1, 0.0, 1.0, np.zeros(3))
    assert state.gram[1, 0, 0] == 1.0
    assert not state.numbers[[fields.HEARD, fields.SUM, fields.DRIFT, fields.DEBT]].any()
    assert not state.arms[[fields.WEIGHT, fields.ROBUST, fields.NOISE]].any()


def test_the_past_fades():
    world = made_world(2)
    state = POLICY.start(setting_for(world, RelativeToBest(0.05), memory=100))
    run(state, world, 2_000, 0)
    assert 90 < state.numbers[fields.SEEN] < 110
    assert 90 < state.gram[:, 0, 0].sum() < 110
    exact = np.linalg.inv(state.gram[0] + np.diag(state.ridge))
    np.testing.assert_allclose(state.inverse[0], exact, rtol=1e-6, atol=1e-12)


def test_more_segments_leave_what_was_known_as_it_was():
    world = made_world(2, segments=1)
    state = POLICY.start(setting_for(world, RelativeToBest(0.05)))
    run(state, world, 300, 0)
    wider = POLICY.widened(state, state.moments.shape[1] + 2)
    phi = np.append(world.queries[7], [0.0, 0.0])
    np.testing.assert_array_equal(model.means(wider.theta, phi), model.means(state.theta, world.queries[7]))
    np.testing.assert_array_equal(
        model.spreads(wider.inverse, phi), model.spreads(state.inverse, world.queries[7])
    )
    # The new segment is decided by what all have in common.
    new = np.append(world.queries[7][:3], [0.0, 1.0, 0.0])
    np.testing.assert_allclose(
        model.means(wider.theta, new), model.means(wider.theta, np.append(new[:3], [0.0, 0.0, 0.0]))
    )


def test_options_that_stay_keep_what_was_seen_of_them():
    world = made_world(2, options=3)
    state = POLICY.start(setting_for(world, RelativeToBest(0.05)))
    run(state, world, 300, 0)
    costs = np.append(world.costs, 2 * world.costs[2])
    setting = setting_for(world, RelativeToBest(0.05))._replace(costs=costs)
    more = POLICY.carried(state, setting, [0, 1, 2, -1])
    np.testing.assert_array_equal(more.gram[:3], state.gram)
    np.testing.assert_allclose(more.theta[:3], state.theta, rtol=1e-9)
    price = math.exp(state.numbers[fields.PRICE]) * state.unit
    assert math.exp(more.numbers[fields.PRICE]) * more.unit == pytest.approx(price)
    back = POLICY.carried(more, setting_for(world, RelativeToBest(0.05)), [0, 1, 2])
    np.testing.assert_allclose(back.theta, state.theta, rtol=1e-9)
    assert not more.gram[3].any()


@pytest.mark.parametrize("factor", [0.01, 3.0])
def test_other_units_of_cost_change_no_decision(factor):
    world = made_world(2, options=3)
    state = POLICY.start(setting_for(world, RelativeToBest(0.05)))
    run(state, world, 300, 0)
    setting = setting_for(world, RelativeToBest(0.05))._replace(costs=factor * world.costs)
    other = POLICY.carried(state, setting, [0, 1, 2])
    same = POLICY.carried(state, setting_for(world, RelativeToBest(0.05)), [0, 1, 2])
    assert math.exp(other.numbers[fields.PRICE]) == pytest.approx(math.exp(same.numbers[fields.PRICE]))
    np.testing.assert_array_equal(
        run(other, world._replace(costs=factor * world.costs), 300, 1)[0], run(same, world, 300, 1)[0]
    )


def test_a_price_of_one_option_alone_leaves_lambda_where_it_was():
    world = made_world(2, options=3)
    state = POLICY.start(setting_for(world, RelativeToBest(0.05)))
    run(state, world, 300, 0)
    costs = world.costs * np.array([1.0, 1.0, 0.7])
    moved = POLICY.carried(state, setting_for(world, RelativeToBest(0.05))._replace(costs=costs), [0, 1, 2])
    price = math.exp(state.numbers[fields.PRICE]) * state.unit
    assert math.exp(moved.numbers[fields.PRICE]) * moved.unit == pytest.approx(price)
