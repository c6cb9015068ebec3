"""What is particular to a file: whose it is, which version, and what stands in the way of writing it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from frugalbandits.errors import InputError, StoreUnavailable
from frugalbandits.stores import open_store, schema
from frugalbandits.stores.sqlite import SQLiteStore, _connect
from store_harness import fact, in_threads


@pytest.fixture
def path(tmp_path):
    return tmp_path / "decisions.db"


def test_what_is_committed_is_on_the_disk(path):
    """A killed process proves nothing on a lost power supply: so the settings are looked at."""
    with SQLiteStore(path) as store:
        store.append("s", [fact("a")])
        assert store._writer.execute("PRAGMA synchronous").fetchone() == (2,)
        assert store._writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert store._writer.execute("PRAGMA fullfsync").fetchone() == (1,)
    with closing(_connect(path, 1.0)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA application_id").fetchone() == (schema.APPLICATION,)
        assert connection.execute("PRAGMA user_version").fetchone() == (len(schema.LADDER),)


FAKE = ("ALTER TABLE frugal_snapshots ADD COLUMN note TEXT NOT NULL DEFAULT '{identity}'",)


def test_an_older_file_is_brought_up_to_date_and_a_later_one_refused(path, monkeypatch):
    with SQLiteStore(path) as store:
        store.append("s", [fact("a")])
        store.snapshot("s", 1, "state")
    with monkeypatch.context() as patch:
        patch.setattr(schema, "LADDER", (*schema.LADDER, FAKE))
        for _ in range(2):
            with SQLiteStore(path) as store:
                assert store.latest("s") == (1, "state")
                assert store.append("s", [fact("a")])[0].what == "same"
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT note FROM frugal_snapshots").fetchone() == ("INTEGER PRIMARY KEY",)
    before = path.read_bytes()
    later = len(schema.LADDER) + 1
    with pytest.raises(InputError, match=rf"decisions\.db.*version {later}.*later version"):
        SQLiteStore(path)
    assert path.read_bytes() == before


def test_a_step_that_fails_leaves_the_older_file_as_it_was(path, monkeypatch):
    with SQLiteStore(path) as store:
        store.append("s", [fact("a")])
    with monkeypatch.context() as patch:
        patch.setattr(schema, "LADDER", (*schema.LADDER, (*FAKE, "ALTER TABLE missing ADD COLUMN x TEXT")))
        with pytest.raises(StoreUnavailable, match="no such table"):
            SQLiteStore(path)
    with SQLiteStore(path) as store:
        assert store.sessions() == {"s": 1}
    with closing(sqlite3.connect(path)) as connection:
        assert "note" not in {row[1] for row in connection.execute("PRAGMA table_info(frugal_snapshots)")}


def test_a_file_that_is_no_database_is_left_alone(path):
    path.write_text("cost,reward\n" * 500)
    with pytest.raises(InputError, match=r"decisions\.db.*not a database"):
        SQLiteStore(path)
    assert path.read_text() == "cost,reward\n" * 500


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE theirs (x)",
        "PRAGMA application_id = 77",
        "PRAGMA user_version = 3",
        "CREATE TABLE frugal_facts (x)",
        f"PRAGMA application_id = {schema.APPLICATION};"
        "CREATE TABLE frugal_facts (x); PRAGMA user_version = 1",
    ],
)
def test_a_database_of_others_is_left_alone(path, script):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
        before = "\n".join(connection.iterdump())
    with pytest.raises(InputError, match=r"decisions\.db"):
        SQLiteStore(path)
    with closing(sqlite3.connect(path)) as connection:
        assert "\n".join(connection.iterdump()) == before


def test_an_empty_file_becomes_a_store(path):
    path.touch()
    with SQLiteStore(path) as store:
        assert store.sessions() == {}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing/decisions.db", "there is no folder"),
        ("", "it is a folder"),
        (":memory:", "memory:"),
        ("a\0b", "NUL"),
    ],
)
def test_a_place_where_no_file_can_be_is_told_in_one_line(tmp_path, name, words):
    with pytest.raises(InputError, match=words) as caught:
        open_store(f"sqlite:///{tmp_path}/{name}")
    assert "\n" not in str(caught.value)


def test_a_pipe_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        SQLiteStore(tmp_path / "pipe")


# Root may write anywhere, so this gives that up first.
_READ_ONLY = """
import os, sys
if os.geteuid() == 0:
    import frugalbandits.stores.sqlite
    os.setgid(65534)
    os.setuid(65534)
from frugalbandits.errors import InputError
from frugalbandits.stores import open_store
try:
    open_store(sys.argv[1])
except InputError as error:
    print(error)
"""


@pytest.mark.parametrize("what", ["folder", "file"])
def test_a_read_only_folder_or_file_is_told_in_one_line(what):
    with tempfile.TemporaryDirectory() as above:  # pytest keeps its folders to the user who made them
        Path(above).chmod(0o755)
        folder = Path(above) / "kept"
        folder.mkdir()
        SQLiteStore(folder / "decisions.db").close()
        (folder / "decisions.db").chmod(0o444)
        folder.chmod(0o555 if what == "folder" else 0o777)
        done = subprocess.run(
            [sys.executable, "-c", _READ_ONLY, f"sqlite:///{folder}/decisions.db"],
            capture_output=True,
            text=True,
            check=False,
        )
        folder.chmod(0o777)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1
    assert "decisions.db" in done.stdout
    assert ("Permission denied" if what == "folder" else "not readable and writable") in done.stdout


def test_a_full_disk_fails_the_group_and_the_next_one_is_written(path):
    with SQLiteStore(path) as store:
        store.append("s", [fact("a")])
        (pages,) = store._writer.execute("PRAGMA page_count").fetchone()
        store._writer.execute(f"PRAGMA max_page_count = {pages}")
        big = fact("big")._replace(body="x" * 100_000)
        with pytest.raises(StoreUnavailable, match=r"decisions\.db.*disk is full"):
            store.append("s", [fact("b"), big])
        assert [entry.fact.key for entry in store.read("s")] == ["a"]
        assert store.append("s", [fact("b"), big])[1].entry.seq == 3


_LIMITED = """
import resource, sys
from frugalbandits.errors import StoreUnavailable
from frugalbandits.stores import Fact, open_store
store = open_store(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
told = 0
try:
    while True:
        told = store.append("s", [Fact(f"k{told}", "reward", "x" * 1000, 0.0, "w")])[0].entry.seq
except StoreUnavailable as error:
    print(error, file=sys.stderr)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert store.append("s", [Fact("last", "reward", "", 0.0, "w")])[0].entry.seq == told + 1
store.close()
print(told)
"""


def test_a_file_that_may_not_grow_loses_nothing_that_was_told(path):
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, f"sqlite:///{path}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "decisions.db" in done.stderr
    with SQLiteStore(path) as store:
        assert [entry.seq for entry in store.read("s")] == list(range(1, int(done.stdout) + 2))


def test_a_lock_that_is_held_for_too_long_is_told_and_a_short_one_waited_for(path):
    with SQLiteStore(path, patience=0.3) as store, closing(_connect(path, 1.0)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match=r"decisions\.db.*too long"):
            store.append("s", [fact("a")])
        waiting = store.submit("s", [fact("b")])
        time.sleep(0.05)
        other.execute("ROLLBACK")
        assert waiting.result()[0].entry.seq == 1
        assert store.sessions() == {"s": 1}


def test_a_lock_that_others_hold_at_opening_is_told(path):
    SQLiteStore(path).close()
    with closing(_connect(path, 1.0)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="too long"):
            SQLiteStore(path, patience=0.1)


def test_a_file_that_is_removed_is_not_written_to_any_more(path):
    with SQLiteStore(path) as store:
        store.append("s", [fact("a")])
        moved = path.rename(path.with_name("moved.db"))
        with pytest.raises(StoreUnavailable, match="No such file"):
            store.append("s", [fact("b")])
        path.write_bytes(b"")
        with pytest.raises(StoreUnavailable, match="moved or replaced"):
            store.append("s", [fact("b")])
        path.unlink()
        moved.rename(path)
        assert store.append("s", [fact("b")])[0].entry.seq == 2


def test_many_threads_open_one_new_file_at_once(path):
    stores = in_threads(8, lambda _: SQLiteStore(path))
    assert all(isinstance(store, SQLiteStore) for store in stores), stores
    in_threads(8, lambda index: stores[index].append("s", [fact(f"k{index}")]))
    assert {store.sessions()["s"] for store in stores} == {8}
    for store in stores:
        store.close()


def test_two_stores_that_write_at_once_wait_for_each_other_and_never_fail(path):
    with SQLiteStore(path) as one, SQLiteStore(path) as other:

        def work(index):
            for turn in range(60):
                (one, other)[index % 2].append("s", [fact(f"{index}-{turn}")])

        assert in_threads(4, work) == [None] * 4
        assert [entry.seq for entry in one.read("s")] == list(range(1, 241))


def test_many_readers_keep_few_connections(path):
    with SQLiteStore(path) as store:
        store.append("s", [fact("a")])
        gate = threading.Barrier(20)

        def work(_):
            with store._reading() as connection:
                gate.wait()
                return connection.execute("SELECT count(*) FROM frugal_facts").fetchone()

        assert in_threads(20, work) == [(1,)] * 20
        assert len(store._idle) == 8
