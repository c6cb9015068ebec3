"""Every route, and what goes on beside the requests, while the store hangs, fails, or is gone."""

from __future__ import annotations

import asyncio
import io
import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from frugalbandits.errors import StoreUnavailable
from frugalbandits.service import Settings, app
from frugalbandits.stores import open_store
from frugalbandits.stores.memory import MemoryStore
from service_harness import BODY, Api, problem, sqlite
from store_harness import eventually


class Troubled(MemoryStore):
    """A store in memory that can be made to hang, or to fail."""

    def __init__(self) -> None:
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.error: Exception | None = None
        super().__init__()

    def _meet(self) -> None:
        self.goes_on.wait(60)
        if self.error is not None:
            raise self.error

    def read(self, session: str, after: int = 0, limit: int = 10_000) -> Any:
        self._meet()
        return super().read(session, after, limit)

    def latest(self, session: str) -> Any:
        self._meet()
        return super().latest(session)

    def sessions(self) -> dict[str, int]:
        self._meet()
        return super().sessions()

    def _write(self, calls: Sequence[Any]) -> Any:
        self._meet()
        return super()._write(calls)

    def _probe(self) -> None:
        self._meet()


@pytest.fixture
def troubled() -> Iterator[tuple[Api, Troubled, str]]:
    store = Troubled()
    api = Api(store, Settings(store_patience=0.1))
    # It may take longer than that on a machine that is busy.
    routes = {**BODY, "context": {"segments": ["a", "b"]}}
    eventually(lambda: api("PUT", "/v1/sessions/shop", BODY).status_code in (200, 201))
    eventually(lambda: api("PUT", "/v1/sessions/routes", routes).status_code in (200, 201))
    yield api, store, api.ask()["id"]
    store.error = None
    store.goes_on.set()
    api.close()


def requests(id_: str) -> list[tuple[str, str, Any, bool]]:
    """Return every route, with a body, and whether it can be answered without the store."""
    shop = "/v1/sessions/shop"
    return [
        ("GET", "/healthz", None, True),
        ("GET", "/readyz", None, False),
        ("GET", "/metrics", None, True),
        ("GET", "/openapi.json", None, True),
        ("GET", "/v1/holder", None, True),
        ("GET", "/v1/sessions", None, False),
        ("GET", shop, None, True),
        ("GET", f"{shop}/series", None, True),
        ("GET", f"{shop}/changes", None, True),
        ("GET", f"{shop}/log", None, False),
        ("GET", f"{shop}/export", None, True),
        ("GET", f"{shop}/options/small", None, True),
        ("GET", "/v1/sessions/unknown", None, False),
        ("POST", f"{shop}/decisions", {}, True),
        ("POST", "/v1/sessions/routes/decisions", {"context": "a"}, False),
        ("POST", f"{shop}/observations", {"option": "small", "reward": 1.0}, False),
        ("PUT", f"/v1/decisions/{id_}/feedback", {"reward": 1.0}, False),
        ("DELETE", f"/v1/decisions/{id_}", None, False),
        ("PUT", "/v1/sessions/other", BODY, False),
        ("PUT", f"{shop}/options/new", {"cost": 1.0}, False),
        ("PATCH", f"{shop}/options/small", {"cost": 0.3}, False),
        ("DELETE", f"{shop}/options/large", None, False),
    ]


def check_all(api: Api, id_: str, words: str) -> None:
    for method, path, body, without in requests(id_):
        answer = api(method, path, body)
        if without:
            assert answer.status_code in (200, 201), (method, path, answer.text)
        else:
            problem(answer, 503)
            assert words in answer.json()["detail"], (method, path, answer.text)
            assert answer.headers["retry-after"] == "1"
    items = [{"op": "tell", "id": id_, "reward": 1.0}, {"op": "ask", "session": "shop"}]
    assert [each["status"] for each in api("POST", "/v1/batch", items).json()] == [503, 201]


def test_a_store_that_hangs(troubled: tuple[Api, Troubled, str]) -> None:
    api, store, id_ = troubled
    store.goes_on.clear()
    check_all(api, id_, "the store")
    store.goes_on.set()
    # What was given up may have been written after all: the same again is the same.
    answers = [api(method, path, body).status_code for method, path, body, _ in requests(id_)[:17]]
    assert all(status < 500 for status in answers[2:]), answers


def test_a_store_that_cannot_be_reached_now(troubled: tuple[Api, Troubled, str]) -> None:
    api, store, id_ = troubled
    store.error = StoreUnavailable("the disk of the store is full")
    check_all(api, id_, "the disk of the store is full")
    store.error = None
    assert api.tell(id_, reward=1.0).status_code == 204


def test_a_store_that_was_closed(troubled: tuple[Api, Troubled, str]) -> None:
    api, store, id_ = troubled
    store.close()
    check_all(api, id_, "closed")


def test_a_file_that_somebody_else_has_locked(tmp_path: Path) -> None:
    api = Api(open_store(sqlite(tmp_path)), Settings(store_patience=0.2))
    try:
        eventually(lambda: api("PUT", "/v1/sessions/shop", BODY).status_code in (200, 201))
        id_ = api.ask()["id"]
        with closing(sqlite3.connect(tmp_path / "decisions.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            problem(api.tell(id_, reward=1.0), 503, "did not answer within 0.2 s")
            problem(api.tell(id_, reward=1.0), 503)
            problem(api("GET", "/readyz"), 503)
            assert api.ask()["option"] and api("GET", "/healthz").status_code == 200
            assert api("GET", "/v1/sessions/shop/log").status_code == 200
            other.execute("ROLLBACK")
        for _ in range(100):
            if (answer := api.tell(id_, reward=1.0)).status_code == 204:
                break
            problem(answer, 503)
            api.run(asyncio.sleep(0.05))
        assert api("GET", "/v1/sessions/shop").json()["feedback"]["told"] == 1
    finally:
        api.close()


def test_probes_wait_for_one_look_at_the_store(troubled: tuple[Api, Troubled, str]) -> None:
    api, store, _ = troubled
    looks = []
    real = store._probe

    def counted() -> None:
        looks.append(1)
        real()

    store._probe = counted  # type: ignore[method-assign]

    async def many() -> None:
        checks = [api.service.readiness.check() for _ in range(50)]
        assert await asyncio.gather(*checks) == [None] * 50

    api.run(many())
    assert len(looks) == 1
    assert api("GET", "/readyz").status_code == 200  # it was looked at just now
    assert len(looks) == 1


def test_a_session_whose_log_makes_no_sense_is_refused_in_words(tmp_path: Path) -> None:
    first = Api(open_store(sqlite(tmp_path)))
    first.session()
    first.session("well")
    first.close()
    with closing(sqlite3.connect(tmp_path / "decisions.db")) as database:
        damaged = (
            "UPDATE frugal_facts SET body = '{\"broken' WHERE session = (SELECT id FROM frugal_sessions "
        )
        database.execute(f"{damaged} WHERE name = 'shop')")
        database.execute("DELETE FROM frugal_snapshots")
        database.commit()
    api = Api(open_store(sqlite(tmp_path)))
    try:
        problem(api("GET", "/v1/sessions/shop"), 503, "'shop' cannot be read", "JSONDecodeError")
        problem(api("POST", "/v1/sessions/shop/decisions", {}), 503, "cannot be read")
        assert api.ask("well")["option"]
    finally:
        api.close()


# What goes on beside the requests.


def events(written: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in written.getvalue().splitlines()]


def test_the_tokens_are_read_again_whatever_went_wrong(
    api: Api, written: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "REFRESH", 0.001)
    service, tried = api.service, []
    real = service.access.refresh

    def fails() -> None:
        tried.append(1)
        if len(tried) <= 5:
            raise KeyError("digest") if len(tried) < 4 else StoreUnavailable("away")
        real()

    monkeypatch.setattr(service.access, "refresh", fails)

    async def run() -> None:
        await service.start()
        async with asyncio.timeout(20):
            while len(tried) < 8:
                await asyncio.sleep(0.01)

    api.run(run())
    told = [line for line in events(written) if "tokens" in line["event"]]
    # Each trouble once, and a trace only of what nobody foresaw.
    assert [("KeyError" in line.get("exception", ""), line["why"]) for line in told] == [
        (True, "'digest'"),
        (False, "away"),
    ]


def test_sessions_are_opened_ahead_whatever_went_wrong(
    tmp_path: Path, written: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "_PAUSE", 0.001)
    first = Api(open_store(sqlite(tmp_path)))
    first.session("a")
    first.session("b")
    first.close()
    api = Api(open_store(sqlite(tmp_path)))
    real, tried = api.store.sessions, []

    def fails() -> dict[str, int]:
        tried.append(1)
        if len(tried) < 3:
            raise RuntimeError("nobody foresaw this")
        return real()

    try:
        monkeypatch.setattr(api.store, "sessions", fails)

        async def run() -> None:
            await api.service.start()
            async with asyncio.timeout(20):
                while len(api.service.hub.sessions) < 2:
                    await asyncio.sleep(0.01)

        api.run(run())
        told = [line for line in events(written) if "list the sessions" in line["event"]]
        assert len(tried) >= 3  # and it is logged once, however often it is tried
        assert len(told) == 1 and "nobody foresaw this" in told[0]["exception"]
    finally:
        api.close()
