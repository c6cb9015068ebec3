"""The thread behind stored sessions: it rests while there is nothing to do."""

from __future__ import annotations

import time

import frugalbandits as fb
from frugalbandits.errors import StoreUnavailable
from frugalbandits.stores import Store, open_store
from frugalbandits.stores.identity import secret_of
from frugalbandits.stores.session import StoredSession


def test_a_session_that_others_made_and_nobody_opened_keeps_nobody_busy(tmp_path) -> None:
    """What is news to the store, but read by nobody here, is looked at once."""
    url = f"sqlite:///{tmp_path}/decisions.db"
    with open_store(url) as store, open_store(url) as other:
        fresh = fb.Session({"a": 1.0, "b": 2.0}, alpha=0.1)
        session, _ = StoredSession.create(store, "mine", fresh)
        theirs, _ = StoredSession.create(other, "theirs", fresh)
        looks = _spied(store, "news")
        time.sleep(1.5)
        assert looks[0] < 60
        # What is kept here is still read at once.
        mine = StoredSession.open(other, "mine")
        mine.observe("a", 1.0)
        until = time.monotonic() + 10
        while session.seen < mine.seen:
            assert time.monotonic() < until
            time.sleep(0.01)
        for each in (session, theirs, mine):
            each.close()


def _many(store: Store, count: int) -> list[StoredSession]:
    fresh = fb.Session({"a": 1.0, "b": 2.0}, alpha=0.1)
    return [StoredSession.create(store, f"session-{number}", fresh)[0] for number in range(count)]


def _until(reached, seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_decision_counts_of_many_sessions_are_written_together(tmp_path) -> None:
    """One commit for all, not one for each: with 1,000 sessions that took longer than a second."""
    with open_store(f"sqlite:///{tmp_path}/decisions.db") as store:
        sessions = _many(store, 60)
        assert secret_of(store) is secret_of(store)  # asked of the store once, not once a session
        before = store.commits
        for session in sessions:
            session.ask()
        _until(lambda: all(session.seen == 2 for session in sessions))
        assert store.commits - before <= 10
        for session in sessions:
            session.close()


def test_news_of_many_sessions_are_read_together(tmp_path) -> None:
    url = f"sqlite:///{tmp_path}/decisions.db"
    with open_store(url) as store, open_store(url) as other:
        theirs = _many(other, 60)
        mine = [StoredSession.open(store, session.name) for session in theirs]
        single, together = _spied(store, "read"), _spied(store, "read_many")
        tells = [other.submit(each.name, each.draft_observe("a", 1.0)) for each in theirs]
        assert [future.result()[0].what for future in tells] == ["new"] * 60
        _until(lambda: all(session.seen >= 2 for session in mine))
        assert single[0] == 0 and 1 <= together[0] <= 30
        assert [session.explain().arms[0].pulls for session in mine] == [1] * 60
        for session in (*mine, *theirs):
            session.close()


def test_a_reading_of_many_that_fails_leaves_each_session_to_itself(tmp_path) -> None:
    """One session with damaged rows must not hold up those that are read with it."""
    url = f"sqlite:///{tmp_path}/decisions.db"
    with open_store(url) as store, open_store(url) as other:
        theirs = _many(other, 3)
        mine = [StoredSession.open(store, session.name) for session in theirs]

        def fail(after, limit=1_000):
            raise StoreUnavailable("cannot read: damaged")

        store.read_many = fail
        for session in theirs:
            session.observe("a", 1.0)
        _until(lambda: all(session.seen >= 2 for session in mine))
        for session in (*mine, *theirs):
            session.close()


def _spied(store: Store, name: str) -> list[int]:
    calls = [0]
    plain = getattr(store, name)

    def counted(*given):
        calls[0] += 1
        return plain(*given)

    setattr(store, name, counted)
    return calls
