"""An entry that cannot be taken in, or a call that fails midway, leaves a session as it was before."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

import frugalbandits as fb
from frugalbandits.stores import Fact, Store, open_store
from frugalbandits.stores.keeping import keeper_of
from frugalbandits.stores.series import Bin, Series
from store_harness import eventually

COSTS = {"small": 0.2, "large": 3.0}


def made(kind: str, store: Store) -> Any:
    if kind == "plain":
        return fb.Session(COSTS, alpha=0.1, store=store, name="s")
    return fb.ContextualSession(COSTS, 0.1, fb.Segments(["easy"]), store=store, name="s")


def learned(session: Any) -> dict[str, Any]:
    """Return what follows from the log: all but the plan, which this process makes by itself."""
    with session._lock:  # the entry is tried again meanwhile
        found = json.loads(session._dumped())
    state = json.loads(found.pop("session"))
    found["state"] = state["state"].get("tally", state["state"])
    return {**found, "decisions": state["decisions"]}


@pytest.mark.parametrize(
    ("kind", "what", "snapshot"),
    [
        ("plain", "reward", False),
        ("plain", "cost", True),
        ("plain", "observe", False),
        ("plain", "count", True),
        ("contextual", "reward", True),
        ("contextual", "cost", False),
        ("contextual", "observe", True),
        ("contextual", "asked", False),
    ],
)
def test_an_entry_that_fails_midway(
    kind: str, what: str, snapshot: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The handler fails after it has changed the state: nothing of the entry stays, and it counts once."""
    query = () if kind == "plain" else ("easy",)
    with open_store("memory:") as store, made(kind, store) as session:
        decisions = [session.ask(*query) for _ in range(4)]
        session.tell(decisions[0].id, 1.0, cost=0.5)
        session.observe(*query, "large", 1.0)
        session.flush()
        if snapshot:
            session.snapshot()
        session.tell(decisions[1].id, 0.5)
        before, seen = learned(session), session.seen

        time.sleep(0.005)  # ids carry whole milliseconds
        mark, counted = time.time() - 0.002, Series.bin

        def fails(self: Series, at: float) -> Bin:
            if at >= mark:
                raise RuntimeError("no memory left")
            return counted(self, at)

        calls = {
            "reward": lambda: session.tell(decisions[2].id, 0.25),
            "cost": lambda: session.tell(decisions[2].id, cost=0.25),
            "observe": lambda: session.observe(*query, "small", 0.25),
            "count": lambda: (session.ask(*query), session.flush()),
            "asked": lambda: session.ask(*query),
        }
        with monkeypatch.context() as patch:
            # Every handler counts in the series of times, in the middle of its work or at its end.
            patch.setattr(Series, "bin", fails)
            calls[what]()
            eventually(lambda: "s" in keeper_of(store).troubles())
            # It is tried again meanwhile, so there are moments in which this does not hold.
            eventually(lambda: session.seen == seen)
            if what != "count":
                eventually(lambda: learned(session) == before)
        # It recovers by itself, and what was told meanwhile counts once.
        eventually(lambda: not keeper_of(store).troubles())
        eventually(lambda: session.seen == store.sessions()["s"])
        with open_store("memory:") as copy:
            for entry in store.read("s"):
                copy.append("s", [entry.fact])
            with made(kind, copy) as fresh:
                fresh.catch_up()
                assert learned(fresh) == learned(session)


@pytest.mark.parametrize("policy", ["voi-cs", "glr-cof", "cof", "ts-cs"])
@pytest.mark.parametrize("stored", [False, True])
def test_a_plan_that_fails_changes_nothing(
    policy: str, stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The options of one call are not those of the next one, also where planning for them fails."""
    costs = {"small": 0.2, "medium": 1.0, "large": 3.0}
    with open_store("memory:") as store:
        kept = {"store": store} if stored else {}
        session = fb.Session(costs, alpha=0.1, policy=policy, horizon=10_000, seed=1, **kept)
        for _ in range(3):
            session.tell(session.ask().id, 0.5)
        before = session.to_json()

        def fails(*_: object) -> None:
            raise RuntimeError("no memory left")

        with monkeypatch.context() as patch:
            patch.setattr(session, "_planner", fails)
            for _ in range(3):
                session._void()
                with pytest.raises(RuntimeError, match="no memory left"):
                    session.ask(exclude=["small"])
        usable = getattr(session._state, "usable", None)
        assert usable is None or usable.all()
        # The session can be stored, which checks `usable`, and it goes on.
        assert fb.Session.from_json(session.to_json()).decisions == 3
        assert fb.Session.from_json(before).decisions == session.decisions
        assert {session.ask(exclude=["small"]).option for _ in range(5)} <= {"medium", "large"}
        session.ask(5)


def test_metadata_that_is_refused_uses_up_no_decision() -> None:
    with (
        open_store("memory:") as store,
        fb.Session(COSTS, alpha=0.1, policy="cof", horizon=10_000, store=store) as session,
    ):
        session.ask()
        place = session._at
        for call in ({}, {"exclude": ["small"]}, {"exclude": ["large"]}):
            with pytest.raises(fb.InputError, match="512 bytes"):
                session.ask(metadata="x" * 1_000, **call)
        assert session._at == place and session.decisions == 1


def test_an_event_that_cannot_be_read_is_tried_again(store: Store) -> None:
    """A body that is not JSON: the state before it stays, and asks go on."""
    with fb.Session(COSTS, alpha=0.1, store=store, name="s") as session:
        session.observe("small", 1.0)
        store.append("s", [Fact("broken", "reward", "{", 0.0, "")])
        eventually(lambda: "s" in keeper_of(store).troubles())
        assert session.ask().option in COSTS
        assert session.explain().arms[0].pulls == 1
