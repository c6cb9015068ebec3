"""Worlds for the tests of decisions that look at the query."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import frugalbandits as fb
from frugalbandits.core.contextual.contract import ContextualSetting
from frugalbandits.core.contextual.dual_cof import DualCOF
from frugalbandits.core.quality import Quality, RelativeTo

Floats = NDArray[np.float64]
POLICY = DualCOF()


class World(NamedTuple):
    """Encoded queries, the mean quality of each option on each, and costs."""

    queries: Floats
    means: Floats
    costs: Floats
    features: int


def made_world(
    seed: int, options: int = 3, features: int = 2, segments: int = 2, queries: int = 400
) -> World:
    """Return a world whose quality is linear in features and segments, with some curvature."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(queries, features))
    groups = np.eye(segments)[rng.integers(0, segments, queries)] if segments else np.zeros((queries, 0))
    phi = np.hstack([np.ones((queries, 1)), x, groups])
    weights = rng.normal(size=(options, phi.shape[1])) * 0.15
    levels = np.linspace(0.4, 0.85, options)
    means = levels + phi[:, 1:] @ weights[:, 1:].T + 0.1 * np.sin(3 * phi @ weights.T)
    return World(phi, np.clip(means, 0.02, 0.98), np.sort(rng.uniform(0.5, 10, options)), features)


def setting_for(world: World, quality: Quality, memory: int | None = None) -> ContextualSetting:
    reference = int(np.argmax(world.means.mean(0))) if isinstance(quality, RelativeTo) else -1
    width = world.queries.shape[1]
    return ContextualSetting(world.costs, quality, reference, width, world.features, memory)


def run(
    state: Any,
    world: World,
    decisions: int,
    seed: int,
    late: int = 0,
    choose: Any = POLICY.choose,
    learn: Any = POLICY.learn,
) -> tuple[NDArray[np.int64], Floats]:
    """Return the options chosen and their propensities; rewards are Bernoulli and come `late` later."""
    rng, own = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2])
    order = rng.integers(0, len(world.queries), decisions)
    usable = np.ones(len(world.costs), np.bool_)
    arms, propensities = np.zeros(decisions, np.int64), np.zeros(decisions)
    floors = np.zeros((decisions, len(world.costs)))
    for t, place in enumerate(order):
        choice = choose(state, world.queries[place], world.costs, usable, own, floors[t])
        arms[t], propensities[t] = choice.arm, choice.propensity
        if t >= late:
            then = order[t - late]
            arm = int(arms[t - late])
            reward = float(rng.random() < world.means[then, arm])
            learn(state, world.queries[then], arm, float(propensities[t - late]), reward, floors[t - late])
    return arms, propensities


ROUTED = {"small": 0.2, "medium": 1.0, "large": 3.0}
MEANS = {"easy": (0.9, 0.92, 0.95), "hard": (0.3, 0.6, 0.9)}


def routed(session: Any, decisions: int, seed: int, told: float = 1.0) -> list[str]:
    """Ask and tell at once, a share `told` of decisions; return the options."""
    rng, seen = np.random.default_rng(seed), []
    for _ in range(decisions):
        segment = ("easy", "easy", "hard", "rare")[rng.integers(4)]
        decision = session.ask((segment, rng.normal(size=2)))
        seen.append(decision.option)
        mean = MEANS.get(segment, MEANS["hard"])[list(ROUTED).index(decision.option)]
        reward = float(rng.random() < mean)
        if rng.random() < told:
            session.tell(decision.id, reward)
    return seen


def lived_by_segments(bar: str, decisions: int = 300) -> fb.ContextualSession:
    """Return a session that has gone through most of what there is: late feedback, bills, options that go."""
    context = fb.Segments(["easy", "hard"]) + fb.Features(2)
    session = fb.ContextualSession(ROUTED, quality=bar, context=context, seed=5, time_to_live=1e12)
    session._clock = lambda: 1e9
    if decisions:
        routed(session, decisions, seed=1, told=0.8)
        session.observe(("hard", [0.5, 0.5]), "medium", 1.0)
        session.tell(session.ask(("easy", [0.0, 1.0]), costs={"small": 0.4}, metadata={"a": 1}).id, cost=0.3)
        session.add("huge", 9.0)
        session.pause("huge")
    return session
