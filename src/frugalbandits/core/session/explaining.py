"""From the inside of a session to what it says of itself: the numbers of an `Explanation`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from frugalbandits.core.contract import EVENTS, Policy, Question, Setting, copied
from frugalbandits.core.quality import AtLeast, RelativeTo
from frugalbandits.core.session.delivered_quality import Delivered, quality_delivered
from frugalbandits.core.session.explanation import ArmReport, Explanation
from frugalbandits.core.session.history import Change
from frugalbandits.core.session.mixing import Mixture, mixture_of
from frugalbandits.core.session.pending_hint import pending_hint
from frugalbandits.core.session.taking import Taking
from frugalbandits.core.session.terms import ACTIVE, STANDINGS

__all__ = ["Facts", "explained"]

_HELPFUL = 3  # options that are named as those whose feedback would help most


class Account(NamedTuple):
    """What one option was used for, and what it cost."""

    name: str
    cost: float
    standing: str
    decisions: int
    observed: int
    spent: float
    always: float


class Facts(NamedTuple):
    """What an explanation is made of, copied while nobody else changes it."""

    policy: Policy
    label: str
    state: Any
    setting: Setting
    accounts: tuple[Account, ...]  # by rank of cost
    left: tuple[tuple[Account, Any], ...]  # retired options
    events: tuple[tuple[int, str, str], ...]
    decisions: int
    alarms: tuple[Change, ...]
    late: str | None
    time_to_live: float | None

    @classmethod
    def of(cls, session: Taking) -> Facts:
        """Copy them from a session whose lock is held."""
        state = copied(session._state)
        if hasattr(state, "usable") and not state.usable.any():
            state.usable[:] = True
        if (session._unconfirmed or session._plans_to_explain) and not session._policy.randomised:
            # After a change, conclusions are drawn again by the next plan: tell what they will be.
            session._planner(state, None)
        newest = {each.option: each for each in session._history.changes if each.kind == "alarm"}
        return cls(
            policy=session._policy,
            label=session._label,
            state=state,
            setting=session._setting,
            accounts=tuple(_account(session, option) for option in session._ranked),
            left=tuple(
                (_account(session, option), copied(each)) for option, each in sorted(session._left.items())
            ),
            events=tuple(session._events),
            decisions=session._next,
            alarms=tuple(each for name, each in newest.items() if name in session._by_rank),
            late=session._lateness() if session._waiting.late else None,
            time_to_live=session._terms.time_to_live,
        )


def _account(session: Taking, option: int) -> Account:
    asked = session._asked[option]
    return Account(
        name=session._names[option],
        cost=session._costs[option],
        standing=STANDINGS[session._standing[option]],
        decisions=asked,
        observed=session._observed[option],
        spent=session._money.spent(option, asked),
        always=session._money.had_it_been_all(option, session._next),
    )


def explained(facts: Facts) -> Explanation:
    """Return what a policy believes in a state."""
    state, names = facts.state, [each.name for each in facts.accounts]
    bounds = facts.policy.bounds(state)
    tally = state.tally

    def status(rank: int) -> str:
        if tally.pulls[rank] or bounds.status[rank] == "not needed":
            return bounds.status[rank]
        return "awaiting feedback" if tally.pending[rank] else "not seen yet"

    reports = []
    for rank, account in enumerate(facts.accounts):
        active = account.standing == STANDINGS[ACTIVE]
        reports.append(
            _report(
                account,
                state,
                rank,
                lcb=_end(bounds.lower[rank]),
                ucb=_end(bounds.upper[rank]),
                status=status(rank) if active else account.standing,
                evidence=None if bounds.evidence is None else _finite(bounds.evidence[rank]),
                learned=_learned(state, rank, account.cost) if facts.setting.learn_costs else None,
            )
        )
    journal = state.journal
    drawn = [(EVENTS[journal.kinds[i]], names[journal.arms[i]]) for i in range(int(journal.length[0]))]
    settled = [name for kind, name in drawn if kind == "optimal"]
    mix = None if bounds.average is None else mixture_of(bounds.average, names)
    delivered = _delivered(facts)
    return Explanation(
        policy=facts.label,
        quality=facts.setting.quality,
        horizon=facts.setting.horizon,
        decisions=facts.decisions,
        arms=tuple(reports),
        candidate=names[bounds.candidate] if bounds.candidate >= 0 else None,
        decision=settled[0] if settled else None,
        events=facts.events,
        needed=bounds.needed,
        likely=names[bounds.likely] if bounds.likely >= 0 else None,
        unreachable=any(kind == "unreachable" for kind, _ in drawn),
        retired=tuple(
            _report(account, left, 0, None, None, account.standing, None, None)
            for account, left in facts.left
        ),
        judged=_judged(facts),
        helpful=_helpful(facts, reports, mix),
        changed=tuple(
            f"{each.option!r}: {each.words}, noticed after {each.decision:,} decisions"
            for each in facts.alarms
        ),
        late=facts.late,
        question=_asked(bounds.question, names),
        over=facts.policy.promise,
        mix=mix,
        reached=None if delivered is None else delivered.mean,
        reached_interval=None if delivered is None else (delivered.low, delivered.high),
        hint=pending_hint(sum(each.pending for each in reports), facts.decisions, facts.time_to_live),
    )


def _delivered(facts: Facts) -> Delivered | None:
    """Estimate the quality of all decisions, those for retired options included."""
    tally = facts.state.tally
    return quality_delivered(
        [
            *(
                (account.decisions, int(tally.pulls[rank]), float(tally.sums[rank]))
                for rank, account in enumerate(facts.accounts)
            ),
            *(
                (account.decisions, int(left.tally.pulls[0]), float(left.tally.sums[0]))
                for account, left in facts.left
            ),
        ]
    )


def _asked(question: Question | None, names: list[str]) -> str | None:
    """Say what is being asked."""
    if question is None:
        return None
    judge = f" for {names[question.judge]!r}" if question.judge >= 0 else ""
    again = " again" if question.again else ""
    arm, pulled = names[question.arm], names[question.pulled]
    deal = f"is worth {question.gain:.2g} a decision, and asking {pulled!r} costs {question.price:.2g}"
    return f"Asked{again}: is {arm!r} good enough{judge}? The answer {deal}, in units of quality."


def _report(
    account: Account,
    state: Any,
    rank: int,
    lcb: float | None,
    ucb: float | None,
    status: str,
    evidence: float | None,
    learned: tuple[float, float | None, float | None] | None,
) -> ArmReport:
    tally = state.tally
    cost, low, high = learned or (None, None, None)
    return ArmReport(
        name=account.name,
        cost=account.cost,
        pulls=int(tally.pulls[rank]),
        pending=int(tally.pending[rank]),
        mean=_mean(state, rank),
        lcb=lcb,
        ucb=ucb,
        status=status,
        evidence=evidence,
        decisions=account.decisions,
        spent=account.spent,
        always=account.always,
        standing=account.standing,
        learned_cost=cost,
        cost_low=low,
        cost_high=high,
        observed=account.observed,
    )


def _mean(state: Any, rank: int) -> float | None:
    """Return the mean of what still counts."""
    past = getattr(state, "past", None)
    if past is not None and past.cut[rank] and past.pulls[rank] > 0:
        return min(float(past.sums[rank] / past.pulls[rank]), 1.0)
    pulls = state.tally.pulls[rank]
    return float(state.tally.sums[rank] / pulls) if pulls else None


def _learned(state: Any, rank: int, prior: float) -> tuple[float, float | None, float | None]:
    """Return the cost by bills and the first guess, which counts as one, and two standard errors around."""
    bills = state.bills
    count, total = int(bills.counts[rank]), float(bills.sums[rank])
    mean = (prior + total) / (1 + count)
    if count < 2:
        return mean, None, None
    variance = max(float(bills.squares[rank]) - total * (total / count), 0.0) / (count - 1)
    reach = 2.0 * math.sqrt(variance / (1 + count))
    return mean, max(mean - reach, 0.0), mean + reach


def _judged(facts: Facts) -> float | None:
    """Return the share of decisions whose reward was told."""
    told = int(facts.state.tally.pulls.sum()) - sum(each.observed for each in facts.accounts)
    told += sum(int(left.tally.pulls[0]) - account.observed for account, left in facts.left)
    return told / facts.decisions if facts.decisions else None


def _helpful(facts: Facts, reports: list[ArmReport], mix: Mixture | None) -> tuple[str, ...]:
    """Name the options that may be good enough or not, by what was seen: the widest intervals first.

    Where an average is held, those of the mix, for the average is known as well as they are.
    """
    quality = facts.setting.quality
    if isinstance(quality, AtLeast):
        bar: float = quality.level
    else:
        judges = [
            each for each in reports if not isinstance(quality, RelativeTo) or each.name == quality.reference
        ]
        bar = (1 - quality.alpha) * max((each.mean for each in judges if each.mean is not None), default=0.0)
    widths: dict[str, float] = {}
    for each in reports:
        low, high = each.lcb, each.ucb
        if each.standing != STANDINGS[ACTIVE]:
            continue
        if each.mean is None or low is None or high is None:
            widths[each.name] = 2.0
        elif low < bar <= high if mix is None else each.name in (mix.cheap, mix.dear):
            widths[each.name] = high - low
    return tuple(sorted(widths, key=lambda name: -widths[name])[:_HELPFUL])


def _end(value: float) -> float | None:
    """Return the end of an interval of means, within [0, 1]."""
    return min(max(float(value), 0.0), 1.0) if math.isfinite(value) else None


def _finite(value: float | np.floating[Any]) -> float | None:
    return float(value) if math.isfinite(value) else None
