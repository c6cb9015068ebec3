"""How many requests a token may send."""

from __future__ import annotations

import pytest

from frugalbandits.service import Settings
from frugalbandits.service.access import add_token
from frugalbandits.stores import open_store
from service_harness import Api, problem

SLOW = 0.01  # requests a second: nothing comes back while a test runs


def test_each_token_has_its_own_rate() -> None:
    store = open_store("memory:")
    one, other = (add_token(store, name, "admin") for name in ("one", "other"))
    api = Api(store, Settings(rate_limit=SLOW, rate_burst=3))
    try:
        assert [api("GET", "/v1/sessions", token=one).status_code for _ in range(4)] == [200, 200, 200, 429]
        refused = api("GET", "/v1/sessions", token=one)
        problem(refused, 429, "'one'", "0.01 requests a second")
        assert 90 <= int(refused.headers["retry-after"]) <= 100
        assert api("GET", "/v1/sessions", token=other).status_code == 200
        # Whoever has no right to something uses nothing up, and probes are for whoever comes.
        problem(api("GET", "/v1/sessions"), 401)
        assert api("GET", "/healthz", token=one).status_code == 200
        assert api("GET", "/readyz", token=one).status_code == 200
    finally:
        api.close()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/sessions/shop/decisions", {"count": 20}),
        ("/v1/batch", [{"op": "ask", "session": "shop"}] * 20),
        ("/v1/batch", [{"op": "ask", "session": "shop", "count": 20}]),
    ],
)
def test_a_request_counts_for_all_that_it_asks_for(path: str, body: object) -> None:
    api = Api(settings=Settings(rate_limit=SLOW, rate_burst=10))
    try:
        api.session()
        assert api("POST", path, body).status_code in (200, 201)
        refused = api("POST", path, body)
        problem(refused, 429, "without a token")
        assert int(refused.headers["retry-after"]) > 1_000  # for 12 requests that it is behind
    finally:
        api.close()


def test_there_is_no_limit_where_none_is_set(api: Api) -> None:
    assert {api("GET", "/v1/sessions").status_code for _ in range(50)} == {200}
