"""A real `frugal serve`: how it starts, how it ends, and whom it hangs up on."""

from __future__ import annotations

import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

import cli_harness
from frugalbandits.stores import StoredSession, open_store
from service_harness import BODY, Served, sqlite


def refused(*arguments: str) -> str:
    """The one line of a server that does not start."""
    command = [sys.executable, "-m", "frugalbandits.cli", "serve", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout) == (2, ""), ran.stderr
    assert ran.stderr.startswith("frugal: error: ") and ran.stderr.count("\n") == 1, ran.stderr
    return ran.stderr


def test_it_serves_and_ends_in_order(tmp_path: Path) -> None:
    with Served("--store", sqlite(tmp_path)) as server:
        assert "no tokens: for this machine only" in server.line and "1 worker" in server.line
        assert server.client.put("/v1/sessions/shop", json=BODY).status_code == 201
        decisions = server.client.post("/v1/sessions/shop/decisions", json={"count": 7}).json()["decisions"]
        told = server.client.put(f"/v1/decisions/{decisions[0]['id']}/feedback", json={"reward": 1.0})
        assert told.status_code == 204
        assert server.stop() == 0
        assert {line["event"] for line in server.lines()} >= {"request"}
    # What was handed out in the last second was said before the end.
    with open_store(sqlite(tmp_path)) as store, StoredSession.open(store, "shop") as session:
        assert session.decisions == 7
        assert sum(arm.pulls for arm in session.explain().arms) == 1


def test_a_request_that_runs_is_ended(tmp_path: Path) -> None:
    with Served("--store", sqlite(tmp_path)) as server:
        host, port = server.url.removeprefix("http://").split(":")
        server.client.put("/v1/sessions/shop", json=BODY)
        id_ = server.client.post("/v1/sessions/shop/decisions").json()["id"]
        body = b'{"reward": 1.0}'
        with socket.create_connection((host, int(port)), timeout=20) as slow:
            head = f"PUT /v1/decisions/{id_}/feedback HTTP/1.1\r\nHost: {host}\r\n"
            kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            slow.sendall(f"{head}{kind}".encode() + body[:5])
            time.sleep(0.3)
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            slow.sendall(body[5:])
            assert slow.recv(1000).startswith(b"HTTP/1.1 204")
        assert server.process.wait(timeout=20) == 0
    with open_store(sqlite(tmp_path)) as store, StoredSession.open(store, "shop") as session:
        assert sum(arm.pulls for arm in session.explain().arms) == 1


def test_two_workers_agree_after_quiet(tmp_path: Path) -> None:
    with Served("--store", sqlite(tmp_path), "--workers", "2") as server:
        assert "2 workers" in server.line
        assert server.client.put("/v1/sessions/shop", json=BODY).status_code == 201
        for number in range(60):
            # A connection each, so that both workers get some.
            with httpx.Client(base_url=server.url, timeout=20) as client:
                id_ = client.post("/v1/sessions/shop/decisions").json()["id"]
                told = client.put(f"/v1/decisions/{id_}/feedback", json={"reward": number % 2})
                assert told.status_code == 204
        time.sleep(2.5)
        seen = []
        for _ in range(12):
            with httpx.Client(base_url=server.url, timeout=20) as client:
                view = client.get("/v1/sessions/shop").json()
                seen.append((view["seen"], view["decisions"], view["spent"], str(view["arms"])))
        assert len(set(seen)) == 1
        assert seen[0][1] == 60
        metrics = server.client.get("/metrics").text
        asked = 'method="POST",route="/v1/sessions/{name}/decisions",status="201"'
        assert f"frugal_http_requests_total{{{asked}}} 60.0" in metrics
        assert server.stop() == 0


def test_workers_end_with_whoever_started_them(tmp_path: Path) -> None:
    with Served("--store", sqlite(tmp_path), "--workers", "2") as server:
        assert server.client.get("/healthz").status_code == 200
        server.stop(signal.SIGKILL)
        for _ in range(100):
            try:
                httpx.get(f"{server.url}/healthz", timeout=2)
            except httpx.TransportError:
                break
            time.sleep(0.1)
        else:
            pytest.fail("a worker answers, and nobody is there to stop it")


def test_slow_clients_are_hung_up_on(tmp_path: Path) -> None:
    config = tmp_path / "serve.toml"
    config.write_text(f'store = "{sqlite(tmp_path)}"\npatience = 0.5\n')
    with Served("--config", str(config)) as server:
        host, port = server.url.removeprefix("http://").split(":")
        server.client.put("/v1/sessions/shop", json=BODY)
        head = b"POST /v1/sessions/shop/decisions HTTP/1.1\r\nHost: localhost\r\n"
        head += b"Content-Type: application/json\r\n"
        cases = {
            b"": b"",
            b"GET /healthz HT": b"",
            head: b"",
            head + b"Content-Length: 100\r\n\r\n{": b"HTTP/1.1 408",
        }
        for sent, answer in cases.items():
            with socket.create_connection((host, int(port)), timeout=10) as slow:
                slow.sendall(sent)
                began = time.monotonic()
                found = b""
                while part := slow.recv(1000):
                    found += part
                assert found.startswith(answer) and bool(found) == bool(answer), found
                assert time.monotonic() - began < 5
        assert server.client.get("/healthz").status_code == 200


def test_a_large_body_is_not_read_to_its_end(tmp_path: Path) -> None:
    with Served("--store", sqlite(tmp_path)) as server:
        server.client.put("/v1/sessions/shop", json=BODY)
        for content in (b" " * (1 << 21), iter([b" " * 100_000] * 30)):
            try:
                answer = server.client.post(
                    "/v1/sessions/shop/decisions",
                    content=content,
                    headers={"Content-Type": "application/json"},
                )
            except httpx.TransportError:
                continue  # hung up on while it was still sending
            assert answer.status_code == 413
        assert server.client.get("/healthz").status_code == 200


def test_tokens_let_it_listen_elsewhere(tmp_path: Path) -> None:
    store = sqlite(tmp_path)
    assert "make one with `frugal token add" in refused("--store", store, "--host", "0.0.0.0")
    command = [sys.executable, "-m", "frugalbandits.cli", "token", "add", "web", "--store", store]
    token = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    with Served("--store", store, "--host", "0.0.0.0") as server:
        assert "tokens needed" in server.line
        url = server.url.replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(f"{url}/v1/sessions").status_code == 401
        assert (
            httpx.get(f"{url}/v1/sessions", headers={"Authorization": f"Bearer {token}"}).status_code == 200
        )


def test_a_port_in_use_and_other_things_that_cannot_be(tmp_path: Path) -> None:
    store = sqlite(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "in use" in refused("--store", store, "--port", str(taken.getsockname()[1]))
    assert "no store has the address 'mysql://x'" in refused("--store", "mysql://x")
    assert "several workers" in refused("--store", "memory:", "--workers", "2")
    assert "log level" in refused("--store", "memory:", "--log-level", "loud")
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as database:
        database.execute("create table pets (name text)")
    database.close()
    assert "other.db" in refused("--store", f"sqlite:///{other}")


def test_settings_that_cannot_be(in_an_empty_folder: Path) -> None:
    """In this process, since nothing is begun: one start of a server takes a second."""
    config = in_an_empty_folder / "serve.toml"
    for text, words in (
        ("colour = 'red'", "no setting is called 'colour'"),
        ("port = 'x'", "port must be"),
        ("port = 70000", "port must be"),
        ("port = ", "cannot read the config file"),
        ("workers = 0", "workers must be"),
        ("patience = -1", "patience must be"),
    ):
        config.write_text(text)
        assert words in cli_harness.refused("serve", "--config", str(config))
    assert "cannot read the config file" in cli_harness.refused(
        "serve", "--config", str(in_an_empty_folder / "none.toml")
    )


def test_the_address_may_come_from_the_environment(tmp_path: Path) -> None:
    with Served(FRUGALBANDITS_STORE=sqlite(tmp_path)) as server:
        assert sqlite(tmp_path) in server.line
    assert (tmp_path / "decisions.db").exists()
