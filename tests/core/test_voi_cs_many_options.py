"""VOI-CS with many options: short cuts of a plan against the same without them, bit for bit."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frugalbandits.core.policies.looking import floats, ordered, wholes
from frugalbandits.core.policies.voi_cs import beliefs as module
from frugalbandits.core.policies.voi_cs import judges as tree
from frugalbandits.core.policies.voi_cs import rule
from frugalbandits.core.policies.voi_cs.beliefs import (
    BLOCK,
    MANY,
    Beliefs,
    expect,
    weigh,
    weigh_by_pairs,
    weigh_by_tree,
)
from frugalbandits.core.policies.voi_cs.view import FEW, by_price
from reference import voi_cs as reference

SEEDS = st.integers(0, 2**32 - 1)


class World(NamedTuple):
    """What a plan is made of."""

    pulls: list[float]
    sums: list[float]
    prices: list[float]
    usable: list[bool]
    keep: float
    level: float


def world_of(seed, arms, rewards=None):
    """Counts and sums of all kinds: few and many pulls, equal and distinct, of rewards 0 or 1 or between."""
    rng = np.random.default_rng(seed)
    means = rng.uniform(*np.sort(rng.uniform(0, 1, 2)), arms)
    total = int(rng.choice([0, arms // 2, arms, 3 * arms, 30 * arms, 10**4 * arms, 10**9]))
    pulls = np.floor(total * rng.dirichlet(np.full(arms, rng.choice([0.05, 0.5, 5.0, 1e4]))))
    rewards = rewards or rng.choice(["binary", "continuous", "faded", "all or nothing"])
    if rewards == "binary":
        sums = rng.binomial(pulls.astype(int), means).astype(float)
    elif rewards == "all or nothing":
        sums = pulls * rng.integers(0, 2, arms)
    else:
        pulls = pulls * rng.uniform(0.1, 1, arms) if rewards == "faded" else pulls
        noise = rng.normal(size=arms) * np.sqrt(pulls * means * (1 - means))
        sums = np.clip(pulls * means + noise, 0, pulls)
    prices = np.sort(rng.uniform(0, 1, arms)).round(int(rng.choice([1, 2, 15])))
    usable = rng.random(arms) < rng.choice([1.0, 0.7])
    usable[rng.integers(arms)] = True
    level = float(rng.choice([-1.0, -1.0, 0.0, 0.5, 0.9, 1.0]))
    keep = 1.0 if level >= 0 else float(rng.choice([1.0, 1 - 1e-9, 0.95, 0.8, 0.3]))
    prices = (prices - prices[0]) * rng.choice([1.0, 1.0, 1e-3, 1e5])
    return World(pulls.tolist(), sums.tolist(), prices.tolist(), usable.tolist(), keep, level)


def close_race(seed):
    """A few arms with similar means, so that each of them may be the strongest judge or the leader."""
    rng = np.random.default_rng(seed)
    arms = int(rng.integers(4, 16))
    pulls = np.floor(10 ** rng.uniform(0, rng.choice([1.0, 2.0, 4.0]), arms))
    means = np.clip(rng.uniform(0.2, 0.95) + rng.choice([0.01, 0.1, 0.3]) * rng.normal(size=arms), 0.01, 0.99)
    sums = pulls * rng.beta(pulls * means, pulls * (1 - means))
    prices = np.sort(rng.uniform(0, rng.choice([0.01, 0.1, 1.0]), arms))
    keep = float(rng.choice([1.0, 0.95, 0.8]))
    return World(pulls.tolist(), sums.tolist(), (prices - prices[0]).tolist(), [True] * arms, keep, -1.0)


def no_beliefs(arms):
    halves = [floats(arms) for _ in range(3)], [floats(arms) for _ in range(3)]
    return Beliefs(
        *halves[0],
        wholes(arms),
        *halves[1],
        *(floats(arms + 1) for _ in range(5)),
        floats(arms // module.BLOCK + 1),
    )


def weighed(world, everybody=True):
    """Return what is believed, and the leader."""
    arms = len(world.pulls)
    beliefs = no_beliefs(arms)
    judging = [everybody or k == arms // 2 for k in range(arms)]
    weigh(world.pulls, world.sums, judging, world.keep, world.level, beliefs)
    return beliefs, expect(world.prices, world.usable, beliefs)


def pairs_of(world):
    """Return z_k, the strongest judge and S_k of each arm from all pairs of arms."""
    beliefs = weighed(world)[0]
    arms = len(world.pulls)
    weigh_by_pairs(world.pulls, world.sums, list(range(arms)), arms, world.keep, beliefs)
    return beliefs.z, beliefs.judge, beliefs.lack


def tree_of(world):
    """Return the same from the tree."""
    beliefs = weighed(world)[0]
    weigh_by_tree(world.pulls, world.sums, world.keep, beliefs)
    return beliefs.z, beliefs.judge, beliefs.lack


@given(SEEDS, st.integers(MANY, 2 * MANY))
def test_a_tree_finds_the_judges_that_all_pairs_find(seed, arms):
    world = world_of(seed, arms)
    assert tree_of(world) == pairs_of(world)


@given(SEEDS)
def test_a_tree_finds_them_in_close_races(seed):
    """Bounds that are wrong by a little show here: few arms, similar means, pulls of every size."""
    for part in range(20):
        world = close_race(seed + part)
        assert tree_of(world) == pairs_of(world)


@given(SEEDS)
def test_nothing_hangs_on_how_many_options_are_many(seed):
    """Half of the time there is a level, which counts after the judges do."""
    world = world_of(seed, MANY)
    by_tree = weighed(world)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MANY", MANY + 1)
        assert weighed(world) == by_tree


@pytest.mark.parametrize("rewards", ["binary", "continuous", "faded"])
def test_comparisons_grow_much_less_than_pairs_do(rewards, monkeypatch):
    """Four times as many options make 16 times as many pairs. Likelihood ratios become 2.1 times as many for
    rewards of 0 or 1, and 5.2 and 6.0 times as many where no two options are equal.
    """
    calls = 0
    root_for_judge = tree.root_for_judge

    def counted(*arguments):
        nonlocal calls
        calls += 1
        return root_for_judge(*arguments)

    monkeypatch.setattr(tree, "root_for_judge", counted)
    counts = []
    for arms in (150, 600):
        calls = 0
        rng = np.random.default_rng(arms)
        means = rng.uniform(0.3, 0.9, arms)
        pulls = 1.0 + rng.poisson(5, arms)
        if rewards == "faded":
            pulls *= rng.uniform(0.5, 1, arms)
        sums = pulls * rng.beta(pulls * means, pulls * (1 - means))
        if rewards == "binary":
            sums = rng.binomial(pulls.astype(int), means).astype(float)
        world = World(
            pulls.tolist(), sums.tolist(), [k / arms for k in range(arms)], [True] * arms, 0.9, -1.0
        )
        weighed(world)
        counts.append(calls)
    assert counts[1] <= 7 * counts[0]
    assert counts[1] < 600 * 600 / 10


@given(SEEDS, st.integers(2, 3 * BLOCK), st.booleans())
def test_what_an_answer_saves_is_the_same_over_all_arms(seed, arms, everybody):
    assert_saves_the_same(world_of(seed, arms), everybody)


@given(SEEDS)
def test_what_an_answer_saves_is_the_same_in_close_races(seed):
    with pytest.MonkeyPatch.context() as patch:
        for each in (module, rule):
            patch.setattr(each, "BLOCK", 2)
        for part in range(20):
            assert_saves_the_same(close_race(seed + part), True)


def assert_saves_the_same(world, everybody):
    beliefs, leader = weighed(world, everybody)
    for k in range(leader + 1, len(world.pulls)):
        if world.usable[k] and 1e-15 < beliefs.good[k] < 1 - 1e-9:
            saved = rule.saved_by(k, leader, leader, world.prices, world.usable, 0.1, beliefs)
            assert saved == saved_over_all(k, leader, world, beliefs)


def saved_over_all(k, leader, world, beliefs):
    share, paid, lack, prices, good = beliefs.share, beliefs.paid, beliefs.lack, world.prices, beliefs.good[k]
    if_so = min(
        beliefs.before[k],
        share[k] * prices[k] - paid[k],
        beliefs.after[k + 1] - paid[k] - (1.0 - share[k]) * prices[k],
    )
    up = 1.0 / (1.0 - good)
    if_not = min(beliefs.before[k], lack[k] * up + share[k] * prices[k] - paid[k])
    for j in range(k + 1, len(prices)):
        if world.usable[j]:
            shares = share[k] + (share[j] - share[k + 1]) * up
            pays = paid[k] + (paid[j] - paid[k + 1]) * up
            if_not = min(if_not, lack[j] + shares * prices[j] - pays)
    return beliefs.regret[leader] - good * if_so - (1.0 - good) * if_not


@given(SEEDS, st.integers(1, 3 * BLOCK))
def test_least_values_of_many_arms_are_those_of_each(seed, arms):
    world = world_of(seed, arms)
    beliefs, leader = weighed(world)
    usable = [k for k in range(arms) if world.usable[k]]
    for start in range(arms + 1):
        others = [beliefs.lack[k] + world.prices[k] for k in usable if k >= start and k != leader]
        assert beliefs.without[start] == min([module.NOTHING, *others])
    for block in range((arms + BLOCK - 1) // BLOCK):
        regrets = [beliefs.regret[k] for k in usable if k // BLOCK == block]
        assert beliefs.blocks[block] == min(regrets, default=math.inf)


@pytest.mark.parametrize("level", [-1.0, 0.7])
@pytest.mark.parametrize("rewards", ["binary", "continuous"])
def test_decisions_among_many_are_those_of_the_plain_reference(level, rewards):
    arms = MANY + 6
    for seed in range(2):
        world = world_of(seed, arms, rewards)
        keep = 1.0 if level >= 0 else 0.9
        n, s, everybody = world.pulls, world.sums, [True] * arms
        choice = rule.choose(n, s, n, n, world.prices, everybody, everybody, keep, level, 1e4, 0.0)
        assert choice.arm == reference.choose(n, s, world.prices, keep, level, list(range(arms)), 1e4)


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=70))
def test_ordered_sorts_by_three_keys_and_keeps_the_order_of_equals(rows):
    columns = [[row[k] for row in rows] for k in range(3)]
    assert list(ordered(*columns)) == sorted(range(len(rows)), key=lambda place: rows[place])


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 7.0]), min_size=1, max_size=3 * FEW))
def test_arms_are_arranged_by_price_however_many_there_are(prices):
    assert list(by_price(prices)) == sorted(range(len(prices)), key=prices.__getitem__)
