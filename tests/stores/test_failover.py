"""A log that becomes shorter under running workers: a failover to a standby that lags, or a restore.

Workers must then be what the log says, feedback that comes afterwards must count, and no snapshot may keep
what the log has lost.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import frugalbandits as fb
from frugalbandits.errors import LogDiverged
from frugalbandits.service.access import Access, add_token, revoke_token
from frugalbandits.stores import Fact, Store, open_store
from frugalbandits.stores.kinds import open_session
from postgres_harness import PostgresServer
from store_harness import Place, eventually

COSTS = {"small": 0.2, "large": 3.0}
KINDS = ("plain", "contextual")
TOLD = 30  # observations before the failover
KEPT = 20  # of which the standby has so many


def made(kind: str, store: Store, **settings: Any) -> Any:
    if kind == "plain":
        return fb.Session(COSTS, alpha=0.1, store=store, name="s", **settings)
    return fb.ContextualSession(COSTS, 0.1, fb.Segments(["easy"]), store=store, name="s", **settings)


def observe(kind: str, session: Any, reward: float, times: int) -> None:
    query = () if kind == "plain" else ("easy",)
    for _ in range(times):
        session.observe(*query, "small", reward)


def cut(place: Place, request: pytest.FixtureRequest, session: str, last: int, disconnect: bool) -> None:
    """Make the log of a session end earlier, as on a standby that had not received the rest."""
    statements = [
        "DELETE FROM frugal_facts WHERE seq > {last} AND session = {id}",
        "DELETE FROM frugal_snapshots WHERE upto > {last} AND session = {id}",
        "UPDATE frugal_sessions SET last = {last} WHERE id = {id}",
    ]
    found = f"(SELECT id FROM frugal_sessions WHERE name = '{session}')"
    statements = [each.format(last=last, id=found) for each in statements]
    if place.kind == "sqlite":
        connection = sqlite3.connect(place.url.removeprefix("sqlite:///"), timeout=30)
        with connection:
            for each in statements:
                connection.execute(each)
        connection.close()
        return
    server: PostgresServer = request.getfixturevalue("server")
    server.execute(f"DO $$ BEGIN {'; '.join(statements)}; END $$", place.url)
    if disconnect:
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()",
            place.url,
        )


def patiently(work: Callable[[], object]) -> None:
    """Do something again until the store is there: connections have just been cut."""

    def done() -> bool:
        try:
            work()
        except fb.StoreUnavailable:
            return False
        return True

    eventually(done)


def fold(store: Store) -> dict[str, Any]:
    """Return the state of the log that is read from its first entry on, without any snapshot."""
    with open_store("memory:") as copy:
        for entry in store.read("s"):
            copy.append("s", [entry.fact])
        with open_session(copy, "s") as session:
            return learned(session)


def learned(session: Any) -> dict[str, Any]:
    state = json.loads(session.to_json())
    if "tally" in state["state"]:
        return {name: state["state"]["tally"][name] for name in ("pulls", "sums", "carry")}
    return {name: value for name, value in state["state"].items() if name != "random"}


@pytest.mark.parametrize(
    ("more", "snapshot"),
    [(0, False), (0, True), (5, False), (TOLD - KEPT, True), (TOLD, False)],
    ids=["shorter", "shorter, snapshot", "regrowing", "as long, snapshot", "longer"],
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_follows_the_log_that_is_there(
    place: Place, request: pytest.FixtureRequest, kind: str, more: int, snapshot: bool
) -> None:
    store = place.open()
    running = made(kind, store)
    observe(kind, running, 1.0, KEPT)
    if snapshot:
        running.snapshot()
    observe(kind, running, 1.0, TOLD - KEPT)
    cut(place, request, "s", 1 + KEPT, disconnect=True)
    # Another worker, which has read the log that is there, goes on with it.
    other = place.open()
    with open_session(other, "s") as fresh:
        observe(kind, fresh, 0.0, more)
        patiently(running.snapshot)  # of a log that is no more: it must not be kept
        eventually(lambda: learned(running) == fold(other))
        # What is told now, here and there, counts for both.
        observe(kind, running, 0.5, 3)
        observe(kind, fresh, 0.25, 3)
        eventually(lambda: learned(running) == learned(fresh) == fold(other))
    running.snapshot()
    with open_session(place.open(), "s") as again:
        assert learned(again) == fold(other)
    running.close()


@pytest.mark.parametrize("kind", KINDS)
def test_acknowledged_feedback_counts_after_a_failover(
    place: Place, request: pytest.FixtureRequest, kind: str
) -> None:
    """The numbers of new entries were in use before: they are not passed over."""
    with made(kind, place.open()) as running:
        observe(kind, running, 1.0, TOLD)
        cut(place, request, "s", 1 + KEPT, disconnect=True)
        for _ in range(TOLD - KEPT):
            patiently(lambda: observe(kind, running, 0.0, 1))
        eventually(lambda: learned(running) == fold(running.store))
        rewards = [json.loads(e.fact.body)["r"] for e in running.store.read("s") if e.fact.kind == "observe"]
        assert sum(rewards) == KEPT and len(rewards) == TOLD


def test_decisions_and_options_that_the_log_has_lost(place: Place, request: pytest.FixtureRequest) -> None:
    with made("plain", place.open()) as running:
        observe("plain", running, 1.0, 5)
        last = running.seen
        running.add("extra", 0.1)
        kept, lost = running.ask(among=["small"]), running.ask(among=["extra"])
        cut(place, request, "s", last, disconnect=True)
        eventually(lambda: running.explain().arms[-1].name == "large" and len(running.explain().arms) == 2)
        running.tell(kept.id, 1.0)
        with pytest.raises(fb.UnknownDecision, match="option that this session does not have"):
            running.tell(lost.id, 1.0)
        running.flush()
        # Feedback that was on its way is in the log, and breaks nobody.
        token = running._tokens.read(lost.id)
        body = json.dumps({"o": token.option, "e": token.epoch, "r": 1.0, "t": token.issued})
        running.store.append("s", [Fact(f"{token.key}r", "reward", body, token.issued, "")])
        observe("plain", running, 1.0, 1)
        with open_session(place.open(), "s") as fresh:
            assert learned(fresh) == learned(running) == fold(running.store)
            assert fresh.decisions == running.decisions


def test_a_snapshot_of_another_log_is_refused(store: Store) -> None:
    fact = Fact("one", "reward", "{}", 0.0, "")
    store.append("s", [fact, fact._replace(key="two")])
    with pytest.raises(LogDiverged, match="that entry is another one"):
        store.snapshot("s", 2, "state", key="other")
    with pytest.raises(LogDiverged, match="its newest entry is 2"):
        store.snapshot("s", 3, "state", key="two")
    assert store.latest("s") is None
    store.snapshot("s", 2, "state", key="two")
    assert store.latest("s") is not None


def test_a_log_that_became_shorter_is_news(place: Place, request: pytest.FixtureRequest) -> None:
    store = place.open()
    fact = Fact("one", "reward", "{}", 0.0, "")
    store.append("s", [fact._replace(key=str(number)) for number in range(5)])
    assert store.news({"s": 5}, 0.0) == {}
    found: list[dict[str, int]] = []
    waiting = threading.Thread(target=lambda: found.append(store.news({"s": 5}, 10.0)))
    waiting.start()
    cut(place, request, "s", 2, disconnect=False)
    waiting.join()
    assert found == [{"s": 2}]


def test_tokens_after_a_failover(place: Place, request: pytest.FixtureRequest) -> None:
    """A token that was made on the new log is known, one that the log lost is not, and nothing is open."""
    store = place.open()
    boss = add_token(store, "boss", "admin")
    access = Access(store)
    access.refresh()
    last = store.sessions()["$server"]
    lost = add_token(store, "lost", "writer")
    revoke_token(store, "boss")
    access.refresh()
    assert access.holder(boss) is None and access.holder(lost) is not None
    cut(place, request, "$server", last, disconnect=True)
    other = place.open()
    patiently(access.refresh)
    new = [add_token(other, name, "reader") for name in ("new", "newer")]
    access.refresh()
    assert access.holder(boss) is not None and access.holder(lost) is None
    assert all(access.holder(each) is not None for each in new)
    cut(place, request, "$server", 0, disconnect=True)
    patiently(access.refresh)
    assert access.holder(boss) is None and not access.open


def test_a_file_that_is_restored_in_place(tmp_path: Path) -> None:
    """SQLite's backup into a file that is in use: whoever has it open reads the restored log."""
    url, copy = f"sqlite:///{tmp_path}/decisions.db", tmp_path / "copy.db"
    with open_store(url) as store, made("plain", store) as running:
        observe("plain", running, 1.0, KEPT)
        with sqlite3.connect(tmp_path / "decisions.db") as source, sqlite3.connect(copy) as target:
            source.backup(target)
        observe("plain", running, 1.0, TOLD - KEPT)
        with sqlite3.connect(copy) as source, sqlite3.connect(tmp_path / "decisions.db") as target:
            source.backup(target)
        eventually(lambda: learned(running) == fold(store))
        assert running.explain().arms[0].pulls == KEPT
