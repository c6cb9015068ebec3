"""What goes wrong around the service: a clear word, nothing lost, and it goes on by itself when it can."""

from __future__ import annotations

import os
import resource
import shutil
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from caller_harness import SESSION
from postgres_harness import PostgresServer
from proof_harness import BODY, Cluster, Server, agreed, log_of, report
from store_harness import eventually

pytestmark = pytest.mark.slow

TELL = "/v1/decisions/{}/feedback"


def ids(server: Server, count: int) -> list[str]:
    answer = server.client.post(f"/v1/sessions/{SESSION}/decisions", json={"count": count})
    assert answer.status_code == 201, answer.text
    return [each["id"] for each in answer.json()["decisions"]]


def told(server: Server, id_: str, reward: float = 0.5) -> Any:
    return server.client.put(TELL.format(id_), json={"reward": reward})


def pulls(server: Server) -> int:
    return server.client.get(f"/v1/sessions/{SESSION}").json()["feedback"]["told"]


# A disk.


def limit_files(server: Server, most: int) -> None:
    """Let no file of a server grow beyond so many bytes: what a full disk is to whoever writes."""
    hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, hard))


def test_a_full_disk(tmp_path: Path) -> None:
    with Cluster(f"sqlite:///{tmp_path}/decisions.db") as cluster:
        [server] = cluster.servers
        some = ids(server, 30)
        assert [told(server, each).status_code for each in some[:10]] == [204] * 10
        limit_files(server, (tmp_path / "decisions.db-wal").stat().st_size)
        for each in some[10:20]:
            answer = told(server, each)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert "decisions.db" in answer.json()["detail"] and "disk" in answer.json()["detail"]
        answer = server.client.get("/readyz")
        assert answer.status_code == 503 and "disk" in answer.json()["detail"], answer.text
        # What needs no room goes on.
        assert server.client.get("/healthz").status_code == 200
        assert len(ids(server, 5)) == 5
        assert pulls(server) == 10
        limit_files(server, resource.RLIM_INFINITY)
        assert [told(server, each).status_code for each in some] == [204] * 30
        eventually(lambda: server.client.get("/readyz").status_code == 200)
        log, states = agreed(cluster, 1)
        assert [each["kind"] for each in log].count("reward") == 30
        assert sum(states[0]["state"]["tally"]["pulls"]) == 30
        report(refused=10, told_in_the_end=30)


def test_a_log_of_requests_that_cannot_be_written_stops_nobody(tmp_path: Path) -> None:
    """Standard error is often a file on the disk that is full."""
    with Server("--store", f"sqlite:///{tmp_path}/decisions.db") as server:
        assert server.client.put(f"/v1/sessions/{SESSION}", json=BODY).status_code == 201
        [id_] = ids(server, 1)
        limit_files(server, 1)
        assert [server.client.get("/healthz").status_code for _ in range(3)] == [200] * 3
        assert len(ids(server, 3)) == 3
        assert told(server, id_).status_code == 503
        limit_files(server, resource.RLIM_INFINITY)
        assert told(server, id_).status_code == 204
        assert pulls(server) == 1


def test_a_file_that_is_taken_away_or_replaced(tmp_path: Path) -> None:
    """What would be written to a file that nobody can find any more is refused, not acknowledged."""
    path = tmp_path / "decisions.db"
    with Cluster(f"sqlite:///{path}") as cluster:
        [server] = cluster.servers
        first, second = ids(server, 2)
        assert told(server, first).status_code == 204
        path.rename(tmp_path / "elsewhere.db")
        answer = told(server, second)
        assert answer.status_code == 503, answer.text
        assert "decisions.db" in answer.json()["detail"]
        assert server.client.get("/readyz").status_code == 503
        # Another file in its place is not it.
        shutil.copy(tmp_path / "elsewhere.db", path)
        eventually(lambda: "replaced" in server.client.get("/readyz").text)
        (tmp_path / "elsewhere.db").rename(path)
        eventually(lambda: server.client.get("/readyz").status_code == 200)
        assert told(server, second).status_code == 204
        assert [each["kind"] for each in log_of(server)].count("reward") == 2


# What is not ours, or cannot be used: one line, and exit code 2.


def refused(*arguments: str) -> str:
    """Run `frugal serve` where it cannot; return its one line."""
    done = subprocess.run(
        [sys.executable, "-m", "frugalbandits.cli", "serve", "--port", "0", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert done.stdout == "" and done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("frugal: error: ")
    return done.stderr


def _later(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA application_id = 0x66727567")
        connection.execute("PRAGMA user_version = 99")
    connection.close()


def _of_others(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_later, "it is of version 99"),
        (_of_others, "another application"),
        (lambda path: path.write_text("Dear diary, " * 500), "not a database"),
        (lambda path: path.mkdir(), "decisions.db"),
    ],
    ids=["a later version", "of another application", "no database", "a folder"],
)
def test_a_file_that_is_not_ours(tmp_path: Path, make: Any, words: str) -> None:
    path = tmp_path / "decisions.db"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    assert words in refused("--store", f"sqlite:///{path}")
    assert before is None or path.read_bytes() == before


def test_a_folder_in_which_nothing_can_be_made() -> None:
    # Not even the superuser can make a file there, so that whoever runs the tests sees the same.
    assert "/proc/self" in refused("--store", "sqlite:////proc/self/decisions.db")
    assert "/nonesuch" in refused("--store", "sqlite:////nonesuch/decisions.db")


def test_an_address_of_no_store() -> None:
    assert "mysql://here" in refused("--store", "mysql://me:secret@here/db").replace("me@", "")
    assert "secret" not in refused("--store", "mysql://me:secret@here/db")


def test_a_database_that_is_not_ours_or_not_there(server: PostgresServer) -> None:
    url = server.new_database()
    server.execute("CREATE TABLE frugal_facts (id INTEGER)", url)
    assert "frugal_facts is not of this package" in refused("--store", url)
    later = server.new_database()
    server.execute("CREATE TABLE frugal_store (version INTEGER); INSERT INTO frugal_store VALUES (99)", later)
    assert "it is of version 99" in refused("--store", later)
    assert "does not exist" in refused("--store", server.url("nonesuch"))
    assert "secret" not in refused("--store", "postgresql://me:secret@127.0.0.1:1/db")


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words = refused("--store", f"sqlite:///{tmp_path}/decisions.db", "--port", port)
    assert f"port {port}: {os.strerror(98)}" in words
