"""Say what to do where decisions stay pending without limit."""

from __future__ import annotations

__all__ = ["pending_hint"]

_MANY = 1_000  # pending decisions below this number are nothing to speak of
_SHARE = 0.2  # of all decisions


def pending_hint(pending: int, decisions: int, time_to_live: float | None) -> str | None:
    """Return a sentence that names the remedies, or None where there is nothing to do.

    No decision expires by default: feedback that comes late would be lost without a word. So decisions that
    nobody will judge stay pending until they are forgotten.

    Examples
    --------
    >>> pending_hint(950, 1_000, None)
    >>> pending_hint(19_000, 20_000, 3_600.0)
    >>> print(pending_hint(19_000, 20_000, None))
    19,000 decisions are pending and never expire. If you will not judge them, call forget(id), or give the \
session a time_to_live.
    """
    if time_to_live is not None or pending < _MANY or pending < _SHARE * decisions:
        return None
    return (
        f"{pending:,} decisions are pending and never expire. If you will not judge them, call forget(id), "
        "or give the session a time_to_live."
    )
