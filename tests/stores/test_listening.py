"""Whoever listens to a store, or waits for news of it: what is heard, when, and by whom."""

from __future__ import annotations

import logging
import threading
import time

import pytest

from frugalbandits.errors import StoreUnavailable
from store_harness import fact, in_threads


def test_a_listener_hears_each_new_entry_in_order_before_its_caller(store):
    heard, late = [], []

    def listener(session, entries, wait):
        assert session == "s"
        if not wait and len(heard) % 5 == 0:
            return False
        heard.extend(entries)
        return True

    store.listen("s", listener)

    def work(index):
        for turn in range(20):
            (outcome,) = store.append("s", [fact(f"k{(turn * 3 + index) % 30}")])
            if outcome.entry not in heard:
                late.append(outcome)

    assert in_threads(6, work) == [None] * 6
    assert late == []
    assert heard == store.read("s")
    store.append("t", [fact("a")])
    store.listen("s", None)
    store.append("s", [fact("unheard")])
    assert len(heard) == 30


def test_a_listener_that_fails_is_logged_and_nothing_else(store, caplog):
    def listener(session, entries, wait):
        raise ValueError("no")

    store.listen("s", listener)
    with caplog.at_level(logging.ERROR, "frugalbandits"):
        assert store.append("s", [fact("a")])[0].what == "new"
        assert store.append("s", [fact("b")])[0].what == "new"
    assert len(caplog.records) == 2
    assert "'s'" in caplog.text


def test_a_listener_may_submit_but_not_wait(store, caplog):
    later = []

    def listener(session, entries, wait):
        later.append(store.submit("t", [fact("a")]))
        store.append("t", [fact("b")])

    store.listen("s", listener)
    store.append("s", [fact("a")])
    assert later[0].result()[0].what == "new"
    assert "use submit" in caplog.text


def test_a_listener_may_close_the_store(store):
    store.listen("s", lambda *_: store.close())
    assert store.append("s", [fact("a")])[0].what == "new"
    with pytest.raises(StoreUnavailable, match="closed"):
        store.append("s", [fact("b")])


def test_news_are_there_at_once_where_something_is_new(store):
    store.append("s", [fact("a"), fact("b")])
    began = time.monotonic()
    assert store.news({"s": 1}, 10.0) == {"s": 2}
    assert store.news({}, 10.0) == {"s": 2}
    assert time.monotonic() - began < 2.0
    assert store.news({"s": 2}, 0.0) == {}
    assert store.news({"s": 2}, -1.0) == {}


def test_news_wait_until_something_comes_or_the_time_is_up(store):
    store.append("s", [fact("a")])
    began = time.monotonic()
    assert store.news({"s": 1}, 0.3) == {}
    assert 0.25 < time.monotonic() - began < 2.0
    timer = threading.Timer(0.2, lambda: store.append("t", [fact("a")]))
    timer.start()
    assert store.news({"s": 1}, 10.0) == {"t": 1}
    assert time.monotonic() - began < 5.0
    timer.join()


def test_sessions_from_before_count_only_where_they_are_named(place):
    place.open().append("old", [fact("a")])
    store = place.open()
    assert store.news({}, 0.0) == {}
    assert store.news({"old": 0}, 0.0) == {"old": 1}
    store.append("new", [fact("a")])
    assert store.news({}, 5.0) == {"new": 1}


def test_whoever_follows_news_sees_every_number_once_and_in_order(store):
    done = threading.Event()
    seen: dict[str, list[int]] = {}

    def follow():
        while True:
            ended = done.is_set()
            for session in store.news({name: numbers[-1] for name, numbers in seen.items()}, 0.2):
                numbers = seen.setdefault(session, [])
                after = numbers[-1] if numbers else 0
                numbers.extend(entry.seq for entry in store.read(session, after, limit=7))
            if ended and {name: numbers[-1] for name, numbers in seen.items()} == store.sessions():
                return

    follower = threading.Thread(target=follow)
    follower.start()
    in_threads(4, lambda index: [store.append(f"s{n % 3}", [fact(f"{index}-{n}")]) for n in range(40)])
    done.set()
    follower.join(30)
    assert not follower.is_alive()
    assert {name: len(numbers) for name, numbers in seen.items()} == store.sessions()
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in seen.values())
