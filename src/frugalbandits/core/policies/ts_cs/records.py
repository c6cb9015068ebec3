"""What TS-CS keeps of the draws ahead: a record for each arm, and one for the epoch that is under way.

Records, because compiled code counts the references of every array that it is handed: were each field an
array of its own, this would take the greater part of a run's time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from frugalbandits.core.jit import inlined

__all__ = ["INSIDE", "Stretch", "look", "new_stretch"]

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


@inlined
def look(state: Any) -> None:
    """Copy what was seen of each arm into its record."""
    tally, arms = state.tally, state.stretch.arms
    pulls, sums = tally.pulls, tally.sums
    for k in range(len(pulls)):
        arms[k].pulls = pulls[k]
        arms[k].a = 1 + sums[k]
        arms[k].b = 1 + pulls[k] - sums[k]
