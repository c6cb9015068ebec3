"""Sessions in a store say the same of quality and money as sessions in memory."""

from __future__ import annotations

import pytest

import frugalbandits as fb
from frugalbandits.stores import StoredSession, open_store
from frugalbandits.stores.outlook import summary_of


@pytest.mark.parametrize("bar", ["relative-to-best:0.1", "relative-to:large:0.1", "at-least:0.8"])
def test_stored_sessions_say_the_same(bar):
    """In memory, in a store, reopened from its log, and in the few numbers that lists and metrics show."""
    told = {"small": 0.75, "medium": 0.875, "large": 1.0}
    costs = {"small": 0.2, "medium": 1.0, "large": 3.0}
    found = []
    with open_store("memory:") as store:
        kept = fb.Session(costs, quality=bar, policy="glr-cof", horizon=200, store=store, name="shop")
        for session in (fb.Session(costs, quality=bar, policy="glr-cof", horizon=200), kept):
            for turn in range(60):
                decision = session.ask(among=[list(costs)[turn % 3]])
                if turn % 2:
                    session.tell(decision.id, told[decision.option])
            session.retire("medium")
            session.observe("large", 0.5)
            found.append(session.explain())
        kept.close()
        with StoredSession.open(store, "shop") as again:
            found.append(again.explain())
            summary = summary_of(again)
    first = found[0]
    assert first.reached is not None and first.saving is not None
    for other in found[1:]:
        for name in ("reached", "reached_interval", "threshold", "baseline", "saving", "spent", "headline"):
            assert getattr(other, name) == pytest.approx(getattr(first, name)), name
        assert [arm.judged for arm in other.arms] == [arm.judged for arm in first.arms]
    for name in ("reached", "reached_interval", "threshold", "baseline", "saving", "spent"):
        assert getattr(summary, name) == pytest.approx(getattr(first, name)), name
