"""What a stored session that looks at queries says of itself in a few numbers."""

from __future__ import annotations

from frugalbandits.core.contextual.explanation import ContextualExplanation
from frugalbandits.core.session.terms import ACTIVE
from frugalbandits.stores.contextual_folding import ContextualFolding

__all__ = ["fall_backs", "missing"]


def fall_backs(session: ContextualFolding) -> list[str]:
    """Return active options in the order in which to fall back on them, for want of a look at the query.

    First those that would be good enough for all queries, from the cheapest on; then the others, from the
    best on.
    """
    with session._lock:
        beliefs = session._policy.beliefs(session._state)
        rows = [
            (float(beliefs.option_quality[arm]), session._costs[option], session._names[option])
            for arm, option in enumerate(session._options)
            if session._standing[option] == ACTIVE
        ]

    def place(row: tuple[float, float, str]) -> tuple[int, float, float]:
        quality, cost, _ = row
        return (0, cost, -quality) if quality >= beliefs.bar else (1, -quality, cost)

    return [name for _, _, name in sorted(rows, key=place)]


def missing(found: ContextualExplanation) -> float | None:
    """Return what rewards are below the bar in all; what is above it makes up for what is below."""
    return None if found.reached is None else max((found.bar - found.reached) * found.told, 0.0)
