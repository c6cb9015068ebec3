"""Many cells, computed once: what the store has is reused, what it lacks is computed and saved."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from functools import partial

from frugalbandits.core.options import check_horizon
from frugalbandits.lab.sweeps.cells import Cell, Outcome
from frugalbandits.lab.sweeps.cluster import check_address, computed_by
from frugalbandits.lab.sweeps.compute import compute, prepare
from frugalbandits.lab.sweeps.progress import Ledger, Progress
from frugalbandits.lab.sweeps.store import Store

__all__ = ["sweep"]


def sweep(
    cells: Iterable[Cell],
    store: Store | str | os.PathLike[str],
    workers: int | None = None,
    cluster: str | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> dict[Cell, Outcome]:
    """Return the outcome of each cell, in the order given.

    Each cell is saved as it finishes. However the sweep ends, by Ctrl-C, a power cut or a full disk, the
    same call goes on with the cells that are left.

    Parameters
    ----------
    cells
        What to compute; a cell that is given twice is computed once.
    store
        Where outcomes are kept, or its folder.
    workers
        Threads on this machine; all cores by default.
    cluster
        The address of a Dask scheduler, such as "tcp://10.0.0.1:8786": its workers compute the cells, with
        the threads they have. The outcomes are the same.
    watch
        Called with the progress, some times a second. Without it, a stored file that cannot be used is
        told by `warnings`.

    Examples
    --------
    >>> import tempfile
    >>> cells = [Cell("nu1", 0.3, name, 500, runs=2, seed=0, checkpoints=5) for name in ("pe-cs", "etc-cs")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = sweep(cells, folder)
    ...     again = sweep(cells, folder)
    >>> [cell.policy for cell in first]
    ['pe-cs', 'etc-cs']
    >>> [again[cell].seconds == first[cell].seconds for cell in cells]
    [True, True]
    """
    wanted = list(dict.fromkeys(cells))
    for cell in wanted:
        check_horizon(cell.horizon, cell.problem.arms)
    if cluster is not None:
        check_address(cluster)
    if not isinstance(store, Store):
        store = Store(store)
    store.tidy()

    ledger = Ledger(len(wanted), watch)
    outcomes: dict[Cell, Outcome] = {}
    for cell in wanted:
        stored = store.load(cell, warn=warnings.warn if watch is None else ledger.warn)
        if stored is not None:
            outcomes[cell] = stored
            ledger.reuse()
    missing = [cell for cell in wanted if cell not in outcomes]
    if missing:
        ledger.begin(missing, store.records())
        source = (
            _locally(missing, workers, ledger) if cluster is None else computed_by(cluster, missing, ledger)
        )
        # Closed, because what is left of an interrupted sweep has to be called off.
        with closing(source):
            for outcome in source:
                store.save(outcome)
                outcomes[outcome.cell] = outcome
                ledger.finish(outcome)
    return {cell: outcomes[cell] for cell in wanted}


def _locally(cells: Sequence[Cell], workers: int | None, ledger: Ledger) -> Generator[Outcome, None, None]:
    """Compute cells one after the other, each with all threads."""
    for cell in {cell.policy: cell for cell in cells}.values():
        ledger.note(f"preparing {cell.policy}")
        prepare(cell)
    ledger.restart_clock()
    for cell in cells:
        ledger.run([cell])
        yield compute(cell, workers, partial(ledger.advance, cell))
