"""Sessions of the service that look at queries, by both kinds of client."""

from __future__ import annotations

import numpy as np
import pytest

import frugalbandits as fb
from client_harness import COSTS

CONTEXT = fb.Segments(["easy", "hard"]) + fb.Features(2)
QUERY = ("easy", np.array([0.5, -1.0]))


@pytest.fixture
def routes(house):
    return house.client().create("routes", COSTS, alpha=0.05, context=CONTEXT)


def test_it_is_asked_told_and_explained_as_in_a_process(house, routes):
    decision = routes.ask(context=QUERY, metadata={"n": 1}, costs={"large": 9.0}, among=["large"])
    assert decision.option == "large" and decision.metadata == {"n": 1} and not decision.fallback
    kept = routes.ask(context={"segment": "new", "features": [0, 1]}, after=decision)
    assert kept.option == "large"
    routes.tell(decision.id, reward=1.0, cost=7.0)
    routes.tell(decision.id, reward=1.0)
    routes.tell_many({kept.id: 0.5})
    with pytest.raises(fb.Conflict, match="told before"):
        routes.tell(decision.id, reward=0.0)
    routes.observe("small", reward=1.0, context=QUERY)
    routes.pause("medium")
    found = routes.explain()
    assert isinstance(found, fb.ContextualExplanation)
    assert found == house.app.state.service.hub.sessions["routes"].explain()
    assert (found.told, found.pending, found.spent) == (2, 0, 7.0 + 3.0)
    assert "on average over queries" in str(found) and "segment" in str(found)
    assert [each.kind for each in routes.changes()] == ["paused"]


def test_texts_go_to_the_service(house):
    client = house.client()
    session = client.create("texts", COSTS, quality="at-least:0.8", context=fb.TextFeatures(8), memory=500)
    session.tell(session.ask(context="What is 2 + 2?").id, reward=True)
    assert session.explain().told == 1
    assert client.sessions()[0].told == 1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda s: s.ask(), "the context is missing"),
        (lambda s: s.ask(context=("easy", [1.0])), "must have 2 features, but it has 1"),
        (lambda s: s.ask(context=("easy", [1.0, float("nan")])), "finite, but nan is in it"),
        (lambda s: s.ask(context=("easy", {1, 2})), "made of names, texts and numbers"),
        (lambda s: s.ask(3, context=QUERY), "leave it out"),
        (lambda s: s.ask(costs={"large": 1.0}), "a context goes with them"),
        (lambda s: s.observe("small", reward=1.0), "the context is missing"),
    ],
)
def test_what_is_wrong_is_said(routes, wrong, words):
    with pytest.raises(fb.InputError, match=words):
        wrong(routes)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"context": CONTEXT, "fallback": ["large"]}, "no plan to fall back on, but fallback is"),
        ({"context": "features"}, "context must be"),
        ({"context": CONTEXT, "policy": "voi-cs"}, "voi-cs"),
        ({"context": CONTEXT, "horizon": 100}, "no horizon"),
        ({"context": CONTEXT, "over": "each"}, "promises the average"),
    ],
)
def test_settings_are_checked(house, settings, words):
    with pytest.raises(fb.InputError, match=words):
        house.client().create("other", COSTS, alpha=0.05, **settings)


def test_no_plan_stands_in_for_the_service(connect, eager):
    client = connect("http://127.0.0.1:9", timeout=0.3)  # nobody is there
    session = client.session("routes", fallback=["large"])
    with pytest.raises(fb.ServiceUnavailable, match="looks at the query has no plan to fall back on"):
        session.ask(context=QUERY)
    assert session.ask().fallback  # a session that looks at no query
