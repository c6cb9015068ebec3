"""The contract of a store, which all three keep."""

from __future__ import annotations

import itertools
import json
import threading
import time
from concurrent.futures import wait

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frugalbandits.errors import InputError, StoreUnavailable
from frugalbandits.stores import Fact, Snapshot
from frugalbandits.stores.writing import WritingStore
from store_harness import Model, fact, in_threads

_names = (f"example {number}" for number in itertools.count(1))

facts = st.builds(
    Fact,
    key=st.sampled_from(["k1", "k2", "k3", "\N{SNOWMAN}"]),
    kind=st.sampled_from(["reward", "change"]),
    body=st.sampled_from(['{"r":0.0}', '{"r":1.0}']),
    at=st.sampled_from([1.0, 5.0, 9.0]),
    by=st.sampled_from(["w1", ""]),
)
calls = st.tuples(st.just("append"), st.integers(0, 1), st.lists(facts, max_size=4))
prunes = st.tuples(st.just("forget"), st.integers(0, 1), st.tuples(st.integers(1, 9), st.floats(0, 10)))


@given(groups=st.lists(st.lists(st.one_of(calls, calls, prunes), max_size=6), max_size=4))
def test_any_appends_do_what_the_plain_model_says(shared, groups):
    """Appends of one group are submitted together, so that they share transactions."""
    model, prefix = Model(), next(_names)
    for group in groups:
        waiting = []
        for what, index, rest in group:
            session = f"{prefix} {index}"
            if what == "append":
                waiting.append((shared.submit(session, rest), model.append(session, rest)))
            elif session in model.last:
                upto = min(rest[0], model.last[session])
                wait([future for future, _ in waiting])
                shared.snapshot(session, upto, "state", forget_before=rest[1])
                model.forget(session, upto, rest[1])
        for future, wanted in waiting:
            assert [tuple(outcome) for outcome in future.result()] == wanted
    for index in (0, 1):
        session = f"{prefix} {index}"
        assert shared.read(session) == model.log.get(session, [])
        assert shared.sessions().get(session) == model.last.get(session)
        for after, limit in ((1, 2), (2, 1), (100, 5)):
            wanted = [entry for entry in model.log.get(session, []) if entry.seq > after][:limit]
            assert shared.read(session, after, limit) == wanted


def test_the_first_of_a_key_counts_and_others_are_the_same_or_in_conflict(store):
    first = store.append("s", [fact("a", by="w1", at=1.0)])
    again = store.append("s", [fact("a", by="w2", at=2.0)])
    assert [outcome.what for outcome in (*first, *again)] == ["new", "same"]
    assert again[0].entry == first[0].entry
    (other,) = store.append("s", [fact("a", 0.5)])
    assert (other.what, other.entry) == ("conflict", first[0].entry)
    assert store.append("s", [fact("a", kind="cost")])[0].what == "conflict"
    assert store.read("s") == [first[0].entry]


def test_a_call_of_which_one_fact_is_in_conflict_adds_nothing(store):
    (kept,) = store.append("s", [fact("a")])
    told = store.append("s", [fact("b"), fact("a", 0.0), fact("a"), fact("b"), fact("c")])
    assert [outcome.what for outcome in told] == ["left out", "conflict", "same", "left out", "left out"]
    assert [outcome.entry for outcome in told] == [None, kept.entry, kept.entry, None, None]
    assert store.read("s") == [kept.entry]
    assert store.append("s", [fact("b")])[0].entry.seq == 2


def test_a_fact_can_be_the_same_as_or_in_conflict_with_another_of_its_call(store):
    told = store.append("s", [fact("a"), fact("a", at=5.0)])
    assert [outcome.what for outcome in told] == ["new", "same"]
    told = store.append("s", [fact("b"), fact("b", 0.0)])
    assert [tuple(outcome) for outcome in told] == [("left out", None), ("conflict", None)]
    assert store.sessions() == {"s": 1}


def test_nothing_appended_begins_no_session(store):
    assert store.append("s", []) == []
    store.append("t", [fact("a"), fact("a", 0.0)])
    assert store.sessions() == {}
    assert store.read("s") == []
    assert store.latest("s") is None


def test_any_text_comes_back_as_it_was(store):
    body = json.dumps({"t": "\0 \ud800 \N{SNOWMAN} ' \" \\ {} \x7f"})
    odd = "'; DROP TABLE frugal_facts; -- \\ \" { } , %s ? \N{GRINNING FACE} \N{COMBINING ACUTE ACCENT} NULL"
    kept = Fact(odd, odd, body, 1.7e9 + 0.123456789, odd)
    store.append(odd, [kept, Fact("plain", "k", '{"\N{SNOWMAN}":1}', -1e300, "")])
    assert store.read(odd)[0].fact == kept
    assert store.read(odd)[1].fact.body == '{"\N{SNOWMAN}":1}'
    store.snapshot(odd, 1, body)
    assert store.latest(odd) == Snapshot(1, body)
    assert odd in store.sessions()


LONG = "\N{GRINNING FACE}" * 300


@pytest.mark.parametrize(
    ("session", "bad"),
    [
        ("", fact("a")),
        (LONG + "x", fact("a")),
        ("a\0b", fact("a")),
        ("\ud800", fact("a")),
        (7, fact("a")),
        ("s", fact("")),
        ("s", fact(LONG + "x")),
        ("s", fact("a\0")),
        ("s", fact("a", kind="")),
        ("s", fact("a", by="w\0")),
        ("s", fact("a", at=float("nan"))),
        ("s", fact("a", at=float("inf"))),
        ("s", fact("a", at=10**400)),
        ("s", Fact("a", "reward", "\0", 0.0, "w")),
        ("s", Fact("a", "reward", "\udfff", 0.0, "w")),
        ("s", Fact("a", "reward", None, 0.0, "w")),
    ],
)
def test_what_one_store_cannot_hold_none_takes(shared, session, bad):
    good = shared.submit("good", [fact(next(_names))])
    with pytest.raises(InputError):
        shared.append(session, [fact("fine"), bad])
    assert good.result()[0].what == "new"
    assert shared.read("s") == []


def test_the_longest_names_are_taken(store):
    store.append(LONG, [fact(LONG, kind=LONG, by=LONG)])
    assert store.read(LONG)[0].fact.key == LONG
    assert store.news({LONG: 0}, 1.0) == {LONG: 1}


@pytest.mark.parametrize(("after", "limit"), [(-1, 1), (0, 0), (0, -1), (0.5, 1)])
def test_reading_refuses_what_is_no_count(store, after, limit):
    with pytest.raises(InputError):
        store.read("s", after, limit)


def test_reading_takes_numbers_of_any_size(store):
    store.append("s", [fact("a")])
    assert store.read("s", 10**30) == []
    assert len(store.read("s", 0, 10**30)) == 1


def test_several_sessions_are_read_at_once_as_they_are_one_by_one(store):
    for number, name in enumerate(("one", "two", "three")):
        store.append(name, [fact(f"d{each}") for each in range(number + 2)])
    after = {"three": 1, "one": 0, "two": 3, "none": 0}
    assert store.read_many(after) == {name: store.read(name, number) for name, number in after.items()}
    assert [len(page) for page in store.read_many(after, 1).values()] == [1, 1, 0, 0]
    assert store.read_many({}) == {}


def test_a_snapshot_stays_until_a_later_one_comes(store):
    store.append("s", [fact(f"k{number}") for number in range(5)])
    store.snapshot("s", 3, "three")
    store.snapshot("s", 2, "two")
    assert store.latest("s") == Snapshot(3, "three")
    store.snapshot("s", 3, "three anew")
    assert store.latest("s") == Snapshot(3, "three anew")
    store.snapshot("s", 5, "five")
    assert store.latest("s") == Snapshot(5, "five")
    assert len(store.read("s")) == 5
    for session, upto in (("s", 6), ("t", 1), ("s", 0)):
        with pytest.raises(InputError):
            store.snapshot(session, upto, "")
    assert store.sessions() == {"s": 5}


def test_old_entries_go_where_their_kind_may_and_a_snapshot_has_them(store, monkeypatch):
    monkeypatch.setattr("frugalbandits.stores.writing._CHUNK", 3)
    kinds = ["reward", "change", "cost", "count", "observe", "conclusion", "forget"]
    for number in range(28):
        store.append("s", [fact(f"k{number}", kind=kinds[number % 7], at=float(number))])
    store.append("other", [fact("k0", at=0.0)])
    store.snapshot("s", 20, "state", forget_before=15.0)
    left = [entry.seq for entry in store.read("s")]
    wanted = [n + 1 for n in range(28) if n >= 15 or kinds[n % 7] in ("change", "conclusion")]
    assert left == wanted
    store.snapshot("s", 20, "state", forget_before=1e9)
    left = [entry.seq for entry in store.read("s")]
    assert left == [n + 1 for n in range(28) if n >= 20 or kinds[n % 7] in ("change", "conclusion")]
    assert store.sessions() == {"s": 28, "other": 1}
    # A key that is forgotten is new, and numbers go on.
    assert store.append("s", [fact("k0", at=0.0)])[0].entry.seq == 29
    assert len(store.read("other")) == 1


def test_threads_that_append_the_same_keys_at_once_have_one_new_of_each(store):
    keys = [f"k{number}" for number in range(20)]

    def work(index):
        mine = keys[index:] + keys[:index]
        return [(key, *store.append("s", [fact(key, by=f"w{index}")])[0]) for key in mine]

    told = [each for answer in in_threads(8, work) for each in answer]
    new = [key for key, what, _ in told if what == "new"]
    assert sorted(new) == sorted(keys)
    assert {what for _, what, _ in told} == {"new", "same"}
    log = {entry.fact.key: entry for entry in store.read("s")}
    assert all(log[key] == entry for key, _, entry in told)
    assert [entry.seq for entry in store.read("s")] == list(range(1, 21))


def test_threads_that_disagree_leave_one_winner(store):
    answers = in_threads(8, lambda index: store.append("s", [fact("a", value=float(index))])[0])
    assert sorted(answer.what for answer in answers) == ["conflict"] * 7 + ["new"]
    assert len({answer.entry for answer in answers}) == 1


def test_a_group_is_one_transaction(store):
    """While one transaction is held up, all that is submitted gathers, and goes in the next one."""
    assert isinstance(store, WritingStore)
    begun, go = threading.Event(), threading.Event()

    def hold_up(*_):
        begun.set()
        return go.wait(10)

    store.listen("slow", hold_up)
    first = store.submit("slow", [fact("a")])
    assert begun.wait(10)
    waiting = [store.submit(f"s{n % 7}", [fact(f"k{n // 2}")]) for n in range(200)]
    disagreeing = store.submit("s0", [fact("k0", 0.5), fact("z")])
    go.set()
    wait([first, *waiting])
    assert store.commits == 2
    assert [outcome.what for outcome in disagreeing.result()] == ["conflict", "left out"]
    assert {future.result()[0].what for future in waiting} == {"new"}
    assert sum(store.sessions().values()) == 201


def test_load_makes_groups(store):
    per_thread, threads = 30, 16
    in_threads(threads, lambda index: [store.append("s", [fact(f"{index}-{n}")]) for n in range(per_thread)])
    assert store.sessions() == {"s": per_thread * threads}
    if store.address != "memory:":  # there a transaction is too short for others to gather
        assert store.commits < per_thread * threads / 2


def test_who_gives_up_before_it_is_written_has_nothing_written(store):
    begun, go = threading.Event(), threading.Event()
    store.listen("slow", lambda *_: begun.set() or go.wait(10))
    store.submit("slow", [fact("a")])
    assert begun.wait(10)
    kept, given_up = store.submit("s", [fact("a")]), store.submit("s", [fact("b")])
    assert given_up.cancel()
    go.set()
    kept.result()
    assert [entry.fact.key for entry in store.read("s")] == ["a"]


def test_closing_finishes_what_was_submitted_and_ends_all_waiting(store):
    answers: list[object] = []
    waiter = threading.Thread(target=lambda: answers.append(store.news({}, 60.0)))
    waiter.start()
    time.sleep(0.2)
    waiting = [store.submit("s", [fact(f"k{number}")]) for number in range(50)]
    began = time.monotonic()
    store.close()
    store.close()
    waiter.join(10)
    assert not waiter.is_alive()
    assert time.monotonic() - began < 5.0
    assert isinstance(answers[0], dict)
    assert all(future.result(0)[0].what == "new" for future in waiting)
    for use in (
        lambda: store.append("s", [fact("a")]),
        lambda: store.submit("s", [fact("a")]),
        lambda: store.read("s"),
        lambda: store.latest("s"),
        lambda: store.sessions(),
        lambda: store.news({}, 0.0),
        lambda: store.snapshot("s", 1, ""),
        lambda: store.listen("s", None),
    ):
        with pytest.raises(StoreUnavailable, match="closed"):
            use()


def test_no_thread_stays_behind(store):
    store.append("s", [fact("a")])
    assert store._thread.is_alive()
    store.close()
    assert not store._thread.is_alive()


def test_a_store_says_what_it_is(store):
    assert store.address in repr(store)
    with store as same:
        assert same is store
    with pytest.raises(StoreUnavailable):
        store.sessions()


def test_entries_are_found_by_their_keys(store):
    store.append("s", [fact("a"), fact("b"), fact("c", 2.0)])
    store.append("other", [fact("d")])
    assert store.find("s", ["c", "a", "d", "x"]) == {
        "a": (1, fact("a")),
        "c": (3, fact("c", 2.0)),
    }
    assert store.find("nobody", ["a"]) == {} == store.find("s", [])
    assert (store.last("s"), store.last("nobody")) == (3, 0)


def test_a_busy_listener_holds_up_no_other_session(store):
    """What it cannot take in at once reaches it from another thread, in order; others are answered."""
    free, took = threading.Event(), []

    def busy(session, entries, wait):
        if not wait:
            return False
        free.wait(10)
        took.extend(entry.fact.key for entry in entries)
        return True

    store.listen("busy", busy)
    waiting = [store.submit("busy", [fact(key)]) for key in "abc"]
    for key in "xyz":
        assert store.append("other", [fact(key)])[0].what == "new"
    assert not any(future.done() for future in waiting)
    free.set()
    assert [future.result(10)[0].what for future in waiting] == ["new"] * 3
    assert took == ["a", "b", "c"]


def test_closing_delivers_what_a_busy_listener_has_not_taken_in_yet(store):
    took = []

    def busy(session, entries, wait):
        if wait:
            time.sleep(0.05)
            took.extend(entry.fact.key for entry in entries)
        return wait

    store.listen("busy", busy)
    waiting = [store.submit("busy", [fact(str(key))]) for key in range(20)]
    store.close()
    assert all(future.done() for future in waiting)
    assert took == [str(key) for key in range(20)]
