"""The calls of a client, against the application itself: what a session does, with the same errors."""

from __future__ import annotations

import pickle

import pytest

import frugalbandits as fb
from client_harness import COSTS
from frugalbandits.service.access import add_token


@pytest.fixture
def client(house):
    return house.client()


@pytest.fixture
def session(client):
    return client.create("shop", COSTS, alpha=0.1)


def script(session):
    """Calls of all kinds; ids stay inside, for each kind of session has its own."""
    for turn in range(40):
        decision = session.ask()
        session.tell(decision.id, reward=(turn * 7 % 5) / 4)
    kept = session.ask(5, metadata={"request": 17})
    assert [each.metadata for each in kept] == [{"request": 17}] * 5
    session.tell_many((each.id, 1.0) for each in kept[:3])
    session.forget(kept[3].id)
    session.forget(kept[4].id, used=False)
    assert session.ask(exclude=["small", "medium"]).option == "large"
    first = session.ask(among=["medium"])
    assert session.ask(after=first).option == session.ask(after=first.id).option == "medium"
    session.tell(first.id, reward=True, cost=1.25)
    session.observe("large", reward=0.75)
    session.observe("large", cost=2.5)
    session.set_cost("large", 2.0)
    session.add("tiny", 0.1)
    session.pause("medium")
    session.resume("medium")
    session.retire("small")
    session.tell_many({each.id: {"reward": 0.5, "cost": 0.3} for each in session.ask(4)})
    assert session.ask(0) == []
    return session.explain(), session.changes()


@pytest.mark.parametrize(
    "settings",
    [
        {"alpha": 0.1},
        {"quality": "at-least:0.4", "policy": "cof", "horizon": 10_000},
        {"quality": fb.RelativeTo("large", 0.05), "policy": "glr-cof"},
        {"alpha": 0.05, "learn_costs": True, "judge_price": 0.01, "worth": 2.0, "memory": 500},
    ],
    ids=["default", "cof", "glr-cof", "learned"],
)
def test_the_same_calls_say_the_same_as_in_a_session(client, settings):
    here, changed_here = script(fb.Session(COSTS, **settings))
    with fb.Session(COSTS, **settings, store="memory:", name="shop") as stored:
        kept, changed_kept = script(stored)
    there, changed_there = script(client.create("shop", COSTS, **settings))
    assert isinstance(there, fb.Explanation) and isinstance(changed_there, fb.Changes)
    assert str(there) == str(kept)
    assert there._repr_html_() == kept._repr_html_()
    assert there.to_dict() == kept.to_dict()
    assert changed_there == changed_kept == changed_here
    assert str(changed_there) == str(changed_kept)
    # Workers that share a session plan more often than one that is alone, so what they expect may differ.
    assert numbers(there) == numbers(here)


def test_a_promise_on_the_average(client):
    session = client.create("average", COSTS, alpha=0.1, over="queries")
    for _ in range(30):
        session.tell(session.ask().id, reward=0.5)
    explanation = session.explain()
    assert explanation.over == "queries" and explanation.mix.average == pytest.approx(0.5)
    assert explanation.headline == explanation._mixed(explanation.mix, "after 30 decisions")
    with pytest.raises(fb.InputError, match="over='queries' promises"):
        client.create("other", COSTS, alpha=0.1, policy="voi-cs", over="queries")


def numbers(explanation):
    told = ("name", "cost", "pulls", "pending", "mean", "decisions", "spent", "always", "standing")
    arms = [[getattr(arm, name) for name in told] for arm in (*explanation.arms, *explanation.retired)]
    return explanation.decisions, explanation.spent, explanation.judged, explanation.threshold, arms


def test_a_decision_is_one_of_a_session(session):
    decision = session.ask(metadata={"a": [1]})
    assert isinstance(decision, fb.Decision)
    assert decision.option == "small" and decision.metadata == {"a": [1]}
    assert decision.reason.startswith("leader") and decision.wanted and not decision.fallback
    assert decision.expires is not None


def test_many_decisions_come_in_several_requests(session, house):
    before = house.way.sent
    assert len({each.id for each in session.ask(2_500)}) == 2_500
    assert house.way.sent == before + 3


def test_creating_again_is_the_same_and_another_is_a_conflict(client, session):
    session.tell(session.ask().id, 1.0)
    again = client.create("shop", COSTS, alpha=0.1)
    assert again.explain().arms[0].pulls == 1
    with pytest.raises(fb.Conflict, match=r"'shop' exists, with quality"):
        client.create("shop", COSTS, alpha=0.2)
    with pytest.raises(fb.Conflict, match=r"'large' costs .* here"):
        client.create("shop", {**COSTS, "large": 2.0}, alpha=0.1)
    with pytest.raises(fb.InputError, match="on_difference must be 'refuse' or 'apply', but it is 'merge'"):
        client.create("shop", COSTS, alpha=0.1, on_difference="merge")
    client.create("shop", {**COSTS, "large": 2.0}, alpha=0.1, on_difference="apply")
    assert {arm.name: arm.cost for arm in session.explain().arms}["large"] == 2.0
    for name, words in (
        ("../etc", "without slashes"),
        ("<b>", "begins with a letter or a digit"),
        ("..", "begins"),
    ):
        with pytest.raises(fb.InputError, match=words):
            client.create(name, COSTS, alpha=0.1)


def test_lists_of_costs_and_times_to_live(client):
    made = client.create("listed", [1, 2], 0.1, names=["b", "a"], memory=50, time_to_live=None)
    assert [arm.name for arm in made.explain().arms] == ["b", "a"]
    assert made.ask().expires is None


def test_sessions_are_listed(client, session):
    session.tell(session.ask().id, 1.0)
    client.create("other", [1.0, 2.0], alpha=0.1)
    found = {each.name: each for each in client.sessions()}
    assert set(found) == {"shop", "other"}
    assert (found["shop"].told, found["shop"].options, found["shop"].best) == (1, 3, "small")


def test_the_same_again_is_the_same_and_something_else_a_conflict(session):
    decision, other = session.ask(2)
    session.tell(decision.id, 1.0)
    session.tell(decision.id, 1.0)
    session.observe("small", 1.0, id="mine")
    session.observe("small", 1.0, id="mine")
    session.forget(other.id)
    with pytest.raises(fb.Conflict, match=r"told before, with the reward 1\.0"):
        session.tell(decision.id, 0.0)
    with pytest.raises(fb.ToldBefore):
        session.tell(other.id, 0.0)
    with pytest.raises(fb.ToldBefore, match="stands twice"):
        session.tell_many([(other.id, 1.0), (other.id, 1.0)])
    assert session.explain().arms[0].pulls == 2


def test_what_the_service_refuses_does_not_keep_the_rest_from_being_counted(session):
    one, two, three = session.ask(3, among=["small"])
    session.tell(one.id, 1.0)
    with pytest.raises(fb.Conflict):
        session.tell_many({one.id: 0.0, two.id: 1.0, three.id: 1.0})
    assert session.explain().arms[0].pulls == 3


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        (lambda s, i: s.tell(i, 2.0), fb.InputError, r"reward must lie in \[0, 1\]"),
        (lambda s, i: s.tell(i, float("nan")), fb.InputError, "reward"),
        (lambda s, i: s.tell(i), fb.InputError, "both are None"),
        (lambda s, i: s.tell(i, cost=-1.0), fb.InputError, "must be 0 or more"),
        (lambda s, i: s.tell_many({i: {"rewards": 1.0}}), fb.InputError, "'rewards'"),
        (lambda s, i: s.tell(17, 1.0), fb.UnknownDecision, "17"),
        (lambda s, i: s.tell("x" * 10_000, 1.0), fb.UnknownDecision, "x"),
        (lambda s, i: s.tell("é", 1.0), fb.UnknownDecision, "é"),
        (lambda s, i: s.tell("../../x?y#z", 1.0), fb.UnknownDecision, "x"),
        (lambda s, i: s.tell("local-nonsense", 1.0), fb.UnknownDecision, "local-nonsense"),
        (lambda s, i: s.observe("small"), fb.InputError, "both are None"),
        (lambda s, i: s.observe("small", 3), fb.InputError, r"\[0, 1\]"),
        (lambda s, i: s.observe("", 1), fb.InputError, "by its name"),
        (lambda s, i: s.observe("small", 1, id=""), fb.InputError, "1 to 200"),
        (lambda s, i: s.ask(-1), fb.InputError, "0 or more"),
        (lambda s, i: s.ask(True), fb.InputError, "whole number"),
        (lambda s, i: s.ask(among="small"), fb.InputError, "list of names"),
        (lambda s, i: s.ask(exclude=[1]), fb.InputError, "by its name"),
        (lambda s, i: s.ask(metadata={1j}), fb.InputError, "JSON"),
        (lambda s, i: s.ask(after=3), fb.UnknownDecision, "3"),
        (lambda s, i: s.set_cost("small", -1), fb.InputError, "0 or more"),
        (lambda s, i: s.add("x", None), fb.InputError, "cost"),
        (lambda s, i: s.pause(3), fb.InputError, "by its name"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_sent(session, house, wrong, error, words):
    id_ = session.ask().id
    before = house.way.sent
    with pytest.raises(error, match=words):
        wrong(session, id_)
    assert house.way.sent == before


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        (lambda s: s.tell("nobody", 1.0), fb.UnknownDecision, "no decision has such an id"),
        (lambda s: s.observe("smal", 1.0), fb.InputError, "did you mean 'small'"),
        (lambda s: s.ask(among=["nothing"]), fb.InputError, "'nothing'"),
        (lambda s: s.ask(exclude=list(COSTS)), fb.InputError, "no option is left"),
        (lambda s: s.ask(after="nobody"), fb.UnknownDecision, "no decision"),
        (lambda s: s.ask(metadata="x" * 600), fb.InputError, "512 bytes"),
        (lambda s: s.pause(".."), fb.InputError, "no option called '..'"),
        (lambda s: s.set_cost("a/b ?", 1.0), fb.InputError, "no option called 'a/b [?]'"),
        (lambda s: s.add("small", 9.0), fb.Conflict, "is there"),
    ],
)
def test_what_the_service_refuses_is_an_error_of_the_library(session, wrong, error, words):
    with pytest.raises(error, match=words):
        wrong(session)


def test_an_unknown_session(client):
    nobody = client.session("nobody")
    for call in (nobody.ask, nobody.explain, nobody.changes, lambda: nobody.observe("a", 1.0)):
        with pytest.raises(fb.UnknownSession, match="'nobody'"):
            call()
    with pytest.raises(fb.InputError, match="the name of a session"):
        client.session("")


def test_names_that_are_no_part_of_a_path(client):
    odd = client.create("odd", {"a/b": 1.0, "c?d#e%": 2.0, "é ü": 3.0}, alpha=0.1)
    odd.pause("a/b")
    odd.set_cost("c?d#e%", 2.5)
    odd.retire("é ü")
    assert [change.option for change in odd.changes()] == ["a/b", "c?d#e%", "é ü"]


def test_feedback_that_has_expired(client):
    brief = client.create("brief", COSTS, alpha=0.1, time_to_live=1e-6)
    with pytest.raises(fb.Expired, match="has expired"):
        brief.tell(brief.ask().id, 1.0)


def test_tokens(house, monkeypatch):
    admin = add_token(house.store, "boss", "admin")
    reader = add_token(house.store, "guest", "reader")
    service = house.app.state.service
    service.access.refresh()
    house.client(token=admin).create("shop", COSTS, alpha=0.1)
    looking = house.client(token=reader).session("shop")
    looking.explain()
    for token, words in (
        (reader, "role writer"),
        ("frugal_wrong", "not known here"),
        ("", "a token is needed"),
    ):
        session = house.client(token=token).session("shop", fallback=["small"])
        with pytest.raises(fb.NotAllowed, match=words) as caught:
            session.ask()
        assert isinstance(caught.value, PermissionError)
        assert not token or token not in f"{caught.value!r} {session!r} {session!r}"
        with pytest.raises(fb.NotAllowed):
            session.observe("small", 1.0)
    monkeypatch.setenv("FRUGALBANDITS_TOKEN", admin)
    assert not house.client().session("shop").ask().fallback


def test_a_client_shows_no_secret_and_is_not_copied(house):
    client = house.client(token="frugal_hidden")
    inner = getattr(client, "inner", client)
    assert "frugal_hidden" not in repr(client) + repr(client.session("x")) + repr(vars(inner)["_desk"])
    with pytest.raises(TypeError, match="not copied"):
        pickle.dumps(inner)


def test_a_closed_client_says_so(house):
    client = house.client()
    session = client.session("shop", fallback=["small"])
    client.close()
    client.close()
    with pytest.raises(RuntimeError, match="closed"):
        session.ask()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"url": "ftp://x"}, "ftp://x"),
        ({"url": "127.0.0.1:8000"}, "like http://"),
        ({"url": "http://"}, "like http://"),
        ({"url": 5}, "5"),
        ({"url": "http://x:99999"}, "like http://"),
        ({"url": "http://me:secret@x"}, "no password in it"),
        ({"token": "two\nlines"}, "a line break"),
        ({"token": "é"}, "ASCII"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": "soon"}, "timeout"),
        ({"queue": 0}, "queue"),
    ],
)
@pytest.mark.parametrize("make", [fb.Client, fb.AsyncClient])
def test_settings_that_cannot_be(make, settings, words):
    with pytest.raises(fb.InputError, match=words) as caught:
        make(**{"url": "http://127.0.0.1:1", **settings})
    assert "secret" not in str(caught.value) and "two" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"alpha": 2}, "alpha"),
        ({"costs": {"a": 1.0}}, "at least two"),
        ({"costs": {"a": float("nan"), "b": 2.0}}, "cost"),
        ({"policy": "nothing"}, "no policy is called"),
        ({"policy": fb.COF()}, "by its name"),
        ({"fallback": "large"}, "list of names"),
        ({"fallback": []}, "one at least"),
        ({"time_to_live": -1}, "time_to_live"),
    ],
)
def test_a_session_is_checked_before_it_is_made(client, house, settings, words):
    with pytest.raises(fb.InputError, match=words):
        client.create("bad", **{"costs": COSTS, "alpha": 0.1, **settings})
    assert house.way.sent == 0
