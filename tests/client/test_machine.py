"""A way to the service that is cut at random: whatever was told is counted, and once."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import frugalbandits as fb
from client_harness import COSTS, House

NAMES = list(COSTS)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("way"), st.sampled_from(["up", "down", "deaf", "storeless"])),
        st.tuples(st.just("ask"), st.sampled_from(NAMES)),
        st.tuples(st.just("tell"), st.integers(0, 20), st.sampled_from([0.0, 0.5, 1.0])),
        st.tuples(st.just("many"), st.integers(0, 20), st.integers(0, 20)),
        st.tuples(st.just("forget"), st.integers(0, 20)),
        st.tuples(st.just("observe"), st.sampled_from(NAMES), st.sampled_from([None, "a", "b"])),
        st.tuples(st.just("restart")),
    ),
    max_size=30,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=STEPS)
def test_all_that_was_told_is_counted_once(kind, eager, tmp_path_factory, steps):
    house = House(kind)
    spool = tmp_path_factory.mktemp("spool") / "spool.db"
    try:
        client = house.client(spool=spool)
        session = client.create("shop", COSTS, alpha=0.1)
        decisions, rewards, wanted, marked = [], {}, Counter(), set()
        for step in steps:
            match step:
                case ("way", state):
                    house.way.state = state
                case ("ask", option):
                    decision = session.ask(among=[option])
                    assert decision.option == option
                    decisions.append(decision)
                case ("tell", number, reward) if number < len(decisions):
                    told(session.tell, decisions[number], reward, rewards)
                case ("many", one, two) if one != two and max(one, two) < len(decisions):
                    fresh = [decisions[each] for each in (one, two) if decisions[each].id not in rewards]
                    session.tell_many((each.id, 1.0) for each in fresh)
                    rewards.update((each.id, 1.0) for each in fresh)
                case ("forget", number) if number < len(decisions):
                    decision = decisions[number]
                    if decision.id not in rewards and not decision.fallback:
                        session.forget(decision.id)
                        rewards[decision.id] = None
                case ("observe", option, None):
                    session.observe(option, 1.0)
                    wanted[option] += 1
                case ("observe", option, id_):
                    if id_ not in marked:
                        session.observe(option, 1.0, id=id_)
                        wanted[option] += 1
                        marked.add(id_)
                case ("restart",):
                    # The old one goes on: what both say counts once.
                    client = house.client(spool=spool)
                    session = client.session("shop", fallback=NAMES)
        house.way.state = "up"
        for each in house._clients:
            assert each.flush(30)
            assert each.dropped == 0
        for decision in decisions:
            wanted[decision.option] += rewards.get(decision.id) is not None
        assert {arm.name: arm.pulls for arm in session.explain().arms} == {
            name: wanted[name] for name in NAMES
        }
    finally:
        house.close()


def told(tell, decision, reward, rewards):
    """Tell a decision what it was told before, if it was: something else is refused now, or dropped later."""
    before = rewards.setdefault(decision.id, reward)
    if before is not None:
        tell(decision.id, before)


def test_the_model_would_notice(house, eager):
    """What is told twice under two ids is counted twice: so a count that is right says something."""
    session = house.client().create("shop", COSTS, alpha=0.1)
    session.observe("small", 1.0)
    session.observe("small", 1.0)
    assert session.explain().arms[0].pulls == 2
    with pytest.raises(fb.Conflict):
        session.observe("small", 1.0, id="a")
        session.observe("small", 0.0, id="a")
