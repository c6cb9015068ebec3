"""Metrics for Prometheus: counters of this service since it started, and gauges of its sessions."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from frugalbandits.stores.contract import NEW, Outcome
from frugalbandits.stores.facts import OBSERVE, REWARD
from frugalbandits.stores.keeping import keeper_of
from frugalbandits.stores.kinds import Stored
from frugalbandits.stores.outlook import Summary, option_name, summary_of

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


# Gauges of each session, as its replica in the worker that answers has it: to within about a second.
_BY_SESSION = {
    "session_decisions": "Decisions handed out since the session was made.",
    "session_judged": "Decisions that have a reward, since the session was made.",
    "waiting": "Decisions that wait for feedback.",
    "quality_reached": "Mean quality of all decisions, estimated from the rewards.",
    "quality_reached_low": "Lower end of the 95% interval of frugal_quality_reached.",
    "quality_reached_high": "Upper end of the 95% interval of frugal_quality_reached.",
    "quality_bar": "The quality that is good enough, by the means so far.",
    "saving": "Saved against always using the reference of the bar, or the best option so far.",
    "quality_regret": "Quality below the bar, by the means so far.",
    "cost_regret": "Cost above the cheapest option that reaches the bar.",
}
# Those that add up over the sessions that have no name of their own.
_SUMMED = ("session_decisions", "session_judged", "waiting")


def _values(found: Summary) -> dict[str, float | None]:
    low, high = found.reached_interval or (None, None)
    return {
        "session_decisions": found.decisions,
        "session_judged": None if found.judged is None else round(found.judged * found.decisions),
        "waiting": found.waiting,
        "quality_reached": found.reached,
        "quality_reached_low": low,
        "quality_reached_high": high,
        "quality_bar": found.threshold,
        "saving": found.saving,
        "quality_regret": found.quality_regret,
        "cost_regret": found.cost_regret,
    }


#: The summary of each session at the last scrape, with the entries and decisions that it covers.
_Summaries: TypeAlias = "dict[str, tuple[Stored, tuple[int, int], Summary]]"


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
        # Counted where they happen, not read from replicas: these differ from worker to worker by what is not
        # in the log yet, so a counter read from them would fall whenever another worker answers.
        by_option = ["session", "option"]
        self._decisions = Counter(
            "frugal_decisions", "Decisions handed out.", by_option, registry=self._registry
        )
        self._tells = Counter("frugal_tells", "Rewards told.", by_option, registry=self._registry)
        self._counts: dict[tuple[Counter, str, str], Counter] = {}
        self._option_names: dict[str, set[str]] = {}
        self._named: dict[str, str] = {}
        self._summaries: _Summaries = {}
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

    def decided(self, session: str, option: str) -> None:
        """Count a decision."""
        self._count(self._decisions, session, option)

    def told(self, session: Stored, outcomes: Iterable[Outcome]) -> None:
        """Count feedback that is new in the log, and how late it came."""
        for what, entry in outcomes:
            if what != NEW or entry is None or entry.fact.kind not in (REWARD, OBSERVE):
                continue
            body = json.loads(entry.fact.body)
            if "r" in body:
                self._count(self._tells, session.name, option_name(session, body["o"]))
            if "t" in body:
                self._delay(session.name).observe(max(entry.fact.at - body["t"], 0.0))

    def _count(self, counter: Counter, session: str, option: str) -> None:
        key = counter, session, option
        found = self._counts.get(key)
        if found is None:
            found = self._counts[key] = counter.labels(*self._labels(session, option))
        found.inc()

    def _labels(self, session: str, option: str) -> tuple[str, str]:
        """Return the names under which an option is counted; their number is limited."""
        label = self._label(session)
        if label == OTHER:
            return OTHER, OTHER
        names = self._option_names.setdefault(label, set())
        if option not in names and len(names) >= OPTIONS:
            return label, OTHER
        names.add(option)
        return label, option

    def _delay(self, session: str) -> Histogram:
        name = self._label(session)
        timer = self._delaying.get(name)
        if timer is None:
            timer = self._delaying[name] = self._delays.labels(name)
        return timer

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
        together.register(_Sessions(self._hub, self._summaries))
        if os.environ.get(FOLDER):
            gather: Any = MultiProcessCollector  # which has no types
            gather(together)
            return generate_latest(together), CONTENT_TYPE
        return generate_latest(self._registry) + generate_latest(together), CONTENT_TYPE


class _Sessions(Collector):
    """What replicas know: the same in every worker, to within a second."""

    def __init__(self, hub: Hub, summaries: _Summaries) -> None:
        self._hub = hub
        self._summaries = summaries

    def _summary(self, name: str, session: Stored) -> Summary:
        """Return the summary of a session; that of the last scrape where nothing has happened since."""
        now = session.seen, session.decisions
        before = self._summaries.get(name)
        if before is not None and before[:2] == (session, now):
            return before[2]
        found = summary_of(session)
        self._summaries[name] = session, now, found
        return found

    def collect(self) -> Iterator[Metric]:
        spent = GaugeMetricFamily("frugal_spend", "What decisions have cost.", labels=["session", "option"])
        families = {
            name: GaugeMetricFamily(f"frugal_{name}", words, labels=["session"])
            for name, words in _BY_SESSION.items()
        }
        sums: dict[tuple[str, str], float] = {}
        rest = dict.fromkeys(_SUMMED, 0.0)
        for place, name in enumerate(sorted(self._hub.sessions)):
            found = self._summary(name, self._hub.sessions[name])
            label = name if place < SESSIONS else OTHER
            for number, option in enumerate(found.options):
                known = option.name if number < OPTIONS and label != OTHER else OTHER
                sums[label, known] = sums.get((label, known), 0.0) + option.spent
            for kind, value in _values(found).items():
                if label == OTHER and kind in _SUMMED:
                    rest[kind] += value or 0.0
                elif label != OTHER and value is not None:
                    families[kind].add_metric([label], value)
        if len(self._hub.sessions) > SESSIONS:
            for kind, value in rest.items():
                families[kind].add_metric([OTHER], value)
        for labels, value in sums.items():
            spent.add_metric(labels, value)
        yield from (spent, *families.values())
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
