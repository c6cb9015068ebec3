"""What a stored session says of itself at little cost: its options, what to fall back on, what comes next."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from frugalbandits.core.contract import QUERIES
from frugalbandits.core.quality import AtLeast, RelativeTo
from frugalbandits.core.session.delivered_quality import quality_delivered
from frugalbandits.core.session.terms import ACTIVE, STANDINGS
from frugalbandits.stores.contextual_folding import ContextualFolding
from frugalbandits.stores.contextual_outlook import fall_backs, missing
from frugalbandits.stores.replica import Replica

__all__ = [
    "OptionNow",
    "Summary",
    "delays_of",
    "option_name",
    "options_of",
    "standby_of",
    "summary_of",
    "terms_of",
    "upcoming",
]


class OptionNow(NamedTuple):
    """An option as it stands now; `mean` is None before its first feedback."""

    name: str
    cost: float
    standing: str
    decisions: int
    told: int
    spent: float
    mean: float | None


class Summary(NamedTuple):
    """A session in a few numbers.

    `saving` is against always using `baseline`: the reference of the bar, otherwise the best option so far.
    `reached` is the mean quality of all decisions, by the rewards so far, with its 95% interval. `likely` is
    the cheapest active option whose mean reaches the bar; None where there is none, and where the session
    mixes options or looks at queries.
    """

    decisions: int
    told: int
    waiting: int
    spent: float
    options: tuple[OptionNow, ...]
    best: str | None
    threshold: float | None
    quality_regret: float | None
    cost_regret: float | None
    baseline: str | None
    saving: float | None
    judged: float | None
    reached: float | None
    reached_interval: tuple[float, float] | None
    likely: str | None
    choice: str  # "option", "mix" or "query": what the session looks for


def option_name(session: Replica | ContextualFolding, option: int) -> str:
    """Return the name of an option by its number, which events carry."""
    with session._lock:
        return session._names[option]


def options_of(session: Replica | ContextualFolding) -> list[OptionNow]:
    """Return the options in the order in which they came."""
    if isinstance(session, ContextualFolding):
        return _routed_options(session)
    with session._lock:
        rewards = _rewards_now(session)
        return [_option(session, option, *each) for option, each in enumerate(rewards)]


def _routed_options(session: ContextualFolding) -> list[OptionNow]:
    with session._lock:
        rows = zip(session._names, session._costs, session._standing, session._accounts, strict=True)
        return [
            OptionNow(
                name, cost, STANDINGS[standing], account.decisions, account.told, account.spent, account.mean
            )
            for name, cost, standing, account in rows
        ]


def _rewards_now(session: Replica) -> list[tuple[int, float | None]]:
    """Return the number of rewards of each option and their mean: whole arrays at a time."""
    state = session._state
    pulls = state.tally.pulls
    means = state.tally.sums / np.maximum(pulls, 1)
    past = getattr(state, "past", None)
    if past is not None:
        # What was seen before an alarm counts no more.
        since = (past.cut != 0) & (past.pulls > 0)
        means[since] = np.minimum(past.sums[since] / past.pulls[since], 1.0)
    counts, values = pulls.tolist(), means.tolist()
    ranked = [(count, value if count else None) for count, value in zip(counts, values, strict=True)]
    return [
        ranked[rank] if rank >= 0 else _rewards_of_retired(session, option)
        for option, rank in enumerate(session._rank_of)
    ]


def _rewards_of_retired(session: Replica, option: int) -> tuple[int, float | None]:
    left, _ = session._home(option)
    count = int(left.tally.pulls[0])
    return count, float(left.tally.sums[0]) / count if count else None


def _option(session: Replica, option: int, count: int, mean: float | None) -> OptionNow:
    asked = session._asked[option]
    return OptionNow(
        session._names[option],
        session._costs[option],
        STANDINGS[session._standing[option]],
        asked,
        count,
        session._money.spent(option, asked),
        mean,
    )


def _bar(session: Replica, options: list[OptionNow]) -> float | None:
    quality = session._quality
    if isinstance(quality, AtLeast):
        return float(quality.level)
    judges = [
        each.mean
        for each in options
        if each.mean is not None
        and each.standing != "retired"
        and (not isinstance(quality, RelativeTo) or each.name == quality.reference)
    ]
    return (1 - quality.alpha) * max(judges) if judges else None


def standby_of(session: Replica | ContextualFolding) -> list[str]:
    """Return active options in the order in which to fall back on them.

    First those that look good enough, from the cheapest on; then those that do not, from the best on; then
    those of which nothing is known, from the cheapest on.
    """
    if isinstance(session, ContextualFolding):
        return fall_backs(session)
    options = options_of(session)
    bar = _bar(session, options)

    def place(option: OptionNow) -> tuple[int, float, float]:
        if option.mean is None:
            return 2, option.cost, 0.0
        if bar is not None and option.mean >= bar:
            return 0, option.cost, -option.mean
        return 1, -option.mean, option.cost

    active = [each for each in options if each.standing == STANDINGS[ACTIVE]]
    return [each.name for each in sorted(active, key=place)]


def summary_of(session: Replica | ContextualFolding) -> Summary:
    """Return a session in a few numbers, without what an explanation weighs."""
    if isinstance(session, ContextualFolding):
        return _routed_summary(session)
    with session._lock:
        options = options_of(session)
        waiting = sum(session._counts.waiting(option) for option in range(len(options)))
        decisions = session._next
        bar = _bar(session, options)
        observed = sum(session._observed)
        always = [session._money.had_it_been_all(option, decisions) for option in range(len(options))]
        delivered = quality_delivered(_rewards(session, option) for option in range(len(options)))
    there = [each for each in options if each.standing != "retired"]
    seen = [each for each in there if each.mean is not None]
    best = max(seen, key=lambda each: (each.mean or 0.0, -each.cost)).name if seen else None
    quality_regret = cost_regret = None
    good = [each for each in seen if bar is not None and (each.mean or 0.0) >= bar]
    if bar is not None and seen:
        right = min(good or seen, key=lambda each: each.cost).cost if good else None
        if session.over == QUERIES:
            # Where an average is promised, what is above the bar makes up for what is below it.
            quality_regret = max(_sum((bar - (each.mean or 0.0)) * each.decisions for each in seen), 0.0)
        else:
            quality_regret = _sum(max(bar - (each.mean or 0.0), 0.0) * each.decisions for each in seen)
        if right is not None and session.over != QUERIES:
            cost_regret = _sum(max(each.cost - right, 0.0) * each.decisions for each in options)
    told, spent = sum(each.told for each in options), _sum(each.spent for each in options)
    quality = session._quality
    baseline = quality.reference if isinstance(quality, RelativeTo) else best
    instead = next((cost for each, cost in zip(options, always, strict=True) if each.name == baseline), None)
    active = [each for each in good if each.standing == STANDINGS[ACTIVE] and session.over != QUERIES]
    likely = min(active, key=lambda each: (each.cost, -(each.mean or 0.0)), default=None)
    return Summary(
        decisions=decisions,
        told=told,
        waiting=waiting,
        spent=spent,
        options=tuple(options),
        best=best,
        threshold=bar,
        quality_regret=quality_regret,
        cost_regret=cost_regret,
        baseline=baseline,
        saving=None if instead is None else instead - spent,
        judged=(told - observed) / decisions if decisions else None,
        reached=None if delivered is None else delivered.mean,
        reached_interval=None if delivered is None else (delivered.low, delivered.high),
        likely=None if likely is None else likely.name,
        choice="mix" if session.over == QUERIES else "option",
    )


def _rewards(session: Replica, option: int) -> tuple[int, int, float]:
    """Return the decisions for an option, the number of its rewards and their sum, since the beginning."""
    state, rank = session._home(option)
    return session._asked[option], int(state.tally.pulls[rank]), float(state.tally.sums[rank])


def _routed_summary(session: ContextualFolding) -> Summary:
    found = session.explain()
    return Summary(
        decisions=found.decisions,
        told=found.told,
        waiting=found.pending,
        spent=found.spent,
        options=tuple(options_of(session)),
        best=found.reference if found.told else None,
        threshold=found.bar,
        quality_regret=missing(found),
        cost_regret=None,
        baseline=found.reference,
        saving=found.saving,
        judged=found.judged,
        reached=found.reached,
        reached_interval=found.reached_interval,
        likely=None,
        choice="query",
    )


def upcoming(session: Replica) -> tuple[str, str] | None:
    """Return the option and the reason of the next decision, where it is planned already."""
    with session._lock:
        if session._at >= len(session._ranks):
            return None
        rank = session._ranks[session._at]
        return session._by_rank[rank], session._policy.reason(session._state, rank)


def delays_of(session: Replica | ContextualFolding) -> tuple[int, float]:
    """Return for how many decisions feedback came, and by how many seconds it was late in all."""
    with session._lock:
        bins = list(session._series.bins.values())
        return int(sum(each.answers for each in bins)), math.fsum(each.delays for each in bins)


def terms_of(session: Replica) -> dict[str, Any]:
    """Return what the session was told at its start beside options, bar and policy."""
    return {"horizon": session._horizon, **session._terms._asdict()}


def _sum(values: Any) -> float:
    total = 0.0
    for value in values:
        total += value
    return total
