"""What a world is made of, and what it refuses."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import frugalbandits as fb
from frugalbandits.lab.worlds import PRESETS

PROBLEM = fb.Problem([0.3, 0.7, 0.8], [1, 2, 9], alpha=0.2, names=["tiny", "small", "large"])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"feedback": 0.0}, r"feedback must be a share in \(0, 1\] or 'wanted', but it is 0.0"),
        ({"feedback": 1.5}, "but it is 1.5"),
        ({"feedback": math.nan}, "but it is nan"),
        ({"feedback": "some"}, "but it is 'some'"),
        ({"feedback": True}, "but it is True"),
        ({"delay": -1}, r"delay must lie in \[0, 10,000,000\], but it is -1"),
        ({"delay": 0.5}, "delay must be a whole number of decisions .* but it is 0.5"),
        ({"delay": ("geometric", -1.0)}, "the mean delay must lie in .* but it is -1.0"),
        ({"delay": ("uniform", 3)}, r"\('geometric', mean\), but it is \('uniform', 3\)"),
        ({"costs": "free"}, "costs must be 'known', 'lognormal' or .* but it is 'free'"),
        ({"drift": "sideways"}, "no drift is called 'sideways'"),
        ({"drift": -3}, "but it is -3"),
        ({"drift": True}, "but it is True"),
        ({"drift": 0.5}, "drift must be a list, but it is 0.5"),
        ({"drift": [fb.Arrival("tiny", 0.5)]}, "a Drift is wanted, but this is Arrival"),
        ({"drift": [fb.Drift(0.5, "medium", 0.4)]}, "no option is called 'medium'"),
        ({"drift": [fb.Drift(0.5, 3, 0.4)]}, "there are 3 options, 0 the first, but one is named by 3"),
        ({"outages": 1.0}, r"must lie in \[0, 1\), but it is 1.0"),
        ({"outages": -0.1}, "but it is -0.1"),
        ({"outages": [0.1, 0.2]}, "a second one is 0.2"),
        ({"outages": "all"}, "outages must be a list, but it is 'all'"),
        ({"options": [fb.Arrival("tiny", 1), fb.Arrival("tiny", 2)]}, "'tiny' arrives more than once"),
        ({"options": [fb.Departure("tiny", 1), fb.Departure("tiny", 2)]}, "'tiny' leaves more than once"),
        ({"options": [fb.Price("tiny", 0.5, 0.0)], "costs": "lognormal"}, "one of 'tiny' is 0"),
        ({"options": ["more"]}, "a Arrival or Departure or Price is wanted, but this is 'more'"),
        ({"seed": -1}, "seed must be a whole number, 0 or more, but it is -1"),
        ({"memory": 0}, "memory must be 'auto', None or a number of decisions, 1 or more, but it is 0"),
        ({"judge_price": -1.0}, "judge_price must not be negative, but it is -1.0"),
    ],
)
def test_bad_settings_are_named(settings, words):
    with pytest.raises(fb.InputError, match=words):
        fb.World(PROBLEM, **settings)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: fb.Drift(-1, 0, 0.5), "the moment of a change must not lie before .* but it is -1"),
        (lambda: fb.Drift(1.5, 0, 0.5), "but it is 1.5"),
        (lambda: fb.Drift(math.inf, 0, 0.5), "the moment of a change"),
        (lambda: fb.Drift(0.5, 0, 1.2), r"the mean of a change must lie in \[0, 1\], but it is 1.2"),
        (lambda: fb.Drift(0.5, 0, 0.5, over=-3), "how long a change takes .* but it is -3"),
        (lambda: fb.Outage(0, 0.5, 0.5), "an outage must end after its start, 0.5, but its end is 0.5"),
        (lambda: fb.Outage(0, 20, 10), "its end is 10"),
        (lambda: fb.Price(0, 0.5, math.nan), "a price"),
        (lambda: fb.Bills(sigma=-1), r"sigma must lie in \[0, 5\], but it is -1"),
        (lambda: fb.Bills(off=0.5), "a factor of 1 or more, but off is 0.5"),
    ],
)
def test_bad_happenings_are_named(make, words):
    with pytest.raises(fb.InputError, match=words):
        make()


def test_lognormal_bills_need_costs_above_nothing():
    free = fb.Problem([0.3, 0.7], [0, 2], alpha=0.2)
    with pytest.raises(fb.InputError, match="that of 'a1' is 0"):
        fb.World(free, costs="lognormal")


def test_the_option_that_sets_the_bar_stays():
    problem = PROBLEM.with_quality("relative-to:large:0.1")
    with pytest.raises(fb.InputError, match="'large' leaves, but the bar is relative to it"):
        fb.World(problem, options=[fb.Departure("large", 0.5)])


@pytest.mark.parametrize(
    ("world", "words"),
    [
        (
            {"outages": [fb.Outage(k, 0.2, 0.6 + k / 10) for k in range(3)]},
            "after 20 decisions every option is down",
        ),
        (
            {"options": [fb.Departure(0, 0.5), fb.Departure(1, 70)]},
            "after 70 decisions there are 1",
        ),
        ({"options": [fb.Arrival(0, 5), fb.Arrival(1, 5)]}, "after 0 decisions there are 1"),
    ],
)
def test_what_cannot_be_at_a_horizon(world, words):
    with pytest.raises(fb.InputError, match=words):
        fb.simulate(fb.World(PROBLEM, **world), "ucb-cs", 100)


@pytest.mark.parametrize("horizon", [3, 10.5, math.nan, -5])
def test_bad_horizons(horizon):
    with pytest.raises(fb.InputError, match="horizon"):
        fb.simulate(fb.World(PROBLEM), "ucb-cs", horizon)


def test_rewards_that_cannot_follow_a_change():
    logged = fb.Empirical({"tiny": [0, 1], "small": [1, 1, 0], "large": [1]})
    with pytest.raises(fb.InputError, match=r"follow means that may change.*Empirical"):
        fb.simulate(fb.World(PROBLEM), "ucb-cs", 100, rewards=logged)
    with pytest.raises(fb.InputError, match=r"give no mean of 0\.1"):
        world = fb.World(PROBLEM, drift=[fb.Drift(0.5, 0, 0.1)])
        fb.simulate(world, "ucb-cs", 100, rewards=fb.TwoPoint(0.25, 1.0))


def test_a_world_is_frozen_equal_by_value_and_explicit_about_what_was_drawn():
    one, same, other = (fb.World(PROBLEM, drift=3, seed=seed) for seed in (1, 1, 2))
    assert one == same and hash(one) == hash(same) and one != other
    assert fb.World(PROBLEM, drift=one.drift, seed=1) == one
    assert all(isinstance(change, fb.Drift) for change in one.drift)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.feedback = 0.5


@pytest.mark.parametrize("drift", ["worse", "better"])
@pytest.mark.parametrize("name", fb.instances())
def test_named_drifts_change_what_is_best_to_use(name, drift):
    problem = fb.instance(name)
    now = problem
    for change in fb.World(problem, drift=drift).drift:
        means = now.means.copy()
        means[now.names.index(change.option)] = change.mean
        then = fb.Problem(means, now.costs, names=now.names, quality=now.quality)
        assert then.costs[then.optimal_arm] != now.costs[now.optimal_arm]
        now = then


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", ["nu1", "goodreads", "swebench"])
def test_every_preset_fits_every_instance(preset, name):
    world = fb.named_world(preset, name, seed=4)
    assert world.moving == (preset != "still")
    result = fb.simulate(world, "ucb-cs", 500, runs=2, progress=False)
    assert (result.pulls.sum(axis=2) == result.times).all()
    assert np.isfinite(result.scaled_regret).all()
    assert world.about in repr(result)


def test_presets_by_name():
    with pytest.raises(fb.InputError, match="no world is called 'spars'; did you mean 'sparse'"):
        fb.named_world("spars", PROBLEM)
    assert fb.named_world("sparse", PROBLEM, feedback=0.3).feedback == 0.3
    assert fb.World(PROBLEM).about == "nothing moves"
