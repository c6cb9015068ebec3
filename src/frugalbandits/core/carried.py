"""A policy's state for other options or other prices: what was seen goes along, and nothing else does.

Policies number arms by rank of cost, so another price or another option is another state. Conclusions follow
from what was seen: the next plan draws them again, in the new order, where they still hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from frugalbandits.core.contract import Policy, Setting, State

__all__ = ["carried"]

# Of the past, what is there once and not by arm. The log of alarms is left: whoever plans has read it.
_ONCE = ("clock", "alarms")
_BY_ARM = ("counts", "totals", "used", "told", "paid", "pulls", "sums", "cut")


def carried(policy: Policy, state: Any, setting: Setting, origin: Sequence[int]) -> State:
    """Return a state for a new setting, with what an earlier state has seen of the arms that stay.

    Parameters
    ----------
    origin
        For each arm of the new setting, its rank in the earlier state; -1 for one that was not there.

    Examples
    --------
    >>> from frugalbandits.core.policies.ucb_cs import UCBCS
    >>> from frugalbandits.core.quality import RelativeToBest
    >>> from frugalbandits.core.tally import observe
    >>> bar = RelativeToBest(0.1)
    >>> before = UCBCS().begin(Setting.of(np.array([1.0, 2.0]), bar, 100, None))
    >>> observe(before, 1, 3, 2.0)
    >>> after = carried(UCBCS(), before, Setting.of(np.array([0.5, 0.7, 2.0]), bar, 100, None), [1, -1, 0])
    >>> after.tally.pulls.tolist()
    [3, 0, 0]
    """
    fresh = policy.begin(setting)
    ranks = np.asarray(origin, np.int64)
    stay = np.flatnonzero(ranks >= 0)
    came = ranks[stay]
    for part in ("tally", "bills"):
        if hasattr(fresh, part) and hasattr(state, part):
            for new, old in zip(getattr(fresh, part), getattr(state, part), strict=True):
                new[stay] = old[came]
    # Decisions of which no feedback was wanted: without them, the share that is told would look smaller; and
    # uses that were no decisions.
    for name in ("skipped", "aside"):
        if hasattr(fresh, name) and hasattr(state, name):
            getattr(fresh, name)[stay] = getattr(state, name)[came]
    if hasattr(fresh, "past") and hasattr(state, "past"):
        new, old = fresh.past, state.past
        for name in _BY_ARM:
            getattr(new, name)[stay] = getattr(old, name)[came]
        for name in _ONCE:
            getattr(new, name)[:] = getattr(old, name)
    return fresh
