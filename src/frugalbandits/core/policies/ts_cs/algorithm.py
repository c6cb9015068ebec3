"""TS-CS, Thompson sampling: Sinha, Sankararaman, Kazerouni and Avadhanula, AISTATS 2021.

Each pull draws theta_k ~ Beta(1 + S_k, 1 + n_k - S_k) for every arm and takes the cheapest arm with
theta_k >= (1 - alpha) max theta. Most of these draws only confirm what the posteriors already say, so
they are made in stretches: see `ts_stretch`. The pulls have the same law as if every theta were drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from frugalbandits.core.contract import (
    FOREVER,
    Batch,
    Bounds,
    Journal,
    Policy,
    Ranges,
    Setting,
    new_journal,
    single,
)
from frugalbandits.core.jit import compiled, inlined
from frugalbandits.core.policies.ts_cs.records import Stretch, closed, new_stretch, opened, stretch_ranges
from frugalbandits.core.policies.ts_cs.stretch import NOTHING, choose, draw_all, next_ahead, next_batch
from frugalbandits.core.policies.ts_cs.tails import log_norm
from frugalbandits.core.tally import Tally, all_seen, any_pending, handed, mean, new_tally, unseen

__all__ = ["TSCS", "TSCSState"]


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
    """Return the arm of one draw, or the arms of many draws that need no feedback in between."""
    arms = len(state.tally.pulls)
    if arms == 1:
        return Batch(single(0), FOREVER)  # no draw would choose another
    if not all_seen(state, arms):
        return Batch(unseen(state, arms), 1)
    records, epoch = opened(state)
    total = handed_in_all(state)
    if epoch[0].at != total:
        # Another order of events than was planned for: what was drawn ahead is void.
        epoch[0].after = NOTHING
        epoch[0].quiet = 0
    if any_pending(state):
        arm = next_ahead(records, epoch, rng, total)
        batch = Batch(single(arm), 1 if arm >= 0 else 0)
    else:
        batch = next_batch(records, epoch, rng, total)
    if batch.repeats == 0:
        batch = Batch(single(choose(draw_all(records, rng), state.keep)), 1)
    closed(state.stretch, records, epoch)
    return batch


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
    concludes: ClassVar[bool] = False

    def start(self, setting: Setting) -> TSCSState:
        arms = len(setting.costs)
        return TSCSState(
            tally=new_tally(arms),
            journal=new_journal(arms),
            keep=1.0 - setting.alpha,
            stretch=new_stretch(arms, 1.0 - setting.alpha),
        )

    def ranges(self, setting: Setting) -> Ranges:
        return stretch_ranges(len(setting.costs))

    def contradiction(self, state: TSCSState) -> str | None:
        arms = state.stretch.arms
        if (arms.low > arms.high).any():
            return "a lower bound is above the upper one"
        if float(state.stretch.epoch[0].keep) != state.keep:
            return "what is drawn ahead is for another alpha"
        for k, arm in enumerate(arms):
            in_use = arm.normed == arm.pulls > 0
            moved = arm.pulls == state.tally.pulls[k] > 0 and arm.a != 1 + state.tally.sums[k]
            if moved or (in_use and min(arm.a, arm.b) < 1):
                return f"a posterior has the parameters {arm.a} and {arm.b}"
            known = log_norm(float(arm.a), float(arm.b)) if in_use else arm.norm
            if arm.normed > arm.pulls or abs(arm.norm - known) > 1e-6 * max(1.0, abs(known)):
                return f"the norm of a posterior is {arm.norm}"
        return None

    def made_anew(self, version: int) -> tuple[str, ...]:
        return ("stretch",) if version < 2 else ()

    def bounds(self, state: TSCSState) -> Bounds:
        successes = state.tally.sums
        size = state.tally.pulls + 2.0
        # Two standard deviations around the mean of each posterior, Beta(1 + S, 1 + n - S).
        centre = (1 + successes) / size
        reach = 2 * np.sqrt(centre * (1 - centre) / (size + 1))
        lower, upper = np.maximum(centre - reach, 0.0), np.minimum(centre + reach, 1.0)
        means = np.array([mean(state, k) for k in range(len(successes))])
        enough = means >= state.keep * means.max()
        status = tuple("looks feasible" if good else "looks poor" for good in enough)
        return Bounds(lower, upper, status, int(np.argmax(enough)))

    def reason(self, state: TSCSState, arm: int) -> str:
        if len(state.tally.pulls) == 1:
            return "the only option"  # a plan for ever, begun before any look
        if state.tally.pulls[arm] + state.tally.pending[arm] == 0:
            return "first look at every option"
        return "cheapest option that is good enough in a draw from what is believed"
