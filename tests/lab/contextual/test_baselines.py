"""Baselines against plain references, and policies of the batch contract against sessions."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.contextual.contract import ContextualPolicy
from frugalbandits.core.contextual.registry import (
    _REGISTRY,
    contextual_policies,
    contextual_title,
    register_contextual,
    resolve_contextual,
)
from frugalbandits.core.policies.glr_cof import GLRCOF
from frugalbandits.errors import InputError
from frugalbandits.lab.contextual import BASELINES
from frugalbandits.lab.contextual.baselines import (
    BatchedGLRCOF,
    BatchedMixCS,
    BatchedVOICS,
    LinearTSCS,
    LinUCB,
    SquareCB,
    VirtualQueue,
)
from reference import routing
from routing_harness import BARS, play, small

REFERENCES = [
    (LinearTSCS(width=0.3), routing.Thompson),
    (LinUCB(weight=0.02, width=0.4), routing.LinUCB),
    (VirtualQueue(tradeoff=3.0, explore=0.8), routing.Queue),
    (SquareCB(sharpness=4.0, rate=2.0, cap=3.0), routing.SquareCB),
]
KINDS = [type(policy).__name__ for policy, _ in REFERENCES]


def referred(kind, policy, problem):
    quality = problem.quality
    return kind(
        problem.option_cost,
        problem.encoded.shape[1],
        dataclasses.asdict(policy),
        alpha=getattr(quality, "alpha", 0.0),
        reference=problem.reference,
        level=getattr(quality, "level", None),
    )


@pytest.mark.parametrize(("policy", "kind"), REFERENCES, ids=KINDS)
@pytest.mark.parametrize("bar", BARS)
@given(seed=st.integers(0, 10_000), delay=st.sampled_from([0, 9]))
def test_a_baseline_is_its_reference(policy, kind, bar, seed, delay):
    problem = small(seed, bar, queries=40)
    reference = referred(kind, policy, problem)
    played = play(problem, policy, 40, seed, delay=delay, feedback=0.7)
    # The generator of the policy, as the driver makes it.
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)).spawn(4)[0])
    told = {each.decisions: each for each in played.told}
    for time, asked in enumerate(played.asked, start=1):
        arm, propensity = reference.choose(np.array(asked.phi), asked.costs, rng)
        assert arm == asked.arm
        if propensity is None:
            assert np.isnan(asked.propensity)
        else:
            assert asked.propensity == pytest.approx(propensity)
        if time in told:
            each = told[time]
            reference.learn(np.array(each.phi), each.arm, each.propensity, each.reward)


@pytest.mark.parametrize("kind", [VirtualQueue, SquareCB])
def test_propensities_are_the_chances(kind):
    """Drawn anew many times from one state, options come as often as they say; false alarms below 1e-4."""
    problem = small(3)
    policy = kind()
    state = policy.start(problem.setting())
    rng = np.random.default_rng(1)
    phi, costs, usable, floors = problem.encoded[0], problem.costs[0], np.ones(3, bool), np.zeros(3)
    for k in range(30):
        kind.learn(state, problem.encoded[k], k % 3, 0.5, float(k % 2), floors)
    if kind is VirtualQueue:
        state.clock[0] = 20
    counts, chances = np.zeros(3), {}
    for _ in range(4_000):
        frozen = tuple(np.copy(part) if isinstance(part, np.ndarray) else part for part in state)
        choice = kind.choose(type(state)(*frozen), phi, costs, usable, rng, floors)
        counts[choice.arm] += 1
        chances[choice.arm] = choice.propensity
    assert sum(chances.values()) == pytest.approx(1.0)
    for arm, chance in chances.items():
        error = np.sqrt(4_000 * chance * (1 - chance))
        assert abs(counts[arm] - 4_000 * chance) < 4.5 * error + 1e-9


@pytest.mark.parametrize("name", BASELINES)
def test_only_usable_options_are_chosen(name):
    policy = resolve_contextual(name)
    problem = small(2, segments=2)
    rng, floors = np.random.default_rng(0), np.zeros(3)
    state = policy.start(problem.setting())
    for time in range(60):
        usable = np.ones(3, bool)
        usable[time % 3] = False
        phi = problem.encoded[time % problem.queries]
        choice = type(policy).choose(state, phi, problem.costs[0], usable, rng, floors)
        assert usable[choice.arm]
        type(policy).learn(state, phi, choice.arm, choice.propensity, float(rng.random() < 0.6), floors)


BATCHED = [(BatchedGLRCOF, GLRCOF(delta=2e-5)), (BatchedVOICS, fb.VOICS())]


@pytest.mark.parametrize(("kind", "policy"), BATCHED, ids=["glr-cof", "voi-cs"])
@pytest.mark.parametrize("bar", BARS)
@pytest.mark.parametrize("by_segment", [False, True])
def test_a_batch_policy_does_as_a_session_does(kind, policy, bar, by_segment):
    """One session for all queries, or one for each segment: asked and told the same, they choose the same."""
    problem = small(5, bar, queries=50)
    played = play(problem, kind(by_segment=by_segment), 250)
    costs = dict(zip(problem.names, problem.option_cost.tolist(), strict=True))
    sessions = [
        fb.Session(costs, quality=problem.quality, policy=policy, memory=None) for _ in problem.segment_names
    ]
    for asked, told in zip(played.asked, played.told, strict=True):
        place = asked.phi[3:].index(1.0) if by_segment else 0
        decision = sessions[place].ask()
        assert decision.option == problem.names[asked.arm]
        sessions[place].tell(decision.id, told.reward)


@pytest.mark.parametrize(("kind", "policy"), BATCHED, ids=["glr-cof", "voi-cs"])
def test_a_batch_policy_waits_for_late_feedback_as_a_session_does(kind, policy):
    problem = small(8, queries=50)
    played = play(problem, kind(), 200, delay=15)
    costs = dict(zip(problem.names, problem.option_cost.tolist(), strict=True))
    session = fb.Session(costs, quality=problem.quality, policy=policy, memory=None)
    told, ids = {each.decisions: each for each in played.told}, []
    for time, asked in enumerate(played.asked, start=1):
        decision = session.ask()
        ids.append(decision.id)
        assert decision.option == problem.names[asked.arm]
        if time in told:
            session.tell(ids[time - 16], told[time].reward)


@pytest.mark.parametrize("bar", BARS)
def test_a_mix_is_that_of_a_session(bar):
    problem = small(6, bar, queries=50)
    played = play(problem, BatchedMixCS(), 250, 4)
    costs = dict(zip(problem.names, problem.option_cost.tolist(), strict=True))
    session = fb.Session(costs, quality=problem.quality, policy="mix-cs", memory=None)
    session._rng = np.random.default_rng(np.random.SeedSequence(4, spawn_key=(0,)).spawn(4)[0])
    for asked, told in zip(played.asked, played.told, strict=True):
        decision = session.ask()
        assert decision.option == problem.names[asked.arm]
        session.tell(decision.id, told.reward)


@pytest.mark.parametrize("name", BASELINES)
def test_what_a_baseline_cannot_do_it_says(name):
    policy = resolve_contextual(name)
    state = policy.start(small().setting())
    said = f"{type(policy).__name__} is a baseline for simulations and cannot"
    for call in (
        lambda: policy.beliefs(state),
        lambda: policy.widened(state, 9),
        lambda: policy.carried(state, small().setting(), [0, 1, 2]),
    ):
        with pytest.raises(InputError, match=said):
            call()


def test_settings_are_checked():
    for make, said in [
        (lambda: LinUCB(weight=0), "weight must be above 0, but it is 0"),
        (lambda: LinUCB(width="wide"), "width must be a number, but it is 'wide'"),
        (lambda: LinearTSCS(width=-1), "width must be above 0, but it is -1"),
        (lambda: VirtualQueue(tradeoff=float("inf")), "tradeoff must be finite, but it is inf"),
        (lambda: SquareCB(cap=0), "cap must be above 0, but it is 0"),
        (lambda: BatchedMixCS(by_segment=True), "MIX-CS by segment would hold the bar in each of them"),
        (lambda: BatchedVOICS(by_segment="yes"), "by_segment must be True or False, but it is 'yes'"),
    ]:
        with pytest.raises(InputError, match=re.escape(said)):
            make()


def test_the_registry():
    assert set(BASELINES) <= set(contextual_policies())
    for name in BASELINES:
        policy = resolve_contextual(name)
        assert isinstance(policy, ContextualPolicy) and resolve_contextual(policy) is policy
        assert policy.title and contextual_title(name) != name
    assert contextual_title("mine") == "mine"
    register_contextual("mine", LinUCB(weight=2.0))
    try:
        assert resolve_contextual("mine") == LinUCB(weight=2.0) and contextual_title("mine") == "mine"
        with pytest.raises(InputError, match="called 'mine' is registered already"):
            register_contextual("mine", LinUCB())
    finally:
        del _REGISTRY["mine"]
    for name, policy, said in [
        ("a:b", LinUCB(), "a policy's name is a string without a colon, but this is 'a:b'"),
        ("mine", fb.VOICS(), "must be a ContextualPolicy, but 'mine' is VOICS"),
    ]:
        with pytest.raises(InputError, match=re.escape(said)):
            register_contextual(name, policy)
