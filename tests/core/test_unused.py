"""Decisions that were not carried out: they cost nothing, and are left out of what was spent and saved."""

from __future__ import annotations

import pytest

import frugalbandits as fb
from frugalbandits.stores import StoredSession, open_store

COSTS = {"small": 1.0, "large": 3.0}


def sessions(kind, tmp_path, **settings):
    given = {"alpha": 0.1, "policy": "cof", "horizon": 1_000, **settings}
    if kind == "memory":
        return fb.Session(COSTS, **given)
    return fb.Session(COSTS, **given, store=f"sqlite:///{tmp_path}/kept.db", name="one")


def again(session, kind, tmp_path):
    if kind == "memory":
        return fb.Session.from_json(session.to_json())
    session.close()
    return StoredSession.open(open_store(f"sqlite:///{tmp_path}/kept.db"), "one")


def money(session):
    told = session.explain()
    return told.spent, {arm.name: arm.always for arm in told.arms}, told.saving


@pytest.mark.parametrize("kind", ["memory", "stored"])
def test_what_was_not_used_costs_nothing_whatever_the_price_was(kind, tmp_path):
    session = sessions(kind, tmp_path)
    kept = [session.ask() for _ in range(6)]
    unused = [session.ask() for _ in range(20)]
    session.set_cost("small", 2.0)
    later = [session.ask() for _ in range(5)]
    for each in kept:
        session.tell(each.id, 1.0)
    for each in (*unused, *later):
        session.forget(each.id, used=False)
    session = again(session, kind, tmp_path)
    spent, always, _ = money(session)
    assert spent == pytest.approx(sum(COSTS[each.option] for each in kept))
    assert always == pytest.approx({"small": 6.0, "large": 18.0})
    assert session.explain().decisions == 31 and sum(arm.pending for arm in session.explain().arms) == 0
    if kind == "stored":
        session.close()


@pytest.mark.parametrize("kind", ["memory", "stored"])
def test_what_was_not_used_teaches_no_price(kind, tmp_path):
    session = sessions(kind, tmp_path, policy="voi-cs", horizon=None, learn_costs=True)
    for number in range(30):
        decision = session.ask()
        if number % 3:
            session.forget(decision.id, used=False)
        else:
            session.tell(decision.id, 1.0, COSTS[decision.option])
    learned = {arm.name: arm.learned_cost for arm in session.explain().arms if arm.pulls}
    assert learned == pytest.approx({name: COSTS[name] for name in learned})
    spent, _, _ = money(session)
    assert spent == pytest.approx(sum(arm.pulls * arm.cost for arm in session.explain().arms))
    if kind == "stored":
        session.close()


def test_a_decision_that_was_billed_was_used():
    session = fb.Session(COSTS, alpha=0.1)
    decision = session.ask()
    session.tell(decision.id, cost=0.7)
    session.forget(decision.id, used=False)
    assert session.explain().spent == pytest.approx(0.7)


@pytest.mark.parametrize("used", ["no", 1, None])
def test_used_is_true_or_false(used):
    session = fb.Session(COSTS, alpha=0.1)
    id_ = session.ask().id
    with pytest.raises(fb.InputError, match="used"):
        session.forget(id_, used=used)
    session.tell(id_, 1.0)
