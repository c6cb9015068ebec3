"""Options that come, go and change their price: what is kept, what is said, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.carried import carried
from frugalbandits.core.registry import policies, resolve
from harness import MODES, planner, setting_of
from moving_harness import COSTS, again, moving

QUALITY = {"tiny": 0.3, "small": 0.8, "large": 0.85, "new": 0.9}


def run(session, steps, seed=0, **wish):
    """Ask and tell in turn; return how often each option was handed out."""
    rng = np.random.default_rng(seed)
    counts = dict.fromkeys(QUALITY, 0)
    for _ in range(steps):
        decision = session.ask(**wish)
        counts[decision.option] += 1
        session.tell(decision.id, float(rng.random() < QUALITY[decision.option]))
    return counts


@pytest.mark.parametrize("name", policies())
def test_every_policy_goes_on_from_what_was_seen(name):
    """The best option becomes the cheapest: from then on nothing else is worth a decision for long."""
    session = moving(name)
    run(session, 3_000)
    seen = {arm.name: arm.pulls for arm in session.explain().arms}
    session.set_cost("large", 0.01)
    assert {arm.name: arm.pulls for arm in session.explain().arms} == seen
    counts = run(session, 3_000, seed=1)
    explores = name in ("cof", "cof-no-exclusive", "cof-no-combine", "etc-cs")
    assert counts["large"] > (1_000 if explores else 2_500)


@pytest.mark.parametrize("name", policies())
def test_a_new_option_is_found_and_a_retired_one_is_not_used(name):
    session = moving(name)
    run(session, 1_500)
    session.add("new", 0.25)
    session.retire("large")
    counts = run(session, 3_000, seed=1)
    assert counts["large"] == 0 and counts["new"] > 1_200
    assert {arm.name for arm in session.explain().arms} == {"tiny", "small", "new"}
    assert again(session).explain().retired[0].name == "large"


@pytest.mark.parametrize("name", policies())
def test_one_option_may_be_left(name):
    session = moving(name)
    run(session, 50)
    session.retire("tiny")
    session.retire("large")
    assert run(session, 50)["small"] == 50
    with pytest.raises(fb.InputError, match="'small' is the last option"):
        session.retire("small")


def test_conclusions_survive_another_order_of_costs():
    """'Ruled out' is about quality: it is drawn again from what was seen, and not logged twice."""
    session = moving(fb.COF(delta=0.01), alpha=0.3)
    run(session, 10_000)
    assert [event[1:] for event in session.explain().events] == [("infeasible", "tiny"), ("optimal", "small")]
    session.set_cost("tiny", 0.25)
    assert session.explain().decision == "small"  # it follows before the next decision
    assert run(session, 100)["small"] == 100
    assert len(session.explain().events) == 2 and session.explain().decision == "small"
    assert [change.kind for change in session.changes()] == ["conclusion", "conclusion", "price"]


def test_a_conclusion_that_no_longer_holds_is_dropped_in_words():
    session = moving(fb.COF(delta=0.01), alpha=0.3)
    run(session, 10_000)
    session.add("new", 0.25)
    assert run(session, 3)["new"] > 0
    run(session, 20)
    changes = session.changes()
    assert ("dropped", "small") in [(change.kind, change.option) for change in changes]
    assert "no longer settled on" in str(changes)
    run(session, 5_000)
    # Drawn anew, it is an event again; what was ruled out before stays so.
    assert [event[1:] for event in session.explain().events].count(("infeasible", "tiny")) == 1
    assert session.explain().decision == "new"


@pytest.mark.parametrize("name", policies())
@given(data=st.data())
def test_the_order_of_tells_leaves_no_trace_whatever_changed_in_between(name, data):
    learns = resolve(name).learns_costs
    one, other = (moving(name, learn_costs=learns) for _ in range(2))
    count = data.draw(st.integers(5, 30))
    ids = [decision.id for decision in one.ask(count)]
    other.ask(count)
    feedback = [
        (id_, kind, data.draw(st.floats(0, 1) if kind == "reward" else st.floats(0, 5)))
        for id_ in ids
        for kind in ("reward", "cost")
        if kind == "reward" or learns
    ]
    changes = [
        lambda s: s.set_cost("large", 0.25),
        lambda s: s.pause("small"),
        lambda s: s.add("new", 0.5),
        lambda s: s.retire("tiny"),
        lambda s: s.resume("small"),
        lambda s: s.observe("large", 0.5),
    ]
    for session, order in ((one, feedback), (other, data.draw(st.permutations(feedback)))):
        places = sorted(data.draw(st.lists(st.integers(0, len(order)), min_size=6, max_size=6)))
        for place, (id_, kind, value) in enumerate(order):
            for change, at in zip(changes, places, strict=True):
                if at == place:
                    change(session)
            session.tell(id_, **{kind: value})
        for change, at in zip(changes, places, strict=True):
            if at == len(order):
                change(session)
    assert one.to_json() == other.to_json()
    assert one.ask(20) == other.ask(20)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", policies())
@given(data=st.data())
def test_a_carried_state_is_as_good_as_one_that_saw_the_same(name, mode, data):
    """Carried there and back, a state plans what a fresh one with the same tally plans."""
    policy = resolve(name)
    setting = setting_of([1.0, 2.0, 3.0], 0.1, 1_000)
    state = policy.begin(setting)
    for k in range(3):
        state.tally.pulls[k] = data.draw(st.integers(1, 300))
        state.tally.sums[k] = data.draw(st.integers(0, int(state.tally.pulls[k])))
    order = data.draw(st.permutations(range(3)))
    moved = carried(policy, state, setting, order)
    back = carried(policy, moved, setting, np.argsort(order))
    for part, same in zip(state.tally, back.tally, strict=True):
        assert part.tolist() == same.tolist()
    plan = planner(name, mode)
    one, two = (plan(each, np.random.default_rng(0) if policy.randomised else None) for each in (state, back))
    assert one.arms.tolist() == two.arms.tolist() and one.repeats == two.repeats


def test_a_retired_option_keeps_its_books():
    session = moving()
    gone, _ = session.ask(2, among=["large"])
    session.retire("large")
    session.tell(gone.id, reward=1.0, cost=5.0)
    session.observe("large", reward=0.5)
    report = session.explain().retired[0]
    assert (report.name, report.pulls, report.mean, report.status) == ("large", 2, 0.75, "retired")
    assert report.spent == 5.0 + 3.0 * (report.decisions - 1)
    assert again(session).explain().retired == session.explain().retired
    assert "large" not in {decision.option for decision in session.ask(50)}


def test_pausing_leaves_the_bar_as_it_is():
    session = moving("cof")
    run(session, 300)
    before = session.explain().threshold
    session.pause("large")
    assert session.explain().threshold == before
    assert run(session, 60)["large"] == 0
    line = next(line for line in str(session.explain()).splitlines() if line.startswith("large"))
    assert line.endswith("paused")
    session.pause("small")
    session.pause("tiny")
    stored = session.to_json()
    with pytest.raises(fb.InputError, match=r"every option is paused.*resume one"):
        session.ask()
    assert session.to_json() == stored
    str(session.explain())
    session.resume("tiny")
    assert run(session, 5)["tiny"] == 5


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s.set_cost("large", -1), "'large' must be 0 or more"),
        (lambda s: s.set_cost("large", float("nan")), "must be finite, but it is nan"),
        (lambda s: s.set_cost("large", float("inf")), "must be finite, but it is inf"),
        (lambda s: s.set_cost("large", "3"), "must be a number, but it is '3'"),
        (lambda s: s.set_cost("huge", 1), "no option is called 'huge'"),
        (lambda s: s.set_cost("gone", 1), "'gone' was retired"),
        (lambda s: s.set_cost(3, 1), "called by its name, but this is 3"),
        (lambda s: s.add("large", 1), "'large' is there already: take another name"),
        (lambda s: s.add("gone", 1), "'gone' is there already and was retired"),
        (lambda s: s.add("x", -0.5), "must be 0 or more"),
        (lambda s: s.add("x", float("nan")), "nan"),
        (lambda s: s.add("two\nlines", 1), "line ends"),
        (lambda s: s.add("", 1), "non-empty"),
        (lambda s: s.add(7, 1), "7"),
        (lambda s: s.pause("huge"), "no option is called 'huge'"),
        (lambda s: s.pause("gone"), "'gone' was retired"),
        (lambda s: s.resume("gone"), "'gone' was retired"),
        (lambda s: s.retire("gone"), "'gone' was retired"),
        (lambda s: s.retire("huge"), "'huge'"),
        (lambda s: s.observe("huge", 1.0), "'huge'"),
        (lambda s: s.observe("large"), "both are None"),
        (lambda s: s.observe("large", 2.0), "for option 'large' it is 2.0"),
        (lambda s: s.observe("large", cost=-1), "must be 0 or more"),
        (lambda s: s.ask(among=["huge"]), "no option is called 'huge'"),
        (lambda s: s.ask(among=[]), r"no option is left to choose from: among is \[\]; 'gone' is retired$"),
        (lambda s: s.ask(among="large"), "among must be a list of names.*'large'"),
        (lambda s: s.ask(exclude=3), "exclude must be a list of names.*3"),
        (lambda s: s.ask(exclude=["tiny", "small", "large"]), "no option is left"),
        (lambda s: s.ask(among=["gone"]), "'gone' is retired"),
        (lambda s: s.ask(among=[None]), "None"),
        (lambda s: s.ask(after=10_000), "no decision has the id 10000"),
        (lambda s: s.ask(after=True), "no decision has the id True"),
        (lambda s: s.ask(after="0"), "no decision has the id '0'"),
        (lambda s: s.ask(after=fb.Decision(0, "huge", "")), "'huge'"),
    ],
)
def test_what_is_refused_changes_nothing(call, words):
    session = moving(costs={**COSTS, "gone": 1.0})
    session.ask(5)
    session.retire("gone")
    before = session.to_json()
    with pytest.raises(fb.InputError, match=words):
        call(session)
    assert session.to_json() == before


def test_what_changes_nothing_is_not_a_change():
    session = moving()
    session.ask(5)
    before = session.to_json()
    session.set_cost("large", COSTS["large"])
    session.resume("large")
    assert session.to_json() == before and not session.changes()
    session.pause("large")
    before = session.to_json()
    session.pause("large")
    assert session.to_json() == before and len(session.changes()) == 1


def test_the_option_that_sets_the_bar_stays():
    session = fb.Session(COSTS, quality="relative-to:large:0.1", policy="glr-cof")
    with pytest.raises(fb.InputError, match="'large' sets the bar"):
        session.retire("large")
    session.set_cost("large", 0.01)
    session.retire("tiny")
    assert again(session).ask().option in ("large", "small")


def test_options_beyond_the_horizon_are_refused():
    session = moving("ucb-cs", horizon=4)
    before = session.to_json()
    with pytest.raises(fb.InputError, match="horizon must be greater"):
        session.add("new", 1.0)
    assert session.to_json() == before


def test_changes_are_kept_to_a_number():
    session = moving()
    for turn in range(600):
        session.pause("large")
        session.resume("large")
        assert session.changes().total == 2 * turn + 2
    changes = session.changes()
    assert len(changes) == 1_000 and "200 earlier changes are no longer kept" in str(changes)
    assert again(session).changes() == changes and again(session).changes().total == 1_200
    assert "<table" in changes._repr_html_()
    assert str(moving().changes()) == "Nothing was changed or noticed."
