"""Shared parts of the tests of sessions in a moving world: a clock, and a plain model of what is counted."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import frugalbandits as fb
from frugalbandits.core.registry import resolve

COSTS = {"tiny": 0.125, "small": 0.5, "large": 3.0}


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self, now=1_000.0):
        self.now = now

    def __call__(self):
        return self.now


def moving(policy="voi-cs", costs=COSTS, alpha=0.1, clock=None, **more):
    """Return a session of a policy that may be any, on a clock of ours."""
    session = fb.Session(costs, alpha, policy, **{"horizon": 20_000, "seed": 5, **more})
    if clock is not None:
        session._clock = clock
    return session


def again(session):
    """Store a session and read it back, on the same clock."""
    text = session.to_json()
    restored = fb.Session.from_json(text)
    restored._clock = session._clock
    assert restored.to_json() == text
    return restored


class Model:
    """What a session should have counted: slow, plain and exact, and it knows nothing of the package."""

    def __init__(self, costs, learns=False):
        self.learns = learns
        self.prices = dict(costs)
        self.standing = dict.fromkeys(costs, "active")
        self.asked = dict.fromkeys(costs, 0)
        self.rewards = {name: [] for name in costs}
        self.lost = dict.fromkeys(costs, 0)
        self.spent = {name: Fraction(0) for name in costs}
        self.pending = {}
        self.option = {}
        self.price = {}
        self.born = {}
        self.billed = set()
        self.owed = set()

    def usable(self, among=None, exclude=()):
        return {
            name
            for name, each in self.standing.items()
            if each == "active" and (among is None or name in among) and name not in exclude
        }

    def ask(self, id_, name, now):
        self.asked[name] += 1
        self.pending[id_] = self.option[id_] = name
        self.price[id_] = Fraction(self.prices[name])
        self.spent[name] += self.price[id_]
        self.born[id_] = now

    def tell(self, id_, reward, cost):
        name = self.option[id_]
        if cost is not None:
            self.spent[name] += Fraction(cost) - self.price[id_]
            self.billed.add(id_)
            self.owed.discard(id_)
        if reward is not None:
            del self.pending[id_]
            self.rewards[name].append(Fraction(reward))
            if self.learns and id_ not in self.billed:
                self.owed.add(id_)

    def lose(self, id_):
        self.lost[self.pending.pop(id_)] += 1

    def add(self, name, price):
        self.prices[name], self.standing[name] = price, "active"
        self.asked[name] = self.lost[name] = 0
        self.rewards[name], self.spent[name] = [], Fraction(0)


def lived(name, clock=None):
    """Return a session that has seen everything that can happen to one."""
    clock = clock or Clock()
    learns = resolve(name).learns_costs
    session = moving(name, clock=clock, time_to_live=100.0, learn_costs=learns, judge_price=0.01, worth=2.0)
    rng = np.random.default_rng(1)
    for step in range(300):
        clock.now += 1.0
        decision = session.ask(metadata={"step": step} if step % 50 == 0 else None)
        if step % 3:
            bad = decision.option == "tiny" or step > 200
            session.tell(decision.id, float(rng.random() < (0.2 if bad else 0.9)))
        if step % 5 == 0 and learns:
            session.tell(decision.id, cost=round(rng.random(), 3))
        if step == 100:
            session.add("new", 0.25)
            session.set_cost("large", 0.75)
        if step == 150:
            session.observe("new", reward=1.0, cost=0.5)
            session.retire("small")
            session.pause("tiny")
    for id_ in range(3):
        with pytest.raises(fb.InputError):
            session.tell(id_, cost=1.0)
    return session


def following(session, steps=40):
    """Return what a session hands out next, while time goes on; every second decision is told."""
    options = []
    for step in range(steps):
        session._clock.now += 3.0
        decision = session.ask()
        options.append([decision.option, decision.wanted])
        if step % 2:
            session.tell(decision.id, float(step % 4 == 1))
    return options
