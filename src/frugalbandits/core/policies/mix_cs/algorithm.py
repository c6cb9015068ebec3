"""MIX-CS: hold the average quality at the bar, at the least cost, by a mix of two arms.

`rule` has what is pulled and why, `hull` the cheapest mix. There is no conclusion: every plan is made of
counts and sums, so an arm may come or go, cost more or less, or be out of reach for a call.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contract import (
    FOREVER,
    QUERIES,
    Average,
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
from frugalbandits.core.past import Past, fold, new_past, past_ranges
from frugalbandits.core.policies.looking import decided, floats, hoped_costs, numbers
from frugalbandits.core.policies.mix_cs.hull import STEEPEST, cheapest_pair
from frugalbandits.core.policies.mix_cs.rule import (
    ALONE,
    BEST,
    DEAR,
    EVIDENCE,
    LOOK,
    bar_of,
    believe,
    choose,
    debt_of,
)
from frugalbandits.core.tally import Bills, Tally, new_bills, new_tally

__all__ = ["MixCS", "MixCSState"]

PRECISE = 0.01  # feedback is wanted until the mean of an arm of the mix is known to this part of the bar
GROWTH = 1_000  # a batch is one part in so many of the arm's decisions
SAMPLED = 0.05  # and of this share of its decisions after that


class MixCSState(NamedTuple):
    """The state of a MIX-CS run. Scalars that change are arrays of length one."""

    tally: Tally
    journal: Journal
    usable: NDArray[np.bool_]
    bills: Bills
    past: Past
    wanted: NDArray[np.int64]
    aside: NDArray[np.int64]  # rewards of uses that were no decisions: the average is not held over them
    costs: NDArray[np.float64]  # as they were given
    prices: NDArray[np.float64]  # the same over their range, the least at 0 or above
    keep: float  # 1 - alpha
    reference: int  # the arm that sets the bar, or -1
    level: float  # the fixed bar, or -1
    learning: bool  # whether costs are learned
    target: NDArray[np.int64]  # the arm that is being pulled, and the decisions that it is brought to
    begun: NDArray[np.int64]  # decisions for that arm when it was planned
    skipped: NDArray[np.int64]  # decisions of which no feedback was wanted
    last: NDArray[np.int64]  # what the last plan was for, and the cheap and the dear arm of the mix
    mix: NDArray[np.float64]  # the dear arm's share, what more quality costs there, the bar, the debt


@inner
def priced(state: Any, counts: Any) -> Any:
    """Return the price of each arm over the range of prices."""
    if not state.learning:
        return numbers(state.prices)
    prices, span = hoped_costs(state.costs, state.bills, counts)
    for k in range(len(prices)):
        prices[k] = prices[k] / span if span > 0 else 0.0
    return prices


@inner
def feedback(tally: Any, skipped: Any) -> tuple[Any, float]:
    """Return the feedback that was wanted and is still out, by arm, and the share of feedback that comes."""
    arms = len(tally.pulls)
    pulls, pending, lost, unwanted = (
        numbers(tally.pulls),
        numbers(tally.pending),
        numbers(tally.lost),
        numbers(skipped),
    )
    out = floats(arms)
    told, missed = 0.0, 0.0
    for k in range(arms):
        out[k] = min(max(pending[k] + lost[k] - unwanted[k], 0.0), pending[k])
        told += pulls[k]
        missed += max(lost[k] - unwanted[k], 0.0)
    return out, told / (told + missed) if told > 0 else 1.0


@inner
def held_over(tally: Any, held: Any, aside: Any, counts: Any) -> Any:
    """Return the decisions for each arm that the average is held over.

    What was dropped or faded of the past takes the decisions of that time with it.
    """
    pulls, apart = numbers(tally.pulls), numbers(aside)
    found = floats(len(counts))
    for k in range(len(counts)):
        part = held[k] / pulls[k] if pulls[k] > 0 else 1.0
        found[k] = max(counts[k] - apart[k], 0.0) * part
    return found


@inner
def is_wanted(what: int, held: float, mean: float, bar: float, told: int, decisions: int) -> bool:
    """Tell whether feedback on a batch is worth a judgement: always where it is for that."""
    if what in (LOOK, EVIDENCE) or told < SAMPLED * decisions:
        return True
    return 4.0 * (mean * (1.0 - mean) + 0.5 / (held + 1.0)) > held * (PRECISE * bar) ** 2


@compiled
def plan(state: Any, rng: Any) -> Batch:
    """Pull one arm, for 0.1% of its decisions where these are many."""
    tally = state.tally
    counts = decided(tally)
    arm = state.target[0]
    if counts[arm] < state.target[1] and state.usable[arm]:
        return Batch(single(arm), state.target[1] - counts[arm])
    if state.wanted[0] == 0:
        state.skipped[arm] += max(counts[arm] - state.begun[0], 0)
    time = 0.0
    for k in range(len(counts)):
        time += counts[k]
    fold(state.past, tally, time)
    held, sums = numbers(state.past.pulls), numbers(state.past.sums)
    out, share = feedback(tally, state.skipped)
    choice = choose(
        held,
        sums,
        out,
        counts,
        held_over(tally, held, state.aside, counts),
        share,
        priced(state, counts),
        state.usable,
        state.keep,
        state.reference,
        state.level,
        rng,
    )
    arm = choice.arm
    state.last[0], state.last[1], state.last[2] = choice.what, choice.pair.low, choice.pair.high
    state.mix[0], state.mix[1] = choice.pair.share, choice.pair.slope
    state.mix[2], state.mix[3] = choice.bar, choice.debt
    mean = min(sums[arm] / held[arm], 1.0) if held[arm] > 0 else 0.5
    wanted = is_wanted(choice.what, held[arm], mean, choice.bar, tally.pulls[arm], counts[arm])
    state.wanted[0] = 1 if wanted else 0
    more = max(1, counts[arm] // GROWTH)
    state.target[0], state.target[1] = arm, counts[arm] + more
    state.begun[0] = counts[arm]
    return Batch(single(arm), more)


@dataclass(frozen=True)
class MixCS(Policy):
    """Hold the average quality at the bar, at the least cost, by a mix of two options.

    Its promise is on the average over all decisions, not on each option: see the docs on mixing. It needs no
    horizon and draws no conclusion. Nothing about relative bars is proved; the docs have what was measured.

    Examples
    --------
    >>> MixCS().promise
    'queries'
    """

    title: ClassVar[str] = "Cheapest mix of two options at the bar on average (this package)"
    plan: ClassVar[Any] = staticmethod(plan)
    any_bar: ClassVar[bool] = True
    concludes: ClassVar[bool] = False
    randomised: ClassVar[bool] = True
    minds_absence: ClassVar[bool] = True
    learns_costs: ClassVar[bool] = True
    forgets: ClassVar[bool] = True
    wants: ClassVar[bool] = True
    promise: ClassVar[str] = QUERIES

    def start(self, setting: Setting) -> MixCSState:
        arms = len(setting.costs)
        # Halves, because the range itself may be beyond the largest float.
        cheapest, dearest = float(setting.costs[0]) / 2, float(setting.costs[-1]) / 2
        span = dearest - cheapest
        scaled = (setting.costs / 2 - min(cheapest, 0.0)) / span if span > 0 else np.zeros(arms)
        return MixCSState(
            tally=new_tally(arms),
            journal=new_journal(arms),
            usable=np.ones(arms, np.bool_),
            bills=new_bills(arms),
            past=new_past(arms, setting.memory),
            wanted=np.ones(1, np.int64),
            aside=np.zeros(arms, np.int64),
            costs=setting.costs.astype(np.float64),
            prices=scaled,
            keep=setting.keep,
            reference=setting.reference,
            level=setting.level,
            learning=bool(setting.learn_costs),
            target=np.zeros(2, np.int64),
            begun=np.zeros(1, np.int64),
            skipped=np.zeros(arms, np.int64),
            last=np.zeros(3, np.int64),
            mix=np.zeros(4),
        )

    def ranges(self, setting: Setting) -> Ranges:
        arms = len(setting.costs)
        most = float(2**53)
        return {
            "usable": (False, True),
            "bills.counts": (0, 2**53),
            "bills.sums": (0.0, 1e300),
            "bills.carry": (-1e290, 1e290),
            "bills.squares": (0.0, math.inf),
            "bills.squares_carry": (-math.inf, math.inf),
            **past_ranges(arms),
            "wanted": (0, 1),
            "aside": (0, 2**53),
            "target": (0, [arms - 1, FOREVER]),
            "begun": (0, 2**53),
            "skipped": (0, 2**53),
            "last": (0, [BEST, arms - 1, arms - 1]),
            "mix": ([0.0, 0.0, 0.0, -most], [1.0, STEEPEST, 1.0, most]),
        }

    def contradiction(self, state: MixCSState) -> str | None:
        if (state.aside > state.tally.pulls).any():
            return f"{state.aside.tolist()} rewards are of no decision, of {state.tally.pulls.tolist()}"
        return None

    def bounds(self, state: MixCSState) -> Bounds:
        pulls, sums = _held(state)
        width = math.log(max(sum(pulls), math.e))
        ends = [interval(n, s, width) for n, s in zip(pulls, sums, strict=True)]
        average = self._average(state, pulls, sums)

        def status(arm: int) -> str:
            if not state.usable[arm]:
                return "not available"
            if not average.reached:
                return "best" if arm == average.high else "looks poor"
            if arm in (average.low, average.high):
                return "in the mix" if average.low != average.high else "good enough alone"
            return "not in the mix"

        return Bounds(
            lower=np.array([low for low, _ in ends]),
            upper=np.array([high for _, high in ends]),
            status=tuple(status(k) for k in range(len(ends))),
            candidate=-1,
            average=average,
        )

    def _average(self, state: MixCSState, pulls: list[float], sums: list[float]) -> Average:
        """Return where it stands by what is known now, which may be more than at the last plan."""
        counts = decided(state.tally)
        beliefs = believe(pulls, sums, float(sum(counts)))
        bar = bar_of(pulls, state.keep, state.reference, state.level, beliefs)
        prices = priced(state, counts)
        pair = cheapest_pair(beliefs.mean, prices, state.usable, bar)
        over = np.array(held_over(state.tally, pulls, state.aside, counts))
        judged = over * (np.array(pulls) > 0)
        share = judged / judged.sum() if judged.any() else judged
        return Average(
            decided=over,
            quality=float(share @ np.array(beliefs.mean)) if judged.any() else math.nan,
            error=float(np.sqrt((share**2) @ np.square(beliefs.error))),
            bar=float(bar),
            debt=float(debt_of(pulls, over, beliefs.mean, bar)),
            low=pair.low,
            high=pair.high,
            share=float(pair.share),
            slope=float(pair.slope),
            reached=pair.reached,
        )

    def reason(self, state: MixCSState, arm: int) -> str:
        what, bar = int(state.last[0]), float(state.mix[2])
        if what == LOOK:
            return "first looks at every option"
        if what == EVIDENCE:
            return f"evidence: how high is the bar? It looks like {bar:.3g}"
        if what == BEST:
            return f"no option seems to reach {bar:.3g}: the most promising one"
        if what == ALONE:
            return "good enough by itself, and no mix is cheaper"
        if what == DEAR:
            return f"the dear option of the mix: the average is short of {bar:.3g}"
        return f"the cheap option of the mix: the average is at {bar:.3g}"


def _held(state: MixCSState) -> tuple[list[float], list[float]]:
    """Return pulls and sums that count still: all that was told, but of arms of which some was dropped."""
    past, tally = state.past, state.tally
    pulls = np.where(past.cut, past.pulls, tally.pulls.astype(np.float64))
    return pulls.tolist(), np.where(past.cut, past.sums, tally.sums).tolist()
