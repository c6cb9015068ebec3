"""Shared parts of the tests: tables of rewards, strategies, and a plain driver of the batch contract."""

from __future__ import annotations

import json
import random

import numpy as np
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.contract import EVENTS, Setting
from frugalbandits.core.jit import has_compiler, machine_code
from frugalbandits.core.options import check_names, check_reference
from frugalbandits.core.quality import RelativeToBest
from frugalbandits.core.registry import policies, resolve
from frugalbandits.core.tally import observe
from reference import Table

#: Decisions of a run beside the plain reference, where that one is slow.
LONGEST = {"voi-cs": 250}
DETERMINISTIC = [name for name in policies() if not resolve(name).randomised]


def setting_of(costs, bar, horizon):
    """Return the setting of arms a1, a2, ...; the bar is an alpha or any other."""
    quality = RelativeToBest(bar) if isinstance(bar, int | float) else bar
    reference = check_reference(quality, check_names(None, len(costs)))
    return Setting.of(np.asarray(costs, float), quality, horizon, reference)


#: The ways in which a plan is made: in plain Python, by machine code, and now this, now that.
MODES = ["plain", "compiled", "switching"] if has_compiler() else ["plain"]


def planner(policy, mode="compiled"):
    """Return a policy's plan; without a compiler, it is plain Python in every mode."""
    plain = type(resolve(policy)).plan
    fast = machine_code(plain)
    if mode == "switching":
        turns = random.Random(0)
        return lambda state, rng: (fast if turns.random() < 0.5 else plain)(state, rng)
    return plain if mode == "plain" else fast


def play(policy, costs, bar, horizon, pull, *, one_pass=False, rng=None, record=None, mode="compiled"):
    """Drive a policy by its contract, one reward at a time.

    `pull(arm)` gives the next reward of an arm, in the caller's order. With `one_pass` every batch is cut
    to one repeat. Returns the arms pulled and the events, both in the caller's order.
    """
    policy = resolve(policy)
    order = np.argsort(np.asarray(costs, float), kind="stable")
    state = policy.begin(setting_of(costs, bar, horizon))
    plan = planner(policy, mode)
    pulled, events = [], []
    while len(pulled) < horizon:
        batch = plan(state, rng)
        for i in range(len(events), int(state.journal.length[0])):
            kind, arm = EVENTS[state.journal.kinds[i]], int(order[state.journal.arms[i]])
            events.append((len(pulled), kind, arm))
        if record is not None:
            record(state, batch, len(pulled))
        repeats = 1 if one_pass else batch.repeats
        arms = batch.arms.tolist()
        left = horizon - len(pulled)
        for i in range(min(left, repeats * len(arms))):
            rank = arms[i % len(arms)]
            reward = pull(int(order[rank]))
            observe(state, rank, 1, reward)
            pulled.append(int(order[rank]))
    return pulled, events


def reward_table(seed, means, horizon, style):
    """Return a table of rewards (arms x horizon); the styles are meant to upset a policy in turn."""
    rng = np.random.default_rng(seed)
    shape = (len(means), horizon)
    if style == "bernoulli":
        return (rng.random(shape) < np.asarray(means)[:, None]).astype(float)
    if style == "fractions":
        return np.clip(rng.normal(np.asarray(means)[:, None], 0.2, shape), 0, 1)
    if style == "blocks":
        # Long runs of ones and zeros, where a mean moves as fast as it can.
        rows = []
        for _ in means:
            row = []
            value = float(rng.integers(2))
            while len(row) < horizon:
                row += [value] * int(rng.geometric(1 / rng.integers(2, 200)))
                value = 1.0 - value
            rows.append(row[:horizon])
        return np.array(rows)
    if style == "turncoats":
        # Good until a random moment and bad from then on, or the other way round.
        turn = rng.integers(1, horizon, len(means))[:, None]
        first = rng.integers(0, 2, len(means))[:, None]
        return np.where(np.arange(horizon) < turn, first, 1 - first).astype(float)
    return np.full(shape, {"zeros": 0.0, "ones": 1.0}[style])


STYLES = ["bernoulli", "bernoulli", "fractions", "blocks", "turncoats", "zeros", "ones"]


@st.composite
def cases(draw, horizons=(20, 1500), arms=(2, 6)):
    """Draw costs, alpha, horizon and a table of rewards."""
    count = draw(st.integers(*arms))
    cost = st.one_of(st.integers(-2, 6).map(float), st.floats(0, 5, allow_nan=False))
    costs = draw(st.lists(cost, min_size=count, max_size=count))
    alpha = draw(st.one_of(st.just(0.0), st.floats(0.0, 0.6), st.floats(0.6, 0.99)))
    horizon = draw(st.integers(max(horizons[0], count + 1), horizons[1]))
    means = draw(st.lists(st.floats(0.02, 0.98), min_size=count, max_size=count))
    style = draw(st.sampled_from(STYLES))
    table = reward_table(draw(st.integers(0, 2**32 - 1)), means, horizon, style)
    return costs, alpha, horizon, table


def pull_from(table):
    """Return a fresh pull function of a table: the i-th pull of an arm has a fixed reward."""
    return Table(table).pull


COSTS = {"tiny": 0.1, "small": 0.4, "large": 3.0}


def fresh(name="cof", horizon=2_000, alpha=0.1, **more):
    return fb.Session(COSTS, alpha, name, horizon, seed=5, **more)


def state_of(session):
    return json.loads(session.to_json())


def run_in_turn(session, steps, seed=0):
    rng = np.random.default_rng(seed)
    arms = []
    for _ in range(steps):
        decision = session.ask()
        arms.append(decision.arm)
        session.tell(decision.id, float(rng.random() < {"tiny": 0.2, "small": 0.8}.get(decision.arm, 0.85)))
    return arms
