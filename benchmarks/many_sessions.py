"""The service with 1, 10 and 1,000 sessions: creation, asks, tells, replica lag, and a scrape of the metrics.

Example: python benchmarks/run.py --only many-sessions
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from statistics import median
from typing import NamedTuple

import frugalbandits as fb
from effort import Effort
from load import Load, Measured, load, request
from report import count, milliseconds, ratio, table
from service import CONNECTIONS, TWENTY, Server, serving, tells

__all__ = ["section"]

TEXT = """\
## Many sessions

`frugal serve` on SQLite with one worker; sessions of 20 options with the default policy. Requests go to all
sessions in turn, from {connections} connections of another process of the same machine ({cores} cores, load
of the last minute {load:.1f}). *Asks* and *tells* a second, and as a part of those with one session. *Lag*:
milliseconds from an acknowledged tell to when a second server on the store has taken it in, under a full load
of asks. *Scrape*: milliseconds for `/metrics`. Goals with {most:,} sessions: 300 made a second, 0.8x the asks
with one session, lag below 500.
"""
_MAKERS = 4  # connections that create sessions


class Crowd(NamedTuple):
    """What was measured with some number of sessions."""

    sessions: int
    made: float
    asks: float
    tells: float
    lags: list[float]
    scrape: float


def _made(server: Server, names: list[str]) -> Measured:
    body = {"costs": TWENTY, "alpha": 0.1}
    requests = [request("PUT", f"/v1/sessions/{name}", body) for name in names]
    return load(Load(server.port, requests, min(_MAKERS, len(names)), again=False))


def _lags(one: Server, other: Server, asks: list[bytes], effort: Effort) -> list[float]:
    """Return seconds until the other server has a tell that was acknowledged, under a load of asks."""

    def seen(server: Server) -> int:
        return int(server.get("/v1/sessions/session-0")["seen"])

    probes = one.ids(max(effort.lag_probes // 5, 1), "session-0")
    full = Load(one.port, asks, CONNECTIONS, 2 * effort.load_seconds)
    seen(other)
    loading = threading.Thread(target=load, args=(full,))
    loading.start()
    found = []
    for id_ in probes:
        one.put(f"/v1/decisions/{id_}/feedback", {"reward": 1.0})
        began, wanted = time.perf_counter(), seen(one)
        while seen(other) < wanted:
            time.sleep(0.005)
        found.append(time.perf_counter() - began)
    loading.join()
    return found


def measure(number: int, effort: Effort) -> Crowd:
    """Return what a server with so many sessions does."""
    names = [f"session-{each}" for each in range(number)]
    asks = [request("POST", f"/v1/sessions/{name}/decisions", {}) for name in names]
    with tempfile.TemporaryDirectory(prefix="frugalbandits-bench-") as folder:
        url = f"sqlite:///{folder}/many.db"
        with serving(url) as one:
            made = _made(one, names)
            load(Load(one.port, asks, 4, again=False))  # the first plan of each session
            asked = load(Load(one.port, asks, CONNECTIONS, effort.load_seconds))
            each = max(int(asked.rate * effort.load_seconds / number), 1)
            ids = [id_ for name in names for id_ in one.ids(each, name)]
            told = load(Load(one.port, tells(ids), CONNECTIONS, effort.load_seconds, again=False))
            scrapes = []
            for _ in range(effort.rounds):
                began = time.perf_counter()
                one.served.client.get("/metrics", timeout=120).raise_for_status()
                scrapes.append(time.perf_counter() - began)
            with serving(url) as other:
                late = _lags(one, other, asks, effort)
    return Crowd(number, made.rate, asked.rate, told.rate, late, median(scrapes))


def section(effort: Effort) -> str:
    """Return the table."""
    fb.warm_up("voi-cs")  # otherwise the first server compiles while it is measured
    began = os.getloadavg()[0]
    found = [measure(number, effort) for number in (1, 10, effort.served_sessions)]
    first = found[0]
    rows = [
        [
            f"{each.sessions:,}",
            count(each.made),
            count(each.asks),
            ratio(each.asks / first.asks),
            count(each.tells),
            ratio(each.tells / first.tells),
            milliseconds(median(each.lags)),
            milliseconds(max(each.lags)),
            milliseconds(each.scrape),
        ]
        for each in found
    ]
    headers = ["sessions", "made a second", "asks", "", "tells", "", "lag, median", "lag, most", "scrape"]
    text = TEXT.format(connections=CONNECTIONS, cores=os.cpu_count(), load=began, most=effort.served_sessions)
    return f"{text}\n{table(headers, rows)}\n"
