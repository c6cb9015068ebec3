"""GLR-COF: the episodes of Cost-Ordered Feasibility with likelihood-ratio tests and sampling by regret.

As in COF, candidates are evaluated from cheapest to most expensive. Three things differ:

- The tests of `evidence` replace separate confidence bounds: Z_i >= c clears arm i, W >= c deems the
  candidate infeasible. `threshold` says what c is.
- One arm is pulled at a time, by the evidence of the moment and not by that of a conclusion, unless
  conclusions are the goal: see `sampling`.
- A batch is 1% of the arm's pulls, so the number of plans grows with the logarithm of the horizon.

Relative to one arm in place of the best, that arm is the only one that gates. Under a fixed level the
candidate is pulled alone: `episodes` has the order of things. An arm that may not be pulled now keeps its
part in the bar and in conclusions; what is pulled in its place is chosen by the same rules among the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
from frugalbandits.core.jit import compiled, inner
from frugalbandits.core.likelihood import interval
from frugalbandits.core.policies.episodes import (
    has_level,
    judges,
    reach,
    reason,
    rule_out,
    settle,
    statuses,
)
from frugalbandits.core.policies.glr_cof.evidence import (
    above_level,
    below_level,
    evidence_against,
    evidence_for,
)
from frugalbandits.core.policies.glr_cof.facts import (
    decided,
    facts,
    has_to_look,
    is_infeasible,
    is_optimal,
    not_looked_at,
    same_usable,
)
from frugalbandits.core.policies.glr_cof.sampling import arm_to_pull, arm_under_level
from frugalbandits.core.settings import check_choice, check_delta, check_tolerance
from frugalbandits.core.tally import Tally, new_tally

__all__ = ["GLRCOF", "GLRCOFState"]

GROWTH = 100  # a batch is one part in so many of the arm's pulls
ENDLESS = -math.log(1e-300)  # evidence that nothing reaches
_DEAREST = 1e100  # a price that is beyond all others, and not infinite


class GLRCOFState(NamedTuple):
    """The state of a GLR-COF run. Scalars that change are arrays of length one."""

    tally: Tally
    journal: Journal
    prices: NDArray[np.float64]  # costs above the least one, over what a unit of quality is worth
    keep: float  # 1 - alpha
    reference: int  # the arm that sets the bar, or -1
    level: float  # the fixed bar, or -1
    tolerance: float
    limit: float  # c: evidence that a conclusion takes
    concluding: bool  # whether pulls are made for a conclusion
    staked: bool  # whether pulls go by what is at stake
    proven: bool  # whether evidence is taken off for not knowing the means
    entry: float  # what each arm pays to take part in W; 0 with the practical threshold
    candidate: NDArray[np.int64]
    settled: NDArray[np.int64]
    target: NDArray[np.int64]  # the arm that is being pulled, and the pulls that it is brought to
    usable: NDArray[np.bool_]  # the arms that may be pulled now; whoever plans sets it
    planned_for: NDArray[np.bool_]  # those that might when the target was chosen


@inner
def conclude(state: Any, arms: Any) -> bool:
    """Draw the conclusions that the evidence allows; tell whether an arm has to be looked at first."""
    limit, keep, tolerance = state.limit, state.keep, state.tolerance
    while state.settled[0] == 0:
        candidate = state.candidate[0]
        if has_level(state):
            good = above_level(arms, candidate, state.level - tolerance) >= limit
            bad = below_level(arms, candidate, state.level) >= limit
        else:
            good = is_optimal(arms, candidate, keep, tolerance, limit)
            bad = not good and is_infeasible(arms, candidate, keep, state.entry, limit)
        if good:
            settle(state)
            state.target[1] = 0
        elif not bad:
            break
        else:
            rule_out(state)
            if has_to_look(state):
                return True
    return False


@inner
def chosen(state: Any, arms: Any) -> int:
    """Return the arm that is pulled by what is known and may be pulled now."""
    candidate = state.candidate[0]
    if has_level(state):
        return arm_under_level(arms, state.prices, candidate, state.level, state.limit)
    concluding = state.concluding and state.settled[0] == 0 and bool(state.usable[candidate])
    return arm_to_pull(
        arms,
        state.prices,
        candidate,
        reach(state) - 1,
        state.keep,
        state.tolerance,
        state.limit,
        concluding,
        state.staked,
    )


@compiled
def plan(state: Any, rng: Any) -> Batch:
    """Draw the conclusions, then bring one arm further by 1% of its pulls."""
    if state.settled[0] == 1 and state.usable[state.candidate[0]]:
        return Batch(single(state.candidate[0]), FOREVER)
    if has_to_look(state):
        return Batch(single(state.candidate[0]) if has_level(state) else not_looked_at(state), 1)
    arm = state.target[0]
    if decided(state, arm) < state.target[1] and same_usable(state):
        return Batch(single(arm), state.target[1] - decided(state, arm))
    arms = facts(state)
    if conclude(state, arms):
        return Batch(single(state.candidate[0]), 1)
    if state.settled[0] == 1 and state.usable[state.candidate[0]]:
        return Batch(single(state.candidate[0]), FOREVER)
    arm = chosen(state, arms)
    more = max(1, decided(state, arm) // GROWTH)
    state.target[0] = arm
    state.target[1] = decided(state, arm) + more
    for k in range(len(state.usable)):
        state.planned_for[k] = state.usable[k]
    return Batch(single(arm), more)


@dataclass(frozen=True)
class GLRCOF(Policy):
    """Cost-Ordered Feasibility with likelihood-ratio tests: far less regret than COF.

    With probability 1 - delta the optimal arm is never deemed infeasible, and no arm is settled on whose mean
    is below (1 - alpha) max(mu) - tolerance. So the arm that is settled on costs no more than the optimal
    one, and with tolerance 0 it is the optimal one. This is proved for ``threshold="proven"`` and any
    independent rewards in [0, 1]; for "practical" it is what simulations show.

    Parameters
    ----------
    delta
        Error tolerance in (0, 1). By default 1 / T. Without a horizon, with the goal "regret", no conclusion
        is drawn; the pulls are the same.
    tolerance
        An arm whose mean is within so much of the threshold counts as good enough, so that near-ties
        end. From 0 to 1.
    threshold
        Evidence that a conclusion takes: "practical" is log(1 / delta). "proven" is log(K / delta), and takes
        log(1 + pi n) / 2 off the evidence for each arm that has a part in it, and a little more off W; see
        the policies page of the docs.
    goal
        "regret": no pull is made for the sake of a conclusion. This has the least regret, but a conclusion
        may come late or not at all. "conclusion": pulls are made to reach one, at about twice the regret.
        Under a fixed level, which is cheap to come to a conclusion on, there is no difference.
    sampling
        What pulls go by where regret is the goal. "stakes": by what is at stake too. "first": the first rule
        of this policy, which fails in some runs; it is there to compare with, and for sessions that began
        with it.

    Examples
    --------
    >>> GLRCOF(delta=1e-6)
    GLRCOF(delta=1e-06, tolerance=0.0, threshold='practical', goal='regret', sampling='stakes')
    >>> GLRCOF(tolerance=-0.1)
    Traceback (most recent call last):
    ...
    frugalbandits.errors.InputError: tolerance must lie in [0, 1], but it is -0.1
    """

    title: ClassVar[str] = "Cost-Ordered Feasibility with likelihood-ratio tests (this package)"
    plan: ClassVar[Any] = staticmethod(plan)
    any_bar: ClassVar[bool] = True
    minds_absence: ClassVar[bool] = True

    delta: float | None = None
    tolerance: float = 0.0
    threshold: Literal["practical", "proven"] = "practical"
    goal: Literal["regret", "conclusion"] = "regret"
    sampling: Literal["stakes", "first"] = "stakes"

    def __post_init__(self) -> None:
        self.settings_checked(delta=check_delta(self.delta), tolerance=check_tolerance(self.tolerance))
        check_choice("threshold", self.threshold, ("practical", "proven"))
        check_choice("goal", self.goal, ("regret", "conclusion"))
        check_choice("sampling", self.sampling, ("stakes", "first"))

    def start(self, setting: Setting) -> GLRCOFState:
        arms = len(setting.costs)
        proven = self.threshold == "proven"
        fixed = setting.level >= 0
        return GLRCOFState(
            tally=new_tally(arms),
            journal=new_journal(arms, fixed),
            prices=_prices(setting),
            keep=setting.keep,
            reference=setting.reference,
            level=setting.level,
            tolerance=self.tolerance,
            limit=self._limit(setting),
            concluding=self.goal == "conclusion",
            staked=self.goal == "regret" and self.sampling == "stakes",
            proven=proven,
            entry=math.log(arms) if proven and setting.reference < 0 else 0.0,
            candidate=np.zeros(1, np.int64),
            settled=np.zeros(1, np.int64),
            target=np.zeros(2, np.int64),
            usable=np.ones(arms, np.bool_),
            planned_for=np.ones(arms, np.bool_),
        )

    def _limit(self, setting: Setting) -> float:
        if self.delta is not None:
            limit = -math.log(self.delta)
        elif setting.horizon is None and self.goal == "regret" and setting.level < 0:
            # No pull is made for a conclusion then, so how much evidence one takes changes nothing.
            limit = ENDLESS
        else:
            limit = math.log(self.needs_horizon(setting))
        if self.threshold == "proven":
            # Wrong conclusions are shared out among the arms; with a level there are twice as many kinds.
            limit += math.log(len(setting.costs) * (2 if setting.level >= 0 else 1))
        return limit

    def ranges(self, setting: Setting) -> Ranges:
        last = len(setting.costs) - 1
        return {
            "candidate": (0, last),
            "settled": (0, 1),
            "target": (0, [last, FOREVER]),
            "usable": (False, True),
            "planned_for": (False, True),
        }

    def made_anew(self, version: int) -> tuple[str, ...]:
        return ("usable", "planned_for") if version < 5 else ()

    @classmethod
    def restored(cls, settings: Mapping[str, Any]) -> GLRCOF:
        # Sessions from before there was a choice go on as they began.
        return cls(**{"sampling": "first", **settings})

    def decisions_to_conclude(self, setting: Setting) -> float | None:
        if self.goal == "regret" and setting.level < 0:
            return None
        # Alike and perfect, l is cleared by its own n pulls when n kl(1, keep - tolerance) reaches the limit.
        nearest = (setting.level if setting.level >= 0 else setting.keep) - self.tolerance
        arms = len(setting.costs) if setting.reference < 0 and setting.level < 0 else 1
        if nearest <= 0:
            return float(arms)
        return arms + self._limit(setting) / -math.log(nearest) if nearest < 1 else math.inf

    def bounds(self, state: GLRCOFState) -> Bounds:
        arms = facts(state)
        candidate, settled = int(state.candidate[0]), bool(state.settled[0])
        level = state.level if has_level(state) else None
        judge = judges(state)
        for i in np.flatnonzero(judge):
            evidence_for(arms, candidate, int(i), state.keep, state.tolerance)
        evidence = np.where(judge, [arm.evidence for arm in arms], np.nan)
        if level is not None:
            above = above_level(arms, candidate, level - state.tolerance)
            evidence[candidate] = max(above, below_level(arms, candidate, level))
        elif not settled:
            evidence[candidate] = evidence_against(arms, candidate, state.keep, state.entry)
        # Where no conclusion is drawn, the interval is that of the evidence of the moment.
        endless = state.limit >= ENDLESS
        width = math.log(max(sum(arm.pulls for arm in arms), math.e)) if endless else state.limit
        ends = [interval(arm.pulls, arm.total, width) for arm in arms]
        likely = _likely(state)
        status = statuses(state, evidence >= state.limit, np.zeros(len(arms), np.bool_))
        return Bounds(
            lower=np.array([low for low, _ in ends]),
            upper=np.array([high for _, high in ends]),
            status=status if likely < 0 else _by_likelihood(state, likely),
            candidate=candidate,
            evidence=evidence,
            needed=None if endless else state.limit,
            likely=likely,
        )

    def reason(self, state: GLRCOFState, arm: int) -> str:
        told = reason(state, arm)
        if told.startswith("first"):
            return told
        stands_in = "stands in: the best of the options that are available now"
        if (state.settled[0] or has_level(state)) and arm != state.candidate[0]:
            return stands_in
        likely = _likely(state)
        if likely < 0:
            return told
        if arm == likely:
            return "likely: the cheapest option that looks good enough"
        if not state.usable[likely] and arm == _likely(state, state.usable.tolist()):
            return stands_in
        return "in doubt: tells which option is good enough"


def _prices(setting: Setting) -> NDArray[np.float64]:
    """Return costs above the least one, over what a unit of quality is worth: the range of the costs."""
    cheapest, dearest = float(setting.costs[0]), float(setting.costs[-1])
    # Halves, because the range itself may be beyond the largest float.
    unit = dearest / 2 - cheapest / 2 if setting.worth is None else setting.worth / 2
    above = setting.costs / 2 - cheapest / 2
    return np.asarray(np.minimum(above / unit, _DEAREST)) if unit > 0 else np.zeros(len(setting.costs))


def _by_likelihood(state: GLRCOFState, likely: int) -> tuple[str, ...]:
    """Return the part that each arm plays where pulls go by what is likely."""
    candidate = int(state.candidate[0])

    def status(arm: int) -> str:
        if arm == likely:
            return "likely"
        if arm < candidate:
            return "infeasible"
        if arm < likely:
            return "candidate" if arm == candidate else "looks poor"
        return "costs more" if arm < reach(state) else "not needed"

    return tuple(status(k) for k in range(len(state.tally.pulls)))


def _likely(state: GLRCOFState, usable: Sequence[bool] | None = None) -> int:
    """Return the arm that looks optimal, of the usable ones where they are given.

    It is -1 where pulls follow the candidate, not all arms were seen, or none looks good enough. In plain
    Python, for speed: a session asks for a reason at every plan.
    """
    if state.concluding or state.settled[0] or has_level(state):
        return -1
    last = reach(state)
    counts = state.tally.pulls[:last].tolist()
    if not all(counts):
        return -1
    means = [total / pulls for total, pulls in zip(state.tally.sums[:last].tolist(), counts, strict=True)]
    start = int(state.candidate[0])
    bar = state.keep * (means[state.reference] if state.reference >= 0 else max(means[start:]))
    able = usable or [True] * last
    return next((k for k in range(start, last) if able[k] and means[k] >= bar), -1)
