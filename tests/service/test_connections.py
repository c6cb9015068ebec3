"""Connections of a real server: how large a head may be, and how many connections there may be."""

from __future__ import annotations

import contextlib
import importlib.metadata
import inspect
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from frugalbandits.service import patience
from frugalbandits.service.patience import UVICORN_PARTS, patient_for
from service_harness import Served, sqlite
from store_harness import eventually

ROOT = Path(__file__).parents[2]
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


def connected(url: str) -> socket.socket:
    host, port = url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=30)


def received(line: socket.socket) -> bytes:
    """Return all that comes until the other side closes."""
    found = b""
    with contextlib.suppress(ConnectionError):
        while part := line.recv(65_536):
            found += part
    return found


def answered(line: socket.socket) -> bytes:
    """Return one whole answer."""
    found = b""
    while b"\r\n\r\n" not in found:
        found += line.recv(65_536)
    head, _, body = found.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    while length is not None and len(body) < int(length[1]):
        body += line.recv(65_536)
    return head


def sent_until_refused(line: socket.socket, parts: Iterator[bytes]) -> int:
    """Send until the other side takes no more; return how many bytes it took."""
    total = 0
    with contextlib.suppress(ConnectionError):
        for part in parts:
            line.sendall(part)
            total += len(part)
    return total


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    config = tmp_path_factory.mktemp("serve") / "serve.toml"
    config.write_text(f'store = "{sqlite(config.parent)}"\nkeep_alive = 0.5\n')
    with Served("--config", str(config)) as running:
        yield running


LARGE = {
    "many headers": GET + b"".join(b"X-%d: %b\r\n" % (place, b"a" * 1_000) for place in range(80)) + b"\r\n",
    "a long address": b"GET /%b HTTP/1.1\r\nHost: localhost\r\n\r\n" % (b"a" * 70_000),
    "a long value": GET + b"X-Long: %b\r\n\r\n" % (b"a" * 70_000),
    "a long name": GET + b"%b: a\r\n\r\n" % (b"a" * 70_000),
}


@pytest.mark.parametrize("head", LARGE.values(), ids=LARGE.keys())
def test_a_large_head_is_refused(server: Served, head: bytes) -> None:
    with connected(server.url) as line:
        line.sendall(head)
        answer = received(line)
    assert answer.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n"), answer[:100]
    assert b"application/problem+json" in answer and b"65,536 bytes" in answer
    assert answer.count(b"HTTP/1.1") == 1
    assert server.client.get("/healthz").status_code == 200


@pytest.mark.parametrize("part", [b"a" * 10_000, b"X-More: %b\r\n" % (b"a" * 10_000)], ids=["one", "many"])
def test_a_head_without_end_is_not_read_to_it(server: Served, part: bytes) -> None:
    """141 MB of headers took 1 GB of memory."""
    with connected(server.url) as line:
        line.sendall(GET + b"X-First: ")
        assert sent_until_refused(line, iter([part] * 5_000)) < 20_000_000  # of 50: the rest lay in buffers
    assert server.client.get("/healthz").status_code == 200


def test_heads_and_bodies_within_the_limits_are_taken(server: Served) -> None:
    head = GET + b"".join(b"X-%d: %b\r\n" % (place, b"a" * 1_000) for place in range(60)) + b"\r\n"
    with connected(server.url) as line:
        # In small parts, twice on one connection: the limit is for each.
        for _ in range(2):
            for start in range(0, len(head), 9_000):
                line.sendall(head[start : start + 9_000])
            assert answered(line).startswith(b"HTTP/1.1 200")
    body = b'{"reason": "%b"}' % (b"a" * 300_000)
    post = b"POST /v1/batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with connected(server.url) as line:
        # A body and the next head in one go: what is large is the body.
        line.sendall(post + b"Content-Length: %d\r\n\r\n%b" % (len(body), body) + GET)
        assert answered(line).startswith(b"HTTP/1.1 422")
        line.sendall(b"Connection: close\r\n\r\n")
        assert received(line).startswith(b"HTTP/1.1 200")


def test_a_connection_that_is_not_used_is_closed(server: Served) -> None:
    with connected(server.url) as line:
        line.sendall(GET + b"\r\n")
        assert received(line).startswith(b"HTTP/1.1 200")  # and then the end


# How many.


class Slow:
    """An application that answers when it is told to."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.running = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        import asyncio

        if scope["path"] == "/slow":
            self.running += 1
            await asyncio.to_thread(self.go.wait, 30)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})


@contextlib.contextmanager
def few_connections(most: int) -> Iterator[tuple[Slow, str]]:
    app = Slow()
    config = uvicorn.Config(
        app, http=patient_for(30.0, most), port=0, lifespan="off", log_config=None, access_log=False
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        eventually(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield app, f"http://127.0.0.1:{port}"
    finally:
        app.go.set()
        server.should_exit = True
        thread.join(30)


def test_idle_connections_make_room_for_new_ones() -> None:
    with few_connections(5) as (_, url), contextlib.ExitStack() as stack:
        idle = [stack.enter_context(connected(url)) for _ in range(5)]
        for line in idle:
            line.sendall(GET + b"\r\n")
            assert line.recv(1_000).startswith(b"HTTP/1.1 204")
        idle[0].sendall(GET + b"\r\n")  # so that another one is idle for the longest time
        assert idle[0].recv(1_000).startswith(b"HTTP/1.1 204")
        with connected(url) as line:
            line.sendall(GET + b"\r\n")
            assert line.recv(1_000).startswith(b"HTTP/1.1 204")
        assert idle[1].recv(1_000) == b""
        for line in (idle[0], *idle[2:]):
            line.sendall(GET + b"\r\n")
            assert line.recv(1_000).startswith(b"HTTP/1.1 204")


def test_connections_in_use_are_not_closed_for_others() -> None:
    with few_connections(3) as (app, url), contextlib.ExitStack() as stack:
        used = [stack.enter_context(connected(url)) for _ in range(3)]
        for line in used:
            line.sendall(GET.replace(b"/healthz", b"/slow") + b"\r\n")
        eventually(lambda: app.running == 3)
        with connected(url) as line:
            answer = received(line)
        assert answer.startswith(b"HTTP/1.1 503") and b"retry-after: 1" in answer, answer
        app.go.set()
        for line in used:
            assert line.recv(1_000).startswith(b"HTTP/1.1 204")


# What of uvicorn this stands on.


def test_the_parts_of_uvicorn_that_are_used_are_named_and_there() -> None:
    theirs = set(vars(HttpToolsProtocol)) | set(
        re.findall(r"self\.(\w+)", inspect.getsource(HttpToolsProtocol))
    )
    assert set(UVICORN_PARTS) <= theirs, set(UVICORN_PARTS) - theirs
    used = set(re.findall(r"(?:self|oldest|super\(\))\.(\w+)|def (\w+)\(self", inspect.getsource(patience)))
    assert {name for pair in used for name in pair} & theirs == set(UVICORN_PARTS)
    # `frugal serve` also extends how a server ends.
    assert list(inspect.signature(uvicorn.Server.shutdown).parameters) == ["self", "sockets"]


def test_only_versions_of_uvicorn_that_were_tested_are_allowed() -> None:
    pins = (ROOT / "constraints.txt").read_text()
    tested = re.search(r"^uvicorn==(\d+)\.(\d+)", pins, re.MULTILINE)
    allowed = re.search(r'"uvicorn>=(\d+)\.(\d+),<(\d+)\.(\d+)"', (ROOT / "pyproject.toml").read_text())
    assert tested is not None and allowed is not None
    least, above = (int(allowed[1]), int(allowed[2])), (int(allowed[3]), int(allowed[4]))
    assert above == (int(tested[1]), int(tested[2]) + 1)
    here = tuple(int(part) for part in importlib.metadata.version("uvicorn").split(".")[:2])
    assert least <= here < above
