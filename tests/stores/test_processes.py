"""Several processes on one store: numbers without gaps, nothing lost, each fact once, whoever is killed."""

from __future__ import annotations

import random
import signal
import time
from contextlib import ExitStack

import pytest

from frugalbandits.errors import StoreUnavailable
from process_harness import python
from store_harness import Place, acknowledged, eventually, fact, writer


def log_of(store):
    log = {}
    for session, last in store.sessions().items():
        entries = []
        while len(entries) < last:
            entries += store.read(session, len(entries), limit=500)
        assert [entry.seq for entry in entries] == list(range(1, last + 1))
        assert len({entry.fact.key for entry in entries}) == last
        log.update({(session, entry.fact.key): entry for entry in entries})
    return log


@pytest.mark.parametrize("shared", [False, True], ids=["own keys", "the same keys"])
def test_processes_that_write_at_once_lose_nothing_and_count_once(place, shared):
    store = place.open()
    told = []
    with ExitStack() as stack:
        running = [
            stack.enter_context(writer(place.url, f"p{n}", sessions=3, each=40, threads=4, shared=shared))
            for n in range(3)
        ]
        for process in running:
            output, _ = process.communicate(timeout=120)
            assert process.returncode == 0
            told.append(acknowledged(output))
    log = log_of(store)
    assert len(log) == (160 if shared else 480)
    for session, key, seq, _ in (each for one in told for each in one):
        assert log[session, key].seq == seq
    new = [each[:2] for one in told for each in one if each[3] == "new"]
    assert sorted(new) == sorted(log)


@pytest.mark.parametrize("turn", range(3))
def test_what_was_acknowledged_survives_a_kill(place, turn):
    dice = random.Random(turn)
    told = []
    with writer(place.url, "one") as first, writer(place.url, "two") as second:
        for process in (first, second):
            assert process.stdout.readline() == b"ready\n"
        time.sleep(dice.uniform(0.05, 0.4))
        for process in (first, second):
            process.send_signal(signal.SIGKILL)
            told += acknowledged(process.stdout.read())
    log = log_of(place.open())
    assert told
    for session, key, seq, what in told:
        assert what == "new"
        assert log[session, key].seq == seq
    # What was written and not acknowledged is at most one fact of each thread.
    assert len(told) <= len(log) <= len(told) + 8
    assert place.open().append("s0", [fact("after")])[0].what == "new"


def test_news_reach_another_process(place):
    store = place.open()
    with writer(place.url, "p", sessions=2, each=5, threads=1) as process:
        seen = {}
        until = time.monotonic() + 30
        while sum(seen.values()) < 5 and time.monotonic() < until:
            seen.update(store.news(seen, 5.0))
        process.communicate(timeout=30)
    assert seen == {"s0": 3, "s1": 2}


FORKED = """
import json, os, sys
from frugalbandits.errors import StoreUnavailable
from frugalbandits.stores import Fact, open_store
url = {url!r}
store = open_store(url)
store.append("s", [Fact("a", "reward", "", 0.0, "w")])
reader, end = os.pipe()
if os.fork() == 0:
    said = []
    for use in (lambda: store.append("s", [Fact("b", "reward", "", 0.0, "w")]), lambda: store.read("s"),
                lambda: store.sessions(), lambda: store.news({{}}, 0.0), lambda: store.snapshot("s", 1, "")):
        try:
            use()
        except StoreUnavailable as error:
            said.append("forked" in str(error))
    store.close()
    with open_store(url) as own:
        own.append("s", [Fact("child", "reward", "", 0.0, "w")])
    os.write(end, json.dumps(said).encode())
    sys.exit()
os.close(end)
said = json.loads(os.read(reader, 1000))
os.wait()
store.append("s", [Fact("parent", "reward", "", 0.0, "w")])
print(json.dumps([said, [entry.fact.key for entry in store.read("s")]]))
store.close()
"""


def test_a_process_that_was_forked_off_is_told_to_open_its_own(place):
    (said, keys), _ = python(FORKED.format(url=place.url), PYTHONWARNINGS="ignore")
    assert said == [True] * 5
    assert keys == ["a", "child", "parent"]


def test_a_store_that_is_not_closed_keeps_no_process_alive(place):
    code = f"""
    import json
    from frugalbandits.stores import Fact, open_store
    store = open_store({place.url!r})
    store.append("s", [Fact("a", "reward", "", 0.0, "w")])
    print(json.dumps(store.sessions()))
    """
    assert python(code)[0] == {"s": 1}


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_database_that_goes_and_comes_again_loses_nothing(server, how):
    """Writers go on by themselves, in this process and in another; what was acknowledged is there once."""
    place = Place("postgres", server.new_database())
    store = place.open()
    told = []
    with writer(place.url, "p", each=200, threads=4) as process:
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.15)
        getattr(server, how)()
        began = time.monotonic()
        with pytest.raises(StoreUnavailable):
            while True:
                store.append("here", [fact("a")])
        with pytest.raises(StoreUnavailable):
            store.news({}, 0.3)
        with pytest.raises(StoreUnavailable):
            while True:
                store.read("here")
        assert time.monotonic() - began < 5
        server.start()
        output, _ = process.communicate(timeout=60)
        told = acknowledged(output)
    eventually(lambda: appended(store))
    assert store.news({"s0": 0}, 10.0)["s0"] == store.sessions()["s0"]
    log = log_of(store)
    assert {(session, key): seq for session, key, seq, _ in told} == {
        (session, key): entry.seq for (session, key), entry in log.items() if session != "here"
    }
    place.close()


def appended(store):
    try:
        return store.append("here", [fact("a")])[0].entry.seq == 1
    except StoreUnavailable:
        return False
