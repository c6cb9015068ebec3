"""Policies that look at the request, replayed; and the rules of oracles, with what resampling makes of them.

On a full table the reward of whatever is chosen is known. In a log whose options were chosen uniformly at
random, a row counts where the policy chooses the option that was used (Li, Chu, Langford and Wang, 2011).
Rows that do not are as if they had never come: the state is put back to what it was before the policy was
asked.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contextual.contract import ContextualPolicy
from frugalbandits.core.jit import specialised
from frugalbandits.errors import InputError
from frugalbandits.lab.contextual import Oracle
from frugalbandits.lab.contextual.driver import choose, learn
from frugalbandits.lab.driver import prepare
from frugalbandits.lab.replay.data import Floats, Table
from frugalbandits.lab.replay.driver import MATCHED, Source
from frugalbandits.lab.replay.estimating import Job, Run, stream
from frugalbandits.lab.replay.queries import Queries
from frugalbandits.lab.replay.resampling import Pool, pool_of, source_of
from frugalbandits.lab.running import run_all

__all__ = ["Looking", "Rules", "drive", "in_one_piece", "rules_of", "step_weight"]

Drive = Callable[..., Any]


def step_weight(options: int, width: int) -> float:
    """Return how many requests that nobody looks at are given up for one that somebody does."""
    return 20.0 + options * width**2 / 12.0


def in_one_piece(state: Any) -> tuple[Any, NDArray[np.uint8]]:
    """Return a state whose arrays lie in one buffer, and the buffer: one copy of it keeps all of the state.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class Two(NamedTuple):
    ...     counts: Any
    ...     means: Any
    >>> state, buffer = in_one_piece(Two(np.arange(3), np.ones((2, 2))))
    >>> kept = buffer.copy()
    >>> state.means[0, 1] = 7.0
    >>> buffer[:] = kept
    >>> state.means.tolist(), state.counts.tolist()
    ([[1.0, 1.0], [1.0, 1.0]], [0, 1, 2])
    """
    arrays: list[NDArray[Any]] = []
    _collect(state, arrays)
    # Each begins at a multiple of 8.
    starts = np.cumsum([0, *(-(-array.nbytes // 8) * 8 for array in arrays)])
    buffer = np.zeros(int(starts[-1]), np.uint8)
    views = []
    for array, start in zip(arrays, starts.tolist(), strict=False):
        view = buffer[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
        view[...] = array
        views.append(view)
    return _rebuilt(state, iter(views)), buffer


def _collect(part: Any, arrays: list[NDArray[Any]]) -> None:
    if isinstance(part, np.ndarray):
        arrays.append(part)
    elif isinstance(part, tuple):
        for each in part:
            _collect(each, arrays)


def _rebuilt(part: Any, views: Any) -> Any:
    if isinstance(part, np.ndarray):
        return next(views)
    if isinstance(part, tuple):
        parts = [_rebuilt(each, views) for each in part]
        return type(part)(*parts) if hasattr(part, "_fields") else tuple(parts)
    return part


def drive(
    state: Any,
    buffer: NDArray[np.uint8],
    source: Any,
    encoded: NDArray[np.float64],
    costs: NDArray[np.float64],
    rng: Any,
    horizon: int,
    uses: NDArray[np.int64],
    sums: NDArray[np.float64],
    stop: NDArray[np.bool_],
) -> int:
    """Serve up to `horizon` requests; add up uses of each option, and rewards and costs of all.

    The arrays of the state lie in the buffer. Returns the requests that were served: fewer where the source
    has ended or another thread sets stop[0]; -1 where the policy chooses what is no option.
    """
    kind, pairs, rows, starts, _, choice, _ = source
    matched = kind == MATCHED
    options = len(costs)
    usable, floors = np.ones(options, np.bool_), np.zeros(options)
    before = buffer.copy()
    quality = 0.0
    spend = 0.0
    served = 0
    for request in rows:
        if served == horizon or stop[0]:
            break
        if matched:
            before[:] = buffer
        made = choose(state, encoded[request], costs, usable, rng, floors)
        arm = made.arm
        if arm < 0 or arm >= options:
            return -1
        if matched and choice[request] != arm:
            buffer[:] = before
            continue
        row = request if matched else starts[arm] + request
        learn(state, encoded[request], arm, made.propensity, pairs[row, 0], floors)
        uses[arm] += 1
        quality += pairs[row, 0]
        spend += pairs[row, 1]
        served += 1
    sums[0] += quality
    sums[1] += spend
    return served


@functools.cache
def _specialise(choose_function: Any, learn_function: Any, name: str) -> Drive:
    return specialised(drive, f"drive_looking_{name}", choose=choose_function, learn=learn_function)


class Looking:
    """A policy that looks at the request."""

    randomised = True

    def __init__(self, policy: ContextualPolicy, name: str, queries: Queries) -> None:
        self._policy, self._name, self._queries = policy, name, queries
        kind = type(policy)
        self._drive = _specialise(kind.choose, kind.learn, kind.__name__)

    def compile(self, job: Job, pool: Pool, stop: NDArray[np.bool_]) -> None:
        """Compile the driver of this kind of policy."""
        prepare(self._drive, self._name, *self._arguments(job, pool, source_of(pool, None), (0,)), stop)

    def run(self, job: Job, pool: Pool, source: Source, key: tuple[int, ...], stop: NDArray[np.bool_]) -> Run:
        """Run the policy on what a source gives."""
        arguments = self._arguments(job, pool, source, key)
        served = self._drive(*arguments, stop)
        if served < 0:
            raise InputError(f"{self._name} chose what is no option")
        uses, sums = arguments[-2:]
        return Run(sums / max(served, 1), uses, served)

    def _arguments(self, job: Job, pool: Pool, source: Source, key: tuple[int, ...]) -> tuple[Any, ...]:
        # As the other policies, it knows what its options cost on average.
        costs: Floats = np.ascontiguousarray(pool.means[:, 1])
        started = self._policy.start(self._queries.setting(costs, job.quality, job.reference))
        state, buffer = in_one_piece(started)
        uses, sums = np.zeros(len(costs), np.int64), np.zeros(2)
        rng = stream(*key, 0)
        return state, buffer, source, self._queries.encoded, costs, rng, job.horizon, uses, sums


class Rules(NamedTuple):
    """What oracles do on the requests, and on resampled ones."""

    own: Oracle
    resampled: tuple[Oracle, ...]
    segmented: bool
    featured: bool


def rules_of(
    job: Job, queries: Queries, resamples: int, seed: int, threads: int, tell: Callable[[int], None]
) -> Rules:
    """Return what oracles do; `tell` hears how many resampled pasts are done."""
    table = queries.past
    assert isinstance(table, Table)
    found: list[Any] = [None] * resamples

    def one(number: int) -> None:
        pool = pool_of(table, job.kind, None, stream(seed, 2, number))
        found[number] = queries.problem(table, pool.rows, job.quality).oracle()

    run_all(one, resamples, threads, np.zeros(1, np.bool_), tell)
    own = queries.problem(table, np.arange(table.requests), job.quality).oracle()
    return Rules(own, tuple(found), queries.segment is not None, queries.features.shape[1] > 0)
