"""Sessions at the extremes of every input that they accept, for tests of storing and loading."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import frugalbandits as fb

COSTS = st.sampled_from([0.0, 5e-324, 1e-100, 1e-9, 1.0, 1.0 + 2**-52, 3.0, 1e15, 1e100])
REWARDS = st.sampled_from([0, 1, True, 5e-324, 2.0**-60, 1 / 3, 0.5, 1 - 2**-53])
FEATURES = st.sampled_from([0.0, 1.0, -1.0, 1e-300, 5e-324, 1e4, 9.5e5, 1e6, -1e6, 1e6 - 1e-9])
BARS = ["relative-to-best:0", "relative-to-best:0.05", "relative-to:a:0.999", "at-least:0", "at-least:1"]
NAMES = ["a", "b" * 200, "größer ✓", "c.-:@+ c"]
SEGMENTS = st.sampled_from(["easy", "x" * 200, "Ünïcode ✓", "\ud800", "'; DROP TABLE frugal_facts; --"])
METADATA = st.sampled_from(
    [None, "", {"a": [1e308, -0.0, 2**70, None]}, "\x00", "\ud800", [[[[[]]]]], "é" * 300]
)
LIVES = [None, 5e-324, 1e-3, 5.0, 1e9, 1.7e308]


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = 1e9

    def __call__(self) -> float:
        return self.now


def settings_of(data: Any) -> dict[str, Any]:
    """Draw what both kinds of sessions are given."""
    names = data.draw(st.lists(st.sampled_from(NAMES[1:]), min_size=1, max_size=2, unique=True))
    return {
        "costs": {name: data.draw(COSTS) for name in ["a", *names]},
        "quality": data.draw(st.sampled_from(BARS)),
        "memory": data.draw(st.sampled_from([None, 1, 40, 2**53])),
        "time_to_live": data.draw(st.sampled_from(LIVES)),
    }


CONTEXTS = [
    fb.Features(1),
    fb.Features(3),
    fb.TextFeatures(4),
    fb.Segments(["easy"], most=2),
    fb.Segments([], most=3) + fb.Features(2),
]


def query(data: Any, context: Any) -> Any:
    """Draw a query at the extremes of a context."""
    if isinstance(context, fb.Segments):
        return data.draw(SEGMENTS)
    if isinstance(context, fb.TextFeatures):
        return data.draw(st.sampled_from(["", "a", "\ud800", "1 + 1 = ?" * 5_000, "\x00"]))
    if isinstance(context, fb.Features):
        return [data.draw(FEATURES) for _ in range(context.size)]
    return data.draw(SEGMENTS), [data.draw(FEATURES) for _ in range(2)]


def live(data: Any, session: Any, clock: Clock, steps: int) -> None:
    """Feed a session with extremes for some steps; what it refuses is an `InputError` and is left out."""
    session._clock = clock
    context = getattr(session, "context", None)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    ids: list[Any] = []
    for _ in range(steps):
        what = data.draw(
            st.sampled_from(["run", "run", "ask", "tell", "bill", "observe", "price", "add", "wait"])
        )
        asked = () if context is None else (query(data, context),)
        try:
            if what == "run":  # one query many times, as a constant feature is
                for _ in range(data.draw(st.integers(1, 30))):
                    session.tell(session.ask(*asked).id, float(rng.random() < 0.5))
            elif what == "ask":
                own = {} if context is None or rng.random() < 0.5 else {"costs": {"a": data.draw(COSTS)}}
                ids.append(session.ask(*asked, metadata=data.draw(METADATA), **own).id)
            elif what == "tell" and ids:
                session.tell(ids[int(rng.integers(len(ids)))], data.draw(REWARDS))
            elif what == "bill" and ids:
                session.tell(ids[int(rng.integers(len(ids)))], cost=data.draw(COSTS))
            elif what == "observe":
                session.observe(*asked, "a", data.draw(REWARDS))
            elif what == "price":
                session.set_cost("a", data.draw(COSTS))
            elif what == "add":
                session.add(f"new {len(ids)}", data.draw(COSTS))
            elif what == "wait":
                clock.now += data.draw(st.sampled_from([1e-6, 1e-3, 1.0, 100.0, 1e6]))
        except fb.InputError:
            continue
