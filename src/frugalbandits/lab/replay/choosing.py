"""Which estimator a log allows, what it assumes, and what its interval covers, in words."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from frugalbandits.errors import InputError, unknown_name
from frugalbandits.lab.replay.data import Floats, Ints, Log, Past, Table
from frugalbandits.lab.replay.driver import DRAWN, MATCHED, TABLED, WEIGHTED
from frugalbandits.lab.replay.resampling import effective, neighbours, weights_of
from frugalbandits.lab.text import counted, listed, readable

__all__ = ["ESTIMATORS", "FEW", "Chosen", "check_unseen", "choose"]

#: What may be asked for.
ESTIMATORS = ("auto", "full", "resample", "reject", "weights")
#: An option with fewer rows, or a smaller effective sample, is named.
FEW = 30
# A log that was random is taken for one that was not with this probability.
_WRONGLY_REFUSED = 0.001
_TESTS = 3  # that share it
_SAME_CHANCE = 1e-6
_OTHERS = "use 'resample' or 'weights'"


class Chosen(NamedTuple):
    """An estimator for one log."""

    name: str
    kind: int
    weights: Floats | None
    horizon: int
    method: str
    assumes: str
    covers: str
    warnings: tuple[str, ...]
    identified: bool = True


def choose(past: Past, wanted: str, requests: int | None, randomised: bool = False) -> Chosen:
    """Return the estimator that is asked for, or the one that the log allows; refuse one that it does not.

    `randomised` is the caller's word that options were assigned at random, whatever the request.
    """
    if wanted not in ESTIMATORS:
        raise unknown_name("estimator", str(wanted), ESTIMATORS)
    if isinstance(past, Table):
        if wanted not in ("auto", "full"):
            raise InputError(
                f"estimator {wanted!r} is for logs with one option a request, but this is a full table: use "
                "'full'"
            )
        return _full(past, requests)
    if wanted == "full":
        raise InputError(
            "estimator 'full' needs the reward and the cost of every option for each request, but this log "
            "has "
            "one option a request"
        )
    if wanted == "reject":
        return _reject(past, requests)
    if wanted == "weights" and past.propensity is None:
        raise InputError(
            "estimator 'weights' needs the probability of each choice, but there is no column of "
            "propensities: "
            "name it, or use 'resample'"
        )
    if past.propensity is not None and wanted != "resample":
        return _weights(past, requests)
    if randomised:
        why = _dependence(past)
        if why is not None:
            raise InputError(f"random_assignment is claimed, but {why}")
    return _resample(past, requests, randomised)


def _full(table: Table, requests: int | None) -> Chosen:
    _no_other_length(requests, "full")
    together = neighbours(table.requests)
    return Chosen(
        "full",
        TABLED,
        None,
        table.requests,
        "each policy is run over the requests with the rewards and costs that they had: exactly in the "
        "order of "
        "the table, and in random orders for what to expect of requests like these",
        "the expectation assumes that the order of the requests says nothing of what comes; the replay in "
        "order "
        "assumes nothing",
        "which requests came, and in which order: requests are drawn anew with replacement"
        + (f", {together} neighbours at a time" if together > 1 else ""),
        (),
    )


def _resample(log: Log, requests: int | None, randomised: bool) -> Chosen:
    balanced = log.context is not None
    weights = weights_of(Log(log.names, log.choice, log.pairs, None, log.context, log.contexts))
    blind = _missing_contexts(log)
    warnings = [] if not blind else [blind]
    return Chosen(
        "resample",
        WEIGHTED if balanced else DRAWN,
        weights if balanced else None,
        log.requests if requests is None else requests,
        "each use of an option gives the reward and the cost of one of its rows, drawn with replacement"
        + (", contexts in the shares that all requests have" if balanced else ""),
        "rewards and costs of an option stay as they are, and "
        + (
            "options were assigned at random, as you say"
            if randomised
            else ("within a context " if balanced else "")
            + "what it was used for in the log is like what it would be used for"
        ),
        "the noise of the log: the rows of each option are drawn anew with replacement",
        tuple(warnings),
        randomised,
    )


def _weights(log: Log, requests: int | None) -> Chosen:
    weights = weights_of(log)
    sizes = effective(log, weights)
    small = [
        f"{name} ({readable(float(size))} of {count:,})"
        for name, size, count in zip(log.names, sizes, log.counts, strict=True)
        if size < FEW
    ]
    warnings = []
    if small:
        warnings.append(
            f"the effective sample size is below {FEW} for {listed(small)}: a few rows decide what is said "
            "of it"
        )
    total = float(weights.sum()) / (log.requests * len(log.names))
    if not 0.8 <= total <= 1.25:
        warnings.append(
            f"the weights of a log whose propensities are right add up to the number of requests for each "
            "option, "
            f"but here to {readable(total)} times that: are the propensities those of the options that were "
            "chosen?"
        )
    return Chosen(
        "weights",
        WEIGHTED,
        weights,
        log.requests if requests is None else requests,
        "each use of an option gives the reward and the cost of one of its rows, drawn by weight: 1 over the "
        "probability of the choice, normalised within the option",
        "the propensities are right, none of them is 0, and rewards and costs of an option stay as they are",
        "the noise of the log: the rows of each option are drawn anew with replacement, with their weights",
        tuple(warnings),
    )


def _reject(log: Log, requests: int | None) -> Chosen:
    _no_other_length(requests, "reject")
    options = len(log.names)
    why = _not_random(log)
    if why is not None:
        raise InputError(f"estimator 'reject' needs a log that chose uniformly at random, but {why}")
    # Three standard deviations below what is expected to match, so that hardly a run comes to the end of the
    # log.
    matched = log.requests / options
    horizon = int(matched - 3 * math.sqrt(log.requests * (options - 1)) / options)
    if horizon <= options:
        raise InputError(
            f"estimator 'reject' uses about one row in {options}: {counted(log.requests, 'row')} are too few"
        )
    return Chosen(
        "reject",
        MATCHED,
        None,
        horizon,
        f"each policy goes through the log and keeps the rows that have the option it would have used (Li "
        "and "
        f"others, 2011), which is about one row in {options}: runs are over {horizon:,} requests",
        "options were chosen uniformly at random, whatever the request and whatever came before; the "
        "expectation "
        "assumes that the order says nothing of what comes",
        "the noise of the log and its order: the rows of each option are drawn anew with replacement",
        (),
    )


def _no_other_length(requests: int | None, estimator: str) -> None:
    if requests is not None:
        raise InputError(
            f"estimator {estimator!r} replays the requests that are there, but requests is given: "
            f"{requests!r}"
        )


def _not_random(log: Log) -> str | None:
    """Say what speaks against a choice that was uniform and at random; None where nothing does."""
    even = 1.0 / len(log.names)
    if log.propensity is not None:
        off = np.abs(log.propensity - even) > _SAME_CHANCE
        if off.any():
            row = int(np.argmax(off))
            return (
                f"the propensity of row {row + 1:,} in the order of time is {log.propensity[row]:g}, and not "
                f"1/{len(log.names)}: use 'weights'"
            )
    p_value = _p_of_counts(log.counts)
    if p_value * _TESTS <= _WRONGLY_REFUSED:
        return f"options were used unequally often (chi-square test, p = {p_value:.1g}): {_OTHERS}"
    why = _dependence(log)
    return None if why is None else f"{why}: {_OTHERS}"


def _dependence(log: Log) -> str | None:
    """Say what the choice depends on, by tests; None where nothing speaks against a choice at random."""
    tests = {
        "what was chosen depends on what was chosen before": _p_of_table(log.choice[:-1], log.choice[1:])
    }
    if log.context is not None:
        tests["what was chosen depends on the context"] = _p_of_table(log.choice, log.context)
    for words, p_value in tests.items():
        if p_value * _TESTS <= _WRONGLY_REFUSED:
            return f"{words} (chi-square test, p = {p_value:.1g})"
    return None


def check_unseen(log: Log, features: Floats) -> None:
    """Refuse a log whose choices go by what is known of the request."""
    for column, values in enumerate(features.T):
        p_value = _p_of_table(log.choice, (values > np.median(values)).astype(np.int64))
        if p_value * features.shape[1] <= _WRONGLY_REFUSED:
            raise InputError(
                "estimator 'reject' needs a log that chose uniformly at random, but what was chosen depends "
                f"on feature {column + 1} (chi-square test, p = {p_value:.1g}): a full table is needed"
            )


def _p_of_counts(counts: Ints) -> float:
    from scipy.stats import chisquare

    return float(chisquare(counts).pvalue)


def _p_of_table(rows: Ints, columns: Ints) -> float:
    from scipy.stats import chi2_contingency

    width = int(columns.max()) + 1
    table = np.bincount(rows * width + columns, minlength=(int(rows.max()) + 1) * width).reshape(-1, width)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    return float(chi2_contingency(table).pvalue) if min(table.shape) > 1 else 1.0


def _missing_contexts(log: Log) -> str | None:
    if log.context is None:
        return None
    cells = np.zeros((len(log.names), len(log.contexts)), np.bool_)
    cells[log.choice, log.context] = True
    missing = [f"{log.names[option]} in {log.contexts[kind]}" for option, kind in np.argwhere(~cells)]
    if not missing:
        return None
    return f"never used, so that nothing is known of it: {listed(missing)}"
