"""VOI-CS: pull what answers the question that is worth most for its price, or the arm with the least regret.

`rule` has the questions and what they are worth, `view` what is looked at, `core.past` what of the past
counts. There is no candidate, no first round and no conclusion: every plan is made of counts and sums alone.
So an arm may come or go, cost more or less, or be out of reach for a call, and the next plan is right again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contract import (
    FOREVER,
    Batch,
    Bounds,
    Journal,
    Policy,
    Question,
    Ranges,
    Setting,
    new_journal,
    single,
)
from frugalbandits.core.jit import compiled, inner
from frugalbandits.core.likelihood import interval
from frugalbandits.core.past import Past, fading, fold, new_past, past_ranges
from frugalbandits.core.policies.looking import decided, flags, numbers
from frugalbandits.core.policies.voi_cs.rule import AGAIN, FOR_JUDGE, LEADER, choose
from frugalbandits.core.policies.voi_cs.view import arranged, balance, by_price, priced
from frugalbandits.core.tally import Bills, Tally, new_bills, new_tally

__all__ = ["VOICS", "VOICSState"]

GROWTH = 100  # a batch is one part in so many of the arm's decisions
ENDLESS = 2.0  # without a horizon, so many times the pulls so far are to come
KNOWN = 200  # rewards of the leader that are wanted in any case
SAMPLED = 0.05  # and the share of its decisions of which they are wanted after that


class VOICSState(NamedTuple):
    """The state of a VOI-CS run. Scalars that change are arrays of length one."""

    tally: Tally
    journal: Journal
    usable: NDArray[np.bool_]
    bills: Bills
    past: Past
    wanted: NDArray[np.int64]
    costs: NDArray[np.float64]  # as they were given
    prices: NDArray[np.float64]  # the same scaled by what a unit of quality is worth, less the least
    keep: float  # 1 - alpha
    reference: int  # the arm that sets the bar, or -1
    level: float  # the fixed bar, or -1
    worth: float  # of a unit of quality; 0: the range of the costs
    judging: float  # the price of feedback, scaled as prices are
    learning: bool  # whether costs are learned
    horizon: float  # or 0
    target: NDArray[np.int64]  # the arm that is being pulled, and the decisions that it is brought to
    begun: NDArray[np.int64]  # decisions for that arm when it was planned
    skipped: NDArray[np.int64]  # decisions of which no feedback was wanted
    question: NDArray[np.int64]  # what the batch is for, the arm in question, its judge, the leader
    stakes: NDArray[np.float64]  # what the answer saves a pull, what a pull costs, and the worth of asking


@inner
def close_batch(state: Any, counts: Any) -> None:
    """Count the decisions of the last batch if no feedback on them was wanted."""
    arm = state.target[0]
    if state.wanted[0] == 0:
        state.skipped[arm] += max(counts[arm] - state.begun[0], 0)
    state.begun[0] = counts[arm]


@inner
def is_wanted(what: int, held: float, told: int, decisions: int) -> bool:
    """Tell whether feedback on a batch is worth a judgement: always where it is asked for."""
    return what != LEADER or held < KNOWN or told < SAMPLED * decisions


@compiled
def plan(state: Any, rng: Any) -> Batch:
    """Bring one arm further by 1% of its decisions: the one that tells most for its price."""
    tally = state.tally
    counts = decided(tally)
    arm = state.target[0]
    if counts[arm] < state.target[1] and state.usable[arm]:
        return Batch(single(arm), state.target[1] - counts[arm])
    close_batch(state, counts)
    arms = len(counts)
    time = 0.0
    for k in range(arms):
        time += counts[k]
    fold(state.past, tally, time)
    handed, whole, share = balance(tally, state.past, state.skipped, counts)
    prices = priced(state, counts)
    order = by_price(prices)
    held, usable, judges = numbers(state.past.pulls), flags(arms), flags(arms)
    clock = 0.0
    for place in range(arms):
        k = order[place]
        usable[place] = state.usable[k]
        judges[place] = state.reference < 0 or k == state.reference
        clock += whole[k]
    base = ENDLESS * max(clock, 1.0)
    if state.horizon > 0:
        base = max((state.horizon - time) * share, 1.0)
    rate = fading(state.past, time)
    if rate > 0:
        base = min(base, share / rate)
    choice = choose(
        arranged(held, order),
        arranged(numbers(state.past.sums), order),
        arranged(handed, order),
        arranged(whole, order),
        arranged(prices, order),
        usable,
        judges,
        state.keep,
        state.level,
        base,
        state.judging,
    )
    arm = order[choice.arm]
    state.question[0] = choice.what
    state.question[1] = order[choice.subject]
    state.question[2] = order[choice.judge] if choice.judge >= 0 else -1
    state.question[3] = order[choice.leader]
    state.stakes[0], state.stakes[1], state.stakes[2] = choice.gain, choice.price, choice.worth
    state.wanted[0] = 1 if is_wanted(choice.what, held[arm], tally.pulls[arm], counts[arm]) else 0
    more = max(1, counts[arm] // GROWTH)
    state.target[0] = arm
    state.target[1] = counts[arm] + more
    state.begun[0] = counts[arm]
    return Batch(single(arm), more)


@dataclass(frozen=True)
class VOICS(Policy):
    """Value of information: ask the question that is worth most for its price, while one is worth it.

    It draws no conclusion and needs no horizon. Nothing about its regret is proved; the policies page of the
    docs has what can be argued and what was measured.

    Examples
    --------
    >>> VOICS()
    VOICS()
    """

    title: ClassVar[str] = "Value of information for cost subsidies (this package)"
    plan: ClassVar[Any] = staticmethod(plan)
    any_bar: ClassVar[bool] = True
    concludes: ClassVar[bool] = False
    minds_absence: ClassVar[bool] = True
    learns_costs: ClassVar[bool] = True
    forgets: ClassVar[bool] = True
    wants: ClassVar[bool] = True

    def start(self, setting: Setting) -> VOICSState:
        arms = len(setting.costs)
        cheapest, dearest = float(setting.costs[0]), float(setting.costs[-1])
        # Halves, because the range itself may be beyond the largest float.
        span = setting.worth / 2 if setting.worth is not None else dearest / 2 - cheapest / 2
        scaled = (setting.costs / 2 - cheapest / 2) / span if span > 0 else np.zeros(arms)
        return VOICSState(
            tally=new_tally(arms),
            journal=new_journal(arms),
            usable=np.ones(arms, np.bool_),
            bills=new_bills(arms),
            past=new_past(arms, setting.memory),
            wanted=np.ones(1, np.int64),
            costs=setting.costs.astype(np.float64),
            prices=scaled,
            keep=setting.keep,
            reference=setting.reference,
            level=setting.level,
            worth=0.0 if setting.worth is None else float(setting.worth),
            judging=setting.judge_price / 2 / span if span > 0 else 0.0,
            learning=bool(setting.learn_costs),
            horizon=0.0 if setting.horizon is None else float(setting.horizon),
            target=np.zeros(2, np.int64),
            begun=np.zeros(1, np.int64),
            skipped=np.zeros(arms, np.int64),
            question=np.zeros(4, np.int64),
            stakes=np.zeros(3),
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
            "target": (0, [arms - 1, FOREVER]),
            "begun": (0, 2**53),
            "skipped": (0, 2**53),
            "question": ([0, 0, -1, 0], [AGAIN, arms - 1, arms - 1, arms - 1]),
            "stakes": (-most, math.inf),
        }

    def bounds(self, state: VOICSState) -> Bounds:
        arms = len(state.costs)
        pulls, sums = (state.past.pulls, state.past.sums) if state.past.told.any() else _tallied(state)
        width = math.log(max(float(pulls.sum()), math.e))
        ends = [interval(n, s, width) for n, s in zip(pulls.tolist(), sums.tolist(), strict=True)]
        planned = bool(state.target[1])
        what, subject, against, leader = state.question.tolist()
        gain, price, worth = state.stakes.tolist()
        question = None
        if planned and what != LEADER:
            question = Question(subject, against, int(state.target[0]), gain, price, worth, what == AGAIN)

        def status(arm: int) -> str:
            if not state.usable[arm]:
                return "not available"
            if not planned:
                return "new"
            if arm == leader:
                return "leader"
            if question is not None and arm == subject:
                return "in question"
            return "looks poor" if arm < leader else "costs more"

        return Bounds(
            lower=np.array([low for low, _ in ends]),
            upper=np.array([high for _, high in ends]),
            status=tuple(status(k) for k in range(arms)),
            candidate=leader if planned else -1,
            likely=leader if planned else -1,
            question=question,
        )

    def reason(self, state: VOICSState, arm: int) -> str:
        what, subject, _, _ = state.question.tolist()
        gain, price, _ = state.stakes.tolist()
        if what == LEADER:
            return "leader: the least expected regret, and no question is worth its price"
        deal = f"worth {gain:.2g} a decision, costs {price:.2g}"
        if what == FOR_JUDGE:
            if arm == subject:
                return f"question: is the leader good enough? ({deal})"
            return f"question: is the leader good enough for this one? ({deal})"
        if arm == subject:
            again = "again: " if what == AGAIN else ""
            return f"question: {again}is this option good enough? ({deal})"
        return f"question: is another option good enough for this one? ({deal})"


def _tallied(state: VOICSState) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return state.tally.pulls.astype(np.float64), state.tally.sums
