"""Durable facts a second, as ratios to bare inserts of the same rows through the bare driver.

One limit of the database is a commit a row, which is what a caller who waits for each row would get; another
is a commit for 100 rows. The stores check each key and number each row on top of that.

Example: python benchmarks/stores.py
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median

from frugalbandits.stores import Fact, Store, body_of, open_store, schema
from frugalbandits.stores.writing import WritingStore
from report import count, ratio, table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

SECONDS = 0.8
ROUNDS = 5
THREADS = 32
_SQLITE = "INSERT INTO frugal_facts VALUES (?, ?, ?, ?, ?, ?, ?)"
_POSTGRES = "INSERT INTO frugal_facts VALUES (%s, %s, %s, %s, %s, %s, %s)"

Row = tuple[int, int, str, str, str, float, str]


def facts(name: str) -> Iterator[Fact]:
    """Yield feedback as the service writes it: a key as long as a token's digest, and a small body."""
    turn = 0
    while True:
        turn += 1
        body = body_of({"o": turn % 7, "r": turn % 2, "t": 1.7e9 + turn})
        yield Fact(f"{name}-{turn * 2654435761 % 2**32:08x}-{turn:012x}", "reward", body, 1.7e9 + turn, name)


def rows() -> Iterator[Row]:
    for number, fact in enumerate(facts("bare-worker"), 1):
        yield (1, number, *fact)


def rate(work: Callable[[], int], seconds: float = SECONDS) -> float:
    """Return how many a second something does that says how many it did."""
    done, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        done += work()
    return done / (time.perf_counter() - began)


def appended(store: WritingStore, threads: int, together: int, name: str) -> tuple[float, float]:
    """Return facts a second by several threads that wait for each call, and calls in one transaction."""
    until = time.perf_counter() + SECONDS
    done = [0] * threads
    before = store.commits

    def work(index: int) -> None:
        source = facts(f"{name}-{index}")
        while time.perf_counter() < until:
            store.append("bench", [next(source) for _ in range(together)])
            done[index] += together

    began = time.perf_counter()
    running = [threading.Thread(target=work, args=(index,)) for index in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    speed = sum(done) / (time.perf_counter() - began)
    return speed, sum(done) / together / max(store.commits - before, 1)


def read(store: Store) -> tuple[float, float]:
    """Return reads of the 10 newest entries a second, and entries a second of reading all."""
    last = store.sessions()["bench"]
    few = rate(lambda: min(len(store.read("bench", last - 10)), 1))
    began, after = time.perf_counter(), 0
    while after < last:
        after = store.read("bench", after)[-1].seq
    return few, last / (time.perf_counter() - began)


@contextmanager
def bare_sqlite(path: str) -> Iterator[Callable[[int], int]]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        for statement in schema.steps(0, schema.SQLITE):
            connection.execute(statement)
        source = rows()

        def work(together: int) -> int:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(_SQLITE, [next(source) for _ in range(together)])
            connection.execute("COMMIT")
            return together

        yield work


@contextmanager
def bare_postgres(url: str) -> Iterator[Callable[[int], int]]:
    import psycopg

    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        for statement in schema.steps(0, schema.POSTGRES):
            cursor.execute(statement)
        connection.commit()
        source = rows()

        def work(together: int) -> int:
            cursor.executemany(_POSTGRES, [next(source) for _ in range(together)])
            connection.commit()
            return together

        yield work


def measured(name: str, url: str, bare: Callable[[int], int]) -> list[list[str]]:
    """Measure in rounds, because a disk that others use is faster at one time than at another."""
    speeds: dict[str, list[float]] = {}
    groups: dict[str, list[float]] = {}
    singles, hundreds = f"{name}: bare, a commit a row", f"{name}: bare, a commit for 100 rows"
    with open_store(url) as store:
        assert isinstance(store, WritingStore)
        for turn in range(ROUNDS):
            speeds.setdefault(singles, []).append(rate(lambda: bare(1)))
            speeds.setdefault(hundreds, []).append(rate(lambda: bare(100)))
            for threads, together in ((1, 1), (THREADS, 1), (4, 100)):
                what = f"{name}: callers {threads}, facts a call {together}"
                speed, grouped = appended(store, threads, together, f"{turn}-{together}x{threads}")
                speeds.setdefault(what, []).append(speed)
                groups.setdefault(what, []).append(grouped)
        few, all_ = read(store)
    lines = []
    for what, found in speeds.items():
        against = [
            ratio(median(speed / limit for speed, limit in zip(found, speeds[other], strict=True)))
            for other in (singles, hundreds)
        ]
        grouped_ = f"{median(groups[what]):.1f}" if what in groups else ""
        lines.append([what, count(median(found)), grouped_, *against])
    return [
        *lines,
        [f"{name}: reads of the 10 newest", count(few), "", "", ""],
        [f"{name}: entries read, all of them", count(all_), "", "", ""],
    ]


def main() -> None:
    from postgres_harness import postgres

    lines = []
    with (
        tempfile.TemporaryDirectory(prefix="frugalbandits-bench-") as folder,
        bare_sqlite(f"{folder}/bare.db") as bare,
    ):
        lines += measured("SQLite", f"sqlite:///{folder}/ours.db", bare)
    with postgres() as server, bare_postgres(server.new_database()) as bare:
        lines += measured("PostgreSQL", server.new_database(), bare)
    headers = ["what", "a second", "calls a commit", "against a commit a row", "against one for 100"]
    print(table(headers, lines))


if __name__ == "__main__":
    main()
