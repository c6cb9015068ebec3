"""From the inside of a contextual session to its explanation."""

from __future__ import annotations

import numpy as np

from frugalbandits.core.contextual.accounts import OTHERS
from frugalbandits.core.contextual.desk import Desk
from frugalbandits.core.contextual.explanation import ContextualExplanation, OptionReport, SegmentReport
from frugalbandits.core.options import cost_order
from frugalbandits.core.quality import RelativeTo
from frugalbandits.core.session.pending_hint import pending_hint
from frugalbandits.core.session.terms import RETIRED, STANDINGS

__all__ = ["explained"]

_SHOWN = 50  # segments, those with most decisions


def explained(desk: Desk) -> ContextualExplanation:
    """Return what a session says of itself; its lock is held."""
    beliefs = desk._policy.beliefs(desk._state)
    told = sum(account.told for account in desk._accounts)
    best = desk._options[int(np.argmax(beliefs.option_quality))]
    quality = desk._quality
    reference = desk._names.index(quality.reference) if isinstance(quality, RelativeTo) else best
    late = desk._waiting.late
    return ContextualExplanation(
        policy=desk._label,
        quality=quality,
        decisions=desk._next,
        pending=desk._pending_count(),
        told=told,
        bar=beliefs.bar,
        bar_interval=beliefs.bar_interval,
        reached=beliefs.quality if told else None,
        reached_interval=beliefs.quality_interval if told else None,
        price=beliefs.price,
        reference=desk._names[reference],
        always_reference=desk._accounts[reference].always,
        options=tuple(_options(desk, beliefs.option_quality.tolist(), beliefs.option_error.tolist())),
        segments=tuple(_segments(desk)),
        late=f"{late:,} times feedback came for a decision that had expired" if late else None,
        hint=pending_hint(len(desk._pending), desk._next, desk._time_to_live),
    )


def _options(desk: Desk, quality: list[float], error: list[float]) -> list[OptionReport]:
    order = cost_order(np.array(desk._costs, np.float64)).tolist()
    reports = []
    for option in sorted(order, key=lambda each: desk._standing[each] == RETIRED):
        account, arm = desk._accounts[option], desk._arm_of.get(option)
        reports.append(
            OptionReport(
                name=desk._names[option],
                cost=desk._costs[option],
                decisions=account.decisions,
                told=account.told,
                mean=account.mean,
                quality=None if arm is None else quality[arm],
                error=None if arm is None else error[arm],
                spent=account.spent,
                always=account.always,
                standing=STANDINGS[desk._standing[option]],
            )
        )
    return reports


def _segments(desk: Desk) -> list[SegmentReport]:
    most = sorted(desk._segments.items(), key=lambda each: -each[1].decisions)[:_SHOWN]
    reports = []
    for name, account in most:
        mostly, uses = max(account.uses.items(), key=lambda each: each[1])
        reports.append(
            SegmentReport(
                name=name if name != OTHERS else "(all other segments)",
                decisions=account.decisions,
                told=account.told,
                mean=account.mean,
                spent=account.spent,
                mostly=mostly,
                share=uses / account.decisions,
            )
        )
    return reports
