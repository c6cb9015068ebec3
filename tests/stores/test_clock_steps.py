"""A worker's clock that is set forward by a day and back again: feedback counts once, and expiry goes on.

The store's clock is right: that of the database, or of the machine as it was when the store was opened.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

import frugalbandits as fb
from frugalbandits.stores import Fact, Store, open_store
from frugalbandits.stores.kinds import open_session
from store_harness import eventually

DAY = 86_400.0
LIVES = 300.0
COSTS = {"small": 0.2, "large": 3.0}
KINDS = ("plain", "contextual")


class Worker:
    """A session with a clock of its own, which differs from the right one by `ahead` seconds."""

    def __init__(self, kind: str, session: Any) -> None:
        self.kind, self.session, self.ahead = kind, session, 0.0
        session._clock = lambda: time.time() + self.ahead

    def ask(self) -> Any:
        return self.session.ask(*([] if self.kind == "plain" else ["easy"]))

    def observe(self) -> None:
        self.session.observe(*([] if self.kind == "plain" else ["easy"]), "small", 0.5)
        self.session.flush()

    def pending(self) -> int:
        found = self.session.explain()
        return sum(arm.pending for arm in found.arms) if self.kind == "plain" else found.pending

    def told(self) -> int:
        found = self.session.explain()
        return sum(arm.pulls for arm in found.arms) if self.kind == "plain" else found.told


@contextmanager
def worker(kind: str, store: Store) -> Iterator[Worker]:
    if kind == "plain":
        session = fb.Session(COSTS, alpha=0.1, time_to_live=LIVES, store=store, name="s")
    else:
        session = fb.ContextualSession(
            COSTS, 0.1, fb.Segments(["easy"]), time_to_live=LIVES, store=store, name="s"
        )
    with session:
        yield Worker(kind, session)


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_forward_and_back(store: Store, kind: str) -> None:
    with worker(kind, store) as one:
        told, waiting = one.ask(), one.ask()
        one.session.tell(told.id, 1.0)
        one.session.flush()
        entries = len(store.read("s"))
        one.ahead = DAY
        during = one.ask()
        one.observe()
        one.session.snapshot()  # with a clock that is a day ahead: nothing may be forgotten
        assert len(store.read("s")) > entries and store.latest("s") is None
        one.ahead = 0.0
        # What was told counts once, what waits may be told, and new ids expire in time.
        before = one.told()
        one.session.tell(told.id, 1.0)
        assert one.told() == before
        with pytest.raises(fb.Conflict):
            one.session.tell(told.id, 0.0)
        one.session.tell(waiting.id, 1.0)
        one.session.tell(during.id, 1.0)
        after = one.ask()
        assert abs(after.expires - time.time() - LIVES) < 60
        eventually(lambda: one.told() == before + 2 and one.pending() == 1)
        # Expiry goes on by the right clock.
        one.ahead = LIVES + 200.0
        one.observe()
        assert one.pending() == 0
        with pytest.raises(fb.Expired):
            one.session.tell(after.id, 1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_all_workers_agree_after_a_step(store: Store, kind: str) -> None:
    with worker(kind, store) as one, worker(kind, store) as other:
        waiting = [one.ask() for _ in range(5)]
        one.session.flush()
        one.ahead = DAY
        one.observe()
        one.ahead = 0.0
        one.ask()
        one.observe()
        eventually(lambda: one.session.seen == other.session.seen and not one.session.needs_rebuild)
        eventually(lambda: one.pending() == other.pending() == 6)
        for decision in waiting:
            other.session.tell(decision.id, 1.0)
        with open_session(store, "s") as fresh:
            eventually(lambda: one.pending() == other.pending() == Worker(kind, fresh).pending() == 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_from_before_this_release_that_was_taken_ahead(kind: str) -> None:
    """It says that a day has passed: decisions are not lost as soon as they are handed out."""
    with open_store("memory:") as store, worker(kind, store) as one:
        one.ask()
        one.session.flush()
        one.ahead = DAY
        one.observe()
        one.ask()
        one.observe()
        with one.session._lock:
            state, seen = one.session._dumped(), one.session.seen
        store.snapshot("s", seen, state)
        one.ahead = 0.0
        with open_session(store, "s") as fresh:
            late = Worker(kind, fresh)
            before = late.pending()
            late.ask()
            late.observe()
            assert late.pending() == before + 1
            late.ahead = LIVES + 400.0
            late.observe()
            assert late.pending() <= before


def test_a_machine_whose_clock_is_set_forward(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of a file is that of the machine: a step while it is open makes nothing look old."""
    with open_store(f"sqlite:///{tmp_path}/decisions.db") as store, worker("plain", store) as one:
        told = one.ask()
        one.session.tell(told.id, 1.0)
        fake = SimpleNamespace(time=lambda: time.time() + DAY, monotonic=time.monotonic)
        monkeypatch.setattr("frugalbandits.stores.writing.time", fake)
        one.ahead = DAY
        one.observe()
        one.session.snapshot()
        assert any(json.loads(e.fact.body).get("r") == 1.0 for e in store.read("s"))
        monkeypatch.undo()
        one.ahead = 0.0
        one.session.tell(told.id, 1.0)
        assert one.told() == 2


def test_entries_of_a_clock_that_is_behind_are_not_old(store: Store) -> None:
    """A key that came after younger ones is needed as long as those are, whatever its author's clock said."""
    facts = [Fact(str(at), "reward", "{}", float(at), "") for at in (1, 2, 50, 3, 60, 4)]
    store.append("s", facts)
    store.snapshot("s", 6, "state", forget_before=40.0)
    assert [entry.fact.at for entry in store.read("s")] == [50, 3, 60, 4]


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_of_one_process(kind: str) -> None:
    if kind == "plain":
        session: Any = fb.Session(COSTS, alpha=0.1, time_to_live=LIVES)
    else:
        session = fb.ContextualSession(COSTS, 0.1, fb.Segments(["easy"]), time_to_live=LIVES)
    one = Worker(kind, session)
    now = time.time()
    session._clock = lambda: now + one.ahead
    one.ahead = DAY
    first = one.ask()
    one.ahead = 30.0  # the clock is set right, half a minute later
    assert one.pending() == 1
    one.ahead = LIVES - 60.0
    session.tell(first.id, 1.0)
    second = one.ask()
    one.ahead = 2 * LIVES
    assert one.pending() == 0
    with pytest.raises(fb.Expired):
        session.tell(second.id, 1.0)


def test_unsent_decisions_that_have_expired_and_are_told_all_the_same() -> None:
    """What the log adds up to never has less than none that were given up, so it can be read again."""
    with open_store("memory:") as store, worker("plain", store) as one, worker("plain", store) as other:
        told = [one.ask() for _ in range(3)]  # not in the log yet
        drafts = [one.session.draft_tell(each.id, 1.0) for each in told]
        other.ahead = one.ahead = 3 * LIVES
        other.observe()
        eventually(lambda: one.session.seen == other.session.seen)
        for draft in drafts:
            store.append("s", draft)
        with one.session._lock:
            before, state = one.session.explain(), one.session._dumped()
            assert one.session.explain() == before and one.told() == 4
            one.session._replace_state(lambda: one.session._restore(state))
            assert one.told() == 4 and one.pending() == before.arms[0].pending == 0


def test_a_state_that_cannot_be_read_leaves_the_present_one() -> None:
    with open_store("memory:") as store, worker("plain", store) as one:
        id_ = one.ask().id
        with one.session._lock:
            broken = one.session._dumped().replace('"epochs"', '"nothing"')
            before = one.session.explain()
            with pytest.raises(fb.StateFormatError, match="damaged"):
                one.session._replace_state(lambda: one.session._restore(broken))
            assert one.session.explain() == before
        one.session.tell(id_, 1.0)
        assert one.told() == 1


STEPS = 1_000
SEEDS = max(int(os.environ.get("FRUGALBANDITS_KILLS", "3")) // 3, 1)


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("kind", KINDS)
def test_steps_at_random_moments(tmp_path: Any, kind: str, seed: int) -> None:
    """Two workers whose clocks jump while they ask, tell, tell again and take snapshots.

    Whatever was acknowledged counts once, and once all clocks are right, both know the same.
    """
    dice = random.Random(2 * seed + KINDS.index(kind))
    url = f"sqlite:///{tmp_path}/decisions.db"
    told: dict[str, float] = {}
    asked: list[str] = []
    with (
        open_store(url) as store,
        open_store(url) as second,
        worker(kind, store) as one,
        worker(kind, second) as other,
    ):
        for _ in range(STEPS):
            each = dice.choice((one, other))
            what = dice.random()
            if what < 0.15:
                each.ahead = dice.choice((0.0, 0.0, -45.0, 45.0, 3_600.0, DAY, -DAY))
            elif what < 0.2:
                each.session.snapshot()
            elif what < 0.6:
                asked.append(each.ask().id)
            elif asked:
                id_ = dice.choice(asked)
                reward = told.get(id_, dice.random())
                try:
                    each.session.tell(id_, reward)
                except fb.Expired:
                    continue  # by this worker's clock
                told[id_] = reward
        one.ahead = other.ahead = 0.0
        for each in (one, other):
            each.observe()
        rewards = [e.fact.key for e in store.read("s") if e.fact.kind == "reward"]
        assert len(rewards) == len(set(rewards)) == len(told) > 10
        extra = 2 if kind == "plain" else 0  # the two observations
        eventually(lambda: one.told() == other.told() == len(told) + extra)
