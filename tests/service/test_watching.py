"""What the service tells those who look after it: a line a request, and numbers for Prometheus."""

from __future__ import annotations

import io

import pytest

from frugalbandits.service import metrics
from frugalbandits.service.access import add_token
from frugalbandits.stores import open_store
from service_harness import Api, lines, numbers


def test_a_line_a_request_and_no_secret_in_it(written: io.StringIO) -> None:
    store = open_store("memory:")
    token = add_token(store, "boss", "admin")
    api = Api(store)
    try:
        api.session(token=token)
        decision = api("POST", "/v1/sessions/shop/decisions", {"metadata": "private"}, token).json()
        api("PUT", f"/v1/decisions/{decision['id']}/feedback", {"reward": 0.123}, token)
        api("GET", "/v1/sessions?limit=1", token="frugal_wrong", headers={"X-Request-Id": "mine-17"})
        api("GET", f"/{token}")
    finally:
        api.close()
    told = [line for line in lines(written) if line["event"] == "request"]
    assert [line["route"] for line in told] == [
        "/v1/sessions/{name}",
        "/v1/sessions/{name}/decisions",
        "/v1/decisions/{id}/feedback",
        "/v1/sessions",
        "none",
    ]
    assert [line["status"] for line in told] == [201, 201, 204, 401, 404]
    assert all(line["session"] == "shop" and line["token"] == "boss" for line in told[:3])
    assert told[3]["request"] == "mine-17" and "token" not in told[3]
    assert all(isinstance(line["ms"], float) for line in told)
    text = written.getvalue()
    for secret in (token, "frugal_wrong", decision["id"], "private", "0.123"):
        assert secret not in text


def test_an_id_of_a_request_is_given_back(api: Api) -> None:
    assert api("GET", "/healthz", headers={"X-Request-Id": "a.b-c_9"}).headers["x-request-id"] == "a.b-c_9"
    for bad in ("two words", "x" * 65, "<b>", ""):
        assert len(api("GET", "/healthz", headers={"X-Request-Id": bad}).headers["x-request-id"]) == 16


def test_what_nobody_foresaw_is_logged_and_not_shown(
    api: Api, written: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: object) -> None:
        raise RuntimeError("the inside of it")

    api.session()
    monkeypatch.setattr("frugalbandits.service.views.summary_of", fails)
    answer = api("GET", "/v1/sessions/shop")
    assert answer.status_code == 500 and "inside" not in answer.text
    (failed,) = [line for line in lines(written) if line["event"] == "failed"]
    assert failed["request"] == answer.headers["x-request-id"] and "the inside of it" in failed["exception"]


def test_the_numbers_of_sessions_and_requests(api: Api) -> None:
    api.session()
    for _ in range(5):
        api.tell(api.ask(among=["small"])["id"], reward=1.0)
    api.ask(among=["small"])
    found = numbers(api)
    assert found["frugal_decisions_total", ("shop", "small")] == 6
    assert found["frugal_tells_total", ("shop", "small")] == 5
    assert found["frugal_spend", ("shop", "small")] == pytest.approx(1.2)
    assert found["frugal_waiting", ("shop",)] == 1
    assert found["frugal_quality_regret", ("shop",)] == 0
    assert found["frugal_feedback_delay_seconds_count", ("shop",)] == 5
    route = "/v1/sessions/{name}/decisions"
    assert found["frugal_http_requests_total", ("POST", route, "201")] == 6
    assert found["frugal_http_request_seconds_count", ("POST", route)] == 6
    assert found["frugal_replica_lag_seconds", ()] >= 0
    assert found["frugal_sessions", ()] == 1


def test_there_are_not_too_many_numbers(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "SESSIONS", 2)
    monkeypatch.setattr(metrics, "OPTIONS", 1)
    for name in ("a", "b", "c", "d"):
        api.session(name)
        api.tell(api.ask(name, among=["large"])["id"], reward=1.0)
    api.ask("a", among=["small"])
    for path in ("/x", "/y", "/z"):
        api("GET", path)
    found = numbers(api)
    assert {labels[0] for name, labels in found if name == "frugal_decisions_total"} == {"a", "b", "(other)"}
    assert found["frugal_decisions_total", ("(other)", "(other)")] == 2
    assert found["frugal_decisions_total", ("a", "(other)")] == 1
    assert found["frugal_feedback_delay_seconds_count", ("(other)",)] == 2
    assert [labels for name, labels in found if name == "frugal_http_requests_total" and "/x" in labels] == []
