"""The floors of a decision: kept with it until its reward is told, in the session and in its file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import frugalbandits as fb
from contextual_harness import POLICY, ROUTED, lived_by_segments, made_world, routed, run, setting_for
from frugalbandits.core.contextual.dual_cof import algorithm
from frugalbandits.core.contextual.dual_cof import state as fields
from frugalbandits.core.contract import copied
from frugalbandits.core.jit import machine_code
from frugalbandits.core.quality import AtLeast, RelativeToBest, quality_from_dict
from frugalbandits.core.session.stored import checksum

GOLDEN = sorted((Path(__file__).parents[2] / "golden").glob("contextual-v*.json"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_states_of_every_version_are_read_for_ever(path):
    """Written after 301 decisions, some of them outstanding, with the 150 options after them."""
    kept = json.loads(path.read_text())
    session = fb.ContextualSession.from_json(json.dumps(kept["session"]))
    session._clock = lambda: 1e9
    assert session.decisions == 301 and len(session.pending) == len(kept["session"]["pending"]) > 40
    assert routed(session, 150, seed=7) == kept["next"]
    again = fb.ContextualSession.from_json(session.to_json())
    for one in (session, again):
        one._clock = lambda: 1e9
        one.tell_many(dict.fromkeys(list(one.pending)[:30], 1.0))
        assert one.explain().told == session.explain().told
    assert again.to_json() == session.to_json()


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_with_feedback_at_once_decisions_are_what_they_always_were(path):
    kept = json.loads(path.read_text())
    bar = str(quality_from_dict(kept["session"]["quality"]))
    assert routed(lived_by_segments(bar, decisions=0), 400, seed=3) == kept["first"]


def test_every_format_has_golden_files():
    found = {json.loads(path.read_text())["session"]["version"] for path in GOLDEN}
    assert found == set(range(1, json.loads(lived_by_segments("at-least:0.8").to_json())["version"] + 1))


def test_what_waits_in_format_1_has_no_floor_above_its_propensity():
    data = json.loads(GOLDEN[0].read_text())["session"]
    del data["checksum"]
    data["pending"][0][4] = 1e-9
    session = fb.ContextualSession.from_json(json.dumps({**data, "checksum": checksum(data)}))
    id_ = data["pending"][0][0]
    assert session._waiters[id_].floors[session._pending[id_]] <= 1e-9


def test_a_reward_is_weighed_by_the_floors_of_its_own_decision():
    context = fb.Segments(["easy", "hard"]) + fb.Features(2)
    session = fb.ContextualSession(ROUTED, alpha=0.05, context=context, seed=5)
    routed(session, 50, seed=1)
    early = session.ask(("easy", [0.0, 0.0]))
    own = session._waiters[early.id].floors
    assert own.min() > 0.0
    before = session._state.arms[fields.WEIGHT].copy()
    noise = [algorithm.variance(session._state, arm) for arm in range(3)]
    # Others are asked in between, of which two options are kept out.
    session.ask(("easy", [0.0, 0.0]), among=["small"])
    session.tell(early.id, 1.0)
    np.testing.assert_allclose(session._state.arms[fields.WEIGHT] - before, own / noise)


def test_an_option_that_came_later_was_not_tried_and_one_that_went_counts_no_more():
    context = fb.Segments(["easy", "hard"]) + fb.Features(2)
    session = fb.ContextualSession(ROUTED, alpha=0.05, context=context, seed=5)
    routed(session, 50, seed=1)
    early = session.ask(("easy", [0.0, 0.0]), among=["large"])
    session.retire("small")
    session.add("huge", 9.0)
    before = session._state.arms[fields.WEIGHT].copy()
    session.tell(early.id, 1.0)
    gained = session._state.arms[fields.WEIGHT] - before
    assert gained[0] == gained[2] == 0.0 and gained[1] > 0.0  # medium was barred, huge was not there


@pytest.mark.parametrize("quality", [RelativeToBest(0.05), AtLeast(0.97)])
@pytest.mark.parametrize("memory", [None, 64])
@pytest.mark.parametrize("compiled", [False, True])
def test_to_choose_apart_and_count_is_to_choose(quality, memory, compiled):
    world = made_world(4, options=4, features=3, segments=2)
    whole, parts = (POLICY.start(setting_for(world, quality, memory=memory)) for _ in range(2))
    count = machine_code(algorithm.count) if compiled else algorithm.count

    def apart(state, phi, costs, usable, rng, floors):
        before = copied(state)
        choice = algorithm.choose(POLICY.apart(state), phi, costs, usable, rng, floors)
        for one, other in zip(state, before, strict=True):
            np.testing.assert_array_equal(one, other)
        count(state, phi, costs, choice.arm, choice.propensity)
        return choice

    first, second = run(whole, world, 300, 1, late=3), run(parts, world, 300, 1, late=3, choose=apart)
    for one, other in zip((*first, *whole), (*second, *parts), strict=True):
        np.testing.assert_array_equal(one, other)
