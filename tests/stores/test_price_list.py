"""A program that opens its session again names its price list: it is compared with the options of today."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.session.terms import ACTIVE, PAUSED, RETIRED
from frugalbandits.stores import open_store
from frugalbandits.stores.outlook import options_of
from frugalbandits.stores.price_list import changes_for

COSTS = {"a": 1.0, "b": 2.0}
KINDS = {"plain": fb.Session, "contextual": fb.ContextualSession}


@pytest.fixture(params=KINDS)
def reopen(request, address):
    """Open a session of one kind, in one store, with a price list."""
    extra = {"context": fb.Segments(["x"])} if request.param == "contextual" else {}

    def opened(costs=COSTS, **settings):
        return KINDS[request.param](costs, 0.1, store=address, name="shop", **extra, **settings)

    opened.ask = (lambda session: session.ask("x")) if extra else (lambda session: session.ask())
    return opened


def now(session):
    return {each.name: (each.cost, each.standing) for each in options_of(session)}


def test_the_price_list_of_today_opens_the_session(reopen):
    with reopen() as session:
        session.set_cost("b", 1.5)
        session.add("c", 3.0)
    with reopen({"a": 1.0, "b": 1.5, "c": 3.0}) as session:
        assert now(session) == {"a": (1.0, "active"), "b": (1.5, "active"), "c": (3.0, "active")}
        assert len(session.changes()) == 2


def test_the_order_of_the_list_does_not_matter(reopen):
    reopen().close()
    with reopen(dict(reversed(COSTS.items()))) as session:
        assert not session.changes()


def test_a_list_that_differs_is_refused_in_words_and_changes_nothing(reopen, address):
    with reopen() as session:
        session.set_cost("b", 1.5)
        session.add("c", 3.0)
    with open_store(address) as store:
        before = store.sessions()["shop"]
    with pytest.raises(fb.Conflict, match=r"'b' costs 1\.5 in the session, 2 here; 'c' is active .*'apply'"):
        reopen()
    with pytest.raises(fb.Conflict, match="'d' is not in the session"):
        reopen({"a": 1.0, "b": 1.5, "c": 3.0, "d": 4.0})
    many = {"a": 1.0, "b": 1.5, "c": 3.0, **{f"o{i}": 1.0 for i in range(8)}}
    with pytest.raises(fb.Conflict, match="and 3 more"):
        reopen(many)
    with pytest.raises(fb.InputError, match="'refuse' or 'apply', but it is 'merge'"):
        reopen(on_difference="merge")
    with open_store(address) as store:
        assert store.sessions()["shop"] == before


def test_a_list_is_applied_on_request_and_opens_it_from_then_on(reopen):
    with reopen({**COSTS, "old": 5.0}) as session:
        decision = reopen.ask(session)
        session.tell(decision.id, 1.0)
    new = {"c": 3.0, "b": 1.5, "a": 1.0}
    with reopen(new, on_difference="apply") as session:
        assert now(session) == {
            "a": (1.0, "active"),
            "b": (1.5, "active"),
            "c": (3.0, "active"),
            "old": (5.0, "paused"),
        }
        assert sum(each.told for each in options_of(session)) == 1
        assert {reopen.ask(session).option for _ in range(20)} <= set(new)
        assert sorted(change.kind for change in session.changes()) == ["added", "paused", "price"]
    for setting in ("refuse", "apply"):
        with reopen(new, on_difference=setting) as session:
            assert len(session.changes()) == 3


def test_what_an_operator_paused_stays_paused(reopen):
    with reopen() as session:
        session.pause("a")
    for setting in ("refuse", "apply"):
        with reopen(on_difference=setting) as session:
            assert now(session)["a"] == (1.0, "paused")


def test_a_name_that_was_retired_cannot_be_applied_and_nothing_else_is(reopen):
    with reopen({**COSTS, "old": 5.0}) as session:
        session.retire("old")
    with pytest.raises(fb.Conflict, match="'old' was retired in the session, and a name is used once"):
        reopen({"a": 9.0, "b": 2.0, "old": 5.0}, on_difference="apply")
    with reopen() as session:
        assert now(session)["a"] == (1.0, "active")


names = st.sampled_from("abcdef")
costs = st.sampled_from([0.5, 1.0, 2.0])


@given(
    st.dictionaries(names, costs, min_size=2),
    st.dictionaries(names, st.tuples(costs, st.sampled_from([ACTIVE, PAUSED])), min_size=2),
)
def test_after_its_changes_a_list_differs_no_more(given_costs, current):
    changes = changes_for("s", given_costs, [(name, *row) for name, row in current.items()], "apply")
    after = dict(current)
    for do, option, cost in changes:
        status = after[option][1] if option in after else ACTIVE
        after[option] = (after[option][0], PAUSED) if do == "pause" else (cost, status)
    assert changes_for("s", given_costs, [(name, *row) for name, row in after.items()], "refuse") == []
    assert {name for name, (_, status) in after.items() if status == ACTIVE} <= set(given_costs)
    assert {name: after[name][0] for name in given_costs} == given_costs


def test_no_change_helps_where_a_name_was_retired():
    with pytest.raises(fb.Conflict, match="'a' was retired"):
        changes_for("s", COSTS, [("a", 1.0, RETIRED), ("b", 2.0, ACTIVE)], "apply")
