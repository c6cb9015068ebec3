"""The thread behind stored sessions: it rests while there is nothing to do."""

from __future__ import annotations

import time

import frugalbandits as fb
from frugalbandits.stores import Store, open_store
from frugalbandits.stores.session import StoredSession


def test_a_session_that_others_made_and_nobody_opened_keeps_nobody_busy(tmp_path) -> None:
    """What is news to the store, but read by nobody here, is looked at once."""
    url = f"sqlite:///{tmp_path}/decisions.db"
    with open_store(url) as store, open_store(url) as other:
        fresh = fb.Session({"a": 1.0, "b": 2.0}, alpha=0.1)
        session, _ = StoredSession.create(store, "mine", fresh)
        theirs, _ = StoredSession.create(other, "theirs", fresh)
        looks = _counted(store)
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


def _counted(store: Store) -> list[int]:
    looks = [0]
    look = store.news

    def news(seen, timeout):
        looks[0] += 1
        return look(seen, timeout)

    store.news = news
    return looks
