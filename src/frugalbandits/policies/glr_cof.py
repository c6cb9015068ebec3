"""GLR-COF: the episodes of Cost-Ordered Feasibility with likelihood-ratio tests and sampling by regret.

As in COF, candidates are evaluated from cheapest to most expensive. Three things differ:

- The tests of `glr_tests` replace separate confidence bounds: Z_i >= c clears arm i, W >= c deems the
  candidate infeasible. `threshold` says what c is.
- One arm is pulled at a time, and the evidence that pulls are spent on is that of the moment: at time t,
  log(t / n) for an arm of n pulls, as in IMED (Honda and Takemura, 2015). What is likely with
  probability exp(-Z) is worth about t exp(-Z) pulls; more would cost more than being wrong does.
- A batch is 1% of the arm's pulls, so the number of plans grows with the logarithm of the horizon.

So the episodes are gone through once more in thought, from the candidate on: l is the first arm with
W < log(t / n_l), its gating arms are those with Z_i < log(t / n_i), and if there is none, l is pulled. This
is without tolerance and penalties, which are for conclusions. Only where a delta was given are pulls made
to reach a conclusion at it: then l is the candidate and c is the evidence in place of log(t / n).

With gating arms, l or one of them is pulled: the one that promises to settle l at the least regret, in the
ratio in which the two settle it at the least regret. The estimated regret of a pull is
w_k = (c_k - c_b)^+ + (bar - m_k)^+, with costs scaled to their range, bar = (1 - alpha) max m, and b the
cheapest arm from l on with m_b >= bar; w_l has no cost. To tell two normal arms apart whose means differ
by d takes a certain n_l n_i / (n_l + n_i) * d^2. The regret w_l n_l + w_i n_i is then least at
n_l / n_i = r = sqrt(w_i / w_l), and is w_l (1 + r)^2 / d^2 times that. So

- r, kept within 1/4 and 32, is the ratio of pulls; an l that looks feasible costs nothing and has the
  greatest;
- the gating arm with the greatest (u_i - m_l / (1 - alpha))^2 / (1 + r_i)^2 is taken, where u_i is an upper
  bound of its mean, so that an arm with an unlucky start is found out; it is the mean itself where b is
  good enough for the arm beyond doubt;
- an arm that may be b, had two more pulls paid 1, is pulled first: which pulls are regretted hangs on it.

Relative to one arm in place of the best, that arm is the only one that gates, and bar = (1 - alpha) times its
mean. Under a fixed level the candidate is pulled alone: `episodes` has the order of things.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.compiled import compiled, inlined, inner
from frugalbandits.errors import InputError
from frugalbandits.policies.base import (
    FOREVER,
    Batch,
    Bounds,
    Journal,
    Policy,
    Setting,
    Tally,
    check_delta,
    check_tolerance,
    handed,
    mean,
    new_journal,
    new_tally,
    single,
)
from frugalbandits.policies.episodes import (
    has_level,
    is_judge,
    judges,
    reach,
    reason,
    rule_out,
    settle,
    statuses,
    unseen_arms,
)
from frugalbandits.policies.glr_tests import (
    ARM,
    above_level,
    below_level,
    evidence_against,
    evidence_for,
    evidence_of_one,
    interval,
    penalty,
)

__all__ = ["GLRCOF", "GLRCOFState"]

LEAST_RATIO = 1 / 4
GREATEST_RATIO = 32.0
GROWTH = 100  # a batch is one part in so many of the arm's pulls
DOUBT = 2.0  # pulls that might have paid 1


class GLRCOFState(NamedTuple):
    """The state of a GLR-COF run. Scalars that change are arrays of length one."""

    tally: Tally
    journal: Journal
    prices: NDArray[np.float64]  # costs, scaled to their range
    keep: float  # 1 - alpha
    reference: int  # the arm that sets the bar, or -1
    level: float  # the fixed bar, or -1
    tolerance: float
    limit: float  # c: evidence that a conclusion takes
    concluding: bool  # whether pulls are made for a conclusion: delta was given
    proven: bool  # whether evidence is taken off for not knowing the means
    entry: float  # what each arm pays to take part in W; 0 with the practical threshold
    candidate: NDArray[np.int64]
    settled: NDArray[np.int64]
    target: NDArray[np.int64]  # the arm that is being pulled, and the pulls that it is brought to


@inner
def facts(state: Any) -> Any:
    """Return a record for each arm: all that the tests look at."""
    tally = state.tally
    arms = np.zeros(len(tally.pulls), ARM)
    for k in range(len(arms)):
        arms[k].pulls = tally.pulls[k]
        arms[k].total = tally.sums[k]
        arms[k].judge = is_judge(state, k)
        if state.proven:
            arms[k].penalty = penalty(arms[k].pulls)
    return arms


@inner
def least_evidence(state: Any, arms: Any) -> float:
    """Set Z_i of every judge that costs more and return the least; no judge: no limit."""
    candidate = state.candidate[0]
    if has_level(state):
        return above_level(arms, candidate, state.level - state.tolerance)
    least = np.inf
    for i in range(candidate + 1, len(arms)):
        if arms[i].judge:
            evidence_for(arms, candidate, i, state.keep, state.tolerance)
            least = min(least, arms[i].evidence)
    return least


@inner
def counter_evidence(state: Any, arms: Any) -> float:
    """Return W."""
    candidate = state.candidate[0]
    if has_level(state):
        return below_level(arms, candidate, state.level)
    return evidence_against(arms, candidate, state.keep, state.entry)


@inlined
def upper_bound(state: Any, arm: int, level: float) -> float:
    """Upper end of Wilson's interval, at the pulls handed out and the mean so far."""
    m = mean(state, arm)
    if m >= 1:
        return 1.0
    part = level / handed(state, arm)
    return (m + part + math.sqrt(part * (2 * m * (1 - m) + part))) / (1 + 2 * part)


@inlined
def regret_ratio(loss: float, price: float, gap: float) -> float:
    """Return r = sqrt(w_i / w_l) within its limits."""
    regret = max(price, 0.0) + max(gap, 0.0)
    if loss > 0:
        return min(max(math.sqrt(regret / loss), LEAST_RATIO), GREATEST_RATIO)
    return GREATEST_RATIO if regret > 0 else 1.0


@inlined
def enough(state: Any, arm: int, time: int) -> float:
    """Return the evidence beyond which an arm is not worth a pull now."""
    return state.limit if state.concluding else math.log(time / handed(state, arm))


@inner
def set_evidence(state: Any, arms: Any, candidate: int) -> None:
    """Set Z_i of every judge that costs more, as sampling sees it."""
    for i in range(candidate + 1, len(arms)):
        if arms[i].judge:
            evidence_for(arms, candidate, i, state.keep, state.tolerance if state.concluding else 0.0)


@inner
def surely_good(state: Any, arms: Any) -> int:
    """Return the judge whose mean is high for sure."""
    found = state.candidate[0]
    most = -np.inf
    for k in range(len(arms)):
        if arms[k].judge and arms[k].pulls > 0:
            low = mean(state, k) - 1 / math.sqrt(arms[k].pulls)
            if low > most:
                found, most = k, low
    return found


@inner
def first_in_doubt(state: Any, arms: Any, time: int) -> int:
    """Return the arm l whose episode it would be by the evidence of the moment, and set Z_i."""
    candidate = state.candidate[0]
    if not state.concluding:
        for k in range(len(arms)):
            arms[k].penalty = 0.0
        witness = surely_good(state, arms)
        while candidate + 1 < reach(state):
            level = enough(state, candidate, time)
            # Mostly one arm shows it: a shortcut that changes nothing.
            shown = evidence_of_one(arms, candidate, witness, state.keep) >= level
            if not shown and evidence_against(arms, candidate, state.keep, 0.0) < level:
                break
            candidate += 1
    set_evidence(state, arms, candidate)
    return candidate


@inner
def next_arm(state: Any, arms: Any) -> int:
    """Return the arm to pull: l, the gating arm that promises most, or one in doubt."""
    if has_level(state):
        return state.candidate[0]
    time = 0
    for k in range(len(arms)):
        time += handed(state, k)
    candidate = first_in_doubt(state, arms, time)
    gating = np.zeros(len(arms), np.bool_)
    best = mean(state, candidate) if arms[candidate].judge else 0.0
    for i in range(candidate + 1, len(arms)):
        if arms[i].judge:
            gating[i] = arms[i].evidence < enough(state, i, time)
            best = max(best, mean(state, i))
    if not gating.any():
        return candidate
    bar = state.keep * best
    b = candidate
    while mean(state, b) < bar:
        # In doubt: two more pulls might have shown it to be good enough.
        if b > candidate and arms[b].total + DOUBT >= bar * (handed(state, b) + DOUBT):
            return b
        b += 1
    if b > candidate:
        set_evidence(state, arms, b)
    loss = max(bar - mean(state, candidate), 0.0)
    floor = mean(state, candidate) / state.keep
    partner = candidate
    most = -np.inf
    ratio = 1.0
    for i in range(candidate + 1, len(arms)):
        if gating[i]:
            level = enough(state, i, time)
            doubted = i <= b or arms[i].evidence < level
            lead = (upper_bound(state, i, level) if doubted else mean(state, i)) - floor
            r = regret_ratio(loss, state.prices[i] - state.prices[b], bar - mean(state, i))
            promise = lead * abs(lead) / ((1 + r) * (1 + r))
            if promise > most:
                partner, most, ratio = i, promise, r
    return candidate if handed(state, candidate) < ratio * handed(state, partner) else partner


@compiled
def plan(state: Any, rng: Any) -> Batch:
    """Draw the conclusions, then bring one arm further by 1% of its pulls."""
    arms = np.zeros(0, ARM)
    while True:
        unseen = unseen_arms(state)
        if len(unseen) > 0:
            return Batch(unseen, 1)
        if state.settled[0] == 1:
            return Batch(single(state.candidate[0]), FOREVER)
        arm = state.target[0]
        if handed(state, arm) < state.target[1]:
            return Batch(single(arm), state.target[1] - handed(state, arm))
        if len(arms) == 0:
            arms = facts(state)
        if least_evidence(state, arms) >= state.limit:
            settle(state)
        elif counter_evidence(state, arms) >= state.limit:
            rule_out(state)
        else:
            break
    arm = next_arm(state, arms)
    more = max(1, handed(state, arm) // GROWTH)
    state.target[0] = arm
    state.target[1] = handed(state, arm) + more
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
        Error tolerance in (0, 1). By default 1 / T, which needs a horizon, and no pull is made for the sake
        of a conclusion: this has the least regret, but a conclusion may come late or not at all. If given,
        pulls are made to reach one, at about twice the regret.
    tolerance
        An arm whose mean is within so much of the threshold counts as good enough, so that near-ties
        end. From 0 to 1.
    threshold
        Evidence that a conclusion takes: "practical" is log(1 / delta). "proven" is log(K / delta), and takes
        log(1 + pi n) / 2 off the evidence for each arm that has a part in it, and a little more off W; see
        the policies page of the docs.

    Examples
    --------
    >>> GLRCOF(delta=1e-6)
    GLRCOF(delta=1e-06, tolerance=0.0, threshold='practical')
    >>> GLRCOF(tolerance=-0.1)
    Traceback (most recent call last):
    ...
    frugalbandits.errors.InputError: tolerance must lie in [0, 1], but it is -0.1
    """

    title: ClassVar[str] = "Cost-Ordered Feasibility with likelihood-ratio tests (this package)"
    plan: ClassVar[Any] = staticmethod(plan)
    any_bar: ClassVar[bool] = True

    delta: float | None = None
    tolerance: float = 0.0
    threshold: Literal["practical", "proven"] = "practical"

    def __post_init__(self) -> None:
        check_delta(self.delta)
        check_tolerance(self.tolerance)
        if self.threshold not in ("practical", "proven"):
            raise InputError(f"threshold must be 'practical' or 'proven', but it is {self.threshold!r}")

    def start(self, setting: Setting) -> GLRCOFState:
        arms = len(setting.costs)
        limit = -math.log(1 / self.needs_horizon(setting) if self.delta is None else self.delta)
        proven = self.threshold == "proven"
        fixed = setting.level >= 0
        if proven:
            # Wrong conclusions are shared out among the arms; with a level there are twice as many kinds.
            limit += math.log(2 * arms if fixed else arms)
        cheapest, dearest = float(setting.costs[0]), float(setting.costs[-1])
        # Halves, because the range itself may be beyond the largest float.
        span = dearest / 2 - cheapest / 2
        scaled = (setting.costs / 2 - cheapest / 2) / span if span > 0 else np.zeros(arms)
        return GLRCOFState(
            tally=new_tally(arms),
            journal=new_journal(arms, fixed),
            prices=scaled,
            keep=setting.keep,
            reference=setting.reference,
            level=setting.level,
            tolerance=float(self.tolerance),
            limit=limit,
            concluding=self.delta is not None,
            proven=proven,
            entry=math.log(arms) if proven and setting.reference < 0 else 0.0,
            candidate=np.zeros(1, np.int64),
            settled=np.zeros(1, np.int64),
            target=np.zeros(2, np.int64),
        )

    def bounds(self, state: GLRCOFState) -> Bounds:
        arms = facts(state)
        candidate = int(state.candidate[0])
        least = least_evidence(state, arms)
        evidence = np.where(judges(state), arms["evidence"], np.nan)
        if not state.settled[0]:
            evidence[candidate] = counter_evidence(state, arms)
        if has_level(state):
            evidence[candidate] = max(least, 0.0 if state.settled[0] else evidence[candidate])
        ends = [interval(arm.pulls, arm.total, state.limit) for arm in arms]
        return Bounds(
            lower=np.array([low for low, _ in ends]),
            upper=np.array([high for _, high in ends]),
            status=statuses(state, evidence >= state.limit, np.zeros(len(arms), np.bool_)),
            candidate=candidate,
            evidence=evidence,
            needed=state.limit,
        )

    def reason(self, state: GLRCOFState, arm: int) -> str:
        told = reason(state, arm)
        if state.concluding or not told.startswith("gating"):
            return told
        means = [mean(state, k) for k in range(len(state.prices))]
        if arm == next(k for k, m in enumerate(means) if m >= state.keep * max(means)):
            return "likely: the cheapest option that looks good enough"
        return "in doubt: tells which option is good enough"
