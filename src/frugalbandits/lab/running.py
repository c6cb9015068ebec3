"""What every simulation shares: counts, times and seeds that are checked, and runs on some threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contract import Policy
from frugalbandits.errors import InputError

__all__ = ["check_count", "check_seed", "checkpoint_times", "label", "run_all"]


def run_all(
    one: Callable[[int], None],
    count: int,
    threads: int,
    stop: NDArray[np.bool_],
    tell: Callable[[int], None],
) -> None:
    """Run all runs on some threads; `tell` hears of each that is done. On an error none goes on."""
    # Not concurrent.futures.wait: it locks every future that is pending, one by one, and an interrupt in
    # the middle of that leaves them locked for ever.
    finished: SimpleQueue[Future[None]] = SimpleQueue()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for run in range(count):
                pool.submit(one, run).add_done_callback(finished.put)
            done = 0
            while done < count:
                try:
                    # With a time-out, because a wait without end may not hear Ctrl-C.
                    finished.get(timeout=0.2).result()
                except Empty:
                    continue
                done += 1
                tell(done)
        except BaseException:
            stop[0] = True
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def label(policy: str | Policy) -> str:
    """Return what a result calls a policy."""
    return policy if isinstance(policy, str) else repr(policy)


def check_seed(seed: int) -> None:
    """Refuse what is no seed."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed must be a whole number, 0 or more, but it is {seed!r}")


def check_count(what: str, value: int) -> int:
    """Return a whole number, 1 or more."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{what} must be a whole number, 1 or more, but it is {value!r}")
    return int(value)


def checkpoint_times(checkpoints: int | Sequence[int], horizon: int) -> NDArray[np.int64]:
    """Return the times of checkpoints, the last one the horizon."""
    if isinstance(checkpoints, int | np.integer) and not isinstance(checkpoints, bool):
        number = min(check_count("checkpoints", int(checkpoints)), horizon)
        return (np.arange(1, number + 1, dtype=object) * horizon // number).astype(np.int64)
    times = np.unique(np.asarray(checkpoints))
    if times.ndim != 1 or times.size == 0 or times.dtype.kind not in "iu":
        raise InputError(f"checkpoints must be a number or a list of whole times, but it is {checkpoints!r}")
    if times[0] < 1 or times[-1] > horizon:
        bad = times[0] if times[0] < 1 else times[-1]
        raise InputError(f"checkpoints must lie between 1 and the horizon, {horizon}, but one is {bad}")
    return np.unique(np.append(times, horizon)).astype(np.int64)
