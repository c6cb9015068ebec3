"""Rewards and bills, either first or alone, each once; what decisions cost; costs that are learned."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.session import waiting
from moving_harness import COSTS, again, moving


def test_either_may_come_first():
    for first, second in (({"reward": 1.0}, {"cost": 0.75}), ({"cost": 0.75}, {"reward": 1.0})):
        session = moving(learn_costs=True)
        id_ = session.ask(among=["small"]).id
        session.tell(id_, **first)
        session = again(session)
        session.tell(id_, **second)
        arm = session.explain().arms[1]
        assert (arm.pulls, arm.mean, arm.spent) == (1, 1.0, 0.75)
        for kind in (first, second):
            with pytest.raises(fb.ToldBefore):
                session.tell(id_, **kind)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda s: s.tell(0), fb.InputError, "neither"),
        (lambda s: s.tell(0, cost=-1.0), fb.InputError, "the cost of decision 0 must be 0 or more"),
        (lambda s: s.tell(0, cost=float("nan")), fb.InputError, "nan"),
        (lambda s: s.tell(0, cost=float("inf")), fb.InputError, "inf"),
        (lambda s: s.tell(0, cost=1e200), fb.InputError, r"at most 1e\+100"),
        (lambda s: s.tell(0, cost="1"), fb.InputError, "'1'"),
        (lambda s: s.tell(0, reward=2.0, cost=1.0), fb.InputError, "2.0"),
        (lambda s: s.tell(0, reward=1.0, cost=-1.0), fb.InputError, "-1.0"),
        (lambda s: s.tell(1, cost=1.0), fb.ToldBefore, "the cost of decision 1 was told before"),
        (lambda s: s.tell(1, reward=1.0, cost=1.0), fb.ToldBefore, "cost of decision 1"),
        (lambda s: s.tell(2, cost=1.0), fb.ToldBefore, "decision 2 was told or forgotten before"),
        (lambda s: s.tell(99, cost=1.0), fb.UnknownDecision, "99"),
        (lambda s: s.tell_many({0: {"cost": 1.0}, 1: {"cost": 1.0}}), fb.ToldBefore, "decision 1"),
        (lambda s: s.tell_many([(0, {"cost": 1.0}), (0, {"cost": 1.0})]), fb.ToldBefore, "twice"),
        (lambda s: s.tell_many({0: {"price": 1.0}}), fb.InputError, "'price'"),
        (lambda s: s.tell_many({0: {}}), fb.InputError, "neither"),
        (lambda s: s.tell_many({0: None}), fb.InputError, "neither"),
        (lambda s: s.tell_many(None), fb.InputError, "pairs of an id and a reward, but it is None"),
        (lambda s: s.tell_many([0, 1.0]), fb.InputError, "pairs of an id and a reward, but one is 0"),
        (lambda s: s.tell_many("01"), fb.InputError, "pairs .* but it is '01'"),
        (lambda s: s.tell_many([(0, 1.0, 2.0)]), fb.InputError, r"pairs .* \(0, 1.0, 2.0\)"),
    ],
)
def test_what_is_refused_changes_nothing(call, kind, words):
    session = moving()
    session.ask(3)
    session.tell(1, cost=1.0)
    session.tell(2, reward=1.0)
    before = session.to_json()
    with pytest.raises(kind, match=words):
        call(session)
    assert session.to_json() == before


def test_many_at_once_may_have_costs():
    session = moving()
    ids = [decision.id for decision in session.ask(3)]
    session.tell_many([(ids[0], 1.0), (ids[1], {"reward": 1.0, "cost": 2.0}), (ids[2], {"cost": 0.25})])
    assert list(session.pending) == [ids[2]]
    session.tell_many([(ids[2], {"reward": 1.0})])
    assert not session.pending


def test_told_costs_without_learning_are_spending_alone():
    told, silent = moving(learn_costs=False), moving(learn_costs=False)
    for session in (told, silent):
        for decision in session.ask(50):
            session.tell(decision.id, 1.0, 100.0 if session is told else None)
    assert [d.option for d in told.ask(20)] == [d.option for d in silent.ask(20)]
    assert told.explain().spent == 5_000 + sum(COSTS[option] for option in told.pending.values())


@given(
    prices=st.lists(st.floats(0.001, 100), min_size=1, max_size=6),
    bills=st.lists(st.none() | st.floats(0, 50), min_size=1, max_size=40),
    seed=st.integers(0, 99),
)
def test_spending_is_the_bill_where_known_and_the_price_of_the_time_otherwise(prices, bills, seed):
    session = moving()
    rng = np.random.default_rng(seed)
    expected, out = 0.0, []
    for place, bill in enumerate(bills):
        if place % 7 == 3:
            session.set_cost("small", prices[place % len(prices)])
        id_ = session.ask(among=["small"]).id
        price = next(arm.cost for arm in session.explain().arms if arm.name == "small")
        expected += price if bill is None else bill
        if bill is not None:
            out.append((id_, bill))
    for place in rng.permutation(len(out)):
        session.tell(out[place][0], cost=out[place][1])
    assert session.explain().spent == pytest.approx(expected, rel=1e-12, abs=1e-9)
    assert again(session).explain().spent == session.explain().spent


def test_what_was_saved_goes_by_the_prices_of_the_time():
    session = moving(costs={"small": 1.0, "large": 2.0})
    for decision in session.ask(10, among=["large"]):
        session.tell(decision.id, 1.0)
    session.set_cost("large", 4.0)
    for decision in session.ask(10, among=["small"]):
        session.tell(decision.id, 0.5)
    explanation = session.explain()
    assert explanation.best == "large" and explanation.spent == 30.0
    assert explanation.always_best == 10 * 2.0 + 10 * 4.0 and explanation.saving == 30.0


def test_costs_are_learned():
    """The option that is said to be cheap is not: told what it costs, the policy takes the other one."""
    session = moving(costs={"liar": 0.1, "honest": 0.5}, learn_costs=True, horizon=None)
    rng = np.random.default_rng(1)
    used = {"liar": 0, "honest": 0}
    for _ in range(1_500):
        decision = session.ask()
        used[decision.option] += 1
        session.tell(decision.id, float(rng.random() < 0.8))
        session.tell(
            decision.id, cost=float(rng.lognormal(0.0, 0.5)) * {"liar": 2.0, "honest": 0.5}[decision.option]
        )
    assert used["honest"] > 1_000
    liar, honest = session.explain().arms
    assert liar.learned_cost > 1.2 and honest.learned_cost == pytest.approx(0.56, abs=0.1)
    assert honest.cost_low < honest.learned_cost < honest.cost_high
    text = str(session.explain())
    assert "learned" in text and "+-" in text
    session.set_cost("liar", 0.2)
    assert session.explain().arms[0].learned_cost == 0.2  # a new price is a new first guess
    assert session.explain().arms[1].learned_cost == honest.learned_cost


def test_a_bill_of_an_earlier_price_says_nothing_of_the_present_one():
    session = moving(learn_costs=True)
    old = session.ask(among=["large"])
    session.set_cost("large", 1.0)
    session.tell(old.id, reward=1.0, cost=50.0)
    arm = next(arm for arm in session.explain().arms if arm.name == "large")
    assert arm.learned_cost == 1.0 and arm.spent == 50.0


def test_bills_are_waited_for_within_bounds(monkeypatch):
    monkeypatch.setattr(waiting, "BILLS", 100)
    session = moving(learn_costs=True)
    for _ in range(1_000):
        session.tell(session.ask().id, 1.0)
    assert len(session._waiting.owed) <= 200
    session.tell(950, cost=1.0)
    for id_ in (899, 3):
        with pytest.raises(fb.ToldBefore):
            session.tell(id_, cost=1.0)


def test_what_nobody_asked_for_counts():
    session = moving("cof")
    for _ in range(5):
        session.observe("large", reward=1.0)
    session.observe("large", cost=7.0)
    arm = session.explain().arms[2]
    assert (arm.pulls, arm.decisions, arm.spent, arm.mean) == (5, 0, 7.0, 1.0)
    assert session.explain().judged is None
    assert [decision.option for decision in session.ask(2)] == ["tiny", "small"]  # 'large' was seen
    assert again(session).to_json() == session.to_json()


def test_judged_share_and_what_would_help():
    session = moving()
    for decision in session.ask(40):
        if decision.id % 10 == 0:
            session.tell(decision.id, 1.0)
    explanation = session.explain()
    assert explanation.judged == 0.1
    assert "10.0% of the decisions were judged; feedback would help most on" in str(explanation)
    assert set(explanation.helpful) <= set(COSTS) and explanation.helpful
    assert "10.0%" in explanation._repr_html_()
    assert explanation.to_dict()["helpful"] == explanation.helpful


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"memory": 0}, "memory must be 'auto', None .* 1 or more, but it is 0"),
        ({"memory": -5}, "-5"),
        ({"memory": True}, "True"),
        ({"memory": 10.5}, "10.5"),
        ({"memory": "long"}, "'long'"),
        ({"worth": 0}, "more than 0, but it is 0"),
        ({"worth": float("nan")}, "nan"),
        ({"judge_price": -1}, "judge_price must be 0 or more, but it is -1"),
        ({"learn_costs": 1}, "learn_costs must be True or False, but it is 1"),
        ({"time_to_live": 0}, "more than 0 seconds, but it is 0"),
        ({"time_to_live": "1h"}, "time_to_live must be a number, but it is '1h'"),
        ({"time_to_live": float("inf")}, "finite"),
        ({"learn_costs": True, "costs": {"a": -1.0, "b": 1.0}}, "that of 'a' must be 0 or more"),
    ],
)
def test_terms_that_cannot_be_are_named(terms, words):
    with pytest.raises(fb.InputError, match=words):
        moving(**terms)
