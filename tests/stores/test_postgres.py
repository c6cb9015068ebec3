"""What is particular to a database: whose it is, which version, and who waits for whom."""

from __future__ import annotations

import threading
import time

import psycopg
import pytest

from frugalbandits.errors import InputError, StoreUnavailable
from frugalbandits.stores import open_store, schema
from frugalbandits.stores.postgres import PostgresStore
from frugalbandits.stores.postgres_connection import Link
from store_harness import eventually, fact, in_threads


@pytest.fixture
def url(server):
    return server.new_database()


def test_commits_wait_for_the_disk_even_where_the_database_would_not(server, url):
    name = url.split("/")[3].split("?")[0]
    server.execute(f'ALTER DATABASE "{name}" SET synchronous_commit = off')
    with PostgresStore(url) as store:
        assert store._writes.use().execute("SHOW synchronous_commit").fetchone() == ("on",)


def test_an_older_database_is_brought_up_to_date_and_a_later_one_refused(url, monkeypatch):
    fake = ("ALTER TABLE frugal_snapshots ADD COLUMN note TEXT NOT NULL DEFAULT '{clustered}'",)
    with PostgresStore(url) as store:
        store.append("s", [fact("a")])
    with monkeypatch.context() as patch:
        patch.setattr(schema, "LADDER", (*schema.LADDER, fake))
        opened = in_threads(4, lambda _: open_store(url))
        for store in opened:
            assert store.append("s", [fact("a")])[0].what == "same"
            store.snapshot("s", 1, "state")
            store.close()
    with pytest.raises(InputError, match=f"version {len(schema.LADDER) + 1}"):
        PostgresStore(url)


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE frugal_facts (x INTEGER)",
        "CREATE TABLE frugal_store (x INTEGER)",
        "CREATE TABLE frugal_store (version TEXT); INSERT INTO frugal_store VALUES ('one')",
        "CREATE TABLE frugal_store (version INTEGER)",
        "CREATE TABLE frugal_store (version INTEGER); INSERT INTO frugal_store VALUES (1), (1)",
        "CREATE TABLE frugal_store (version INTEGER); INSERT INTO frugal_store VALUES (1);"
        "CREATE TABLE frugal_sessions (name TEXT)",
    ],
)
def test_tables_of_others_are_left_alone(server, url, script):
    server.execute(script, url)
    tables = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
    before = sorted(server.execute(tables, url))
    with pytest.raises(InputError, match="package"):
        PostgresStore(url)
    assert sorted(server.execute(tables, url)) == before


def test_many_open_a_new_database_at_once(url):
    stores = in_threads(6, lambda _: PostgresStore(url))
    assert all(isinstance(store, PostgresStore) for store in stores), stores
    in_threads(6, lambda index: stores[index].append("s", [fact(f"k{index}")]))
    assert {store.sessions()["s"] for store in stores} == {6}
    for store in stores:
        store.close()


def test_another_encoding_is_refused(server):
    server.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(InputError, match="LATIN1"):
        PostgresStore(server.url("latin"))


def test_a_database_or_server_that_is_not_there_is_told_in_one_line(server):
    for url in (server.url("nowhere"), "postgresql://me@127.0.0.1:1/db?connect_timeout=2"):
        with pytest.raises(StoreUnavailable, match="cannot reach") as caught:
            PostgresStore(url)
        assert "\n" not in str(caught.value)


def test_a_role_without_rights_is_told_so(server, url):
    server.execute("DO $$ BEGIN CREATE ROLE guest LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    with pytest.raises(InputError, match="permission denied"):
        PostgresStore(url.replace("postgres@", "guest@"))


def test_schemas_of_one_database_do_not_hear_each_other(server, url):
    server.execute("CREATE SCHEMA one; CREATE SCHEMA two", url)
    with (
        PostgresStore(f"{url}&options=-csearch_path%3Done") as one,
        PostgresStore(f"{url}&options=-csearch_path%3Dtwo") as two,
    ):
        one.append("s", [fact("a")])
        assert one.news({}, 2.0) == {"s": 1}
        assert two.news({}, 0.4) == {}


def test_news_come_by_announcement_and_not_by_looking(url, monkeypatch):
    monkeypatch.setattr("frugalbandits.stores.postgres._NET", 60.0)
    with PostgresStore(url) as one, PostgresStore(url) as other:
        assert one.news({}, 0.1) == {}
        for number in range(1, 6):
            timer = threading.Timer(0.05, lambda key: other.append("s", [fact(key)]), [f"k{number}"])
            timer.start()
            assert one.news({"s": number - 1}, 10.0) == {"s": number}
            timer.join()
        many = [f"{'long name ' * 10}{number}" for number in range(200)]
        waiting = [other.submit(session, [fact("a")]) for session in many]
        seen = {"s": 5}
        until = time.monotonic() + 10
        while len(seen) < 201 and time.monotonic() < until:
            seen.update(one.news(seen, 1.0))
        assert len(seen) == 201
        assert all(future.result()[0].what == "new" for future in waiting)


def test_news_whose_announcement_is_lost_are_found_by_looking(url, monkeypatch):
    monkeypatch.setattr(PostgresStore, "_announce", lambda *_: None)
    with PostgresStore(url) as one, PostgresStore(url) as other:
        assert one.news({}, 0.1) == {}
        other.append("s", [fact("a")])
        assert one.news({}, 10.0) == {"s": 1}


def test_writers_of_the_same_sessions_in_any_order_do_not_block_each_other(url):
    """Calls of one group lock many sessions; two stores do so in opposite orders, over and over."""
    sessions = [f"s{number}" for number in range(12)]
    with PostgresStore(url) as one, PostgresStore(url) as other:

        def work(index):
            store, order = ((one, sessions), (other, sessions[::-1]))[index % 2]
            for turn in range(15):
                waiting = [store.submit(session, [fact(f"{index}-{turn}")]) for session in order]
                assert all(future.result(30)[0].what == "new" for future in waiting)

        assert in_threads(4, work) == [None] * 4
        for session in sessions:
            assert [entry.seq for entry in one.read(session)] == list(range(1, 61))


def test_a_writer_waits_for_the_lock_of_another_and_sees_what_it_wrote(url):
    """A transaction by hand holds the row of a session while a store wants to add the same key to it."""
    with PostgresStore(url) as store, psycopg.connect(url) as other:
        store.append("s", [fact("a")])
        (number,) = other.execute("SELECT id FROM frugal_sessions FOR UPDATE").fetchone()
        waiting = store.submit("s", [fact("b"), fact("c")])
        time.sleep(0.2)
        assert not waiting.done()
        body = fact("b").body
        other.execute("INSERT INTO frugal_facts VALUES (%s, 2, 'b', 'reward', %s, 0, 'x')", [number, body])
        other.execute("UPDATE frugal_sessions SET last = 2")
        other.commit()
        told = waiting.result(10)
        assert [(outcome.what, outcome.entry.seq) for outcome in told] == [("same", 2), ("new", 3)]


def test_a_database_that_says_nothing_is_given_up(server, url):
    with PostgresStore(url, patience=0.2) as store:
        store.append("s", [fact("a")])
        assert [entry.fact.key for entry in store.read("s")] == ["a"]
        with server.paused():
            # By now the database would have said that it takes too long, if it could.
            for call in (lambda: store.append("s", [fact("b")]), lambda: store.read("s"), store.probe):
                with pytest.raises(StoreUnavailable, match=r"has not answered for|timeout"):
                    call()
        eventually(lambda: _works(store.probe))
        assert [outcome.what for outcome in store.append("s", [fact("a"), fact("c")])] == ["same", "new"]


def _works(call):
    try:
        call()
    except StoreUnavailable:
        return False
    return True


def test_a_store_that_cannot_be_written_to_does_not_keep_those_who_close_it_waiting(server, url):
    store = PostgresStore(url, patience=0.2)
    with server.paused():
        waiting = [store.submit(f"s{number}", [fact("a")]) for number in range(3)]
        eventually(lambda: waiting[0].running())
        later = [store.submit("s", [fact(f"k{number}")]) for number in range(5_000)]  # several groups
        store.close()
        for each in [*waiting, *later]:
            assert isinstance(each.exception(0), StoreUnavailable)


def test_a_statement_that_takes_too_long_is_told(url):
    with (
        PostgresStore(url, patience=0.2) as store,
        pytest.raises(StoreUnavailable, match="statement timeout"),
    ):
        store._rows("SELECT pg_sleep(%s)", (10,))


def test_a_lock_that_is_never_given_back_is_told(url):
    with PostgresStore(url, patience=0.3) as store, psycopg.connect(url) as other:
        store.append("s", [fact("a")])
        other.execute("SELECT id FROM frugal_sessions FOR UPDATE").fetchone()
        with pytest.raises(StoreUnavailable, match="lock timeout"):
            store.append("s", [fact("b")])
        other.rollback()
        assert store.append("s", [fact("b")])[0].entry.seq == 2


def test_a_connection_that_was_lost_while_idle_is_not_noticed(server, url):
    with PostgresStore(url) as store:
        store.append("s", [fact("a")])
        store.read("s")
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'frugalbandits' AND pid <> pg_backend_pid()"
        )
        time.sleep(0.1)
        assert store.append("s", [fact("b")])[0].entry.seq == 2
        assert len(store.read("s")) == 2


def test_a_database_that_is_away_is_not_asked_in_a_hurry(monkeypatch):
    tried = []

    def refuse(**_):
        tried.append(time.monotonic())
        raise psycopg.OperationalError("away")

    monkeypatch.setattr(psycopg.Connection, "connect", refuse)
    link = Link({}, "there", patience=1.0)
    until = time.monotonic() + 1.0
    while time.monotonic() < until:
        with pytest.raises(StoreUnavailable, match="away"):
            link.use()
        time.sleep(0.001)
    assert 3 <= len(tried) <= 5
