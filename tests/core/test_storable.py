"""Whatever a session accepted, it can store and load: at the extremes of every accepted input."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from extremes_harness import CONTEXTS, Clock, live, settings_of
from frugalbandits.core.contextual.dual_cof.algorithm import DualCOF
from frugalbandits.core.registry import policies


@given(data=st.data())
def test_a_contextual_session_can_be_loaded_whatever_it_accepted(data):
    given_ = settings_of(data)
    context = data.draw(st.sampled_from(CONTEXTS))
    session = fb.ContextualSession(given_.pop("costs"), context=context, seed=0, **given_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        live(data, session, Clock(), data.draw(st.integers(1, 12)))
        text = session.to_json()
        assert fb.ContextualSession.from_json(text).to_json() == text


@given(data=st.data())
def test_a_session_can_be_loaded_whatever_it_accepted(data):
    given_ = {**settings_of(data), "policy": data.draw(st.sampled_from(policies()))}
    try:
        session = fb.Session(given_.pop("costs"), seed=0, horizon=1_000, **given_)
    except fb.InputError:
        return  # not every policy knows every bar, and not every one forgets
    live(data, session, Clock(), data.draw(st.integers(1, 12)))
    text = session.to_json()
    assert fb.Session.from_json(text).to_json() == text


def test_large_features_can_be_stored_after_many_decisions():
    session = fb.ContextualSession({"small": 0.2, "large": 3.0}, 0.05, fb.Features(1), seed=0)
    for _ in range(1_010):
        session.observe([1e6], "large", 1.0)
    assert session._state.gram.max() > 1e15
    fb.ContextualSession.from_json(session.to_json())


@pytest.mark.parametrize("size", [1e4, 1e6])
def test_a_feature_that_is_suddenly_large_can_be_stored_at_once(size):
    """One query many orders of magnitude larger than all before leaves no digits in an updated inverse."""
    session = fb.ContextualSession({"small": 0.2, "large": 3.0}, 0.05, fb.Features(2), seed=0)
    rng = np.random.default_rng(1)
    for turn in range(270):
        decision = session.ask([1.0, 1.0] if turn < 250 else [size, 1.0 if turn % 2 else size])
        session.tell(decision.id, float(rng.random() < 0.5))
        if turn >= 250:
            fb.ContextualSession.from_json(session.to_json())
    session.observe([-size, size], "large", 1.0)
    fb.ContextualSession.from_json(session.to_json())


class Curious(DualCOF):
    """Tries every option on most decisions, which DualCOF never does."""

    def pending_contradiction(self, propensity, floors):
        return None


def test_only_a_policy_says_how_much_it_may_try():
    """The floors of a decision belong to its policy: the loader knows no limit of its own."""
    session = fb.ContextualSession({"a": 1.0, "b": 2.0}, 0.05, fb.Features(1), policy=Curious(), seed=0)
    id_ = session.ask([1.0]).id
    session._waiters[id_].floors[:] = [0.3, 0.4]
    session._waiters[id_].propensity = 0.7
    data = json.loads(session.to_json())
    again = type(session)._restored(session.to_json(), Curious())
    assert again._waiters[id_].floors.tolist() == [0.3, 0.4] == data["pending"][0][6]
    assert "floors that add up to 0.7" in str(DualCOF().pending_contradiction(0.7, [0.3, 0.4]))
