"""Losses of an SQLite file are noticed: damaged pages, a removed or stale log, processes that race."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import frugalbandits as fb
from frugalbandits.errors import InputError, StateFormatError, StoreUnavailable
from frugalbandits.stores import open_store
from frugalbandits.stores.kinds import open_session
from frugalbandits.stores.sqlite import SQLiteStore
from frugalbandits.stores.sqlite_backup import back_up, restore
from store_harness import eventually, fact

SOAK = os.environ.get("FRUGALBANDITS_EXAMPLES") == "soak"
COSTS = {"small": 0.2, "large": 3.0}

# Opens the stores whose paths it reads, all at the same moment as its siblings.
_OPENER = """
import sys
from frugalbandits.stores.sqlite import SQLiteStore
for line in sys.stdin:
    try:
        SQLiteStore(line.strip(), patience=60.0).close()
        answer = "opened"
    except Exception as error:
        answer = repr(error)
    print(answer, flush=True)
"""


def test_processes_that_open_a_new_file_at_once_all_open_it(tmp_path):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    openers = [subprocess.Popen([sys.executable, "-c", _OPENER], **pipes) for _ in range(4)]
    try:
        for turn in range(2_000 if SOAK else 40):
            for each in openers:
                each.stdin.write(f"{tmp_path}/{turn}.db\n")
                each.stdin.flush()
            assert [each.stdout.readline().strip() for each in openers] == ["opened"] * 4
    finally:
        for each in openers:
            each.stdin.close()
            each.wait()
            each.stdout.close()


def told(path, count, name="routes"):
    """Tell a number of rewards to a session of a file; return its address."""
    address = f"sqlite:///{path}"
    with fb.Session(COSTS, 0.05, policy="ucb-cs", horizon=100_000, store=address, name=name) as session:
        session.tell_many({session.ask().id: 1.0 for _ in range(count)})
    return address


def rewards(address, name="routes"):
    with open_store(address) as store, open_session(store, name) as session:
        return sum(arm.pulls for arm in session.explain().arms)


def test_random_blocks_that_are_overwritten_never_lose_rewards_without_a_word(tmp_path):
    """A server that starts on a damaged file says so, or has every reward."""
    address = told(tmp_path / "whole.db", 1_200)
    dice, refused = random.Random(8), 0
    size = (tmp_path / "whole.db").stat().st_size
    for turn in range(300 if SOAK else 12):
        path = tmp_path / f"{turn}.db"
        shutil.copyfile(tmp_path / "whole.db", path)
        with path.open("rb+") as file:
            for _ in range(3):
                file.seek(dice.randrange(size // 4096) * 4096)
                file.write(dice.randbytes(4096))
        try:
            assert rewards(f"sqlite:///{path}") == 1_200
        except (InputError, StateFormatError, StoreUnavailable):
            refused += 1
        path.unlink()
    assert rewards(address) == 1_200
    assert refused > 0


@pytest.mark.parametrize(
    "lost", ["DELETE FROM frugal_facts WHERE seq > 40", "UPDATE frugal_sessions SET last = 999"]
)
def test_a_log_that_ends_too_early_is_refused(tmp_path, lost):
    address = told(tmp_path / "decisions.db", 100)
    with closing(sqlite3.connect(tmp_path / "decisions.db")) as connection:
        connection.execute("DELETE FROM frugal_snapshots")
        connection.execute(lost)
        connection.commit()
    with pytest.raises(StateFormatError, match="were written: the store is damaged"):
        rewards(address)


def test_a_write_ahead_log_that_is_removed_ends_writing_and_loses_nothing(tmp_path):
    path = tmp_path / "decisions.db"
    with SQLiteStore(path) as store:
        for number in range(20):
            store.append("s", [fact(f"k{number}")])
        Path(f"{path}-wal").unlink()
        with pytest.raises(StoreUnavailable, match=r"decisions.db-wal was removed or replaced"):
            store.append("s", [fact("lost")])
        with pytest.raises(StoreUnavailable, match=r"decisions.db-wal was removed or replaced"):
            store.append("s", [fact("lost")])
        # As after kill -9: nothing but the main file is left.
        shutil.copyfile(path, tmp_path / "left.db")
    with SQLiteStore(tmp_path / "left.db") as left:
        assert left.sessions() == {"s": 20}
    with SQLiteStore(path) as again:
        assert again.sessions() == {"s": 20} and again.append("s", [fact("more")])[0].entry.seq == 21


def test_a_write_ahead_log_that_is_removed_is_noticed_while_nothing_is_written(tmp_path, caplog):
    path = tmp_path / "decisions.db"
    address = told(path, 5)
    session = fb.Session(COSTS, 0.05, policy="ucb-cs", horizon=100_000, store=address, name="routes")
    session.tell(session.ask().id, 1.0)
    Path(f"{path}-wal").unlink()
    eventually(lambda: "was removed or replaced" in caplog.text)
    shutil.copyfile(path, tmp_path / "left.db")
    with pytest.raises(StoreUnavailable, match="removed or replaced"):
        session.tell(session.ask().id, 1.0)
    with pytest.raises(StoreUnavailable, match="removed or replaced"):
        session.close()  # it has handed out a decision that the log does not have
    assert rewards(f"sqlite:///{tmp_path}/left.db") == 6


def test_a_log_that_is_replaced_is_not_written_to(tmp_path):
    path = tmp_path / "decisions.db"
    with SQLiteStore(path) as store:
        store.append("s", [fact("a")])
        moved = Path(f"{path}-wal").rename(f"{path}-wal.moved")
        shutil.copyfile(moved, f"{path}-wal")
        with pytest.raises(StoreUnavailable, match="removed or replaced"):
            store.append("s", [fact("b")])
        moved.replace(f"{path}-wal")
        assert store.append("s", [fact("b")])[0].entry.seq == 2


def test_a_backup_is_whole_while_the_store_is_written_to(tmp_path):
    path = tmp_path / "decisions.db"
    with SQLiteStore(path) as store:
        for number in range(50):
            store.append("s", [fact(f"k{number}")])
        done = back_up(f"sqlite:///{path}", tmp_path / "copy.db")
        assert (done.path, done.sessions, done.events) == (tmp_path / "copy.db", 1, 50)
        store.append("s", [fact("later")])
        with pytest.raises(InputError, match="name a new one"):
            back_up(f"sqlite:///{path}", tmp_path / "copy.db")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["copy.db", "decisions.db"]
    restore(tmp_path / "copy.db", f"sqlite:///{tmp_path}/new.db")
    with SQLiteStore(tmp_path / "new.db") as store:
        assert [entry.fact.key for entry in store.read("s")] == [f"k{number}" for number in range(50)]


def test_a_stale_log_does_not_win_over_a_restored_backup(tmp_path):
    """What a process that was killed has left behind belongs to the file that is replaced."""
    path = tmp_path / "decisions.db"
    told(path, 20)
    address = f"sqlite:///{path}"
    back_up(address, tmp_path / "copy.db")
    with SQLiteStore(path) as store:
        for number in range(300):
            store.append("other", [fact(f"k{number}")])
        for name in ("decisions.db", "decisions.db-wal"):
            shutil.copyfile(tmp_path / name, tmp_path / f"killed-{name}")
    for name in ("decisions.db", "decisions.db-wal"):
        (tmp_path / f"killed-{name}").replace(tmp_path / name)
    with pytest.raises(InputError, match="add --replace"):
        restore(tmp_path / "copy.db", address)
    done = restore(tmp_path / "copy.db", address, replace=True)
    assert rewards(address) == 20
    with SQLiteStore(path) as store:
        assert "other" not in store.sessions()
    with SQLiteStore(done.set_aside) as before:
        assert before.sessions()["other"] == 300
    # A log without its file is stale, too.
    (tmp_path / "gone.db-wal").write_bytes(b"stale")
    restore(tmp_path / "copy.db", f"sqlite:///{tmp_path}/gone.db")
    assert rewards(f"sqlite:///{tmp_path}/gone.db") == 20


_HOLDER = """
import sys
from frugalbandits.stores.sqlite import SQLiteStore
store = SQLiteStore(sys.argv[1])
store.sessions()
print("open", flush=True)
sys.stdin.read()
"""


def test_a_store_that_is_in_use_is_not_replaced(tmp_path):
    path = tmp_path / "decisions.db"
    told(path, 20)
    back_up(f"sqlite:///{path}", tmp_path / "copy.db")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", _HOLDER, str(path)], **pipes) as holder:
        assert holder.stdout.readline() == "open\n"
        before = path.read_bytes()
        with pytest.raises(InputError, match="a process has it open"):
            restore(tmp_path / "copy.db", f"sqlite:///{path}", replace=True)
        assert path.read_bytes() == before
        holder.stdin.close()
    restore(tmp_path / "copy.db", f"sqlite:///{path}", replace=True)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda folder: back_up(f"sqlite:///{folder}/none.db", folder / "b.db"), "no file is called"),
        (
            lambda folder: back_up(f"sqlite:///{folder}/other.db", folder / "b.db"),
            "not a store of this package",
        ),
        (lambda folder: back_up(f"sqlite:///{folder}/text.db", folder / "b.db"), "not a database"),
        (lambda folder: back_up("postgresql://me:secret@db/x", folder / "b.db"), "use pg_dump"),
        (lambda folder: back_up("memory:", folder / "b.db"), "only a store in a file"),
        (lambda folder: restore(folder / "none.db", f"sqlite:///{folder}/new.db"), "no such file"),
        (
            lambda folder: restore(folder / "other.db", f"sqlite:///{folder}/new.db"),
            "not a store of this package",
        ),
        (lambda folder: restore(folder / "torn.db", f"sqlite:///{folder}/new.db"), "damaged|malformed"),
        (lambda folder: restore(folder / "short.db", f"sqlite:///{folder}/new.db"), "the events after 0 of"),
        (lambda folder: restore(folder / "good.db", f"sqlite:///{folder}/good.db"), "over itself"),
        (lambda folder: restore(folder / "used.db", f"sqlite:///{folder}/new.db"), "not a backup"),
    ],
)
def test_what_cannot_be_copied_is_refused_and_nothing_is_left_behind(tmp_path, call, words):
    told(tmp_path / "good.db", 300)
    for name in ("torn", "short", "used"):
        shutil.copyfile(tmp_path / "good.db", tmp_path / f"{name}.db")
    with (tmp_path / "torn.db").open("rb+") as file:
        file.seek(8192)
        file.write(bytes(20_000))
    with closing(sqlite3.connect(tmp_path / "short.db")) as connection:
        connection.executescript(
            "DELETE FROM frugal_facts; DELETE FROM frugal_snapshots; PRAGMA journal_mode=DELETE"
        )
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    (tmp_path / "text.db").write_text("cost,reward\n" * 500)
    (tmp_path / "used.db-wal").write_bytes(b"log")
    before = sorted(each.name for each in tmp_path.iterdir())
    with pytest.raises(InputError, match=words) as caught:
        call(tmp_path)
    assert "\n" not in str(caught.value) and "secret" not in str(caught.value)
    assert sorted(each.name for each in tmp_path.iterdir() if "-shm" not in each.name) == before
