"""Stores under test: places to open one, a plain model of the contract, and processes that append."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

import frugalbandits as fb
from frugalbandits.stores import LAPSING, Entry, Fact, Store, open_store


def fact(key: str, value: float = 1.0, kind: str = "reward", at: float = 100.0, by: str = "w1") -> Fact:
    return Fact(key, kind, json.dumps({"v": value}), at, by)


@dataclass
class Place:
    """An address, and what was opened there."""

    kind: str
    url: str
    opened: list[Store] = field(default_factory=list)

    def open(self) -> Store:
        store = open_store(self.url)
        self.opened.append(store)
        return store

    def close(self) -> None:
        for store in self.opened:
            store.close()


class Model:
    """What the contract says, in the plainest way."""

    def __init__(self) -> None:
        self.log: dict[str, list[Entry]] = {}
        self.last: dict[str, int] = {}

    def append(self, session: str, facts: Sequence[Fact]) -> list[tuple[str, Entry | None]]:
        log, last = list(self.log.get(session, [])), self.last.get(session, 0)
        before = len(log)
        told: list[tuple[str, Entry]] = []
        for each in facts:
            known = [entry for entry in log if entry.fact.key == each.key]
            if not known:
                last += 1
                log.append(Entry(last, each))
                told.append(("new", log[-1]))
            elif (known[0].fact.kind, known[0].fact.body) == (each.kind, each.body):
                told.append(("same", known[0]))
            else:
                told.append(("conflict", known[0]))
        if not any(what == "conflict" for what, _ in told):
            if facts:
                self.log[session], self.last[session] = log, last
            return list(told)
        fresh = log[before:]
        return [
            (what, entry) if entry not in fresh else ("conflict" if what == "conflict" else "left out", None)
            for what, entry in told
        ]

    def forget(self, session: str, upto: int, before: float) -> None:
        young = [entry.seq for entry in self.log[session] if entry.fact.at >= before]
        end = min([upto, *(seq - 1 for seq in young)])
        self.log[session] = [
            entry
            for entry in self.log[session]
            if not (entry.seq <= end and entry.fact.kind in LAPSING and entry.fact.at < before)
        ]


def in_threads(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Do something in several threads that begin at once; return what each came to, errors too."""
    answers: list[Any] = [None] * count
    gate = threading.Barrier(count)

    def one(index: int) -> None:
        gate.wait()
        try:
            answers[index] = work(index)
        except Exception as error:
            answers[index] = error

    threads = [threading.Thread(target=one, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def eventually(true: Callable[[], bool], seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.01)


# Appends facts in some threads until it is killed or has appended so many; says each key once it is told.
_WRITER = """
import os, sys, threading
from frugalbandits.errors import StoreUnavailable
from frugalbandits.stores import Fact, open_store
url, name, sessions, each, threads, shared = sys.argv[1:3] + [int(value) for value in sys.argv[3:]]
store = open_store(url)
def work(thread):
    for turn in range(each):
        session = f"s{(turn + thread) % sessions}"
        key = f"{turn}-{thread}" if shared else f"{name}-{turn}-{thread}"
        while True:
            try:
                (outcome,) = store.append(session, [Fact(key, "reward", "{}", 0.0, name)])
                break
            except StoreUnavailable:
                import time
                time.sleep(0.02)
        os.write(1, f"{session} {key} {outcome.entry.seq} {outcome.what}\\n".encode())
os.write(1, b"ready\\n")
running = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
[each.start() for each in running]
[each.join() for each in running]
store.close()
"""


@contextmanager
def writer(
    url: str, name: str, *, sessions: int = 2, each: int = 10**9, threads: int = 4, shared: bool = False
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process that appends; it prints "ready", then session, key, number and outcome of each fact."""
    arguments = [url, name, *map(str, (sessions, each, threads, int(shared)))]
    # Without a buffer: `communicate` would not see what `readline` has read ahead.
    process = subprocess.Popen([sys.executable, "-c", _WRITER, *arguments], stdout=subprocess.PIPE, bufsize=0)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def acknowledged(output: bytes) -> list[tuple[str, str, int, str]]:
    """Return what a writer has acknowledged; a line that was cut off counts for nothing."""
    lines = output.decode().split("\n")[:-1]
    parts = [line.split(" ") for line in lines if line != "ready"]
    return [(session, key, int(seq), what) for session, key, seq, what in parts]


def told_again(session: Any, told: str, forgotten: str, waiting: str, state: Callable[[], Any]) -> None:
    """Tell what was told again, which changes nothing, and something else, which is a conflict each time.

    The first decision was told the reward 1.0 and the cost 0.5, the second was forgotten.
    """
    before = state()
    session.tell(told, 1.0)
    session.tell(told, cost=0.5)
    session.forget(forgotten)
    for wrong, words in (
        (lambda: session.tell(told, 0.0), "told before, with the reward 1.0"),
        (lambda: session.tell(told, cost=0.4), "cost of the decision was told before, as 0.5"),
        (lambda: session.tell(forgotten, 1.0), "forgotten before"),
        (lambda: session.forget(told), "told before, with the reward"),
        (lambda: session.tell_many({waiting: 1.0, told: 0.5}), "told before"),
    ):
        with pytest.raises(fb.Conflict, match=words):
            wrong()
        assert state() == before
