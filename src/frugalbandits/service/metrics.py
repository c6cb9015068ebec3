"""What Prometheus is told: requests as they come, and sessions as their replicas stand when it asks."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from frugalbandits.stores.contract import Fact
from frugalbandits.stores.keeping import keeper_of
from frugalbandits.stores.outlook import summary_of

if TYPE_CHECKING:
    from frugalbandits.service.hub import Hub

__all__ = ["CONTENT_TYPE", "FOLDER", "Metrics"]

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
#: Where several workers put their numbers together; set by whoever starts them.
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
SESSIONS = 100  # that have a name of their own in metrics
OPTIONS = 50  # of each of them
OTHER = "(other)"  # which no session can be called
_DELAYS = (0.1, 1.0, 10.0, 60.0, 600.0, 3_600.0, 21_600.0, 86_400.0, 604_800.0, 2_592_000.0)
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)


class Metrics:
    """The numbers of one worker."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "frugal_http_requests", "Requests.", ["method", "route", "status"], registry=self._registry
        )
        self._took = Histogram(
            "frugal_http_request_seconds",
            "Seconds until a request was answered.",
            ["method", "route"],
            registry=self._registry,
            buckets=_SECONDS,
        )
        self._delays = Histogram(
            "frugal_feedback_delay_seconds",
            "Seconds between a decision and its feedback.",
            ["session"],
            registry=self._registry,
            buckets=_DELAYS,
        )
        self._named: dict[str, str] = {}
        self._counting: dict[tuple[str, str, int], Counter] = {}
        self._timing: dict[tuple[str, str], Histogram] = {}
        self._delaying: dict[str, Histogram] = {}

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; `route` is a template, so there are few."""
        counter = self._counting.get((method, route, status))
        if counter is None:
            counter = self._counting[method, route, status] = self._requests.labels(method, route, status)
        counter.inc()
        timer = self._timing.get((method, route))
        if timer is None:
            timer = self._timing[method, route] = self._took.labels(method, route)
        timer.observe(seconds)

    def told(self, session: str, fact: Fact) -> None:
        """Take down how late feedback came."""
        issued = json.loads(fact.body).get("t")
        if issued is None:
            return
        name = self._label(session)
        timer = self._delaying.get(name)
        if timer is None:
            timer = self._delaying[name] = self._delays.labels(name)
        timer.observe(max(fact.at - issued, 0.0))

    def _label(self, session: str) -> str:
        """Return the name of a session, or that of all beyond the first hundred."""
        found = self._named.get(session)
        if found is None:
            found = session if len(self._named) < SESSIONS else OTHER
            if found is not OTHER:
                self._named[session] = found
        return found

    def written(self) -> tuple[bytes, bytes]:
        """Return everything in the text format of Prometheus, and its type."""
        together = CollectorRegistry()
        together.register(_Sessions(self._hub))
        if os.environ.get(FOLDER):
            gather: Any = MultiProcessCollector  # which has no types
            gather(together)
            return generate_latest(together), CONTENT_TYPE
        return generate_latest(self._registry) + generate_latest(together), CONTENT_TYPE


class _Sessions(Collector):
    """What replicas know: the same in every worker, to within a second."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def collect(self) -> Iterator[Metric]:
        by_option = ["session", "option"]
        decisions = CounterMetricFamily("frugal_decisions", "Decisions handed out.", labels=by_option)
        tells = CounterMetricFamily("frugal_tells", "Rewards told.", labels=by_option)
        spent = GaugeMetricFamily("frugal_spend", "What decisions have cost.", labels=by_option)
        waiting = GaugeMetricFamily("frugal_waiting", "Decisions that wait for feedback.", labels=["session"])
        quality = GaugeMetricFamily(
            "frugal_quality_regret", "Quality below the bar, by the means so far.", labels=["session"]
        )
        cost = GaugeMetricFamily(
            "frugal_cost_regret", "Cost above the cheapest option that reaches the bar.", labels=["session"]
        )
        sums: dict[tuple[str, str], list[float]] = {}
        rest = 0
        for place, name in enumerate(sorted(self._hub.sessions)):
            found = summary_of(self._hub.sessions[name])
            label = name if place < SESSIONS else OTHER
            for number, option in enumerate(found.options):
                known = option.name if number < OPTIONS and label != OTHER else OTHER
                row = sums.setdefault((label, known), [0.0, 0.0, 0.0])
                for column, value in enumerate((option.decisions, option.told, option.spent)):
                    row[column] += value
            if label == OTHER:
                rest += found.waiting
                continue
            waiting.add_metric([label], found.waiting)
            if found.quality_regret is not None:
                quality.add_metric([label], found.quality_regret)
            if found.cost_regret is not None:
                cost.add_metric([label], found.cost_regret)
        if len(self._hub.sessions) > SESSIONS:
            waiting.add_metric([OTHER], rest)
        for labels, row in sums.items():
            decisions.add_metric(labels, row[0])
            tells.add_metric(labels, row[1])
            spent.add_metric(labels, row[2])
        yield from (decisions, tells, spent, waiting, quality, cost)
        yield GaugeMetricFamily("frugal_sessions", "Sessions that are open.", len(self._hub.sessions))
        yield self._broken()
        yield GaugeMetricFamily(
            "frugal_replica_lag_seconds", "How old the newest facts of others were.", self._lag()
        )
        yield GaugeMetricFamily("frugal_time_seconds", "The clock of this worker.", time.time())

    def _broken(self) -> Metric:
        """Return which sessions do not work here; a sum of 0 where all do."""
        broken = GaugeMetricFamily(
            "frugal_session_broken",
            "1 for a session that cannot be opened or does not follow its log.",
            labels=["session"],
        )
        names = sorted(self._hub.troubles())
        for name in names[:SESSIONS]:
            broken.add_metric([name], 1)
        broken.add_metric([OTHER], max(len(names) - SESSIONS, 0))
        return broken

    def _lag(self) -> float:
        return keeper_of(self._hub.store).lag
