"""One session that cannot be read: the others work, and operators are told."""

from __future__ import annotations

import io
import json
import sqlite3
from pathlib import Path

import pytest

from frugalbandits.stores import Fact, open_store
from frugalbandits.stores.keeping import keeper_of
from service_harness import Api, lines, numbers, problem, sqlite
from store_harness import eventually

LATER = Fact("later:1", "from-a-later-release", "{}", 0.0, "w2")


def remove(folder: Path, key: str) -> None:
    """Take an entry out of the log, as the operator who rolls an upgrade back would."""
    with sqlite3.connect(folder / "decisions.db") as connection:
        connection.execute("DELETE FROM frugal_facts WHERE key = ?", (key,))
        connection.execute(
            "UPDATE frugal_sessions SET last = "
            "(SELECT max(seq) FROM frugal_facts WHERE session = frugal_sessions.id)"
        )


@pytest.mark.parametrize("context", [None, {"segments": ["easy", "hard"]}], ids=["session", "contextual"])
def test_an_event_of_an_unknown_kind_breaks_one_session(
    tmp_path: Path, written: io.StringIO, context: dict | None
) -> None:
    one, other = Api(open_store(sqlite(tmp_path))), Api(open_store(sqlite(tmp_path)))
    try:
        if context is None:
            one.session("bad")
        else:
            one.session("bad", context=context)
        one.session("good")
        before = one("GET", "/v1/sessions").json()["sessions"]
        assert [each["trouble"] for each in before] == [None, None]
        # Another worker, of a later release, writes what this one does not know.
        other.store.append("bad", [LATER])
        eventually(lambda: one("GET", "/readyz").json().get("broken_sessions") == 1)
        assert one("GET", "/readyz").status_code == 200
        assert numbers(one)["frugal_session_broken", ("bad",)] == 1
        assert numbers(one)["frugal_replica_lag_seconds", ()] > 0
        # The other session is followed and its decisions are counted for all.
        seen = one.service.hub.sessions["good"].seen
        observed = other("POST", "/v1/sessions/good/observations", {"option": "small", "reward": 1.0})
        assert observed.status_code == 204
        eventually(lambda: one.service.hub.sessions["good"].seen > seen)
        one.ask("good")
        eventually(lambda: any(e.fact.kind == "count" for e in one.store.read("good")))
        # The list has both, also for a worker that starts now and cannot open the broken one.
        fresh = Api(open_store(sqlite(tmp_path)))
        try:
            fresh.run(fresh.service.start())
            for api, seen_ in ((one, 1), (fresh, None)):
                answer = api("GET", "/v1/sessions")
                assert answer.status_code == 200, answer.text
                bad, good = answer.json()["sessions"]
                assert "from-a-later-release" in bad["trouble"] and bad["seen"] == seen_
                assert good["trouble"] is None and good["decisions"] == 1
            problem(fresh("GET", "/v1/sessions/bad"), 503, "from-a-later-release")
            assert fresh("GET", "/readyz").json() == {"status": "degraded", "broken_sessions": 1}
            assert fresh("GET", "/metrics").status_code == 200
        finally:
            fresh.close()
        logged = [line for line in lines(written) if "from-a-later-release" in json.dumps(line)]
        # Once where it is followed, and once where it could not be opened.
        assert len([line for line in logged if line["event"].startswith("session 'bad' is broken")]) == 1
        assert len([line for line in logged if line["event"] == "a session cannot be opened"]) == 1
        # The cause goes away: everything works again without a restart.
        remove(tmp_path, LATER.key)
        eventually(lambda: not keeper_of(one.store).troubles())
        assert one("GET", "/readyz").json() == {"status": "ready"}
        eventually(lambda: other("GET", "/v1/sessions").json()["sessions"][0]["trouble"] is None)
    finally:
        one.close()
        other.close()


def test_a_session_that_could_not_be_opened_is_opened_when_it_can(tmp_path: Path) -> None:
    first = Api(open_store(sqlite(tmp_path)))
    first.session("bad")
    first.store.append("bad", [LATER])
    first.close()
    api = Api(open_store(sqlite(tmp_path)))
    try:
        api.run(api.service.hub.open_all())
        assert api("GET", "/readyz").json()["status"] == "degraded"
        remove(tmp_path, LATER.key)
        eventually(lambda: api("GET", "/v1/sessions").json()["sessions"][0]["trouble"] is None)
        assert api("GET", "/readyz").json() == {"status": "ready"}
    finally:
        api.close()
