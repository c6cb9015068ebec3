"""Clients of both kinds behind one face, and servers that can be killed, broken and held up."""

from __future__ import annotations

import asyncio
import inspect
import os
import socket
import subprocess
import sys
import threading
import time
from unittest.mock import Mock

import httpx

import frugalbandits as fb
from frugalbandits.service.app import create_app
from frugalbandits.stores import open_store

COSTS = {"small": 0.2, "medium": 1.0, "large": 3.0}
URL = "http://127.0.0.1:8000"
STORELESS = {
    "type": "urn:frugalbandits:problem:store-unavailable",
    "status": 503,
    "detail": "the disk is full",
}


def until(true, seconds=20.0):
    """Wait until something is so; the test fails if it does not come."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to that in time"
        time.sleep(0.01)


class Loop:
    """An event loop in a thread of its own."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()

    def run(self, coroutine, timeout=60.0):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(timeout)

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()


class Blocking:
    """An asynchronous client or session, called like the other kind."""

    def __init__(self, inner, loop):
        self.inner, self._loop = inner, loop

    def __getattr__(self, name):
        value = getattr(self.inner, name)
        if not callable(value) or name.startswith("_"):
            return value

        def call(*args, **kwargs):
            async def go():
                found = value(*args, **kwargs)
                return await found if inspect.isawaitable(found) else found

            found = self._loop.run(go())
            kind = type(found).__name__
            return Blocking(found, self._loop) if kind == "AsyncClientSession" else found

        return call

    def __repr__(self):
        return repr(self.inner)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Bridge(httpx.BaseTransport):
    """An asynchronous transport for the client with threads."""

    def __init__(self, transport, loop):
        self._transport, self._loop = transport, loop

    def handle_request(self, request):
        async def go():
            answer = await self._transport.handle_async_request(request)
            return answer.status_code, answer.headers, await answer.aread()

        status, headers, body = self._loop.run(go())
        return httpx.Response(status, headers=headers, content=body, request=request)


class Switch(httpx.AsyncBaseTransport):
    """The way to an application, which can be cut: before a request arrives, or before its answer does."""

    def __init__(self, app):
        self._inner = httpx.ASGITransport(app)
        self.state = "up"
        self.sent = 0
        self.bodies = []

    async def handle_async_request(self, request):
        self.sent += 1
        if self.state == "down":
            raise httpx.ConnectError("it is down")
        if self.state == "storeless" and not request.url.path.endswith("/decisions"):
            return httpx.Response(503, headers={"retry-after": "1"}, json=STORELESS)
        answer = await self._inner.handle_async_request(request)
        self.bodies.append((request.method, request.url.path, request.content))
        if self.state == "deaf":
            await answer.aread()
            raise httpx.ReadError("the answer was lost")
        return answer


class House:
    """An application on a store in memory, with clients of a kind."""

    def __init__(self, kind, store="memory:"):
        self.kind = kind
        self.loop = Loop()
        self.store = open_store(store)
        self.app = create_app(self.store)
        self.app.state.service.log = Mock()
        self._lifespan = self.app.router.lifespan_context(self.app)
        self.loop.run(self._lifespan.__aenter__())
        self.way = Switch(self.app)
        self._clients = []

    def client(self, **settings):
        settings = {"timeout": 5.0, **settings}
        if self.kind == "sync":
            made = fb.Client(URL, transport=Bridge(self.way, self.loop), **settings)
        else:
            made = Blocking(fb.AsyncClient(URL, transport=self.way, **settings), self.loop)
        self._clients.append(made)
        return made

    def close(self):
        for client in self._clients:
            client.close(timeout=0)
        self.loop.run(self._lifespan.__aexit__(None, None, None))
        self.loop.close()


class Clients:
    """Clients of a kind for an address."""

    def __init__(self, kind):
        self.kind, self.loop, self._clients = kind, Loop(), []

    def __call__(self, url, **settings):
        if self.kind == "sync":
            made = fb.Client(url, **settings)
        else:
            made = Blocking(fb.AsyncClient(url, **settings), self.loop)
        self._clients.append(made)
        return made

    def close(self):
        for client in self._clients:
            client.close(timeout=0)
        self.loop.close()


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


class Server:
    """`frugal serve` in a process that can be killed and started again at the same address."""

    def __init__(self, folder):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._store = f"sqlite:///{folder}/decisions.db"
        self._process = None

    def start(self):
        command = [sys.executable, "-m", "frugalbandits.cli", "serve", "--store", self._store]
        self._process = subprocess.Popen(
            [*command, "--port", str(self.port), "--log-level", "error"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ,
        )
        assert "listening" in self._process.stdout.readline()
        return self

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.kill()


ANSWERS = {
    "garbage": b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-type: text/html\r\n\r\nhello",
    "other json": b'HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\n{"id": [1, 2]}',
    "not http": b"SSH-2.0-OpenSSH_9.6\r\n",
    "500": b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n",
    "502": b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 4\r\n\r\noops",
    "404 of a proxy": b"HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\noops",
    "redirect": b"HTTP/1.1 307 Temporary Redirect\r\nlocation: http://evil.example/\r\n"
    b"content-length: 0\r\n\r\n",
    "busy": b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 20\r\ncontent-length: 0\r\n\r\n",
    "hang up": b"",
    "half": b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{",
}


class Rude:
    """A server of the worst kind: it hangs, answers nonsense, hangs up, or sends one elsewhere."""

    def __init__(self, mode):
        self.mode = mode
        self.heard = []
        self.closing = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(0.05)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self):
        while not self.closing.is_set():
            try:
                connection, _ = self._listening.accept()
            except TimeoutError:
                continue
            thread = threading.Thread(target=self._answer, args=(connection,))
            thread.start()
            self._threads.append(thread)

    def _answer(self, connection):
        with connection:
            connection.settimeout(10.0)
            try:
                self.heard.append(connection.recv(65_536))
                if self.mode == "hangs":
                    self.closing.wait(60)
                elif self.mode == "drips":
                    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n")
                    while not self.closing.wait(0.05):
                        connection.sendall(b" ")
                else:
                    connection.sendall(ANSWERS[self.mode])
            except OSError:
                pass  # whoever asked has gone

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closing.set()
        for thread in self._threads:
            thread.join()
        self._listening.close()
