"""A load generator that is no bottleneck: requests are bytes from the start, connections are kept alive.

It runs in a process of its own, one thread, and waits for all of its connections at once. Without a rate,
each connection sends the next request when it has its answer. With one, requests are due at equal intervals
whether or not those before were answered, and are timed from when they were due.
"""

from __future__ import annotations

import json
import pickle
import select
import socket
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["Load", "Measured", "load", "request"]


class Load(NamedTuple):
    """What to send, and how."""

    port: int
    requests: Sequence[bytes]
    connections: int
    seconds: float = 1e9
    rate: float | None = None
    again: bool = True  # begin anew when all were sent


class Measured(NamedTuple):
    """How many were answered in how many seconds, and how long half of them, and one in a hundred, took."""

    answered: int
    seconds: float
    p50: float
    p99: float
    statuses: dict[str, int]

    @property
    def rate(self) -> float:
        """Answers a second."""
        return self.answered / self.seconds


def request(method: str, path: str, body: Any = None) -> bytes:
    """Return a request as it goes over the wire."""
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    if body is None:
        return f"{head}\r\n".encode()
    text = json.dumps(body)
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()


def load(spec: Load) -> Measured:
    """Put a server under load from another process; every answer must be one of success."""
    done = subprocess.run(
        [sys.executable, __file__], input=pickle.dumps(tuple(spec)), stdout=subprocess.PIPE, check=True
    )
    found = Measured(*json.loads(done.stdout))
    failed = {status: count for status, count in found.statuses.items() if not status.startswith("2")}
    if failed:
        raise RuntimeError(f"the server under load did not answer as it should: {failed}")
    return found


class _Connection:
    __slots__ = ("began", "got", "socket")

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.began = 0.0
        self.got = b""


def _whole(answer: bytes) -> bool:
    end = answer.find(b"\r\n\r\n")
    if end < 0:
        return False
    if answer[9:12] == b"204":
        return True
    at = answer.find(b"content-length: ", 0, end) + 16
    return len(answer) >= end + 4 + int(answer[at : answer.index(b"\r", at)])


def _generate(spec: Load) -> Measured:
    connections = [_Connection(spec.port) for _ in range(spec.connections)]
    by_number = {each.socket.fileno(): each for each in connections}
    waiting = select.epoll()
    for number in by_number:
        waiting.register(number, select.EPOLLIN)
    free, took, statuses = deque(connections), [], Counter[str]()
    sent, total = 0, len(spec.requests)
    gap = 0.0 if spec.rate is None else 1 / spec.rate
    clock = time.perf_counter
    began = clock()
    until = began + spec.seconds
    while True:
        now = clock()
        while free and now < until and (spec.again or sent < total):
            due = began + sent * gap
            if gap and due > now:
                break
            each = free.popleft()
            each.began = due if gap else now
            each.socket.sendall(spec.requests[sent % total])
            sent += 1
        if len(free) == len(connections) and (now >= until or not (spec.again or sent < total)):
            break
        pause = max(began + sent * gap - now, 0.0) if gap and free and now < until else 1.0
        for number, _ in waiting.poll(pause):
            each = by_number[number]
            each.got += each.socket.recv(1 << 20)
            if not each.got:
                raise ConnectionError("the server has closed a connection")
            if _whole(each.got):
                took.append(clock() - each.began)
                statuses[each.got[9:12].decode()] += 1
                each.got = b""
                free.append(each)
    seconds = clock() - began
    for each in connections:
        each.socket.close()
    waiting.close()
    took.sort()
    return Measured(len(took), seconds, took[len(took) // 2], took[int(len(took) * 0.99)], dict(statuses))


if __name__ == "__main__":
    print(json.dumps(_generate(Load(*pickle.loads(sys.stdin.buffer.read())))))
