"""What the tests of worlds share: worlds of any kind, and the driver in plain Python, with notes."""

from __future__ import annotations

from types import FunctionType
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.registry import resolve
from frugalbandits.lab.rewards import Bernoulli
from frugalbandits.lab.worlds import driver, hooks
from frugalbandits.lab.worlds.running import run_once
from frugalbandits.lab.worlds.script import law_of, script_of


class Step(NamedTuple):
    """One decision: the option, its mean, who was up, and its reward and bill."""

    option: int
    mean: float
    up: tuple[bool, ...]
    reward: float
    bill: float | None


class Played(NamedTuple):
    steps: list[Step]
    books: object


def play(world, policy, horizon, table=None, seed=0, run=0, plan=None):
    """Run the driver as plain Python; the i-th use of an option has the reward table[option, i], if given."""
    policy = resolve(policy)
    noted, ups, bills = [], [], []
    used = [0] * world.problem.arms
    script = script_of(world, horizon, policy)
    parts = hooks.hooks_of(type(policy), policy.begin(script.segments[0].setting)._fields)
    charge = parts.get("charge", hooks.charge_nobody)

    def reward_of(law, option, mean, rng):
        if table is None:
            reward = driver.draw_reward(law, option, mean, rng)
        else:
            reward = float(table[option, used[option]])
            used[option] += 1
        noted.append((int(option), float(mean), reward))
        return reward

    def who_is_up(law, path, epoch, rng, up):
        driver.who_is_up(law, path, epoch, rng, up)
        ups.append((len(noted), tuple(up.tolist())))

    def note_bill(state, arm, cost):
        bills.append(cost)
        charge(state, arm, cost)

    scope = {
        **driver.drive.__globals__,
        **parts,
        **({} if plan is None else {"plan": plan}),
        "draw_reward": reward_of,
        "who_is_up": who_is_up,
        "charge": note_bill,
    }
    plain = FunctionType(driver.drive.__code__, scope)
    times = np.arange(1, horizon + 1)
    books = run_once(
        world,
        policy,
        script,
        law_of(world, Bernoulli()),
        times,
        seed,
        run,
        np.zeros(1, np.bool_),
        plain,
    )
    steps, place = [], 0
    for time, (option, mean, reward) in enumerate(noted):
        while place + 1 < len(ups) and ups[place + 1][0] <= time:
            place += 1
        steps.append(Step(option, mean, ups[place][1], reward, bills[time] if bills else None))
    return Played(steps, books)


def plainly(world):
    """What happens in a world, as the reference has it."""
    names = world.problem.names
    told = []
    for each in world.happenings:
        option = names.index(each.option)
        if isinstance(each, fb.Drift):
            told.append(("change", each.at, option, each.mean, each.over))
        elif isinstance(each, fb.Outage):
            told.append(("outage", option, each.start, each.end))
        elif isinstance(each, fb.Arrival):
            told.append(("arrival", option, each.at))
        elif isinstance(each, fb.Departure):
            told.append(("departure", option, each.at))
        else:
            told.append(("price", option, each.at, each.cost))
    return told


SHARE = st.one_of(st.floats(0.01, 0.99), st.integers(1, 90))
MEAN = st.floats(0.02, 0.98)


@st.composite
def worlds(draw, arms=(3, 5), moving=True, **fixed):
    """Draw a world of which two options, the first ones, always stay: so there is always a choice."""
    count = draw(st.integers(*arms))
    costs = draw(st.lists(st.floats(0.1, 5.0), min_size=count, max_size=count, unique=True))
    problem = fb.Problem(
        draw(st.lists(MEAN, min_size=count, max_size=count)), costs, draw(st.sampled_from([0.0, 0.1, 0.4]))
    )
    if not moving:
        return fb.World(problem, **fixed)
    anyone, movers = st.integers(0, count - 1), st.integers(2, count - 1)
    changes = st.builds(fb.Drift, SHARE, anyone, MEAN, st.sampled_from([0, 0, 7, 0.4]))
    start = draw(st.integers(0, 60))
    outages = st.builds(fb.Outage, movers, st.just(start), st.integers(start + 1, 90))
    options = []
    for option in range(2, count):
        kind = draw(st.sampled_from(["", "", "arrival", "departure"]))
        if kind:
            options.append((fb.Arrival if kind == "arrival" else fb.Departure)(option, draw(SHARE)))
    options += draw(st.lists(st.builds(fb.Price, anyone, SHARE, st.floats(0.1, 5.0)), max_size=2))
    parts = {
        "feedback": draw(st.sampled_from([1.0, 0.5, "wanted"])),
        "delay": draw(st.sampled_from([0, 1, 13, ("geometric", 4.0)])),
        "costs": draw(st.sampled_from(["known", "lognormal"])),
        "drift": draw(st.lists(changes, max_size=3)),
        "outages": [draw(st.sampled_from([0.0, 0.3])), *draw(st.lists(outages, max_size=2))],
        "options": options,
        "seed": draw(st.integers(0, 99)),
        **fixed,
    }
    return fb.World(problem, **parts)
