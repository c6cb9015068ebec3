"""What may take long does not hold up others: neither a session's lock nor the thread that writes."""

from __future__ import annotations

import json
import threading
import time

import pytest

import frugalbandits as fb
from frugalbandits.stores import open_store
from frugalbandits.stores.kinds import Stored, keep_session
from store_harness import in_threads

COSTS = {"small": 0.2, "large": 3.0}
CONTEXT = fb.Segments(["easy", "hard"])


def plain_session() -> fb.Session:
    return fb.Session(COSTS, alpha=0.1)


def contextual_session() -> fb.ContextualSession:
    return fb.ContextualSession(COSTS, 0.1, CONTEXT)


def asked(session: Stored) -> str:
    query = ("easy",) if isinstance(session, fb.ContextualSession) else ()
    return session.ask(*query).id


@pytest.mark.parametrize("fresh", [plain_session, contextual_session])
def test_a_snapshot_is_written_without_the_lock(address, fresh, monkeypatch):
    """While numbers become text, which may take seconds, asks and tells go on."""
    with open_store(address) as store:
        session, _ = keep_session(store, "s", fresh())
        id_ = asked(session)
        real, free = json.dumps, []

        def from_another_thread(_):
            taken = session._lock.acquire(timeout=5.0)
            if taken:
                session._lock.release()
            return taken

        def dumps(value, **settings):
            if isinstance(value, dict) and "format" in value:
                free.extend(in_threads(1, from_another_thread))
            return real(value, **settings)

        with monkeypatch.context() as patch:
            patch.setattr(json, "dumps", dumps)
            session.snapshot()
            session.to_json()
        assert len(free) >= 3 and all(free)
        session.tell(id_, 1.0)
        session.close()


@pytest.mark.parametrize("fresh", [plain_session, contextual_session])
def test_a_session_that_is_busy_holds_up_no_other(address, fresh):
    """While one session is planned in another thread, feedback for other sessions is answered at once."""
    with open_store(address) as store:
        busy, _ = keep_session(store, "busy", fresh())
        other, _ = keep_session(store, "other", fresh())
        first, second = asked(busy), asked(busy)
        drafts = [busy.draft_tell(first, 1.0), busy.draft_tell(second, 0.5)]
        held, go = threading.Event(), threading.Event()

        def plan() -> None:
            with busy._lock:
                held.set()
                go.wait(20)

        planning = threading.Thread(target=plan)
        planning.start()
        assert held.wait(10)
        waiting = [store.submit("busy", draft) for draft in drafts]
        for reward in (0.0, 1.0, 0.5):
            other.tell(asked(other), reward)
        time.sleep(0.1)
        assert not any(future.done() for future in waiting)
        go.set()
        assert [future.result(10)[0].what for future in waiting] == ["new", "new"]
        # A caller who was answered finds its own feedback taken in.
        told = busy.explain().told if fresh is contextual_session else busy.explain().arms
        assert told == 2 or sum(arm.pulls for arm in told) == 2
        planning.join()
        for session in (busy, other):
            session.close()
