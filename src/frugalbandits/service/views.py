"""What the service says of sessions and decisions, as plain values."""

from __future__ import annotations

import json
import time
from typing import Any, NamedTuple

from frugalbandits.core.contextual.context import plain_context
from frugalbandits.core.session import Decision
from frugalbandits.service import limits
from frugalbandits.service.answers import encoded
from frugalbandits.stores.contextual_session import StoredContextualSession
from frugalbandits.stores.contract import Entry
from frugalbandits.stores.kinds import Stored
from frugalbandits.stores.outlook import (
    OptionNow,
    Summary,
    delays_of,
    options_of,
    standby_of,
    summary_of,
    terms_of,
    upcoming,
)

__all__ = [
    "Standby",
    "broken_view",
    "decision_view",
    "entry_view",
    "option_view",
    "session_view",
    "summary_view",
]

_FRESH = 1.0  # seconds for which an order to fall back on is kept


class _Order(NamedTuple):
    text: bytes
    revision: int
    at: float


class Standby:
    """The options of a session in the order in which to fall back on them.

    The order is made anew when the session has heard anything since, but once a second at most.
    """

    def __init__(self) -> None:
        self._kept: dict[str, _Order] = {}

    def of(self, session: Stored) -> bytes:
        """Return the list as JSON."""
        now, revision = time.monotonic(), session.revision
        kept = self._kept.get(session.name)
        if kept is None or (revision != kept.revision and now - kept.at > _FRESH):
            text = encoded(standby_of(session)[: limits.STANDBY])
            kept = self._kept[session.name] = _Order(text, revision, now)
        return kept.text


def decision_view(decision: Decision, session: str, standby: bytes) -> bytes:
    """Return a decision as JSON."""
    told = encoded(
        {
            "id": decision.id,
            "option": decision.option,
            "reason": decision.reason,
            "wanted": bool(decision.wanted),
            "expires": decision.expires,
            "session": session,
        }
    )
    return b'%b,"standby":%b}' % (told[:-1], standby)


def broken_view(name: str, trouble: str) -> dict[str, Any]:
    """Return what a list shows of a session that cannot be opened."""
    unknown = dict.fromkeys(
        (
            *("seen", "decisions", "told", "waiting", "options", "spent", "saving", "judged", "best"),
            *("baseline", "reached", "reached_interval", "threshold", "likely", "choice"),
        )
    )
    return {"name": name, "trouble": trouble, **unknown}


def summary_view(session: Stored, trouble: str | None = None) -> dict[str, Any]:
    """Return a session in a few numbers: what a list of sessions shows."""
    found = summary_of(session)
    return {
        "name": session.name,
        "trouble": trouble,
        "seen": session.seen,
        "decisions": found.decisions,
        "told": found.told,
        "waiting": found.waiting,
        "options": len([each for each in found.options if each.standing != "retired"]),
        "spent": found.spent,
        "saving": found.saving,
        "judged": found.judged,
        "best": found.best,
        "baseline": found.baseline,
        "reached": found.reached,
        "reached_interval": found.reached_interval,
        "threshold": found.threshold,
        "likely": found.likely,
        "choice": found.choice,
    }


def _feedback(session: Stored, summary: Summary) -> dict[str, Any]:
    answers, delays = delays_of(session)
    return {
        "told": summary.told,
        "waiting": summary.waiting,
        "rate": summary.judged,
        "mean_delay": delays / answers if answers else None,
    }


def _routes_view(session: StoredContextualSession) -> dict[str, Any]:
    """Return all that is known of a session that looks at queries."""
    explanation, summary = session.explain(), summary_of(session)
    there = [each for each in explanation.options if each.standing != "retired"]
    dearest = max(there, key=lambda each: each.cost)
    return {
        "name": session.name,
        "seen": session.seen,
        **explanation.to_dict(),
        "over": "queries",
        "context": plain_context(session.context),
        "lines": explanation.lines,
        "dearest": dearest.name,
        "always_dearest": dearest.always,
        "saving_dearest": dearest.always - explanation.spent,
        "regret": {"quality": summary.quality_regret, "cost": summary.cost_regret},
        "feedback": _feedback(session, summary),
        "standby": standby_of(session)[: limits.STANDBY],
        "terms": {"memory": session._memory, "time_to_live": session._time_to_live},
    }


def session_view(session: Stored) -> dict[str, Any]:
    """Return all that is known of a session: its explanation, money and feedback, and what comes next."""
    if isinstance(session, StoredContextualSession):
        return _routes_view(session)
    explanation = session.explain()
    told = explanation.to_dict()
    summary = summary_of(session)
    dearest = max(explanation.arms, key=lambda arm: arm.cost)
    after = upcoming(session)
    return {
        "name": session.name,
        "seen": session.seen,
        **told,
        "headline": explanation.headline,
        "notes": explanation.notes,
        "dearest": dearest.name,
        "always_dearest": dearest.always,
        "saving_dearest": dearest.always - explanation.spent,
        "regret": {"quality": summary.quality_regret, "cost": summary.cost_regret},
        "feedback": {**_feedback(session, summary), "rate": explanation.judged},
        "next": None if after is None else {"option": after[0], "reason": after[1]},
        "standby": standby_of(session)[: limits.STANDBY],
        "terms": terms_of(session),
    }


def option_view(option: OptionNow) -> dict[str, Any]:
    """Return an option as it stands."""
    return {
        "name": option.name,
        "cost": option.cost,
        "standing": option.standing,
        "decisions": option.decisions,
        "told": option.told,
        "spent": option.spent,
        "mean": option.mean,
    }


def find_option(session: Stored, name: str) -> OptionNow | None:
    """Return an option of a session, retired ones included."""
    return next((each for each in options_of(session) if each.name == name), None)


def entry_view(entry: Entry) -> dict[str, Any]:
    """Return an entry of a log."""
    fact = entry.fact
    return {
        "seq": entry.seq,
        "key": fact.key,
        "kind": fact.kind,
        "at": fact.at,
        "by": fact.by,
        "body": json.loads(fact.body),
    }
