"""Pasts like the one that was seen: what runs draw on, and the noise of the past itself by the bootstrap.

An *estimator* says how a policy is run on a past; a *pool* is a past that is ready for that. The pool of the
past itself gives the estimate. Pools of resampled pasts, each as large and drawn with replacement, give the
interval.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from frugalbandits.lab.replay.data import Floats, Ints, Log, Past, Table
from frugalbandits.lab.replay.driver import MATCHED, TABLED, WEIGHTED, Source

__all__ = ["Pool", "effective", "neighbours", "pool_of", "source_of", "weights_of"]

_NO_INTS = np.zeros(0, np.int64)
_NO_FLOATS = np.zeros(0)


class Pool(NamedTuple):
    """A past, or a resampled one.

    `means` are options x (reward, cost): the law that runs meet.
    """

    kind: int
    pairs: Floats
    rows: Ints
    starts: Ints
    weights: Floats
    choice: Ints
    means: Floats


def pool_of(past: Past, kind: int, weights: Floats | None, rng: np.random.Generator | None) -> Pool:
    """Return the past itself as a pool or, where `rng` is given, one drawn from it with replacement."""
    if isinstance(past, Table):
        return _of_table(past, rng)
    if kind == MATCHED:
        return _of_rows(past, rng)
    return _of_options(past, kind, weights, rng)


def _of_table(table: Table, rng: np.random.Generator | None) -> Pool:
    options, count, _ = table.pairs.shape
    starts = np.arange(options + 1) * count
    pairs = table.pairs.reshape(options * count, 2)
    if rng is None:
        means = np.ones(count) @ table.pairs / count
        return Pool(TABLED, pairs, np.arange(count), starts, _NO_FLOATS, _NO_INTS, means)
    first = rng.integers(count, size=-(-count // neighbours(count)))
    rows = _in_blocks(first, count)
    means = np.bincount(rows, minlength=count).astype(np.float64) @ table.pairs / count
    return Pool(TABLED, pairs, rows, starts, _NO_FLOATS, _NO_INTS, means)


def neighbours(requests: int) -> int:
    """Return how many requests of a full table are drawn together, so that there are thousands of draws.

    Neighbours stand together in memory as well: a draw of a million requests one by one takes ten times
    longer.

    Examples
    --------
    >>> neighbours(1_000), neighbours(39_999), neighbours(1_000_000)
    (1, 1, 50)
    """
    return max(requests // 20_000, 1)


def _in_blocks(first: Ints, count: int) -> Ints:
    """Return `count` requests: the first of each block with its neighbours, the end joined to the start."""
    length = neighbours(count)
    rows: Ints = ((first[:, None] + np.arange(length)) % count).reshape(-1)[:count]
    return rows


def _of_rows(log: Log, rng: np.random.Generator | None) -> Pool:
    """Return the rows of a random log, each option's as many as there are of it."""
    rows = np.arange(log.requests) if rng is None else _within_options(log, rng)
    means = _means(log, rows, np.ones(log.requests))
    return Pool(MATCHED, log.pairs, rows, _NO_INTS, _NO_FLOATS, log.choice, means)


def _of_options(log: Log, kind: int, weights: Floats | None, rng: np.random.Generator | None) -> Pool:
    """Return the rows of each option, one option after the other."""
    grouped = np.argsort(log.choice, kind="stable")
    rows = grouped if rng is None else _within_options(log, rng)[grouped]
    starts = np.concatenate([[0], np.cumsum(log.counts)]).astype(np.int64)
    each = np.ones(log.requests) if weights is None else weights
    running = _NO_FLOATS
    if kind == WEIGHTED:
        running = np.concatenate([np.cumsum(each[rows[a:b]]) for a, b in pairwise(starts)])
    return Pool(kind, log.pairs, rows, starts, running, _NO_INTS, _means(log, rows, each))


def _within_options(log: Log, rng: np.random.Generator) -> Ints:
    """Return rows of the log: in the place of each, one of the same option, drawn with replacement."""
    grouped = np.argsort(log.choice, kind="stable")
    ends = np.cumsum(log.counts)
    first = (ends - log.counts)[log.choice]
    drawn: Ints = grouped[first + (rng.random(log.requests) * log.counts[log.choice]).astype(np.int64)]
    return drawn


def _means(log: Log, rows: Ints, weights: Floats) -> Floats:
    options = len(log.names)
    choice, weight = log.choice[rows], weights[rows]
    total = np.bincount(choice, weight, options)
    sums = [np.bincount(choice, weight * log.pairs[rows, part], options) for part in range(2)]
    return np.stack(sums, axis=1) / total[:, None]


def source_of(pool: Pool, rng: np.random.Generator | None) -> Source:
    """Return what one run draws on: in a random order where `rng` is given, else in that of the past."""
    rows = pool.rows
    if rng is not None and pool.kind == TABLED:
        rows = _shuffled(rows, rng)
    elif rng is not None and pool.kind == MATCHED:
        rows = rng.permutation(rows)
    return Source(pool.kind, pool.pairs, rows, pool.starts, pool.weights, pool.choice, np.zeros(1, np.int64))


def _shuffled(rows: Ints, rng: np.random.Generator) -> Ints:
    """Return rows with their blocks in a random order; what is left over at the end stays there."""
    length = neighbours(len(rows))
    whole = len(rows) // length * length
    shuffled = rng.permutation(rows[:whole].reshape(-1, length)).reshape(-1)
    return np.concatenate([shuffled, rows[whole:]])


def weights_of(log: Log) -> Floats:
    """Return the weight of each row: 1 over its propensity, or what makes up for an option's mix of contexts.

    A row of an option in a context counts by the share of that context among all requests, over its share
    among the option's own.
    """
    if log.propensity is not None:
        return 1.0 / log.propensity
    if log.context is None:
        return np.ones(log.requests)
    kinds = len(log.contexts)
    cells = np.bincount(log.choice * kinds + log.context, minlength=len(log.names) * kinds)
    cells = cells.reshape(len(log.names), kinds)
    share = np.bincount(log.context, minlength=kinds) / log.requests
    own = cells / cells.sum(axis=1, keepdims=True)
    weight: Floats = share[log.context] / own[log.choice, log.context]
    return weight


def effective(log: Log, weights: Floats) -> Floats:
    """Return the effective sample size of each option: as many rows of equal weight would say as much."""
    total = np.bincount(log.choice, weights, len(log.names))
    squares = np.bincount(log.choice, weights**2, len(log.names))
    size: Floats = total**2 / squares
    return size
