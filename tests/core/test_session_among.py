"""Only some options for a call, conversations that keep theirs, options that are down: nothing stalls."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.contract import Batch, Bounds, Journal, new_journal
from frugalbandits.core.registry import policies, resolve
from frugalbandits.core.tally import Tally, new_tally
from moving_harness import COSTS, again, moving

QUALITY = {"tiny": 0.3, "small": 0.8, "large": 0.85}


CALLS = st.none() | st.sets(st.sampled_from(sorted(COSTS)), min_size=1)


@pytest.mark.parametrize("name", policies())
@given(calls=st.lists(CALLS, min_size=60, max_size=60))
def test_only_what_is_asked_for_is_handed_out(name, calls):
    """And the session is otherwise as it would be: usable again for the next call, whatever this one was."""
    session = moving(name)
    rng = np.random.default_rng(0)
    for some in calls:
        decision = session.ask(among=some)
        assert some is None or decision.option in some
        if hasattr(session._state, "usable"):
            assert session._state.usable.all()
        session.tell(decision.id, float(rng.random() < QUALITY[decision.option]))
    assert sum(arm.decisions for arm in session.explain().arms) == 60


@pytest.mark.parametrize("name", policies())
def test_with_all_options_named_nothing_changes(name):
    one, other = moving(name), moving(name)
    rng = np.random.default_rng(0)
    for _ in range(400):
        first, second = one.ask(), other.ask(among=list(COSTS), exclude=[])
        assert first == second
        reward = float(rng.random() < QUALITY[first.option])
        one.tell(first.id, reward)
        other.tell(second.id, reward)
    assert one.to_json() == other.to_json()


def test_a_stand_in_says_for_whom():
    session = moving("cof")
    first = session.ask(exclude=["tiny"])
    assert first.option == "small" and first.reason == "stands in: 'tiny' is not available"
    assert first.wanted


@pytest.mark.parametrize("name", policies())
def test_a_call_without_the_usual_option_is_an_exception_and_not_a_turn(name):
    """After one call without the option in use, the next one is for it again, not for the rest of a batch."""
    session = moving(name)
    rng = np.random.default_rng(4)
    for _ in range(4_000):
        decision = session.ask()
        session.tell(decision.id, float(rng.random() < {"tiny": 0.2, "small": 0.9}.get(decision.option, 0.4)))
    for option in ("tiny", "large"):  # much is known of them, so that a batch would be long
        for step in range(1_500):
            session.observe(option, float(step % 5 < (1 if option == "tiny" else 2)))
    usual = [session.ask().option for _ in range(20)]
    if usual.count("small") < 20:
        assert name in ("cof-no-exclusive", "cof", "cof-no-combine", "ts-cs", "etc-cs", "mix-cs")
        return
    assert session.ask(exclude=["small"]).option != "small"
    assert [session.ask().option for _ in range(20)] == ["small"] * 20


@pytest.mark.parametrize("name", policies())
@pytest.mark.parametrize("down", sorted(COSTS))
def test_an_option_that_never_answers_is_left_alone(name, down):
    """It fails from the first call on, and each failure is forgotten: ever longer rests, and no stall."""
    session = moving(name)
    rng = np.random.default_rng(1)
    failures, last = 0, 0
    for step in range(3_000):
        decision = session.ask()
        if decision.option == down:
            session.forget(decision.id)
            failures, last = failures + 1, step
        else:
            session.tell(decision.id, float(rng.random() < QUALITY[decision.option]))
    assert failures <= 16
    assert last < 3_000 and session.explain().decisions == 3_000
    assert again(session).ask(50) == session.ask(50)


@pytest.mark.parametrize("name", policies())
def test_where_feedback_is_rare_nobody_rests_for_long(name):
    """One decision in twenty is judged and the others are forgotten: every option is heard of soon."""
    session = moving(name)
    rng = np.random.default_rng(2)
    for _ in range(1_500 if name == "pe-cs" else 600):  # which looks at one option after the other
        decision = session.ask()
        if rng.random() < 0.05:
            session.tell(decision.id, float(rng.random() < QUALITY[decision.option]))
        else:
            session.forget(decision.id)
    assert all(arm.pulls > 0 for arm in session.explain().arms)


@pytest.mark.parametrize("name", policies())
def test_a_fifth_of_the_options_down_at_each_call(name):
    """Every call is answered with an option that is up, and the right one is used most where it is."""
    session = moving(name)
    rng = np.random.default_rng(3)
    used = dict.fromkeys(COSTS, 0)
    for _ in range(3_000):
        down = [option for option in COSTS if rng.random() < 0.2]
        if len(down) == len(COSTS):
            continue
        decision = session.ask(exclude=down)
        assert decision.option not in down
        used[decision.option] += 1
        session.tell(decision.id, float(rng.random() < QUALITY[decision.option]))
    # ETC-CS still looks at all of them equally.
    assert used["tiny"] < 1_500 and (used["small"] > used["tiny"] or name == "etc-cs")


def test_a_conversation_keeps_its_option():
    session = moving()
    first = session.ask(among=["large"])
    assert session.ask(after=first).option == session.ask(after=first.id).option == "large"
    assert session.ask(after=first).reason.startswith("kept")
    assert session.ask(after=first, exclude=["large"]).option != "large"
    session.pause("large")
    assert session.ask(after=first).option != "large"
    session.resume("large")
    session.tell(first.id, 1.0)
    assert session.ask(after=first).option == "large"  # a decision knows its option, told or not
    plain = again(session)
    assert session.ask(after=first.id).option == plain.ask().option  # an id that was told does not
    session.retire("large")
    assert session.ask(after=first).option != "large"
    kept = session.ask(3, after=session.ask(among=["small"]))
    assert [decision.option for decision in kept] == ["small"] * 3


class GreedyState(NamedTuple):
    tally: Tally
    journal: Journal
    usable: Any
    wanted: Any


class Greedy(fb.Policy):
    """A policy that minds absence and says what feedback it wants: that of the dearest usable option."""

    title = "greedy"
    minds_absence = True
    wants = True

    @staticmethod
    def plan(state, rng):
        arm = int(np.flatnonzero(state.usable)[-1])
        state.wanted[0] = arm == len(state.usable) - 1
        return Batch(np.array([arm]), 10)

    def start(self, setting):
        arms = len(setting.costs)
        return GreedyState(new_tally(arms), new_journal(arms), np.ones(arms, np.bool_), np.ones(1, np.int64))

    def bounds(self, state):
        arms = len(state.usable)
        return Bounds(np.zeros(arms), np.ones(arms), ("used",) * arms, -1)

    def reason(self, state, arm):
        return f"the dearest of {int(state.usable.sum())}"


def test_a_policy_that_minds_absence_plans_for_what_is_usable():
    session = fb.Session(COSTS, 0.1, Greedy())
    assert [(d.option, d.wanted) for d in session.ask(2)] == [("large", True)] * 2
    without = session.ask(exclude=["large"])
    assert (without.option, without.wanted, without.reason) == ("small", False, "the dearest of 2")
    assert session.ask().option == "large" and session._state.usable.all()
    session.pause("large")
    assert session._state.usable.tolist() == [True, True, False]
    assert session.ask().option == "small" and session.ask(exclude=["small"]).option == "tiny"
    assert session._state.usable.tolist() == [True, True, False]


def test_registered_policies_say_what_they_can():
    voi = resolve("voi-cs")
    assert voi.minds_absence and voi.learns_costs and voi.forgets and voi.wants
    with pytest.raises(fb.InputError, match=r"ucb-cs cannot learn costs.*voi-cs"):
        moving("ucb-cs", learn_costs=True)
    with pytest.raises(fb.InputError, match=r"cof cannot notice.*voi-cs"):
        moving("cof", memory=100)
