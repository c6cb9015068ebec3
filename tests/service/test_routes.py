"""Every route on its own, with what it is meant for and with what it is not."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import frugalbandits as fb
from service_harness import BODY, COSTS, Api, problem

KEYS = {"id", "option", "reason", "wanted", "expires", "session", "standby"}

# Sessions.


def test_a_session_is_made_once(api: Api) -> None:
    first = api("PUT", "/v1/sessions/shop", BODY)
    again = api("PUT", "/v1/sessions/shop", BODY)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["name"] == "shop" and [arm["name"] for arm in first.json()["arms"]] == list(COSTS)
    assert first.json()["terms"]["time_to_live"] == 30 * 86_400
    problem(api("PUT", "/v1/sessions/shop", {**BODY, "alpha": 0.2}), 409, "'shop' exists", "quality")
    assert api("GET", "/v1/sessions/shop").json()["quality"] == {"kind": "relative-to-best", "alpha": 0.1}


def test_a_price_list_that_differs_is_refused_or_applied(api: Api) -> None:
    api("PUT", "/v1/sessions/shop", BODY)
    api("PUT", "/v1/sessions/shop/options/extra", {"cost": 2.0})
    other = {**BODY, "costs": {**COSTS, "extra": 2.5}}
    problem(api("PUT", "/v1/sessions/shop", other), 409, "'extra' costs 2 in the session, 2.5 here")
    problem(api("PUT", "/v1/sessions/shop", BODY), 409, "'extra' is active in the session and not named here")
    assert api("PUT", "/v1/sessions/shop", {**other, "on_difference": "apply"}).status_code == 200
    assert api("GET", "/v1/sessions/shop/options/extra").json()["cost"] == 2.5
    assert api("PUT", "/v1/sessions/shop", other).status_code == 200
    many = {**BODY, "costs": {f"o{i}": 1.0 for i in range(1_000)}, "on_difference": "apply"}
    problem(api("PUT", "/v1/sessions/shop", many), 422, "with these it would have")
    problem(api("PUT", "/v1/sessions/shop", {**BODY, "on_difference": "merge"}), 422, "on_difference")


def test_it_may_never_expire_and_a_horizon_may_be_too_short(api: Api) -> None:
    made = api("PUT", "/v1/sessions/a", {**BODY, "time_to_live": None, "policy": "cof", "horizon": 50})
    assert made.status_code == 201
    assert made.json()["terms"]["time_to_live"] is None
    assert "cannot come to a conclusion within 50 decisions" in made.json()["warnings"][0]
    assert api.ask("a")["expires"] is None


def test_a_promise_on_the_average(api: Api) -> None:
    made = api("PUT", "/v1/sessions/a", {**BODY, "over": "queries"})
    assert made.status_code == 201
    assert (made.json()["policy"], made.json()["over"]) == ("mix-cs", "queries")
    for _ in range(30):
        api.tell(api.ask("a")["id"], reward=0.5)
    told = api("GET", "/v1/sessions/a").json()
    assert sum(told["mix"]["shares"].values()) == pytest.approx(1) and told["mix"][
        "average"
    ] == pytest.approx(0.5)
    assert told["regret"] == {"quality": 0.0, "cost": None}
    assert api("PUT", "/v1/sessions/a", {**BODY, "policy": "mix-cs"}).status_code == 200
    problem(api("PUT", "/v1/sessions/a", BODY), 409, "'a' exists", "policy")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"alpha": 1.5}, "alpha"),
        ({"alpha": None}, "alpha"),
        ({"quality": "at-least:0.5"}, "quality is given too"),
        ({"costs": {"a": 1.0}}, "costs"),
        ({"costs": {"a": 1.0, "b": "dear"}}, "costs/b"),
        ({"costs": {"a\n": 1.0, "b": 2.0}}, "control characters"),
        ({"policy": "nonesuch"}, "no policy is called 'nonesuch'"),
        ({"over": "all"}, "over"),
        (
            {"policy": "cof", "over": "queries"},
            "cof promises that the option of each decision is good enough",
        ),
        ({"memory": 0}, "memory"),
        ({"time_to_live": -1}, "time_to_live"),
        ({"learn_costs": True, "costs": {"a": -1.0, "b": 1.0}}, "0 or more"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_session_that_cannot_be_is_refused_by_name(api: Api, change: dict[str, object], words: str) -> None:
    problem(api("PUT", "/v1/sessions/shop", {**BODY, **change}), 422, words)
    problem(api("GET", "/v1/sessions/shop"), 404, "shop")


def test_sessions_are_listed_by_name_and_in_pages(api: Api) -> None:
    for name in ("c", "a", "b"):
        api.session(name)
    whole = api("GET", "/v1/sessions").json()
    assert [each["name"] for each in whole["sessions"]] == ["a", "b", "c"]
    assert (whole["total"], whole["next"]) == (3, None)
    page = api("GET", "/v1/sessions?limit=2").json()
    assert [each["name"] for each in page["sessions"]] == ["a", "b"] and page["next"] == "b"
    rest = api("GET", "/v1/sessions?after=b&limit=2").json()
    assert [each["name"] for each in rest["sessions"]] == ["c"] and rest["next"] is None
    problem(api("GET", "/v1/sessions?limit=none"), 422, "limit")
    problem(api("GET", "/v1/sessions?colour=red"), 422, "colour")


def test_what_is_known_of_a_session(api: Api) -> None:
    api.session()
    for _ in range(20):
        decision = api.ask()
        api.tell(decision["id"], reward=0.9, cost=COSTS[decision["option"]])
    api("POST", "/v1/sessions/shop/observations", {"option": "large", "reward": 0.5})
    told = api("GET", "/v1/sessions/shop").json()
    assert told["decisions"] == 20
    assert told["feedback"]["told"] == 21 and told["feedback"]["waiting"] == 0
    assert told["feedback"]["mean_delay"] >= 0
    assert told["dearest"] == "large"
    assert math.isclose(told["saving_dearest"], told["always_dearest"] - told["spent"])
    assert set(told["regret"]) == {"quality", "cost"}
    assert told["standby"][0] == "small"
    series = api("GET", "/v1/sessions/shop/series").json()
    assert series["options"] == list(COSTS) and sum(map(sum, series["told"])) == 21
    assert api("GET", "/v1/sessions/shop/changes").json() == {"changes": [], "total": 0}


def test_an_export_is_what_a_session_loads(api: Api) -> None:
    api.session()
    api.tell(api.ask()["id"], reward=1.0)
    text = api("GET", "/v1/sessions/shop/export").text
    loaded = fb.Session.from_json(text)
    assert loaded.decisions == 1 and loaded.explain().arms[0].pulls == 1


def test_the_log_says_who_said_what(api: Api) -> None:
    api.session()
    for _ in range(3):
        api.tell(api.ask()["id"], reward=1.0, source="judge")
    first = api("GET", "/v1/sessions/shop/log?limit=2").json()
    assert [each["kind"] for each in first["entries"]] == ["created", "reward"]
    assert first["next"] == 2 and first["entries"][1]["by"] == "/judge"
    rest = api("GET", f"/v1/sessions/shop/log?after={first['next']}").json()
    assert [each["seq"] for each in rest["entries"]] == [3, 4] and rest["next"] is None
    problem(api("GET", "/v1/sessions/shop/log?after=-1"), 422, "after")


# Decisions.


def test_a_decision(api: Api) -> None:
    api.session()
    decision = api.ask()
    assert set(decision) == KEYS
    assert decision["session"] == "shop" and decision["option"] in COSTS
    assert sorted(decision["standby"]) == sorted(COSTS)
    many = api.ask(count=3)["decisions"]
    assert [set(each) for each in many] == [KEYS] * 3
    assert len({each["id"] for each in many}) == 3
    assert api("POST", "/v1/sessions/shop/decisions").status_code == 201


def test_what_may_be_used(api: Api) -> None:
    api.session()
    assert api.ask(among=["large"])["option"] == "large"
    assert api.ask(exclude=["small"])["option"] == "large"
    kept = api.ask(exclude=["small"])
    assert api.ask(after=kept["id"])["option"] == "large"
    where = "/v1/sessions/shop/decisions"
    problem(api("POST", where, {"exclude": list(COSTS)}), 422, "no option is left")
    problem(api("POST", where, {"among": ["huge"]}), 422, "no option is called 'huge'")
    problem(api("POST", where, {"after": "nonsense"}), 404, "nonsense")
    problem(api("POST", "/v1/sessions/none/decisions", {}), 404, "none")


def test_metadata_travels_in_the_id(api: Api) -> None:
    api.session()
    api.tell(api.ask(metadata={"request": 17})["id"], reward=1.0)
    entry = api("GET", "/v1/sessions/shop/log?after=1").json()["entries"][0]
    assert entry["body"]["m"] == {"request": 17}
    problem(api("POST", "/v1/sessions/shop/decisions", {"metadata": "x" * 600}), 422, "512 bytes")


def test_the_same_told_again_is_the_same(api: Api) -> None:
    api.session()
    id_ = api.ask()["id"]
    assert [api.tell(id_, reward=1.0).status_code for _ in range(3)] == [204] * 3
    assert api.tell(id_, reward=True).status_code == 204
    problem(api.tell(id_, reward=0.5), 409, "told before, with the reward 1.0")
    problem(api("DELETE", f"/v1/decisions/{id_}"), 409, "told before")
    assert api.tell(id_, cost=0.3).status_code == 204
    problem(api.tell(id_, cost=0.4), 409, "0.3")
    # A part that is in conflict leaves out the rest.
    other = api.ask()["id"]
    assert api.tell(other, cost=1.0).status_code == 204
    problem(api.tell(other, reward=1.0, cost=2.0), 409)
    assert api.tell(other, reward=0.0).status_code == 204
    assert api("GET", "/v1/sessions/shop").json()["feedback"]["told"] == 2


def test_what_is_forgotten_stays_so(api: Api) -> None:
    api.session()
    id_ = api.ask()["id"]
    assert [api("DELETE", f"/v1/decisions/{id_}").status_code for _ in range(2)] == [204, 204]
    problem(api.tell(id_, reward=1.0), 409, "forgotten before")


def test_what_comes_too_late_is_gone(api: Api) -> None:
    api.session(time_to_live=60.0)
    id_, told = api.ask()["id"], api.ask()["id"]
    assert api.tell(told, reward=1.0).status_code == 204
    session = api.service.hub.sessions["shop"]
    now = session._clock()
    session._clock = lambda: now + 61.0
    problem(api.tell(id_, reward=1.0), 410, "has expired")
    problem(api("DELETE", f"/v1/decisions/{id_}"), 410)
    problem(api.tell(told, reward=1.0), 410)


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({}, 422, "both are None"),
        ({"reward": 1.5}, 422, "[0, 1]"),
        ({"reward": -0.1}, 422, "[0, 1]"),
        ({"reward": "good"}, 422, "reward"),
        ({"cost": -1.0}, 422, "0 or more"),
        ({"cost": 1e308}, 422, "at most"),
        ({"reward": 1.0, "colour": "red"}, 422, "colour"),
        ({"reward": 1.0, "source": "x" * 101}, 422, "source"),
        ([], 422, ""),
        (7, 422, ""),
    ],
)
def test_feedback_that_cannot_be_is_refused(api: Api, body: object, status: int, words: str) -> None:
    api.session()
    id_ = api.ask()["id"]
    problem(api("PUT", f"/v1/decisions/{id_}/feedback", body), status, words)
    assert api("GET", "/v1/sessions/shop").json()["feedback"]["told"] == 0


@pytest.mark.parametrize(
    "text", [b"", b"{", b'{"reward": NaN}', b'{"reward": Infinity}', b"\xff\xfe", b'{"reward": 1e999}']
)
def test_a_body_that_is_no_json_is_refused(api: Api, text: bytes) -> None:
    api.session()
    where = f"/v1/decisions/{api.ask()['id']}/feedback"
    answer = api("PUT", where, content=text, headers={"Content-Type": "application/json"})
    problem(answer, 400 if answer.status_code == 400 else 422)


def test_a_body_of_another_kind_is_refused(api: Api) -> None:
    api.session()
    for kind in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "application/x-www-form-urlencoded"}):
        problem(
            api("POST", "/v1/sessions/shop/decisions", content=b"{}", headers=kind), 415, "application/json"
        )


def test_an_observation_with_an_id_counts_once(api: Api) -> None:
    api.session()
    where = "/v1/sessions/shop/observations"
    told = {"option": "large", "reward": 1.0, "id": "label 17"}
    assert [api("POST", where, told).status_code for _ in range(2)] == [204, 204]
    problem(api("POST", where, {**told, "reward": 0.0}), 409)
    problem(api("POST", where, {"option": "huge", "reward": 1.0}), 422, "huge")
    problem(api("POST", where, {"option": "large"}), 422, "both are None")
    assert api("GET", "/v1/sessions/shop").json()["feedback"]["told"] == 1


# Options.


def test_options_come_and_go(api: Api) -> None:
    api.session()
    where = "/v1/sessions/shop/options/openai/gpt-4"
    problem(api("GET", where), 404, "openai/gpt-4")
    assert [api("PUT", where, {"cost": 2.0}).status_code for _ in range(2)] == [201, 200]
    problem(api("PUT", where, {"cost": 2.5}), 409, "openai/gpt-4")
    assert api("PATCH", where, {"cost": 1.0, "paused": True}).json()["standing"] == "paused"
    assert api("GET", where).json()["cost"] == 1.0
    assert "openai/gpt-4" not in {each["option"] for each in api.ask(count=20)["decisions"]}
    assert api("PATCH", where, {"paused": False}).json()["standing"] == "active"
    waiting = api.ask(among=["openai/gpt-4"])["id"]
    assert [api("DELETE", where).status_code for _ in range(2)] == [204, 204]
    problem(api("PATCH", where, {"paused": True}), 409, "retired")
    problem(api("PUT", where, {"cost": 1.0}), 409, "retired")
    # What was asked before may still be told.
    assert api.tell(waiting, reward=1.0).status_code == 204
    kinds = [each["kind"] for each in api("GET", "/v1/sessions/shop/changes").json()["changes"]]
    assert kinds == ["added", "price", "paused", "resumed", "retired"]


def test_a_change_that_cannot_be_is_refused(api: Api) -> None:
    api.session()
    where = "/v1/sessions/shop/options/"
    problem(api("PATCH", f"{where}small", {}), 422, "neither")
    problem(api("PATCH", f"{where}small", {"cost": -1.0}), 422, "0 or more")
    problem(api("PATCH", f"{where}none", {"paused": True}), 404, "none")
    problem(api("DELETE", f"{where}none"), 404)
    assert api("DELETE", f"{where}small").status_code == 204
    problem(api("DELETE", f"{where}large"), 422, "last option")


def test_all_paused(api: Api) -> None:
    api.session()
    for name in COSTS:
        api("PATCH", f"/v1/sessions/shop/options/{name}", {"paused": True})
    problem(api("POST", "/v1/sessions/shop/decisions", {}), 422, "every option is paused")


# The rest.


def test_a_batch_does_what_the_routes_do(api: Api) -> None:
    api.session()
    first, second = (each["id"] for each in api.ask(count=2)["decisions"])
    done = api(
        "POST",
        "/v1/batch",
        [
            {"op": "ask", "session": "shop", "count": 2},
            {"op": "tell", "id": first, "reward": 1.0},
            {"op": "tell", "id": first, "reward": 0.0},
            {"op": "forget", "id": second, "used": False},
            {"op": "observe", "session": "shop", "option": "large", "reward": 1.0},
            {"op": "ask", "session": "none"},
            {"op": "tell", "id": "nonsense", "reward": 1.0},
            {"op": "tell", "id": second},
        ],
    )
    assert done.status_code == 200
    told = done.json()
    assert [each["status"] for each in told] == [201, 204, 409, 204, 204, 404, 404, 422]
    assert len(told[0]["body"]["decisions"]) == 2
    assert told[2]["body"]["type"].endswith(":conflict")
    assert api("GET", "/v1/sessions/shop").json()["feedback"]["told"] == 2


@pytest.mark.parametrize("context", [None, {"segments": ["easy", "hard"]}])
def test_a_decision_whose_option_was_not_used_costs_nothing(api: Api, context: Any) -> None:
    api.session(**({} if context is None else {"context": context}))
    query = {} if context is None else {"context": "easy"}
    spent = []
    for used in ("", "?used=true", "?used=false"):
        id_ = api("POST", "/v1/sessions/shop/decisions", query).json()["id"]
        assert api("DELETE", f"/v1/decisions/{id_}{used}").status_code == 204
        spent.append(api("GET", "/v1/sessions/shop").json()["spent"])
    assert 0 < spent[0] < spent[1] == pytest.approx(spent[2])
    problem(api("DELETE", f"/v1/decisions/{id_}?used=perhaps"), 422, "used")


def test_a_batch_goes_to_the_store_as_one(api: Api) -> None:
    api.session()
    ids = [each["id"] for each in api.ask(count=100)["decisions"]]
    commits = api.store.commits
    done = api("POST", "/v1/batch", [{"op": "tell", "id": id_, "reward": 1.0} for id_ in ids])
    assert {each["status"] for each in done.json()} == {204}
    assert api.store.commits == commits + 1
    problem(api("POST", "/v1/batch", [{"op": "tell", "id": ids[0]}, {"op": "sing"}]), 422, "1")
    problem(api("POST", "/v1/batch", []), 422)


def test_nothing_here(api: Api) -> None:
    problem(api("GET", "/nothing"), 404, "nothing at this address")
    refused = api("POST", "/healthz")
    problem(refused, 405, "method")
    assert refused.headers["allow"] == "GET"
    assert api("GET", "/healthz").json() == {"status": "alive"}
    assert api("GET", "/readyz").json() == {"status": "ready"}


def test_costs_at_the_end_of_the_numbers(api: Api) -> None:
    made = api("PUT", "/v1/sessions/shop", {"costs": {"a": 1e308, "b": 1.7e308}, "alpha": 0.1})
    assert made.status_code in (201, 422), made.text
    if made.status_code == 201:
        for each in api.ask(count=50)["decisions"]:
            assert api.tell(each["id"], reward=1.0).status_code == 204
        for part in ("", "/series", "/changes", "/log", "/export"):
            answer = api("GET", f"/v1/sessions/shop{part}")
            assert answer.status_code == 200, answer.text
            json.loads(answer.text, parse_constant=pytest.fail)
        assert api("GET", "/metrics").status_code == 200


def test_a_method_that_an_address_does_not_know_is_told_all_that_it_does(api: Api) -> None:
    paths = api("GET", "/openapi.json").json()["paths"]
    several = 0
    for path, operations in paths.items():
        known = sorted(method.upper() for method in operations)
        several += len(known) > 1
        answer = api("TRACE", path.format(name="shop", option="small", id="x", path="x"))
        problem(answer, 405, "does not know the method")
        assert answer.headers["allow"] == ", ".join(known), path
    assert several >= 2
