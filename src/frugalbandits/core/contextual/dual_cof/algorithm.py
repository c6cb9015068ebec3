"""DualCOF: route each query by cost - lambda * quality, and move lambda until the average is at the bar.

Of each option a ridge model says what it is worth on a query (`model`). A query goes to the option with the
least c_k - lambda (m_k + s_k z_k / 2), z normal; lambda, the price of quality, rises while what is handed out
is below the bar, and falls while it is above. `bar` has where the bar is.

What is known of the propensity
    First the normal draws z are drawn, which fix the choice g of the rule. Then a coin, which knows neither
    the query nor g, gives the query to option k with probability e_k, the floor, and to g otherwise. Given
    the past, the query and z, option k is chosen with probability p_k = e_k + (1 - sum of e) [g = k].
    So E[[a = k] (r - m) / p_k] = mu_k(x) - m for every m that is fixed before the coin falls: the mean of
    m_k(x) + [a = k] (r - m_k(x)) / p_k is the mean quality of option k over queries, however wrong the model
    is (doubly robust). A query is weighed by e_k over the variance of rewards, both of them known before the
    coin falls; so e_k / p_k is at most 1. To average over z as well would be finer and need an integral; it
    would not be more right.

    When a reward is told, m_k(x) is computed with what is known by then, its own reward excepted. That is
    fixed before the coin as far as what came in between does not depend on it.

A fixed level
    Needs no bar, so no option is tried without need. What is missing of the level, by rewards as they are
    told, is an account. While it is above `TRUST` the models are not trusted: decisions are *blind*, for the
    option with the highest upper confidence bound over blind decisions, as long as that reaches the level.
    The theory page proves from this alone that the shortfall is bounded, whatever the models say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contextual.contract import Beliefs, Choice, ContextualPolicy, ContextualSetting
from frugalbandits.core.contextual.dual_cof.bar import TINY, look_around, variance
from frugalbandits.core.contextual.dual_cof.changes import carried_state, contradiction, widened_state
from frugalbandits.core.contextual.dual_cof.model import (
    add_to,
    fit_pool,
    means,
    scale,
    solve_all,
    spreads,
    take_in,
)
from frugalbandits.core.contextual.dual_cof.state import (
    ASKED,
    BAR,
    BAR_ERROR,
    BLIND,
    BLIND_SUM,
    CLOCK,
    DEBT,
    DRIFT,
    DUE,
    ERROR,
    ERRORS,
    FADED,
    FITTING,
    FLOOR,
    FORCE,
    HEARD,
    HIGH,
    LOW,
    MISSED,
    NOISE,
    PRICE,
    QUALITY,
    RATE,
    ROBUST,
    RUN,
    RUNS,
    SEEN,
    SPENT,
    SQUARES,
    SUM,
    TOLD,
    UPDATES,
    WEIGHT,
    DualCOFState,
    new_state,
)
from frugalbandits.core.contract import copied
from frugalbandits.core.jit import compiled, inner
from frugalbandits.core.likelihood import divergence

__all__ = ["DualCOF", "DualCOFState", "choose", "learn"]

Floats = NDArray[np.float64]

EXACT = 4096  # updates of rank one, after which inverses are computed anew
STEPS = (0.05, 0.5)  # of ln lambda for a unit of quality: at last, and at first
RECENT = 0.01  # the weight of the newest surprise in the recent mean of them
TRUST = 100.0  # units of quality that a fixed level may be missed by, in all, before models are not trusted
SERIES = 1.65  # at least the sum of 1 / n^2
DOUBT = 0.001  # the probability that an option which reaches the level is ever believed not to
REPAID = 5000.0  # decisions over which what is missing of the bar so far is made up for
TAKEN = 0.03  # at most by which the bar is raised for that; and lowered for what is more than was wanted
GIVEN = 0.01
FADES = 32  # the past fades in so many steps over the memory


@inner
def fade(state: Any) -> None:
    """Let what was seen count for less, where there is a memory."""
    numbers, arms = state.numbers, state.arms
    passed = numbers[CLOCK] - numbers[FADED]
    if state.memory == 0 or passed < max(state.memory // FADES, 1):
        return
    left = math.exp(-passed / state.memory)
    numbers[FADED] = numbers[CLOCK]
    scale(state.gram, left)
    scale(state.moments, left)
    scale(state.queries, left)
    for row in (TOLD, ERRORS, WEIGHT, ROBUST, ASKED, BLIND, BLIND_SUM, RUN, MISSED):
        scale(arms[row], left)
    for row in (NOISE, FORCE):  # squares of weights
        scale(arms[row], left * left)
    for entry in (SEEN, HEARD, SUM, SQUARES, SPENT):
        numbers[entry] *= left
    numbers[DUE] = 0.0
    solve_all(state)
    numbers[UPDATES] = 0.0


@inner
def tend(state: Any) -> None:
    """Do what is due before a query is looked at: fade, fit the prior, estimate the bar."""
    numbers = state.numbers
    fade(state)
    if numbers[CLOCK] >= numbers[FITTING] and numbers[SEEN] > 0.0:
        fit_pool(state, numbers[SEEN])
        solve_all(state)
        numbers[UPDATES] = 0.0
        numbers[FITTING] = max(math.floor(1.1 * numbers[CLOCK]), numbers[CLOCK] + 10.0)
    if numbers[HEARD] >= numbers[DUE]:
        look_around(state)
        numbers[DUE] = numbers[HEARD] + max(math.floor(numbers[HEARD] / 100.0), 1.0)


@inner
def blind_choice(state: Any, usable: Any) -> int:
    """Return the option to use where models are not trusted; -1 where they have to be."""
    if state.level < 0.0 or state.numbers[DEBT] < TRUST:
        return -1
    arms = state.arms
    best, highest = -1, -1.0
    for k in range(len(state.costs)):
        if usable[k] and may_reach(state, k):
            mean = arms[BLIND_SUM, k] / arms[BLIND, k] if arms[BLIND, k] > 0.0 else 1.0
            if mean > highest or (mean == highest and state.costs[k] < state.costs[best]):
                best, highest = k, mean
    return best


@inner
def doubt(state: Any, arm: int) -> float:
    """Return the evidence that it takes to believe that an option is below the level."""
    runs = state.arms[RUNS, arm] + 1.0
    return math.log(SERIES * (state.arms[RUN, arm] + 1.0) * runs * runs / DOUBT)


@inner
def may_reach(state: Any, arm: int) -> bool:
    """Tell whether blind decisions leave it open that an option's mean is at the level."""
    count, missed = state.arms[RUN, arm], state.arms[MISSED, arm]
    if missed <= 0.0:
        return True
    total = max(count * state.level - missed, 0.0)
    return divergence(count, total, state.level, 1.0 - state.level) <= doubt(state, arm)


@inner
def count_blind(state: Any, arm: int, reward: float) -> None:
    """Count a reward of a decision that did not look at the query."""
    arms = state.arms
    arms[BLIND, arm] += 1.0
    arms[BLIND_SUM, arm] += reward
    arms[RUN, arm] += 1.0
    arms[MISSED, arm] += state.level - reward
    if arms[MISSED, arm] <= 0.0:
        arms[RUN, arm], arms[MISSED, arm] = 0.0, 0.0
        arms[RUNS, arm] += 1.0


@compiled
def choose(state: Any, phi: Floats, costs: Floats, usable: Any, rng: Any) -> Choice:
    """Count a decision, and return which option takes this query with which propensity."""
    numbers, arms = state.numbers, state.arms
    tend(state)
    numbers[CLOCK] += 1.0
    numbers[SEEN] += 1.0
    add_to(state.queries[0], phi, 1.0)
    for j in range(len(phi)):
        state.queries[1, j] += phi[j] * phi[j]
    expected = means(state.theta, phi)
    spread = spreads(state.inverse, phi)
    options = len(expected)
    price = math.exp(numbers[PRICE])
    greedy, least, forced = -1, math.inf, 0.0
    for k in range(options):
        draw = rng.standard_normal()
        arms[FLOOR, k] = 0.0
        if usable[k]:
            hope = expected[k] + 0.5 * math.sqrt(variance(state, k) * max(spread[k], 0.0)) * draw
            score = costs[k] / state.unit - price * hope
            arms[FLOOR, k] = arms[RATE, k]
            forced += arms[FLOOR, k]
            if greedy < 0 or score < least:
                greedy, least = k, score
    coin = rng.random()
    arm = greedy
    blind = blind_choice(state, usable)
    propensity = 1.0
    if blind >= 0:
        arm = blind
    else:
        passed = 0.0
        for k in range(options):
            if usable[k]:
                passed += arms[FLOOR, k]
                if coin < passed:
                    arm = k
                    break
        propensity = min(arms[FLOOR, arm] + (1.0 - forced if arm == greedy else 0.0), 1.0 - TINY)
    arms[ASKED, arm] += 1.0
    numbers[SPENT] += costs[arm] / state.unit
    if numbers[HEARD] > 0.0 and blind < 0:
        step = max(STEPS[0], min(STEPS[1], 1.0 / math.sqrt(numbers[HEARD])))
        owed = (numbers[BAR] * numbers[HEARD] - numbers[SUM]) / REPAID
        missing = numbers[BAR] - expected[arm] - numbers[DRIFT] + min(max(owed, -GIVEN), TAKEN)
        numbers[PRICE] = min(max(numbers[PRICE] + step * missing, numbers[LOW]), numbers[HIGH])
    return Choice(arm, propensity, True)


@compiled
def learn(state: Any, phi: Floats, arm: int, propensity: float, reward: float) -> None:
    """Fold in one reward; a propensity of 0 marks a use that was no decision, and teaches the model alone."""
    numbers, arms = state.numbers, state.arms
    expected = means(state.theta, phi)
    surprise = reward - expected[arm]
    if propensity > 0.0:
        numbers[HEARD] += 1.0
        numbers[SUM] += reward
        numbers[SQUARES] += reward * reward
        numbers[DRIFT] += max(1.0 / numbers[HEARD], RECENT) * (surprise - numbers[DRIFT])
        for k in range(len(expected)):
            floor, noise = arms[FLOOR, k], variance(state, k)
            if floor > 0.0:
                weight = floor / noise
                arms[WEIGHT, k] += weight
                arms[ROBUST, k] += weight * expected[k]
                arms[FORCE, k] += weight * weight * noise / (propensity if k == arm else floor)
                if k == arm:
                    shock = weight / propensity * surprise
                    arms[ROBUST, k] += shock
                    arms[NOISE, k] += shock * shock
        if state.level >= 0.0:
            numbers[DEBT] = max(numbers[DEBT] + state.level - reward, 0.0)
            if propensity == 1.0:
                count_blind(state, arm, reward)
    arms[TOLD, arm] += 1.0
    arms[ERRORS, arm] += surprise * surprise
    take_in(state, arm, phi, reward)
    numbers[UPDATES] += 1.0
    if numbers[UPDATES] >= EXACT:
        solve_all(state)
        numbers[UPDATES] = 0.0


@dataclass(frozen=True)
class DualCOF(ContextualPolicy):
    """Route by cost - lambda * quality, with lambda moved until the average is at the bar.

    Under a fixed level the shortfall is bounded whatever the models say; relative bars are held as far as
    they are known, which is measured and not proved.

    Examples
    --------
    >>> DualCOF()
    DualCOF()
    """

    title: ClassVar[str] = "Dual routing with a doubly robust bar (this package)"
    choose: ClassVar[Any] = staticmethod(choose)
    learn: ClassVar[Any] = staticmethod(learn)

    def start(self, setting: ContextualSetting) -> DualCOFState:
        """Return the state before the first query."""
        return new_state(setting)

    def beliefs(self, state: DualCOFState) -> Beliefs:
        """Say where the bar is by now, what was reached, and how good each option is over all queries."""
        state = copied(state)
        look_around(state)
        numbers, arms = state.numbers.tolist(), state.arms
        bar, reach = numbers[BAR], 1.96 * numbers[BAR_ERROR]
        heard = max(numbers[HEARD], 1.0)
        mean = numbers[SUM] / heard
        error = 1.96 * math.sqrt(max(numbers[SQUARES] / heard - mean * mean, 0.25 / (heard + 1.0)) / heard)
        return Beliefs(
            bar=bar,
            bar_interval=(max(bar - reach, 0.0), min(bar + reach, 1.0)),
            quality=mean,
            quality_interval=(max(mean - error, 0.0), min(mean + error, 1.0)),
            price=math.exp(numbers[PRICE]) * state.unit,
            option_quality=arms[QUALITY].copy(),
            option_error=arms[ERROR].copy(),
        )

    def most_missing(self, state: DualCOFState, waiting: int = 1) -> float:
        """Return what may be missing of a fixed level at most, in any stretch of decisions told.

        It is in units of reward. At most `waiting` decisions were waiting for feedback at any time, the one
        told included. It holds whatever the models say, while an option is left that may reach the level; the
        theory page has the proof.
        """
        blind = 0.0
        for arm in range(len(state.costs)):
            blind += math.sqrt(0.5 * float(state.arms[RUN, arm]) * doubt(state, arm))
        return TRUST + (len(state.costs) + 1.0) * state.level * waiting + blind

    def reason(self, state: DualCOFState, arm: int, propensity: float) -> str:
        """Say whether the query was looked at, and what was weighed."""
        if propensity == 1.0:
            return "caution: the level was missed, so the query is not looked at"
        if propensity < 0.5:
            return "a trial: to know where the bar is, options are tried whatever the query"
        price = math.exp(float(state.numbers[PRICE])) * state.unit
        return f"the least of cost less {price:.4g} times the quality that is expected on this query"

    def range_of(self, setting: ContextualSetting) -> dict[str, tuple[float, float]]:
        """Return the ranges of the arrays that change."""
        much, most = 1e15, float(2**53)
        return {
            "inverse": (-much, much),
            "gram": (-much, much),
            "moments": (-much, much),
            "prior": (-much, much),
            "theta": (-much, much),
            "ridge": (1e-9, much),
            "queries": (-much, much),
            "arms": (-most, much),
            "numbers": (-most, most),
        }

    def contradiction(self, state: DualCOFState) -> str | None:
        """Say what in a stored state cannot be."""
        return contradiction(state)

    def widened(self, state: DualCOFState, width: int) -> DualCOFState:
        """Return the state with more segments, of which nothing was seen."""
        return widened_state(state, width)

    def carried(self, state: DualCOFState, setting: ContextualSetting, origin: list[int]) -> DualCOFState:
        """Return the state for other options or costs."""
        return carried_state(state, new_state(setting), origin)
