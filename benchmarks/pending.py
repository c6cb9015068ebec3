"""A stored contextual session while many decisions are without feedback."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import frugalbandits as fb
from effort import Effort
from report import table

__all__ = ["section"]

PENDING = 100_000
TIMED = 200  # asks, and tells of the oldest decisions
GROUP = 1_000

TEXT = """\
## Pending decisions of a contextual session

An SQLite store, 3 options, segments and 8 features. The same session with {few:,} and with {many:,} decisions
without feedback: memory of the process beyond what it had at the start, the median `ask`, the median `tell`
of the oldest decisions, and one snapshot. Ratios within this run.
"""


def section(effort: Effort) -> str:
    """Return the section of the report."""
    many = PENDING if effort.unanswered > PENDING else PENDING // 20
    few = many // 10
    context = fb.Segments(["easy", "hard"]) + fb.Features(8)
    settings: dict[str, Any] = {"costs": {"small": 0.2, "medium": 1.0, "large": 3.0}, "alpha": 0.05}
    rehearsal = fb.ContextualSession(**settings, context=context)
    while not rehearsal.load_machine_code():  # it is compiled in the background
        rehearsal.ask(_query(0))
        time.sleep(0.05)
    with (
        tempfile.TemporaryDirectory(prefix="frugalbandits-bench-") as folder,
        fb.ContextualSession(
            **settings, context=context, store=f"sqlite:///{folder}/decisions.db", name="pending"
        ) as session,
    ):
        session.load_machine_code()
        rows, measured = [], []
        oldest: list[Any] = []
        pending, before = 0, _memory()
        for size in (few, many):
            while pending < size:
                drafts = [session.draft_ask(_query(pending + i)) for i in range(GROUP)]
                session.store.append("pending", [fact for _, facts in drafts for fact in facts])
                oldest += [decision.id for decision, _ in drafts][: 2 * TIMED - len(oldest)]
                pending += GROUP
            figures = (_memory() - before, *_timed(session, oldest))
            measured.append(figures)
            rows.append([f"{size:,}", *(f"{each:,.2f}" for each in figures)])
    ratios = [large / max(small, 1e-9) for small, large in zip(*measured, strict=True)]
    rows.append(["ratio", *(f"{each:.2f}" for each in ratios)])
    headers = ["pending", "memory, MB", "ask, ms", "tell, ms", "snapshot, ms", "snapshot, kB"]
    return f"{TEXT.format(few=few, many=many)}\n{table(headers, rows)}\n"


def _query(number: int) -> tuple[str, list[float]]:
    return ("easy", "hard")[number % 2], [0.1 * (number % 7)] * 8


def _timed(session: Any, oldest: list[Any]) -> tuple[float, float, float, float]:
    asks, tells = [], []
    for number in range(TIMED):
        began = time.perf_counter()
        session.ask(_query(number))
        asks.append(time.perf_counter() - began)
        id_ = oldest.pop(0)
        began = time.perf_counter()
        session.tell(id_, 1.0)
        tells.append(time.perf_counter() - began)
    began = time.perf_counter()
    session.snapshot()
    taken = time.perf_counter() - began
    latest = session.store.latest(session.name)
    return 1e3 * median(asks), 1e3 * median(tells), 1e3 * taken, len(latest.state) / 1e3


def _memory() -> float:
    """Return the megabytes that the process has in memory now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
