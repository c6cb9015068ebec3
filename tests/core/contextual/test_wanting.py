"""Feedback that is wanted: on few decisions, and on every trial."""

from __future__ import annotations

import numpy as np
import pytest

import frugalbandits as fb
from contextual_harness import POLICY, ROUTED, made_world, routed, setting_for
from frugalbandits.core.contextual.dual_cof import algorithm, caution, wanting
from frugalbandits.core.contextual.dual_cof import state as fields
from frugalbandits.core.quality import AtLeast, RelativeTo, RelativeToBest


@pytest.mark.parametrize("quality", [RelativeToBest(0.05), RelativeTo("a3", 0.1), AtLeast(0.7)])
def test_every_trial_is_wanted_and_most_of_what_is_wanted_is_no_trial(quality, monkeypatch):
    monkeypatch.setattr(wanting, "ALL", 100.0)
    world = made_world(3)
    state = POLICY.start(setting_for(world, quality))
    rng, own = np.random.default_rng(1), np.random.default_rng(2)
    usable, floors = np.ones(3, np.bool_), np.zeros(3)
    kinds = {"unwanted": 0, "trial": 0, "own": 0}
    for t in range(1_500):
        place = rng.integers(len(world.queries))
        choice = algorithm.choose(state, world.queries[place], world.costs, usable, own, floors)
        assert choice.wanted == (choice.propensity != wanting.UNWANTED)
        if t < 100:
            assert choice.wanted
        if not choice.wanted:
            kinds["unwanted"] += 1
            assert not floors.any()
            continue
        trial = choice.propensity < 0.5
        kinds["trial" if trial else "own"] += 1
        assert floors.sum() <= 0.4 + 1e-12 and (trial or choice.propensity >= 0.6 - 1e-12)
        reward = float(rng.random() < world.means[place, choice.arm])
        algorithm.learn(state, world.queries[place], choice.arm, choice.propensity, reward, floors)
    assert kinds["unwanted"] > 500
    assert isinstance(quality, AtLeast) or kinds["own"] > kinds["trial"] > 20


def test_a_reward_stands_for_what_is_not_told():
    world = made_world(3)
    state = POLICY.start(setting_for(world, RelativeToBest(0.05)))
    state.numbers[[fields.WANTED, fields.OPEN, fields.OPEN_TOLD, fields.OTHER]] = 0.2, 100, 50, 400
    # One of five is wanted, and 0.8 of these are the rule's own: they stand for the other four.
    assert wanting.stands_for(state, 0.8) == pytest.approx(1 + 4 / 0.8)
    assert wanting.stands_for(state, 0.1) == wanting.stands_for(state, wanting.UNWANTED) == 1.0
    # A quarter of what is not wanted is told, and half of what is wanted: half of it is told anyway.
    state.numbers[fields.OTHER_TOLD] = 100
    assert wanting.stands_for(state, 0.8) == pytest.approx(1 + 2 / 0.8)
    state.numbers[fields.OTHER_TOLD] = 300
    assert wanting.stands_for(state, 0.8) == 1.0


def test_what_was_out_before_anything_was_known_is_no_reason_not_to_look():
    world = made_world(2)
    prompt, late = (POLICY.start(setting_for(world, AtLeast(0.7))) for _ in range(2))
    usable, floors, own = np.ones(3, np.bool_), np.zeros(3), np.random.default_rng(0)
    phi = world.queries[0]
    choices = [algorithm.choose(late, phi, world.costs, usable, own, floors) for _ in range(401)]
    for choice in choices:
        algorithm.learn(late, phi, choice.arm, choice.propensity, 0.3, floors)
    assert late.numbers[fields.DEBT] == pytest.approx(0.4 * 401)
    assert caution.trust(late) == pytest.approx(caution.TRUST + 0.5 * 0.7 * 400)
    assert caution.blind_choice(late, usable) == -1
    prompt.numbers[fields.DEBT] = late.numbers[fields.DEBT]
    assert caution.blind_choice(prompt, usable) >= 0
    assert POLICY.most_missing(late, 401) - POLICY.most_missing(prompt, 401) == pytest.approx(0.35 * 400)


def test_a_session_says_what_it_wants_and_goes_on_from_its_file():
    context = fb.Segments(["easy", "hard"]) + fb.Features(2)
    session = fb.ContextualSession(ROUTED, alpha=0.05, context=context, seed=5)
    routed(session, 1_000, seed=1)
    rng = np.random.default_rng(0)
    wishes = []
    for _ in range(600):
        decision = session.ask(("easy", rng.normal(size=2)))
        wishes.append(decision.wanted)
        if decision.wanted:
            session.tell(decision.id, 1.0)
    assert 50 < wishes.count(False) < 550
    again = fb.ContextualSession.from_json(session.to_json())
    assert len(again.pending) == wishes.count(False)
    assert routed(again, 50, seed=2) == routed(session, 50, seed=2)
    assert again.to_json() == session.to_json()
