"""What comes from people who mean no good: ids of their own making, names, sizes."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest

from frugalbandits.service import limits
from service_harness import BODY, Api, problem

NAMES = [
    "../../etc/passwd",
    "..",
    "a/b",
    "<script>alert(1)</script>",
    "'; DROP TABLE facts; --",
    "x" * 10_000,
    "shop\n",
    "shop\x00",
    "$server",
    " shop",
    "caf\u00e9",
    "%2e%2e",
    "\U0001f600",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_none(api: Api, name: str) -> None:
    where = f"/v1/sessions/{quote(name, safe='')}"
    made = api("PUT", where, BODY)
    assert made.status_code in (404, 405, 422), made.text
    problem(made, made.status_code)
    for path in (where, f"{where}/log", f"{where}/export"):
        answer = api("GET", path)
        problem(answer, answer.status_code)
        assert answer.status_code in (404, 405)
    answer = api("POST", f"{where}/decisions", {})
    assert answer.status_code in (404, 405)
    assert api("GET", "/v1/sessions").json()["sessions"] == []


@pytest.mark.parametrize("name", [each for each in NAMES if "\n" not in each and "\x00" not in each])
def test_an_option_may_be_called_much(api: Api, name: str) -> None:
    api.session()
    where = f"/v1/sessions/shop/options/{quote(name, safe='')}"
    answer = api("PUT", where, {"cost": 1.0})
    if len(name) > limits.OPTION_NAME or name == "..":
        assert answer.status_code in (404, 422)
        return
    assert answer.status_code == 201, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert api("GET", where).json()["name"] == name
    assert name in {arm["name"] for arm in api("GET", "/v1/sessions/shop").json()["arms"]}


def altered(id_: str) -> list[str]:
    raw = base64.urlsafe_b64decode(id_ + "=" * (-len(id_) % 4))
    changed = [raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :] for place in range(len(raw))]
    others = [raw[:-1], raw + b"\0", raw[1:], b"\0" * len(raw), raw[:40], raw * 2]
    texts = [base64.urlsafe_b64encode(each).rstrip(b"=").decode() for each in [*changed, *others]]
    return [
        *texts,
        id_[:-1],
        id_ + "A",
        id_ + "=",
        id_.swapcase(),
        "x",
        "0",
        "-1",
        "null",
        "A" * 5_000,
        "\u00e9",
    ]


def test_an_id_that_was_altered_is_nobodys(api: Api) -> None:
    api.session()
    id_ = api.ask()["id"]
    for each in altered(id_):
        if each == id_:
            continue
        answer = api.tell(each, reward=1.0)
        problem(answer, 404)
        problem(api("DELETE", f"/v1/decisions/{quote(each, safe='')}"), 404)
    assert api("GET", "/v1/sessions/shop").json()["feedback"]["told"] == 0
    assert api.tell(id_, reward=1.0).status_code == 204


def test_an_id_of_another_store_or_session_is_nobodys(api: Api) -> None:
    api.session()
    api.session("other")
    stranger = Api()
    try:
        stranger.session()
        problem(api.tell(stranger.ask()["id"], reward=1.0), 404)
    finally:
        stranger.close()
    ours, theirs = api.ask()["id"], api.ask("other")["id"]
    # The head says "other", the signature is of "shop".
    mixed = base64.urlsafe_b64decode(ours + "=" * (-len(ours) % 4))
    head = base64.urlsafe_b64decode(theirs + "=" * (-len(theirs) % 4))
    forged = base64.urlsafe_b64encode(mixed[:1] + head[1:9] + mixed[9:]).rstrip(b"=").decode()
    problem(api.tell(forged, reward=1.0), 404)
    problem(api("POST", "/v1/sessions/shop/decisions", {"after": theirs}), 404)


# Sizes.


def test_more_than_a_session_holds(api: Api) -> None:
    many = {f"o{place}": float(place + 1) for place in range(limits.OPTIONS + 1)}
    problem(api("PUT", "/v1/sessions/shop", {**BODY, "costs": many}), 422, "costs")
    del many["o0"]
    assert (
        api(
            "PUT", "/v1/sessions/shop", {**BODY, "costs": many, "policy": "etc-cs", "horizon": 1e6}
        ).status_code
        == 201
    )
    problem(api("PUT", "/v1/sessions/shop/options/one-more", {"cost": 1.0}), 422, "1,000 options")
    assert len(api.ask()["standby"]) == limits.STANDBY


def test_more_than_a_store_holds(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SESSIONS", 2)
    api.session("a")
    api.session("b")
    problem(api("PUT", "/v1/sessions/c", BODY), 422, "2 sessions")
    api.session("a")


def test_more_than_a_request_holds(api: Api) -> None:
    api.session()
    where = "/v1/sessions/shop/decisions"
    for count in (0, -1, limits.COUNT + 1, 10**30, 1.5, "3", True):
        problem(api("POST", where, {"count": count}), 422, "count")
    assert len(api.ask(count=limits.COUNT)["decisions"]) == limits.COUNT
    item = {"op": "ask", "session": "shop"}
    problem(api("POST", "/v1/batch", [item] * (limits.BATCH + 1)), 422)
    assert len(api("POST", "/v1/batch", [item] * limits.BATCH).json()) == limits.BATCH
    half = {**item, "count": limits.COUNT // 2}
    assert len(api("POST", "/v1/batch", [half, half]).json()) == 2
    asked = api("GET", "/v1/sessions/shop").json()["decisions"]
    problem(api("POST", "/v1/batch", [half, half, item]), 422, "1,000 decisions", "1,001 together")
    assert api("GET", "/v1/sessions/shop").json()["decisions"] == asked
    too_long = {"among": ["x" * 201]}
    problem(api("POST", where, too_long), 422, "among")


def test_a_body_that_is_too_large(api: Api) -> None:
    api.session()
    where = "/v1/sessions/shop/decisions"
    kind = {"Content-Type": "application/json"}
    problem(api("POST", where, content=b" " * (limits.BODY + 1), headers=kind), 413, "1,048,576")

    async def parts():  # without a length
        for _ in range(20):
            yield b" " * 100_000

    problem(api("POST", where, content=parts(), headers=kind), 413, "1,048,576")
    deep = b'{"metadata":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    answer = api("POST", where, content=deep, headers=kind)
    problem(answer, answer.status_code)
    assert answer.status_code in (400, 422)


def test_more_requests_than_a_worker_takes(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONCURRENCY", 0)
    answer = api("GET", "/v1/sessions")
    problem(answer, 503, "in hand")
    assert answer.headers["retry-after"] == "1"
    # A probe that is refused has the process restarted, which helps nobody.
    assert api("GET", "/healthz").status_code == 200
    assert api("GET", "/readyz").status_code == 200


def test_a_store_that_cannot_be_reached(api: Api) -> None:
    api.session()
    id_ = api.ask()["id"]
    api.store.close()
    for answer in (
        api.tell(id_, reward=1.0),
        api("GET", "/v1/sessions/other"),
        api("PUT", "/v1/sessions/other", BODY),
        api("GET", "/v1/sessions"),
        api("GET", "/readyz"),
        api("DELETE", f"/v1/decisions/{id_}"),
    ):
        problem(answer, 503)
        assert answer.headers["retry-after"] == "1"
    told = api("POST", "/v1/batch", [{"op": "tell", "id": id_, "reward": 1.0}]).json()
    assert told[0]["status"] == 503
    # Asking writes nothing, so it goes on.
    assert api.ask()["option"]
