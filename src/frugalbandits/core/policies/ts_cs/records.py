"""What TS-CS keeps of the draws ahead: a record for each arm, and one for the epoch that is under way.

Records, because compiled code counts the references of every array that it is handed: were each field an
array of its own, this would take the greater part of a run's time. Plain Python, to which the records of an
array are slow, works on a copy, an object for each record.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from frugalbandits.core.contract import Ranges
from frugalbandits.core.jit import inlined, instead

__all__ = ["INSIDE", "Stretch", "closed", "new_stretch", "opened", "stretch_ranges"]

# Stands in place of theta: it lies within its bounds.
INSIDE = -1.0

_ARM = np.dtype(
    [
        ("pulls", np.int64),
        ("a", np.float64),  # parameters of the posterior
        ("b", np.float64),
        ("norm", np.float64),  # -log B(a, b) ...
        ("normed", np.int64),  # ... and the pulls that it belongs to
        ("low", np.float64),  # bounds of theta ...
        ("high", np.float64),
        ("below", np.float64),  # ... and the probability of an exception beyond each of them
        ("above", np.float64),
        ("end", np.int64),  # pulls up to which that holds; 0: until the next pull
        ("own_low", np.float64),  # bounds that depend on this arm alone ...
        ("own_high", np.float64),
        ("own_below", np.float64),  # ... and exceptions beyond them
        ("own_above", np.float64),
        ("span", np.int64),  # further pulls for which these hold; 0: there are none
        ("theta", np.float64),  # what is known of theta in an exception
        ("taken", np.int64),  # pulls in the batch that is being planned
    ],
    align=True,
)

_EPOCH = np.dtype(
    [
        ("keep", np.float64),  # 1 - alpha
        ("arm", np.int64),  # c
        ("witness", np.int64),  # w; c itself where no arm is cheaper or none is better suited
        ("level", np.float64),  # l_c
        ("assured", np.float64),  # l_w
        ("chance", np.float64),  # log of the probability that a step is no exception
        ("length", np.int64),  # pulls of c in the epoch
        ("until", np.int64),  # pulls handed out in all up to which it is kept
        ("epochs", np.int64),  # lengths that were tried so far
        ("quiet", np.int64),  # steps for c that were drawn but not handed out
        ("after", np.int64),  # what comes after them: an exception, one that waits, or nothing
        ("at", np.int64),  # pulls handed out in all when these are due
    ],
    align=True,
)


class Stretch(NamedTuple):
    """What is drawn ahead: a record for each arm, and one for the epoch that is under way."""

    arms: Any
    epoch: Any


def new_stretch(arms: int, keep: float) -> Stretch:
    """Return a stretch that has not been planned yet."""
    stretch = Stretch(np.zeros(arms, _ARM).view(np.recarray), np.zeros(1, _EPOCH).view(np.recarray))
    stretch.arms.high = 1.0
    stretch.arms.theta = INSIDE
    stretch.epoch.keep = keep
    stretch.epoch.length = 1
    stretch.epoch.at = -1
    return stretch


def stretch_ranges(arms: int) -> Ranges:
    """Return what the values of a stored stretch lie between."""
    share, count = (0.0, 1.0), (0, 1 << 62)
    of_arms: Ranges = {
        "pulls": count,
        "a": (0.0, 2.0**62),
        "b": (0.0, 2.0**62),
        "norm": (-(2.0**62), 2.0**62),
        "normed": (-1, 1 << 62),
        **dict.fromkeys(("low", "high", "below", "above"), share),
        "end": count,
        **dict.fromkeys(("own_low", "own_high", "own_below", "own_above"), share),
        "span": (0, 1 << 40),
        "theta": (-3.0, 1.0),
        "taken": (0, 1 << 40),
    }
    of_epoch: Ranges = {
        "keep": share,
        "arm": (0, arms - 1),
        "witness": (0, arms - 1),
        "level": share,
        "assured": share,
        "chance": (-1e3, 0.0),
        "length": (1, 1 << 40),
        "until": count,
        "epochs": count,
        "quiet": (0, 1 << 40),
        "after": (0, 2),
        "at": (-1, 1 << 62),
    }
    return {
        **{f"stretch.arms.{name}": ends for name, ends in of_arms.items()},
        **{f"stretch.epoch.{name}": ends for name, ends in of_epoch.items()},
    }


class _Open:
    """A record as an object."""

    __slots__ = tuple(dict.fromkeys((*(_ARM.names or ()), *(_EPOCH.names or ()))))


def _open(records: Any) -> list[_Open]:
    names = records.dtype.names
    found = []
    for row in records.tolist():
        each = _Open()
        for name, value in zip(names, row, strict=True):
            setattr(each, name, value)
        found.append(each)
    return found


@inlined
def look(arm: Any, pulls: int, total: float) -> None:
    """Copy what was seen of an arm into its record."""
    arm.pulls = pulls
    arm.a = 1 + total
    arm.b = 1 + pulls - total


def opened(state: Any) -> tuple[Any, Any]:
    """Return the records of the arms, with what was seen of each by now, and that of the epoch."""
    arms, epoch = _open(state.stretch.arms), _open(state.stretch.epoch)
    for arm, pulls, total in zip(arms, state.tally.pulls.tolist(), state.tally.sums.tolist(), strict=True):
        look(arm, pulls, total)
    return arms, epoch


@instead(opened)
def opened_in_place(state: Any) -> tuple[Any, Any]:
    """Return the records themselves, for compiled code."""
    tally, arms, epoch = state.tally, state.stretch.arms, state.stretch.epoch
    pulls, sums = tally.pulls, tally.sums
    for k in range(len(pulls)):
        look(arms[k], pulls[k], sums[k])
    return arms, epoch


def closed(stretch: Stretch, arms: Any, epoch: Any) -> None:
    """Keep what became of the records."""
    for records, worked_on in ((stretch.arms, arms), (stretch.epoch, epoch)):
        names = records.dtype.names
        records[:] = [tuple(getattr(each, name) for name in names) for each in worked_on]


@instead(closed)
def closed_in_place(stretch: Stretch, arms: Any, epoch: Any) -> None:
    """Do nothing: compiled code has worked on the records themselves."""
