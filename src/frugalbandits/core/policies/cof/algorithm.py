"""COF, Cost-Ordered Feasibility: Algorithm 1 of Juneja, Joe-Wong and Yagan (2026), line by line.

Candidates are evaluated from cheapest to most expensive. In the episode of candidate l the gating arms
are the more expensive ones that l has not yet been shown to be good enough for; l is optimal when none
is left, and infeasible when all arms together speak against it with confidence 1 - delta. Line numbers
in the comments are those of Algorithm 1.

The paper's quality bar is relative to the best arm. Relative to one arm, that arm alone can be gating and
speak against a candidate. With a fixed level a candidate is optimal when its LCB is above the level, and
infeasible when its UCB is not: `episodes` has what that changes in the order of things.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
from frugalbandits.core.jit import compiled, inlined, inner
from frugalbandits.core.policies.cof.biased import new_targets, next_targets, unmet_target
from frugalbandits.core.policies.cof.repeats import LONGEST, safe_repeats
from frugalbandits.core.policies.episodes import (
    has_level,
    is_judge,
    reach,
    reason,
    rule_out,
    settle,
    statuses,
)
from frugalbandits.core.settings import check_choice, check_delta, check_flag, check_tolerance
from frugalbandits.core.tally import Tally, all_seen, handed, mean, new_tally, radius, unseen

__all__ = ["COF", "COFState"]


class COFState(NamedTuple):
    """The state of a COF run. Scalars that change are arrays of length one."""

    tally: Tally
    journal: Journal
    prices: NDArray[np.float64]
    keep: float  # 1 - alpha
    reference: int  # the arm that sets the bar, or -1
    level: float  # the fixed bar, or -1
    limit: float  # log(1 / delta)
    combine: bool
    exclusive: bool
    cost_biased: bool
    tolerance: float
    candidate: NDArray[np.int64]
    settled: NDArray[np.int64]
    stride: NDArray[np.int64]  # safe repeats of the last batch, where the next search starts
    targets: NDArray[np.int64]  # cost-biased sampling: pulls that each arm is being brought to


@inlined
def ucb(state: Any, arm: int) -> float:
    """Upper confidence bound, not capped."""
    return mean(state, arm) + radius(math.sqrt(state.limit / 2), state.tally.pulls[arm])


@inlined
def lcb(state: Any, arm: int) -> float:
    """Lower confidence bound, not floored."""
    return mean(state, arm) - radius(math.sqrt(state.limit / 2), state.tally.pulls[arm])


@inner
def gating_arms(state: Any) -> NDArray[np.bool_]:
    """Line 3: the more expensive arms that the candidate may still be too poor for."""
    candidate = state.candidate[0]
    arms = len(state.prices)
    gating = np.zeros(arms, np.bool_)
    floor = lcb(state, candidate) + state.tolerance
    for i in range(candidate + 1, arms):
        gating[i] = is_judge(state.reference, i) and state.keep * ucb(state, i) >= floor
    return gating


@inner
def evidence_against(state: Any) -> float:
    """Lines 7-8: -log of the product of the epsilons of Expression eq:eps_def, summed in logs.

    Without combining samples the strongest gating arm stands alone. Arms outside the gating set have
    an epsilon of 1, hence no term, so there is no need to look at the set. (With a tolerance an arm outside
    of it may have one: it counts, because what it says of the candidate is no less true.)
    """
    candidate = state.candidate[0]
    level = ucb(state, candidate) / state.keep
    total = 0.0
    strongest = 0.0
    for k in range(len(state.prices)):
        gap = mean(state, k) - level
        if gap > 0 and is_judge(state.reference, k):
            term = 2 * state.tally.pulls[k] * gap * gap
            total += term
            if k > candidate:
                strongest = max(strongest, term)
    return total if state.combine else strongest


@inner
def sampled_arms(state: Any, gating: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Lines 12-15: the candidate alone while it lags, else with the gating arms that may be the best."""
    candidate = state.candidate[0]
    arms = len(gating)
    most = 0
    highest = -np.inf
    for i in range(candidate + 1, arms):
        if gating[i]:
            most = max(most, handed(state, i))
            highest = max(highest, lcb(state, i))
    if state.exclusive and handed(state, candidate) < most:
        return single(candidate)
    chosen = np.empty(arms, np.int64)
    chosen[0] = candidate
    count = 1
    for i in range(candidate + 1, arms):
        if gating[i] and ucb(state, i) > highest:
            chosen[count] = i
            count += 1
    return chosen[:count].copy()


@inner
def pulls_to_level(state: Any) -> int:
    """Under a fixed level: pulls of the candidate that are due, or 0 after a conclusion."""
    candidate = state.candidate[0]
    if handed(state, candidate) == 0:
        return 1
    if lcb(state, candidate) + state.tolerance > state.level:
        settle(state)
        return 0
    if ucb(state, candidate) <= state.level:
        rule_out(state)
        return 0
    return safe_repeats(state, single(candidate), np.zeros(len(state.prices), np.bool_))


@compiled
def plan(state: Any, rng: Any) -> Batch:
    """One turn of the while loop of Algorithm 1, up to the next pulls."""
    if state.level >= 0:
        while has_level(state) and state.settled[0] == 0:
            pulls = pulls_to_level(state)
            if pulls > 0:
                return Batch(single(state.candidate[0]), pulls)
    if state.settled[0] == 1:  # line 5, thereafter
        return Batch(single(state.candidate[0]), FOREVER)
    if not all_seen(state, reach(state)):  # line 1
        return Batch(unseen(state, reach(state)), 1)
    if state.cost_biased:
        arm = unmet_target(state)
        if arm >= 0:
            return Batch(single(arm), state.targets[arm] - handed(state, arm))
    while True:
        gating = gating_arms(state)  # line 3
        if not np.any(gating):  # lines 4-5
            settle(state)
            return Batch(single(state.candidate[0]), FOREVER)
        if evidence_against(state) < state.limit:  # line 9: the product of the epsilons exceeds delta
            break
        rule_out(state)  # line 10
    arms = sampled_arms(state, gating)  # lines 12-15
    if state.cost_biased:
        next_targets(state, arms, gating)
        arm = unmet_target(state)
        return Batch(single(arm), state.targets[arm] - handed(state, arm))
    return Batch(arms, safe_repeats(state, arms, gating))


@dataclass(frozen=True)
class COF(Policy):
    """Cost-Ordered Feasibility, the paper's algorithm.

    Parameters
    ----------
    delta
        Error tolerance in (0, 1). By default K^2 / T^2, the setting of the paper's experiments, which
        needs a horizon.
    combine
        Combine the samples of all arms to deem a candidate infeasible (line 9). False is the paper's
        "COF (no combine)": the strongest gating arm must do it alone.
    exclusive
        Sample a lagging candidate alone until it has caught up (line 13). False is the paper's
        "COF (no exclusive)".
    sampling
        "uniform" is Algorithm 1. "cost-biased" leans on cheap gating arms of sufficient quality and
        touches expensive ones as seldom as the tests allow; see the policies page of the docs.
    tolerance
        An arm whose mean is within so much of the threshold counts as good enough, so that near-ties end:
        a gating arm i is cleared when (1 - alpha) UCB_i - tolerance < LCB_l. While the confidence bounds
        hold, the arm that is settled on costs no more than the optimal one and its mean is at least
        (1 - alpha) max(mu) - tolerance. From 0, which is the paper's algorithm, to 1. Under a fixed level,
        the candidate is optimal when LCB_l + tolerance is above it.

    Examples
    --------
    >>> COF(delta=1e-6).delta
    1e-06
    >>> COF(sampling="random")
    Traceback (most recent call last):
    ...
    frugalbandits.errors.InputError: sampling must be 'uniform' or 'cost-biased', but it is 'random'
    """

    title: ClassVar[str] = "Cost-Ordered Feasibility (Juneja, Joe-Wong, Yagan 2026)"
    plan: ClassVar[Any] = staticmethod(plan)
    any_bar: ClassVar[bool] = True

    delta: float | None = None
    combine: bool = True
    exclusive: bool = True
    sampling: Literal["uniform", "cost-biased"] = "uniform"
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        self.settings_checked(
            delta=check_delta(self.delta),
            combine=check_flag("combine", self.combine),
            exclusive=check_flag("exclusive", self.exclusive),
            tolerance=check_tolerance(self.tolerance),
        )
        check_choice("sampling", self.sampling, ("uniform", "cost-biased"))

    def start(self, setting: Setting) -> COFState:
        arms = len(setting.costs)
        return COFState(
            tally=new_tally(arms),
            journal=new_journal(arms, fixed=setting.level >= 0),
            prices=np.array(setting.costs, dtype=np.float64),
            keep=setting.keep,
            reference=setting.reference,
            level=setting.level,
            limit=self._limit(setting),
            combine=self.combine,
            exclusive=self.exclusive,
            cost_biased=self.sampling == "cost-biased",
            tolerance=self.tolerance,
            candidate=np.zeros(1, np.int64),
            settled=np.zeros(1, np.int64),
            stride=np.ones(1, np.int64),
            targets=new_targets(arms),
        )

    def _limit(self, setting: Setting) -> float:
        if self.delta is not None:
            return -math.log(self.delta)
        return 2.0 * math.log(self.needs_horizon(setting) / len(setting.costs))

    def ranges(self, setting: Setting) -> Ranges:
        last = len(setting.costs) - 1
        return {
            "candidate": (0, last),
            "settled": (0, 1),
            "stride": (1, LONGEST),
            "targets": (0, FOREVER),
        }

    def decisions_to_conclude(self, setting: Setting) -> float | None:
        # Alike and perfect, l is cleared when keep (1 + radius) - tolerance < 1 - radius, for all arms alike.
        if setting.level >= 0:
            slack, widths, arms = 1 - setting.level + self.tolerance, 1.0, 1
        else:
            slack, widths = 1 - setting.keep + self.tolerance, 1 + setting.keep
            arms = len(setting.costs) if setting.reference < 0 else 2
        return arms * self._limit(setting) * widths**2 / (2 * slack**2) if slack > 0 else math.inf

    def bounds(self, state: COFState) -> Bounds:
        arms = range(len(state.prices))
        gating = gating_arms(state)
        lower = np.array([lcb(state, k) for k in arms])
        upper = np.array([ucb(state, k) for k in arms])
        highest = max((lower[i] for i in arms if gating[i]), default=-math.inf)
        return Bounds(lower, upper, statuses(state, ~gating, upper <= highest), int(state.candidate[0]))

    def reason(self, state: COFState, arm: int) -> str:
        return reason(state, arm)
