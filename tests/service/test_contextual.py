"""Sessions that look at queries, over HTTP: every route that knows of them, and what is said of mistakes."""

from __future__ import annotations

import json

import numpy as np
import pytest

import frugalbandits as fb
from service_harness import COSTS, Api, problem

CONTEXT = {"segments": ["easy", "hard"], "features": 2}
QUERY = {"segment": "easy", "features": [0.5, -1.0]}


@pytest.fixture
def routes(api: Api) -> Api:
    api.session("routes", alpha=0.05, context=CONTEXT)
    return api


def used(api: Api, decisions: int, name: str = "routes") -> None:
    rng = np.random.default_rng(0)
    for _ in range(decisions):
        query = {"segment": ("easy", "hard")[rng.integers(2)], "features": rng.normal(size=2).tolist()}
        made = api.ask(name, context=query)
        good = 0.9 if made["option"] == "large" or query["segment"] == "easy" else 0.4
        assert api.tell(made["id"], reward=bool(rng.random() < good)).status_code == 204


def test_it_is_made_once_and_tells_what_it_looks_at(api: Api) -> None:
    body = {"costs": COSTS, "alpha": 0.05, "context": CONTEXT}
    first, again = api("PUT", "/v1/sessions/routes", body), api("PUT", "/v1/sessions/routes", body)
    assert (first.status_code, again.status_code) == (201, 200)
    told = first.json()
    assert told["context"] == {**CONTEXT, "most_segments": 200} and told["policy"] == "dual-cof"
    assert told["terms"] == {"memory": None, "time_to_live": 30 * 86_400}
    plain = {"costs": COSTS, "alpha": 0.05}
    problem(api("PUT", "/v1/sessions/routes", plain), 409, "looks at queries")
    problem(api("PUT", "/v1/sessions/routes", {**body, "context": {"text": 8}}), 409, "context")


def test_ask_tell_observe_and_explain(routes: Api) -> None:
    used(routes, 60)
    made = routes.ask("routes", context=QUERY, costs={"large": 9.0}, metadata={"n": 1}, among=["large"])
    assert made["option"] == "large" and sorted(made["standby"]) == sorted(COSTS) and made["expires"]
    kept = routes.ask("routes", context=["new", [0, 0]], after=made["id"])
    assert kept["reason"].startswith("kept")
    assert routes.tell(made["id"], reward=1.0, cost=8.0).status_code == 204
    assert routes.tell(made["id"], reward=1.0).status_code == 204
    problem(routes.tell(made["id"], reward=0.0), 409, "told before, with the reward 1.0")
    assert routes("DELETE", f"/v1/decisions/{kept['id']}").status_code == 204
    seen = {"option": "large", "reward": 1.0, "context": QUERY, "id": "mine"}
    for _ in range(2):
        assert routes("POST", "/v1/sessions/routes/observations", seen).status_code == 204
    told = routes("GET", "/v1/sessions/routes").json()
    assert (told["decisions"], told["told"], told["pending"]) == (62, 61, 0)
    assert told["bar_interval"][0] <= told["bar"] <= told["bar_interval"][1] and told["price"] > 0
    assert {each["name"] for each in told["segments"]} == {"easy", "hard", "new"}
    assert sum(each["decisions"] for each in told["options"]) == 62
    assert told["saving"] == pytest.approx(told["always_reference"] - told["spent"])
    assert told["feedback"]["told"] == 61 and told["regret"]["cost"] is None
    assert any("reached is" in line for line in told["lines"])


def test_the_list_the_log_the_series_and_the_numbers_know_of_it(routes: Api) -> None:
    routes.session("shop")
    used(routes, 5)
    last = routes.ask("routes", context=QUERY, metadata={"n": 1})
    rows = {row["name"]: row for row in routes("GET", "/v1/sessions").json()["sessions"]}
    assert rows["routes"]["decisions"] == 6 and rows["routes"]["waiting"] == 1 and rows["shop"]["told"] == 0
    entries = routes("GET", "/v1/sessions/routes/log").json()["entries"]
    assert [entry["kind"] for entry in entries] == ["created", *["asked", "reward"] * 5, "asked"]
    assert entries[-1]["body"]["x"] == [0.5, -1.0] and entries[-1]["body"]["m"] == {"n": 1}
    series = routes("GET", "/v1/sessions/routes/series").json()
    assert sum(map(sum, series["asked"])) == 6 and sum(map(sum, series["told"])) == 5
    metrics = routes("GET", "/metrics").text
    assert 'frugal_waiting{session="routes"} 1.0' in metrics
    text = routes("GET", "/v1/sessions/routes/export").text
    again = fb.ContextualSession.from_json(text)
    assert again.decisions == 6 and again.explain().told == 5
    assert routes.tell(last["id"], reward=1.0).status_code == 204


def test_options_come_and_go(routes: Api) -> None:
    assert routes("PUT", "/v1/sessions/routes/options/huge", {"cost": 9.0}).status_code == 201
    assert (
        routes("PATCH", "/v1/sessions/routes/options/small", {"paused": True}).json()["standing"] == "paused"
    )
    assert routes("PATCH", "/v1/sessions/routes/options/large", {"cost": 2.0}).json()["cost"] == 2.0
    assert {routes.ask("routes", context=QUERY)["option"] for _ in range(10)} <= {"large", "huge"}
    assert routes("DELETE", "/v1/sessions/routes/options/huge").status_code == 204
    assert {routes.ask("routes", context=QUERY)["option"] for _ in range(5)} == {"large"}
    kinds = [each["kind"] for each in routes("GET", "/v1/sessions/routes/changes").json()["changes"]]
    assert kinds == ["added", "paused", "price", "retired"]


def test_texts_and_segments_by_themselves(api: Api) -> None:
    for name, context, query in (
        ("text", {"text": 8}, "What is 2 + 2?"),
        ("both", {"segments": [], "text": 8}, {"segment": "de", "text": "Was ist das?"}),
        ("segments", {"segments": ["de"]}, "fr"),
        ("features", {"features": 3}, [1, 2.5, -3]),
    ):
        api.session(name, context=context)
        assert api.tell(api.ask(name, context=query)["id"], reward=True).status_code == 204
        log = api("GET", f"/v1/sessions/{name}/log").text
        assert "What is" not in log and "Was ist" not in log  # a text is written down as numbers only


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"context": {}}, "segments, features or text"),
        ({"context": {"features": 4, "text": 8}}, "features or a text"),
        ({"context": {"features": 0}}, "context/features"),
        ({"context": {"features": 10_000}}, "context/features"),
        ({"context": {"segments": ["a", "a"]}}, "'a' stands twice"),
        (
            {
                "context": {"segments": ["a"], "most_segments": 1_000, "features": 256},
                "costs": {str(k): k for k in range(9)},
            },
            "take fewer",
        ),
        ({"context": {"colour": 3}}, "context/colour"),
        ({"context": CONTEXT, "policy": "voi-cs"}, "voi-cs"),
        ({"context": CONTEXT, "horizon": 100.0}, "no horizon, but it is 100.0"),
        ({"context": CONTEXT, "learn_costs": True}, "no learn_costs"),
        ({"context": CONTEXT, "over": "each"}, "promises the average"),
        ({"context": CONTEXT, "alpha": 2.0}, "alpha"),
    ],
)
def test_settings_are_checked_in_words(api: Api, settings, words) -> None:
    body = {"costs": {"small": 0.2, "large": 3.0}, "alpha": 0.05, **settings}
    problem(api("PUT", "/v1/sessions/routes", body), 422, words)
    assert api("GET", "/v1/sessions/routes").status_code == 404


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "the context is missing"),
        ({"context": {"segment": "easy", "features": [1.0]}}, "must have 2 features, but it has 1"),
        ({"context": "easy"}, "a pair of segment and features"),
        ({"context": {"segment": "easy", "features": [1.0, "x"]}}, "features"),
        ({"context": {"segment": "easy", "features": [1.0, 1e300]}}, "numbers up to 1,000,000"),
        ({"context": {"segment": "", "features": [1.0, 1.0]}}, "a segment is a name"),
        ({"context": [[["deep"]], 3]}, "a segment is a name"),
        ({"context": QUERY, "count": 3}, "leave count out"),
        ({"context": QUERY, "costs": {"tiny": 1.0}}, "'tiny'"),
        ({"context": QUERY, "costs": {"large": -1.0}}, "0 or more"),
        ({"context": QUERY, "metadata": "x" * 5_000}, "4,096 bytes"),
        ({"context": QUERY, "exclude": ["small", "large"]}, "no option is left"),
    ],
)
def test_a_query_is_checked_in_words_and_nothing_is_written(routes: Api, body, words) -> None:
    problem(routes("POST", "/v1/sessions/routes/decisions", body), 422, words)
    assert routes("GET", "/v1/sessions/routes").json()["seen"] == 1


def test_who_looks_at_no_query_takes_none(routes: Api) -> None:
    routes.session("shop")
    for body, words in (
        ({"context": "easy"}, "takes no context"),
        ({"costs": {"large": 1.0}}, "takes no costs"),
    ):
        problem(routes("POST", "/v1/sessions/shop/decisions", body), 422, "looks at no query", words)
    told = {"option": "large", "reward": 1.0}
    problem(routes("POST", "/v1/sessions/shop/observations", {**told, "context": "x"}), 422, "no context")
    problem(routes("POST", "/v1/sessions/routes/observations", told), 422, "the context is missing")
    more = {"option": "large", "cost": 1.0, "context": QUERY}
    problem(routes("POST", "/v1/sessions/routes/observations", more), 422, "and no cost")


def test_many_at_once(routes: Api) -> None:
    routes.session("shop")
    asks = [{"op": "ask", "session": "routes", "context": QUERY} for _ in range(20)]
    wrong = [{"op": "ask", "session": "routes"}, {"op": "ask", "session": "shop", "context": "x"}]
    before = routes.store.commits
    results = routes("POST", "/v1/batch", [*asks, *wrong, {"op": "ask", "session": "shop"}]).json()
    assert routes.store.commits == before + 1
    assert [each["status"] for each in results] == [201] * 20 + [422, 422, 201]
    ids = [each["body"]["id"] for each in results[:20]]
    tells = [{"op": "tell", "id": id_, "reward": 1.0} for id_ in ids]
    seen = {"op": "observe", "session": "routes", "option": "large", "reward": 1.0, "context": QUERY}
    told = routes("POST", "/v1/batch", [*tells, seen, {**seen, "context": "x"}]).json()
    assert [each["status"] for each in told] == [204] * 21 + [422]
    assert routes("GET", "/v1/sessions/routes").json()["told"] == 20


def test_the_contract_says_what_a_query_is(api: Api) -> None:
    text = json.dumps(api("GET", "/openapi.json").json())
    for words in ("most_segments", "RoutesShape", "What this query would cost"):
        assert words in text
