"""What policies would have done with the requests of a log: the one function that the lab shows of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from frugalbandits.core.contextual.contract import ContextualPolicy
from frugalbandits.core.contract import Policy
from frugalbandits.core.options import check_names, check_reference
from frugalbandits.core.quality import Quality, RelativeToBest, check_quality
from frugalbandits.core.registry import policies as registered
from frugalbandits.core.registry import resolve
from frugalbandits.errors import InputError
from frugalbandits.lab.contextual import contextual_policies
from frugalbandits.lab.logs import Scan
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.replay.choosing import choose
from frugalbandits.lab.replay.confounding import NOT_IDENTIFIED, bounds_of, shifts_of
from frugalbandits.lab.replay.data import Log, Past, Table
from frugalbandits.lab.replay.drift import find_changes
from frugalbandits.lab.replay.estimating import Batches, Effort, Job, effort_for, run_replays
from frugalbandits.lab.replay.lines import Happened, Limits, Played, bar_of, lines_of
from frugalbandits.lab.replay.lookers import label_of, look
from frugalbandits.lab.replay.queries import Queries, Wanted, read_queries, wanted_of
from frugalbandits.lab.replay.reading import Columns, read_past
from frugalbandits.lab.replay.result import Replay
from frugalbandits.lab.replay.warning import cut_short, warnings_of
from frugalbandits.lab.running import check_count, check_seed, label
from frugalbandits.lab.watching import Progress, listener

if TYPE_CHECKING:
    import polars as pl

__all__ = ["DEFAULT_POLICIES", "looks", "replay"]

#: What is replayed where nothing is named; those that know the bar.
DEFAULT_POLICIES = ("voi-cs", "cof", "pe-cs", "etc-cs")


def replay(
    log: str | os.PathLike[str] | pl.DataFrame | pl.LazyFrame | Mapping[str, Any],
    alpha: float | None = None,
    policies: Sequence[str | Policy | ContextualPolicy] | None = None,
    *,
    quality: Quality | str | None = None,
    option: str | None = None,
    reward: str | None = None,
    cost: str | None = None,
    time: str | None = None,
    request: str | None = None,
    propensity: str | None = None,
    context: str | None = None,
    features: Sequence[str] | str | None = None,
    text: str | None = None,
    among: Sequence[str] | None = None,
    estimator: str = "auto",
    random_assignment: bool = False,
    strict: bool = False,
    format: str = "auto",
    requests: int | None = None,
    resamples: int | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = True,
) -> Replay:
    """Say what policies would have spent and reached on the requests of a log, with intervals.

    Parameters
    ----------
    log
        A file (.csv, .parquet, .ndjson, .jsonl or .json), a polars.DataFrame, or a mapping of columns.
        Either a request a row with the option that was used; or a full table, with a column ``reward:NAME``
        and a column ``cost:NAME`` for each option, or with a row for each request and option. A row without a
        reward was not judged: it counts for costs alone.
    alpha, quality
        What is good enough, as for `Session`.
    policies
        Names, or policies with settings. By default VOI-CS, COF, PE-CS and ETC-CS, or those of them that know
        the bar; and where something is known of requests MIX-CS and DualCOF, which promise an average.
    option, reward, cost, time, request, propensity, context
        What these columns are called; by default as here. A dotted name is a nested field, such as
        ``metadata.score``. The last four need not be there. Rows are put in
        the order of `time`. `request` says which rows of a full table belong together. `propensity` is the
        probability with which the option of the row was chosen, and `context` the kind of the request, its
        segment.
    features, text
        Columns with what else is known of a request before it is answered: numbers, by name or pattern such
        as "x*"; or its text, of which `TextFeatures` are made. With these or with segments, policies that
        look at the request are replayed too: on a full table, or by the estimator "reject".
    among
        Options that may be used; by default all that the log has.
    estimator
        "full": each policy is run over the requests as they were; "resample": rows of each option are drawn
        with replacement; "weights": drawn by 1 over their propensity; "reject": the rows of a log that chose
        uniformly at random are kept where the policy would have used the same option. "auto" takes the first
        for a full table, and for a log the third where there are propensities and the second otherwise.
    random_assignment
        Say that options were assigned at random, whatever the request: then "resample" needs no other
        assumption. It is refused where a test speaks against it.
    strict
        Refuse a log that does not identify what options would have given on the other requests.
    format
        "litellm", "langfuse" or "otel" for exports of these; "table" for columns; "auto" finds out.
    requests
        Requests of each run, for "resample" and "weights"; by default as many as the log has judged ones.
    resamples
        Pasts that are drawn for the intervals; 199 by default, and fewer, at least 39, for large tables.
    seed
        The result depends on the log, the settings and the seed, and on nothing else.
    workers
        Threads; all cores by default.
    progress
        As for `simulate`, over the parts of the work.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> used = rng.choice(["small", "large"], 2_000)
    >>> good = rng.random(2_000) < np.where(used == "small", 0.8, 0.85)
    >>> log = {"option": used, "reward": good, "cost": np.where(used == "small", 0.2, 3.0)}
    >>> found = replay(log, alpha=0.1, policies=["etc-cs"], resamples=39)
    >>> found.estimator, found["etc-cs"].spend.value < found["what happened"].spend.value
    ('resample', True)

    >>> hard = rng.random(2_000) < 0.5
    >>> table = {"context": np.where(hard, "hard", "easy")}
    >>> table |= {"reward:small": (~hard).astype(float), "reward:large": np.ones(2_000)}
    >>> table |= {"cost:small": np.full(2_000, 0.2), "cost:large": np.full(2_000, 3.0)}
    >>> found = replay(table, alpha=0.1, policies=["etc-cs", "dual-cof"], resamples=39)
    >>> found["dual-cof"].spend.value < found["etc-cs"].spend.value
    True
    """
    bar = check_quality(alpha, quality)
    check_seed(seed)
    threads = (os.cpu_count() or 1) if workers is None else check_count("workers", workers)
    length = None if requests is None else check_count("requests", requests)
    if resamples is not None and check_count("resamples", resamples) < 39:
        raise InputError(f"resamples must be 39 or more for a 95% interval, but it is {resamples!r}")
    scan = Scan(log, format)
    columns = Columns(option, reward, cost, time, request, propensity, context)
    known = wanted_of(scan, columns, features, text)
    chosen, lookers = _policies(policies, bar)
    whole, told = read_past(scan, columns)
    past, untried = _restricted(whole, among)
    check_names(past.names, len(past.names))
    reference = check_reference(bar, past.names)
    how = choose(past, estimator, length, random_assignment)
    if strict and not how.identified:
        raise InputError(_refusal(scan))
    queries, of_queries = _queries(scan, known, past, how.name, seed)
    if policies is None and queries is not None:
        chosen, lookers = [*chosen, "mix-cs"], ["dual-cof"]
    if lookers and queries is None:
        raise InputError(_nothing_to_see(label_of(lookers[0]), how.name))
    if how.horizon <= len(past.names):
        raise InputError(
            f"{scan.name}: there must be more requests than options, but there are {how.horizon:,} requests "
            "and "
            f"{len(past.names)} options"
        )
    effort = effort_for(len(chosen) * how.horizon)
    if resamples is not None:
        effort = Effort(effort.runs, resamples, effort.repeats)
    job = Job(past, how.kind, how.weights, bar, reference, how.horizon)
    total = effort.runs + effort.resamples
    players = [Batches(resolve(policy)) for policy in chosen]
    with listener(progress, total) as tell:
        found = run_replays(job, players, effort, seed, threads, partial(tell, "replay"))
    looked, seen = None, None
    if queries is not None:
        looked, seen = look(job, queries, lookers, estimator, resamples, seed, threads, progress)
        of_queries = (*of_queries, *cut_short(looked.found, seen.horizon))
    problem = Problem(found.means[:, 0], found.means[:, 1], names=past.names, quality=bar)
    happened = _happened(whole)
    played = Played([label(policy) for policy in chosen], found)
    unsure = None if how.identified or not isinstance(past, Log) else past
    shifts = None if unsure is None else shifts_of(unsure)
    limits = Limits((float(past.pairs[..., 1].min()), float(past.pairs[..., 1].max())), shifts)
    lines, against = lines_of(problem, played, looked, happened, limits)
    changes = find_changes(past)
    bounds = None if unsure is None else bounds_of(unsure)
    return Replay(
        scan.name.strip("'"),
        int(past.uses.sum()) if isinstance(past, Log) else past.requests,
        how.horizon,
        how.name,
        how.method,
        how.assumes,
        how.covers,
        problem,
        bar_of(problem, found, limits),
        lines,
        against,
        dict(zip(past.names, past.counts.tolist(), strict=True)),
        changes,
        (
            *scan.notes,
            *told,
            *of_queries,
            *([] if shifts is None else shifts.words),
            *warnings_of(past, how, found, lines, untried, changes, bounds),
        ),
        effort,
        seen,
        how.identified,
        "" if how.identified else NOT_IDENTIFIED,
        bounds,
        past.requests,
    )


def _refusal(scan: Scan) -> str:
    return (
        f"{scan.name}: {NOT_IDENTIFIED}, and strict is asked for: name a column of propensities, say that "
        "options were assigned at random (random_assignment) if they were, or give a full table"
    )


def _policies(
    given: Sequence[str | Policy | ContextualPolicy] | None, bar: Quality
) -> tuple[list[str | Policy], list[str | ContextualPolicy]]:
    """Return those that look at no request, and those that do."""
    if given is None:
        paper = isinstance(bar, RelativeToBest)
        return [name for name in DEFAULT_POLICIES if paper or resolve(name).any_bar], []
    if isinstance(given, str | Policy | ContextualPolicy) or not given:
        raise InputError(f"policies must be a list of names or policies, but it is {given!r}")
    blind: list[str | Policy] = []
    lookers: list[str | ContextualPolicy] = []
    for policy in {str(each): each for each in given}.values():
        if isinstance(policy, ContextualPolicy) or looks(policy):
            lookers.append(policy)
        else:
            resolve(policy)
            blind.append(policy)
    return blind, lookers


def looks(policy: object) -> TypeGuard[str]:
    """Tell whether this is the name of a policy that looks at the request, and of no other one."""
    return isinstance(policy, str) and policy in contextual_policies() and policy not in registered()


def _queries(
    scan: Scan, known: Wanted, past: Past, estimator: str, seed: int
) -> tuple[Queries | None, tuple[str, ...]]:
    """Return what is known of requests, where policies that look at it can be replayed."""
    if not known.any:
        return None, ()
    if isinstance(past, Log) and estimator != "reject":
        if known.features or known.text is not None:
            raise InputError(_nothing_to_see("what looks at the request", estimator))
        return None, ()
    return read_queries(scan, known, past, seed)


def _nothing_to_see(who: str, estimator: str) -> str:
    if estimator in ("full", "reject"):
        return (
            f"{who} looks at the request: name columns that say something of it (context, features or text)"
        )
    return (
        f"{who} is replayed on a full table, or by the estimator 'reject' on a log that chose uniformly at "
        f"random, but the estimator is {estimator!r}: what another option would have given on a request is "
        "not known"
    )


def _happened(past: Past) -> Happened | None:
    """Return what the log itself spent and reached; None where a table does not say what was used."""
    if isinstance(past, Table):
        if past.choice is None:
            return None
        pairs = past.pairs[past.choice, np.arange(past.requests)]
        uses = np.bincount(past.choice, minlength=len(past.names)) / past.requests
        reward, cost = pairs.mean(axis=0).tolist()
    else:
        # Quality is of the judged rows of each option, in the shares of all rows.
        uses = past.uses / past.uses.sum()
        means = np.stack([np.bincount(past.choice, past.pairs[:, part]) for part in (0, 1)]) / past.counts
        reward, cost = (means @ uses).tolist()
    return Happened(cost, reward, dict(zip(past.names, uses.tolist(), strict=True)))


def _restricted(past: Past, among: Sequence[str] | None) -> tuple[Past, tuple[str, ...]]:
    """Return the part of a past that has some options only, and those of them that it never tried."""
    if among is None:
        return past, ()
    if isinstance(among, str) or not among:
        raise InputError(f"among must be a list of options, but it is {among!r}")
    wanted = list(dict.fromkeys(among))
    there = [past.names.index(name) for name in wanted if name in past.names]
    untried = tuple(name for name in wanted if name not in past.names)
    if len(there) < 2:
        raise InputError(
            f"a choice needs at least two options that the log has, but among is {list(among)!r} and the "
            "log has: "
            f"{', '.join(past.names)}"
        )
    names = tuple(past.names[place] for place in there)
    if isinstance(past, Table):
        return Table(names, past.pairs[there], place=past.place), untried
    places = np.full(len(past.names), -1)
    places[there] = np.arange(len(there))
    kept = past.part(np.flatnonzero(places[past.choice] >= 0))
    served = None if past.served is None else past.served[there]
    return replace(kept, names=names, choice=places[kept.choice], served=served), untried
