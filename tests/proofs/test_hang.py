"""A database that hangs: it takes connections and requests, and answers nothing."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from caller_harness import SESSION
from postgres_harness import PostgresServer
from proof_harness import BODY, KILLS, Server, log_of, report
from store_harness import eventually

pytestmark = pytest.mark.slow

PRICES = itertools.count(0.25, 0.001)  # a new one each time: a price that an option has needs no database
PATIENCE = 1.0  # seconds that a request waits for the store in these tests; the default is longer
TELLS = 1_100  # more than a worker has in hand
ROUNDS = 1 if KILLS < 10 else 5  # of `make test`, and of `make soak`


@contextmanager
def running(folder: Path, url: str, workers: int = 1) -> Iterator[Server]:
    config = folder / "serve.toml"
    config.write_text(f'store = "{url}"\nstore_patience = {PATIENCE}\nworkers = {workers}\n')
    with Server("--config", str(config)) as server:
        assert server.client.put(f"/v1/sessions/{SESSION}", json=BODY).status_code in (200, 201)
        eventually(lambda: len(server.workers()) == workers)
        for worker in server.workers():
            with server.alone(worker):
                # On a new connection, which this worker takes. It has opened the session by itself by then.
                eventually(lambda: httpx.get(f"{server.url}/v1/sessions/{SESSION}").status_code == 200)
        yield server


def ids(server: Server, count: int) -> list[str]:
    found: list[str] = []
    while len(found) < count:
        asked = {"count": min(count - len(found), 1_000)}
        answer = server.client.post(f"/v1/sessions/{SESSION}/decisions", json=asked)
        found += [each["id"] for each in answer.json()["decisions"]]
    return found


class Tells:
    """Many tells at once, each on a connection of its own, by a thread beside the test."""

    def __init__(self, server: Server, told: list[str]) -> None:
        self._where = server.url.removeprefix("http://").split(":")
        self._told = told
        self.sent = threading.Event()
        self._writers: list[asyncio.StreamWriter] = []
        self.answers: list[tuple[int, dict[str, str], dict[str, object]]] = []
        self._thread = threading.Thread(target=lambda: asyncio.run(self._all()))
        self._thread.start()

    async def _all(self) -> None:
        opened = [asyncio.create_task(self._send(each)) for each in self._told]
        waiting = [await each for each in opened]
        self.sent.set()
        self.answers = await asyncio.gather(*(self._read(reader) for reader in waiting))
        for writer in self._writers:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in self._writers), return_exceptions=True)

    async def _send(self, id_: str) -> asyncio.StreamReader:
        reader, writer = await asyncio.open_connection(self._where[0], int(self._where[1]))
        body = b'{"reward": 0.5}'
        writer.write(
            b"PUT /v1/decisions/%b/feedback HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (id_.encode(), len(body), body)
        )
        self._writers.append(writer)  # which would be closed if it were forgotten
        return reader

    async def _read(self, reader: asyncio.StreamReader) -> tuple[int, dict[str, str], dict[str, object]]:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        except (asyncio.IncompleteReadError, ConnectionError):
            return 0, {}, {}  # closed before it was read
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return int(head[0].split()[1]), headers, json.loads(body) if body else {}

    def join(self) -> Counter[int]:
        """Wait for all answers, and count them; what is refused says why, and when to come again.

        A server that ends closes connections whose requests it has not read: they count under 0.
        """
        self._thread.join(60)
        assert not self._thread.is_alive(), "some tells have no answer"
        for status, headers, body in self.answers:
            if status not in (0, 204):
                assert status == 503 and headers["retry-after"] == "1", (status, body)
                assert body["detail"], body
        return Counter(status for status, _, _ in self.answers)


def check_alive(server: Server) -> None:
    """What needs no database goes on; what does is refused in words."""
    session = f"/v1/sessions/{SESSION}"
    for path in (
        "/healthz",
        session,
        f"{session}/series",
        f"{session}/changes",
        f"{session}/export",
        "/metrics",
    ):
        answer = server.client.get(path)
        assert answer.status_code == 200, (path, answer.text)
    assert server.client.post(f"{session}/decisions").status_code == 201
    for path in ("/readyz", f"{session}/log", "/v1/sessions", "/v1/sessions/unknown"):
        answer = server.client.get(path)
        assert (answer.status_code, answer.headers.get("retry-after")) == (503, "1"), (path, answer.text)
        assert any(word in answer.json()["detail"] for word in ("store", "postgresql://")), answer.text
    for method, path, body in (
        ("PUT", "/v1/sessions/new", BODY),
        ("PATCH", f"{session}/options/small", {"cost": next(PRICES)}),
        ("POST", f"{session}/observations", {"option": "small", "reward": 1.0}),
    ):
        assert server.client.request(method, path, json=body).status_code == 503, path


@pytest.mark.parametrize("workers", [1] if ROUNDS == 1 else [1, 2])
def test_what_needs_no_database_goes_on_while_it_hangs(
    tmp_path: Path, server: PostgresServer, workers: int
) -> None:
    with running(tmp_path, server.new_database(), workers) as service:
        told = ids(service, TELLS)
        refused = Counter[int]()
        for _ in range(ROUNDS):
            with server.paused():
                tells = Tells(service, told)
                assert tells.sent.wait(30)
                time.sleep(0.6)  # a probe that went well holds for half a second
                # More probes than there are threads, all at once: they wait for one look at the store.
                probes = [threading.Thread(target=service.client.get, args=("/readyz",)) for _ in range(20)]
                for probe in probes:
                    probe.start()
                check_alive(service)
                for probe in probes:
                    probe.join()
                refused += tells.join()
                assert set(refused) == {503}
                check_alive(service)
            # It recovers by itself, and the same tells count once.
            eventually(lambda: service.client.get("/readyz").status_code == 200, seconds=40)
        left = list(told)
        for _ in range(100):
            items = [{"op": "tell", "id": each, "reward": 0.5} for each in left[:1_000]]
            answers = service.client.post("/v1/batch", json=items).json()
            assert {each["status"] for each in answers} <= {204, 503}
            left = [each for each, one in zip(left, answers, strict=False) if one["status"] == 503] + left[
                1_000:
            ]
            if not left:
                break
            time.sleep(0.1)
        rewards = [each["body"] for each in log_of(service) if each["kind"] == "reward"]
        assert len(rewards) == TELLS
        assert "Traceback" not in service.log()
        assert service.stop() == 0
        report(**{f"answered_{status}": count for status, count in refused.items()})


@pytest.mark.parametrize("workers", [1] if ROUNDS == 1 else [1, 2])
def test_a_server_ends_while_its_database_hangs(tmp_path: Path, server: PostgresServer, workers: int) -> None:
    with running(tmp_path, server.new_database(), workers) as service:
        told = ids(service, 50)
        with server.paused():
            tells = Tells(service, told)
            assert tells.sent.wait(30)
            time.sleep(0.5)  # until they are in hand
            service.client.close()
            service.process.send_signal(signal.SIGTERM)
            # The answers first: whoever waits is told, and the connection is not just cut.
            answers = tells.join()
            assert answers[503] and set(answers) <= {0, 503}
            assert service.process.wait(timeout=30) == 0
        assert "Traceback" not in service.log()
        assert "the store was not closed" in service.log()


def test_a_request_that_the_server_has_to_cut_short_is_told_so(
    tmp_path: Path, server: PostgresServer
) -> None:
    """Where the patience for the store is longer than the time that a server has to end in."""
    config = tmp_path / "serve.toml"
    config.write_text(f'store = "{server.new_database()}"\nstore_patience = 60\n')
    with Server("--config", str(config)) as service:
        assert service.client.put(f"/v1/sessions/{SESSION}", json=BODY).status_code == 201
        told = ids(service, 3)
        with server.paused():
            tells = Tells(service, told)
            assert tells.sent.wait(30)
            time.sleep(0.5)  # until they are in hand
            os.kill(service.process.pid, signal.SIGTERM)
            answers = tells.join()
            assert answers[503] and set(answers) <= {0, 503}
            assert service.process.wait(timeout=40) == 0
        assert "Traceback" not in service.log()
