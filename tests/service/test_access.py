"""Who gets in: every route, with every kind of token and with none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from frugalbandits.errors import InputError
from frugalbandits.service.access import Access, add_token, revoke_token
from frugalbandits.stores import open_store
from service_harness import BODY, Api, problem

ROLES = ("reader", "writer", "admin")


class Locked(NamedTuple):
    api: Api
    tokens: dict[str, str]
    id: str


@pytest.fixture(scope="module")
def locked() -> Iterator[Locked]:
    store = open_store("memory:")
    tokens = {role: add_token(store, role, role) for role in ROLES}
    tokens["prefixed"] = add_token(store, "prefixed", "admin", "other-")
    tokens["revoked"] = add_token(store, "revoked", "admin")
    tokens["wrong"] = "frugal_" + "A" * 43
    revoke_token(store, "revoked")
    api = Api(store)
    api.session(token=tokens["admin"])
    asked = api("POST", "/v1/sessions/shop/decisions", {}, tokens["writer"]).json()
    yield Locked(api, tokens, asked["id"])
    api.close()


# Every route, the least role that may use it, and a request that would do something.
ROUTES: list[tuple[str, str, str | None, object]] = [
    ("GET", "/healthz", None, None),
    ("GET", "/readyz", None, None),
    ("GET", "/openapi.json", None, None),
    ("GET", "/", None, None),
    ("GET", "/sessions/shop", None, None),
    ("GET", "/metrics", "reader", None),
    ("GET", "/v1/holder", "reader", None),
    ("GET", "/v1/sessions", "reader", None),
    ("GET", "/v1/sessions/shop", "reader", None),
    ("GET", "/v1/sessions/shop/series", "reader", None),
    ("GET", "/v1/sessions/shop/changes", "reader", None),
    ("GET", "/v1/sessions/shop/log", "reader", None),
    ("GET", "/v1/sessions/shop/export", "reader", None),
    ("GET", "/v1/sessions/shop/options/small", "reader", None),
    ("POST", "/v1/sessions/shop/decisions", "writer", {}),
    ("POST", "/v1/sessions/shop/observations", "writer", {"option": "small", "reward": 1.0}),
    ("PUT", "/v1/decisions/{id}/feedback", "writer", {"reward": 1.0}),
    ("DELETE", "/v1/decisions/{id}", "writer", None),
    ("POST", "/v1/batch", "writer", [{"op": "ask", "session": "shop"}]),
    ("PUT", "/v1/sessions/shop", "admin", BODY),
    ("PUT", "/v1/sessions/shop/options/new", "admin", {"cost": 1.0}),
    ("PATCH", "/v1/sessions/shop/options/small", "admin", {"cost": 0.3}),
    ("DELETE", "/v1/sessions/shop/options/none", "admin", None),
]


def test_every_route_is_tried_here(locked: Locked) -> None:
    tried = {(method, re.sub(r"shop(?=/|$)", "{name}", path)) for method, path, _, _ in ROUTES}
    tried = {(method, re.sub(r"options/.*", "options/{option}", path)) for method, path in tried}
    documented = {
        (method.upper(), path)
        for path, operations in locked.api("GET", "/openapi.json").json()["paths"].items()
        for method in operations
    }
    assert {each for each in documented if "static" not in each[1] and "pages" not in each[1]} <= tried


@pytest.mark.parametrize(("method", "path", "least", "body"), ROUTES)
@pytest.mark.parametrize("who", [None, "wrong", "revoked", *ROLES, "prefixed"])
def test_only_who_may(
    locked: Locked, who: str | None, method: str, path: str, least: str | None, body: object
) -> None:
    token = None if who is None else locked.tokens[who]
    answer = locked.api(method, path.format(id=locked.id), body, token)
    if least is None:
        assert answer.status_code == 200
    elif who in (None, "wrong", "revoked"):
        problem(answer, 401)
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert token is None or token not in answer.text
    elif who == "prefixed" and path == "/v1/sessions":
        assert answer.json()["sessions"] == []
    elif who == "prefixed" and path == "/v1/holder":
        # It is about no session: whoever holds a token may know what it is for.
        assert answer.json() == {"name": who, "role": "admin", "prefix": "other-", "tokens": True}
    elif who == "prefixed" and path == "/v1/batch":
        assert [each["status"] for each in answer.json()] == [403]
    elif who == "prefixed":
        problem(answer, 403)
    elif ROLES.index(who) < ROLES.index(least):
        problem(answer, 403, least)
    else:
        assert answer.status_code in (200, 201, 204, 404, 409), answer.text
        assert answer.status_code not in (401, 403)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Basic {admin}",
        "{admin}",
        "Bearer {admin}x",
        "Bearer {admin} {admin}",
        "bearer\t{admin}",
    ],
)
def test_a_header_of_another_form_lets_nobody_in(locked: Locked, header: str) -> None:
    given = {"Authorization": header.format(**locked.tokens)}
    problem(locked.api("GET", "/v1/sessions", headers=given), 401)


def test_a_token_made_while_it_runs_holds_at_once_and_closes_the_door() -> None:
    store = open_store("memory:")
    api = Api(store)
    try:
        assert api("GET", "/v1/sessions").status_code == 200
        token = add_token(store, "late", "reader")
        assert api("GET", "/v1/sessions", token=token).status_code == 200
        api.service.access.refresh()
        problem(api("GET", "/v1/sessions"), 401)
        assert api("GET", "/v1/sessions", token=token).status_code == 200
        revoke_token(store, "late")
        api.service.access.refresh()
        # A store whose tokens were all revoked is not open again.
        problem(api("GET", "/v1/sessions", token=token), 401)
        problem(api("GET", "/v1/sessions"), 401)
    finally:
        api.close()


def test_only_digests_are_kept() -> None:
    with open_store("memory:") as store:
        token = add_token(store, "web", "writer", "shop-")
        assert re.fullmatch(r"frugal_[A-Za-z0-9_-]{43}", token)
        assert all(token not in entry.fact.body for entry in store.read("$server"))
        access = Access(store)
        access.refresh()
        holder = access.holder(token)
        assert holder is not None and (holder.name, holder.role_name, holder.prefix) == (
            "web",
            "writer",
            "shop-",
        )
        with pytest.raises(InputError, match="is there"):
            add_token(store, "web", "admin")
        for bad in ("two\nlines", "", "$server", "x" * 200):
            with pytest.raises(InputError, match="name of a token"):
                add_token(store, bad, "reader")
        with pytest.raises(InputError, match="role"):
            add_token(store, "x", "king")
        with pytest.raises(InputError, match="no token is called 'none'; those that hold: web"):
            revoke_token(store, "none")
        revoke_token(store, "web")
        again = add_token(store, "web", "reader")
        access.refresh()
        assert access.holder(token) is None and access.holder(again) is not None


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "[", "10.0.0.1"]
)
def test_without_tokens_only_this_machine_is_let_in(api: Api, host: str) -> None:
    problem(api("GET", "/v1/sessions", headers={"Host": host}), 403, "this machine")


@pytest.mark.parametrize(
    "header",
    ["X-Forwarded-For", "X-Forwarded-Host", "x-forwarded-proto", "Forwarded", "Via", "X-Real-IP"],
)
def test_without_tokens_no_proxy_passes_anything_on(api: Api, header: str) -> None:
    """A proxy may call this machine by its own name, whoever stands behind it."""
    for path in ("/v1/sessions", "/healthz", "/metrics"):
        answer = api("GET", path, headers={"Host": "127.0.0.1", header: "10.0.0.7"})
        problem(answer, 403, header.lower(), "frugal token add")


def test_with_tokens_a_proxy_may_pass_requests_on(locked: Locked) -> None:
    headers = {"X-Forwarded-For": "10.0.0.7", "Via": "1.1 proxy"}
    assert (
        locked.api("GET", "/v1/sessions", token=locked.tokens["reader"], headers=headers).status_code == 200
    )


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:8000", "[::1]:8000", "LOCALHOST"])
def test_this_machine_by_any_of_its_names(api: Api, host: str) -> None:
    assert api("GET", "/v1/sessions", headers={"Host": host}).status_code == 200


def test_no_page_of_another_site_is_let_in(api: Api) -> None:
    api.session()
    for origin in ("https://evil.example", "null", "http://localhost.evil.example"):
        problem(api("POST", "/v1/sessions/shop/decisions", headers={"Origin": origin}), 403)
    own = {"Origin": "http://localhost:8000"}
    answer = api("POST", "/v1/sessions/shop/decisions", headers=own)
    assert answer.status_code == 201
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_the_store_of_the_server_is_no_session(api: Api) -> None:
    for path in ("/v1/sessions/$server", "/v1/sessions/%24server", "/v1/sessions/$server/log"):
        problem(api("GET", path), 404)
    problem(api("PUT", "/v1/sessions/$server", BODY), 422, "name of a session")
    assert "$server" not in api("GET", "/v1/sessions").text
