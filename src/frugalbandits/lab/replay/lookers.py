"""Replays of all that looks at the request: policies, and the rules of oracles."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from frugalbandits.core.contextual.contract import ContextualPolicy
from frugalbandits.core.contextual.registry import resolve_contextual
from frugalbandits.lab.replay.choosing import check_unseen, choose
from frugalbandits.lab.replay.data import Log
from frugalbandits.lab.replay.estimating import Effort, Job, effort_for, run_replays
from frugalbandits.lab.replay.lines import Played
from frugalbandits.lab.replay.looking import Looking, rules_of, step_weight
from frugalbandits.lab.replay.queries import Queries
from frugalbandits.lab.replay.result import Looked
from frugalbandits.lab.watching import Progress, listener

__all__ = ["label_of", "look"]


def label_of(policy: str | ContextualPolicy) -> str:
    """Return what a result calls a policy."""
    return policy if isinstance(policy, str) else repr(policy)


def look(
    job: Job,
    queries: Queries,
    policies: Sequence[str | ContextualPolicy],
    estimator: str,
    resamples: int | None,
    seed: int,
    threads: int,
    progress: Progress,
) -> tuple[Played, Looked]:
    """Run policies that look at the request, and the rules of oracles where the table is full."""
    past = queries.past
    if isinstance(past, Log):
        check_unseen(past, queries.features)
    horizon = choose(past, estimator, None).horizon
    own = job._replace(past=past, horizon=horizon)
    weight = step_weight(len(past.names), queries.encoded.shape[1])
    effort = effort_for(max(len(policies), 1) * horizon * weight)
    if resamples is not None:
        effort = Effort(effort.runs, resamples, effort.repeats)
    names = [label_of(policy) for policy in policies]
    players = [
        Looking(resolve_contextual(policy), name, queries)
        for policy, name in zip(policies, names, strict=True)
    ]
    with listener(progress, effort.runs + effort.resamples) as tell:
        found = run_replays(own, players, effort, seed, threads, partial(tell, "requests looked at"))
    rules = None
    if not isinstance(past, Log):
        with listener(progress, effort.resamples) as tell:
            rules = rules_of(own, queries, effort.resamples, seed, threads, partial(tell, "oracles"))
    return Played(names, found, rules), Looked(queries.words, past.requests, horizon, effort)
