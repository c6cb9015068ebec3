"""Times to live: what is never answered is given up, memory stays flat, and nothing is counted twice."""

from __future__ import annotations

import datetime
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.session.waiting import PARTS, REMEMBERED, Waiting
from moving_harness import Clock, again, moving


def test_a_decision_expires():
    clock = Clock()
    session = moving("cof", clock=clock, time_to_live=datetime.timedelta(minutes=1))
    first, second = session.ask(), session.ask()
    clock.now += 59
    session.tell(first.id, 1.0)
    clock.now += 2
    assert session.pending == {}
    with pytest.raises(fb.ToldBefore):
        session.forget(first.id)
    for call in (lambda: session.tell(second.id, 1.0), lambda: session.metadata(second.id)):
        with pytest.raises(
            fb.Expired, match=r"decision 1 .*expired: it was handed out 61 s ago.*live is 60 s"
        ):
            call()
    assert session.explain().arms[1].pulls == 0 and session._state.tally.lost.tolist() == [0, 1, 0]
    assert issubclass(fb.Expired, fb.UnknownDecision)


def test_a_clock_that_goes_back_does_no_harm():
    clock = Clock()
    session = moving(clock=clock, time_to_live=10)
    session.ask()
    clock.now -= 500
    session.ask()
    assert len(session.pending) == 2
    clock.now += 511
    assert session.pending == {}


@given(
    steps=st.lists(st.tuples(st.sampled_from(["ask", "tell", "forget"]), st.floats(0, 3)), max_size=120),
    seed=st.randoms(use_true_random=False),
)
def test_nothing_lives_shorter_or_much_longer_than_its_time(steps, seed):
    clock = Clock()
    session = moving("ucb-cs", clock=clock, time_to_live=10.0)
    born = {}
    for what, passed in steps:
        clock.now += passed
        session = again(session)
        waiting = session.pending
        for id_, at in list(born.items()):
            age = clock.now - at
            assert id_ in waiting or age > 10.0
            assert id_ not in waiting or age <= 10.0 * (1 + 2 / PARTS)
            if id_ not in waiting:
                del born[id_]
                with pytest.raises(fb.Expired, match="expired"):
                    session.tell(id_, 1.0)
        if what == "ask":
            born[session.ask().id] = clock.now
        elif born:
            id_ = seed.choice(sorted(born))
            del born[id_]
            session.forget(id_) if what == "forget" else session.tell(id_, 1.0)
    tally = session._state.tally
    assert int((tally.pulls + tally.pending + tally.lost).sum()) == session.decisions


def size_of(session):
    """Return the bytes of what a session waits for, its own containers and what is in them."""
    waiting = session._waiting
    parts = [waiting.options, waiting.metadata, waiting.billed, waiting.owed, waiting.live, waiting.expired]
    return sum(map(sys.getsizeof, parts)) + sum(sys.getsizeof(each) for part in parts for each in part)


@pytest.mark.slow
def test_memory_is_flat_whatever_is_never_answered():
    """Twenty times as many decisions as fit into a time to live; a million take the same."""
    clock = Clock()
    session = moving("ucb-cs", clock=clock, time_to_live=60.0, horizon=10**7)
    sizes = []
    for _ in range(20):
        for _ in range(10):
            clock.now += 6.0
            session.ask(500)
        sizes.append(size_of(session))
    assert session.decisions == 100_000 and len(session.pending) <= 6_000
    assert max(sizes[2:]) <= 1.3 * sizes[2]
    assert len(session.to_json()) < 500_000


@pytest.mark.parametrize("rate", [1.0, 0.001])
def test_what_has_expired_is_told_apart_as_far_as_it_is_known(rate):
    """One decision a second or a thousand: a stretch has one decision, or some ten."""
    waiting = Waiting(10.0)
    told = set()
    for id_ in range(40_000):
        waiting.options[id_] = 0
        waiting.handed_out(id_, id_ * rate)
        for late in waiting.overdue(id_ * rate, id_ + 1):
            del waiting.options[late]
        if id_ % 3 == 0:
            del waiting.options[id_]
            told.add(id_)
    assert len(waiting.expired) <= REMEMBERED and len(waiting.live) <= PARTS + 2
    last = waiting.live[0].first
    for id_ in range(last - 500, last):
        kind, words = (fb.ToldBefore, "told or forgotten") if id_ in told else (fb.Expired, "has expired")
        with pytest.raises(kind, match=words):
            waiting.for_reward(id_, 40_000)
    with pytest.raises(fb.Expired, match="told, forgotten or expired"):
        waiting.for_reward(5, 40_000)


def test_a_time_to_live_shorter_than_the_delay_is_said():
    clock = Clock()
    session = moving(clock=clock, time_to_live=5.0)
    ids = [decision.id for decision in session.ask(40)]
    clock.now += 7.5
    for id_ in ids[:2]:
        with pytest.raises(fb.Expired):
            session.tell(id_, 1.0)
    assert not session.changes()
    for id_ in ids[2:35]:
        with pytest.raises(fb.Expired):
            session.tell(id_, cost=1.0)
    late = [change for change in again(session).changes() if change.kind == "late"]
    assert [change.words[:9] for change in late] == ["3 times f", "30 times "]
    assert (
        "up to 7.5 s after it: the time to live, 5 s, is shorter than the delay of feedback" in late[0].words
    )
    assert "is shorter than the delay of feedback." in str(session.explain())


def test_bills_are_waited_for_until_the_time_to_live():
    clock = Clock()
    session = moving(clock=clock, time_to_live=5.0, learn_costs=True)
    one, two = session.ask(2)
    session.tell(one.id, 1.0)
    session.tell(two.id, 1.0)
    clock.now += 4
    session.tell(one.id, cost=1.0)
    clock.now += 4
    with pytest.raises(fb.InputError):
        again(session).tell(two.id, cost=1.0)
    session.ask()
    assert not session._waiting.owed


def test_an_option_whose_decisions_expire_rests():
    clock = Clock()
    session = moving("cof", clock=clock, time_to_live=5.0)
    first = session.ask()
    clock.now += 6
    assert session.ask().option != first.option
