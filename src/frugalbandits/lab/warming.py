"""The simulator's drivers, compiled ahead of their first use."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from frugalbandits.core.contract import Policy, Setting
from frugalbandits.core.planner import How, made_ready
from frugalbandits.lab.driver import drive_of
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.rewards import Bernoulli

__all__ = ["Warmed", "warm_up_driver"]


class Warmed(NamedTuple):
    """What it took to have a policy's driver ready, and where its machine code is kept."""

    seconds: float
    how: How
    folder: Path | None  # None where no folder can be written


def warm_up_driver(policy: Policy) -> Warmed:
    """Compile the driver of a policy, or load it from disk, without running it.

    Examples
    --------
    >>> from frugalbandits.core.registry import resolve
    >>> first, again = warm_up_driver(resolve("etc-cs")), warm_up_driver(resolve("etc-cs"))
    >>> again.how, again.folder == first.folder
    ('there already', True)
    """
    # Any problem will do: what is compiled depends on the types of these, and on none of their values.
    problem = Problem([0.5, 0.5], [1.0, 2.0], alpha=0.1)
    state = policy.begin(Setting.of(problem.costs, problem.quality, 100, problem.reference))
    rng = np.random.default_rng(0)
    arguments = (
        state,
        Bernoulli().draws(problem),
        rng if policy.randomised else None,
        rng,
        np.array([100]),
        np.zeros((1, 2), np.int64),
        np.zeros(4, np.int64),
        np.zeros(1, np.bool_),
    )
    drive: Any = drive_of(policy)
    seconds, how = made_ready(drive, *arguments)
    place = drive.stats.cache_path
    return Warmed(seconds, how, None if place is None else Path(place))
