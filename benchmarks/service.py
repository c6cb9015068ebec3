"""The decision service under load, against a route that answers a constant and against bare inserts.

Server and load generator share the machine. Example: python benchmarks/run.py --only service
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import stores
from effort import Effort
from load import Load, Measured, load, request
from report import count, milliseconds, ratio, table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

__all__ = ["section"]

COSTS = {f"option {number}": 0.1 * (number + 1) for number in range(5)}
TWENTY = {f"option {number}": 0.1 * (number + 1) for number in range(20)}
CONNECTIONS = 32
BATCH = 100
MEGABYTE = 1 << 20
CONSTANT = request("GET", "/healthz")
ASK = request("POST", "/v1/sessions/bench/decisions", {})

TEXT = """\
## The decision service

`frugal serve` with one worker, 5 options and the default policy; a load generator of {connections}
connections in another process of the same machine ({cores} cores, load of the last minute {load:.1f}).
*Constant*: against `/healthz` of the same server, which does nothing. *Bare*: against inserts of such rows
with the same durability through the bare driver, a commit for each row, and a commit for 100. Medians of
{rounds} rounds, in each of which all are measured in turn. p50 and p99 in ms, at half of the rate that was
reached. As published, not measured here: BanditDB answers about 10,000 predictions and takes about 4,400
rewards a second on 12 cores.
"""
TEXT_LAG = """\
Replicas: two servers on one store, one under a full load of tells. Milliseconds from an acknowledged tell
there to when the other has taken it in. Goal: below 500.
"""
TEXT_MEMORY = """\
Memory: megabytes of the server while it hands out {decisions:,} decisions of a session whose time to live is
{live:g} s, 1,000 in a request. Goal: flat, the last at most 1.05 of that after a fifth.
"""
TEXT_MANY = """\
{sessions:,} sessions of 20 options each in one server. *Ready*: all of them are open again after a `kill -9`.
"""


class Server(NamedTuple):
    """A running server."""

    served: Any
    port: int

    def get(self, path: str) -> Any:
        """Return the body of an answer."""
        answer = self.served.client.get(path, timeout=120)
        answer.raise_for_status()
        return answer.json()

    def put(self, path: str, body: Any) -> None:
        """Make something."""
        self.served.client.put(path, json=body, timeout=120).raise_for_status()

    def ids(self, number: int, session: str = "bench") -> list[str]:
        """Return ids of decisions that are still to be told."""
        found: list[str] = []
        while len(found) < number:
            asked = {"count": min(1_000, number - len(found))}
            answer = self.served.client.post(f"/v1/sessions/{session}/decisions", json=asked, timeout=120)
            answer.raise_for_status()
            found += [each["id"] for each in answer.json()["decisions"]]
        return found

    def memory(self) -> float:
        """Return megabytes that the process has in memory."""
        pages = int(Path(f"/proc/{self.served.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / MEGABYTE


@contextlib.contextmanager
def serving(url: str) -> Iterator[Server]:
    from service_harness import Served

    with Served("--store", url) as served:
        yield Server(served, urlsplit(served.url).port or 0)


def tells(ids: list[str]) -> list[bytes]:
    return [
        request("PUT", f"/v1/decisions/{id_}/feedback", {"reward": turn % 2}) for turn, id_ in enumerate(ids)
    ]


def batches(items: list[dict[str, Any]]) -> list[bytes]:
    return [request("POST", "/v1/batch", items[at : at + BATCH]) for at in range(0, len(items), BATCH)]


class Bench:
    """The routes of one server, each measured so often that what one tells is never told before."""

    def __init__(self, server: Server, effort: Effort) -> None:
        self.server, self.seconds = server, effort.load_seconds
        self._expected = 500.0  # tells a second; grows with what is found

    def _run(self, requests: list[bytes], again: bool = True, rate: float | None = None) -> Measured:
        return load(Load(self.server.port, requests, CONNECTIONS, self.seconds, rate, again))

    def constant(self, rate: float | None = None) -> Measured:
        return self._run([CONSTANT], rate=rate)

    def ask(self, rate: float | None = None) -> Measured:
        return self._run([ASK], rate=rate)

    def tell(self, rate: float | None = None) -> Measured:
        needed = 1.6 * self._expected if rate is None else rate
        found = self._run(tells(self.server.ids(int(needed * self.seconds) + 200)), False, rate)
        self._expected = max(self._expected, found.rate)
        return found

    def both(self, rate: float | None = None) -> Measured:
        needed = 1.6 * self._expected if rate is None else rate
        told = tells(self.server.ids(int(needed * self.seconds) + 200))
        return self._run(
            [each for pair in zip(told, [ASK] * len(told), strict=True) for each in pair], False, rate
        )

    def ask_batches(self) -> Measured:
        return self._run(batches([{"op": "ask", "session": "bench"}] * BATCH))

    def tell_batches(self) -> Measured:
        ids = self.server.ids(int(20 * self._expected * self.seconds) // BATCH * BATCH)
        return self._run(batches([{"op": "tell", "id": id_, "reward": 1.0} for id_ in ids]), False)


def speeds(name: str, url: str, bare: Callable[[int], int], effort: Effort) -> list[list[str]]:
    found: dict[str, list[float]] = {}
    with serving(url) as server:
        server.put("/v1/sessions/bench", {"costs": COSTS, "alpha": 0.1, "time_to_live": 3600})
        bench = Bench(server, effort)
        for each in (bench.ask, bench.tell):  # once for nothing: what is compiled, is compiled
            each()
        for _ in range(effort.rounds):
            for what, rate in (
                ("constant", bench.constant().rate),
                ("ask", bench.ask().rate),
                ("tell", bench.tell().rate),
                ("both", bench.both().rate),
                ("asks", BATCH * bench.ask_batches().rate),
                ("tells", BATCH * bench.tell_batches().rate),
                ("bare", stores.rate(lambda: bare(1), effort.load_seconds)),
                ("hundred", stores.rate(lambda: bare(BATCH), effort.load_seconds)),
            ):
                found.setdefault(what, []).append(rate)
        half = {
            what: measure(median(found[what]) / 2)
            for what, measure in (
                ("constant", bench.constant),
                ("ask", bench.ask),
                ("tell", bench.tell),
                ("both", bench.both),
            )
        }

    def against(what: str, other: str) -> float:
        return median(mine / theirs for mine, theirs in zip(found[what], found[other], strict=True))

    def line(what: str, title: str, goal: str, *ratios: str) -> list[str]:
        times = [milliseconds(half[what].p50), milliseconds(half[what].p99)] if what in half else ["", ""]
        return [f"{name}: {title}", count(median(found[what])), *ratios, *times, goal]

    def bared(what: str) -> list[str]:
        return [ratio(against(what, "bare")), ratio(against(what, "hundred"))]

    fast = "p99 < 25"
    return [
        line("constant", "constant route", fast, "1.0x", "", ""),
        line("ask", "asks", f"0.60x constant; {fast}", ratio(against("ask", "constant")), "", ""),
        line("tell", "tells", f"0.50x bare; {fast}", ratio(against("tell", "constant")), *bared("tell")),
        line("both", "asks and tells in turn", fast, ratio(against("both", "constant")), "", ""),
        line("asks", f"asks, {BATCH} a request", f"10x asks: {ratio(against('asks', 'ask'))}", "", "", ""),
        line(
            "tells",
            f"tells, {BATCH} a request",
            f"10x tells: {ratio(against('tells', 'tell'))}",
            "",
            *bared("tells"),
        ),
        line("bare", "bare inserts, a commit a row", "", "", "", ""),
        line("hundred", "bare inserts, a commit for 100", "", "", "", ""),
    ]


def lags(url: str, effort: Effort) -> tuple[list[float], float]:
    """Return seconds until another server has what was acknowledged, and tells a second meanwhile."""
    import threading

    def seen(server: Server) -> int:
        return int(server.get("/v1/sessions?limit=1")["sessions"][0]["seen"])

    with serving(url) as one, serving(url) as other:
        one.put("/v1/sessions/bench", {"costs": COSTS, "alpha": 0.1})
        probes = one.ids(effort.lag_probes)
        reached: list[Measured] = []
        full = Load(
            one.port, tells(one.ids(int(3_000 * effort.load_seconds))), CONNECTIONS, effort.load_seconds * 4
        )
        loading = threading.Thread(target=lambda: reached.append(load(full._replace(again=False))))
        seen(other)
        loading.start()
        found = []
        for id_ in probes:
            one.put(f"/v1/decisions/{id_}/feedback", {"reward": 1.0})
            began = time.perf_counter()
            wanted = seen(one)
            while seen(other) < wanted:
                time.sleep(0.002)
            found.append(time.perf_counter() - began)
        loading.join()
    return found, reached[0].rate


def memory(url: str, effort: Effort, live: float) -> list[tuple[int, float]]:
    """Return megabytes by how many decisions were handed out."""
    whole = request("POST", "/v1/sessions/bench/decisions", {"count": 1_000})
    parts = 5
    with serving(url) as server:
        server.put("/v1/sessions/bench", {"costs": COSTS, "alpha": 0.1, "time_to_live": live})
        server.ids(1_000)
        found = [(0, server.memory())]
        for part in range(1, parts + 1):
            number = effort.served // 1_000 // parts
            load(Load(server.port, [whole] * number, 2, again=False))
            found.append((part * effort.served // parts, server.memory()))
    return found


def many(url: str, effort: Effort) -> list[str]:
    """Return what a server with many sessions needs, comes back in, and answers."""
    names = [f"session-{number}" for number in range(effort.served_sessions)]
    body = {"costs": TWENTY, "alpha": 0.1}

    def ready(server: Server) -> float:
        began = time.perf_counter()
        page = server.get(f"/v1/sessions?limit={min(len(names), 1_000)}")
        assert len(page["sessions"]) == len(names)
        return time.perf_counter() - began

    asks = [request("POST", f"/v1/sessions/{name}/decisions", {}) for name in names]
    with serving(url) as server:
        empty = server.memory()
        made = load(
            Load(
                server.port, [request("PUT", f"/v1/sessions/{name}", body) for name in names], 4, again=False
            )
        )
        # Of each, a little is known.
        load(Load(server.port, asks * 2, 4, again=False))
        for start in range(0, len(names), 100):
            some = [id_ for name in names[start : start + 100] for id_ in server.ids(3, name)]
            load(Load(server.port, tells(some), 4, again=False))
        os.kill(server.served.process.pid, signal.SIGKILL)
        server.served.process.wait()
    began = time.perf_counter()
    with serving(url) as server:
        up = time.perf_counter() - began
        opened = up + ready(server)
        load(Load(server.port, asks, 4, again=False))
        speed = load(Load(server.port, asks, CONNECTIONS, effort.load_seconds))
        full = server.memory()
    return [
        f"{made.rate:,.0f}",
        f"{empty:,.0f}",
        f"{full:,.0f}",
        f"{(full - empty) * 1024 / len(names):,.0f}",
        f"{up:.1f}",
        f"{opened:.1f}",
        count(speed.rate),
    ]


def section(effort: Effort) -> str:
    """Return the tables of the service."""
    from postgres_harness import postgres

    began = os.getloadavg()[0]
    lines: list[list[str]] = []
    late: list[list[str]] = []
    live = 2.0
    with tempfile.TemporaryDirectory(prefix="frugalbandits-bench-") as folder, postgres() as database:
        with stores.bare_sqlite(f"{folder}/bare.db") as bare:
            lines += speeds("SQLite", f"sqlite:///{folder}/speeds.db", bare, effort)
        with stores.bare_postgres(database.new_database()) as bare:
            lines += speeds("PostgreSQL", database.new_database(), bare, effort)
        for name, url in (
            ("SQLite", f"sqlite:///{folder}/lag.db"),
            ("PostgreSQL", database.new_database()),
        ):
            found, rate = lags(url, effort)
            late.append(
                [
                    name,
                    count(rate),
                    *(milliseconds(each) for each in (median(found), max(found))),
                    str(len(found)),
                ]
            )
        sizes = memory(f"sqlite:///{folder}/memory.db", effort, live)
        crowd = many(f"sqlite:///{folder}/many.db", effort)
    headers = ["what", "a second", "constant", "bare, 1", "bare, 100", "p50", "p99", "goal"]
    text = TEXT.format(connections=CONNECTIONS, cores=os.cpu_count(), load=began, rounds=effort.rounds)
    flat = ratio(sizes[-1][1] / sizes[1][1])
    return "\n\n".join(
        [
            text + "\n" + table(headers, lines),
            TEXT_LAG + "\n" + table(["store", "tells a second", "median", "most", "probes"], late),
            TEXT_MEMORY.format(decisions=effort.served, live=live)
            + "\n"
            + table(
                ["decisions", *(f"{number:,}" for number, _ in sizes), "last against a fifth"],
                [["megabytes", *(f"{size:,.1f}" for _, size in sizes), flat]],
            ),
            TEXT_MANY.format(sessions=effort.served_sessions)
            + "\n"
            + table(
                [
                    "",
                    "made a second",
                    "MB empty",
                    "MB",
                    "kB each",
                    "s until it listens",
                    "s until ready",
                    "asks a second",
                ],
                [["SQLite", *crowd]],
            ),
            "",
        ]
    )
