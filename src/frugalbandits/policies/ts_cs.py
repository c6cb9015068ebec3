"""TS-CS, Thompson sampling: Sinha, Sankararaman, Kazerouni and Avadhanula, AISTATS 2021.

Each pull draws theta_k ~ Beta(1 + S_k, 1 + n_k - S_k) for every arm and takes the cheapest arm with
theta_k >= (1 - alpha) max theta. Most of these draws only confirm what the posteriors already say, so
they are made in stretches: see `ts_stretch`. The pulls have the same law as if every theta were drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from frugalbandits.compiled import compiled, inlined
from frugalbandits.policies.base import (
    Batch,
    Bounds,
    Journal,
    Policy,
    Setting,
    Tally,
    all_seen,
    any_pending,
    handed,
    mean,
    new_journal,
    new_tally,
    single,
    unseen,
)
from frugalbandits.policies.ts_epoch import Stretch, new_stretch
from frugalbandits.policies.ts_stretch import choose, draw_all, draw_exception, next_quiet

__all__ = ["TSCS", "TSCSState"]

# The most plain draws between two attempts to plan a stretch.
LONGEST_PAUSE = 64


class TSCSState(NamedTuple):
    """The state of a TS-CS run."""

    tally: Tally
    journal: Journal
    keep: float  # 1 - alpha
    stretch: Stretch


@inlined
def handed_in_all(state: Any) -> int:
    """Count the pulls of all arms that were handed out."""
    total = 0
    for k in range(len(state.tally.pulls)):
        total += handed(state, k)
    return total


@compiled
def plan(state: Any, rng: Any) -> Batch:
    """Return the arm of one draw, or the arm of a whole stretch of draws that all choose it."""
    if not all_seen(state):
        return Batch(unseen(state), 1)
    stretch = state.stretch
    total = handed_in_all(state)
    due = stretch.exception_at[0] == total
    stretch.exception_at[0] = -1
    if due:
        return Batch(single(draw_exception(state, rng)), 1)
    if not any_pending(state):
        if stretch.pause[0] > 0:
            stretch.pause[0] -= 1
        else:
            quiet = next_quiet(state, rng, total)
            if quiet > 0:
                stretch.backoff[0] = 1
                return Batch(single(stretch.arm[0]), quiet)
            if quiet == 0:
                return Batch(single(draw_exception(state, rng)), 1)
            stretch.pause[0] = stretch.backoff[0]
            stretch.backoff[0] = min(2 * stretch.backoff[0], LONGEST_PAUSE)
    return Batch(single(choose(draw_all(state, rng), state.keep)), 1)


@dataclass(frozen=True)
class TSCS(Policy):
    """Thompson sampling with a cost subsidy. It needs no horizon.

    Examples
    --------
    >>> TSCS().randomised
    True
    """

    title: ClassVar[str] = "Thompson sampling (Sinha et al. 2021)"
    plan: ClassVar[Any] = staticmethod(plan)
    randomised: ClassVar[bool] = True

    def start(self, setting: Setting) -> TSCSState:
        arms = len(setting.costs)
        return TSCSState(
            tally=new_tally(arms),
            journal=new_journal(arms),
            keep=1.0 - setting.alpha,
            stretch=new_stretch(arms),
        )

    def bounds(self, state: TSCSState) -> Bounds:
        from scipy.stats import beta  # only an explanation needs it, and it takes long to import

        successes = state.tally.sums
        failures = state.tally.pulls - successes
        lower = np.asarray(beta.ppf(0.025, 1 + successes, 1 + failures))
        upper = np.asarray(beta.ppf(0.975, 1 + successes, 1 + failures))
        means = np.array([mean(state, k) for k in range(len(successes))])
        enough = means >= state.keep * means.max()
        status = tuple("looks feasible" if good else "looks poor" for good in enough)
        return Bounds(lower, upper, status, int(np.argmax(enough)))

    def reason(self, state: TSCSState, arm: int) -> str:
        if state.tally.pulls[arm] + state.tally.pending[arm] == 0:
            return "first look at every option"
        return "cheapest option that is good enough in a draw from what is believed"
