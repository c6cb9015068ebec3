"""A log as the rewards of each option, and what options cost on average."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from frugalbandits.errors import InputError, extra_needed
from frugalbandits.lab.logs.scan import Scan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["read_log"]


def read_log(
    path: str | os.PathLike[str], option: str, reward: str, cost: str | None, format: str = "auto"
) -> tuple[dict[str, NDArray[np.float64]], list[float] | None]:
    """Return the rewards of each option, in the order of first use, and the options' mean costs if asked for.

    A row without a reward was not judged: it counts for costs alone, and an option may have no reward. An
    error names the row, counted from 1 without a header: in .ndjson it is the line.
    """
    with extra_needed("a log of decisions"):
        import polars as pl

    scan = Scan(path, format)
    prices = [] if cost is None else [cost]
    scan.require([option, reward, *prices])
    frame = scan.frame(prices, [option], rewards=[reward])
    names = scan.names(frame, option)
    columns = {"name": names, "reward": frame[reward]}
    if cost is not None:
        columns["cost"] = frame[cost]
    grouped = pl.DataFrame(columns).group_by("name", maintain_order=True).agg(pl.all())
    rewards = {
        name: each.drop_nulls().to_numpy()
        for name, each in zip(grouped["name"], grouped["reward"], strict=True)
    }
    if not any(map(len, rewards.values())):
        raise InputError(f"{scan.name}: no row has a reward in the column {reward!r}")
    if cost is None:
        return rewards, None
    return rewards, [float(each.mean()) for each in grouped["cost"]]
