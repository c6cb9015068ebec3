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
    coin falls; so e_k / p_k is at most 1. The floors are those of the decision itself, however late its
    reward comes. To average over z as well would be finer and need an integral; it
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
from frugalbandits.core.contextual.dual_cof.bar import look_around, variance
from frugalbandits.core.contextual.dual_cof.caution import blind_choice, count_blind, doubt, trust
from frugalbandits.core.contextual.dual_cof.changes import (
    carried_state,
    contradiction,
    widened_state,
    without_floors,
    without_wishes,
)
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
    DARK,
    DEBT,
    DRIFT,
    DUE,
    ERROR,
    ERRORS,
    FADED,
    FITTING,
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
    SEEN,
    SPENT,
    SQUARES,
    STOOD,
    STOOD_SQUARES,
    SUM,
    TOLD,
    UPDATES,
    WANTED,
    WEIGHT,
    DualCOFState,
    new_state,
)
from frugalbandits.core.contextual.dual_cof.wanting import (
    TINY,
    UNWANTED,
    count_handed,
    count_told,
    owing,
    stands_for,
)
from frugalbandits.core.contract import copied
from frugalbandits.core.jit import compiled, inner

__all__ = ["DualCOF", "DualCOFState", "choose", "count", "learn"]

Floats = NDArray[np.float64]

EXACT = 4096  # updates of rank one, after which inverses are computed anew
STEPS = (0.05, 0.5)  # of ln lambda for a unit of quality: at last, and at first
RECENT = 0.01  # the weight of the newest surprise in the recent mean of them
MUCH = 5.0  # times that, at most, for one that stands for many
REPAID = 5000.0  # decisions over which what is missing of the bar so far is made up for
TAKEN = 0.03  # at most by which the bar is raised for that; and lowered for what is more than was wanted
GIVEN = 0.01
FADES = 32  # the past fades in so many steps over the memory


@inner
def fades(state: Any) -> bool:
    """Tell whether it is time for the past to fade."""
    passed = state.numbers[CLOCK] - state.numbers[FADED]
    return bool(state.memory != 0 and passed >= max(state.memory // FADES, 1))


@inner
def fits(state: Any) -> bool:
    """Tell whether it is time to fit the prior."""
    return bool(state.numbers[CLOCK] >= state.numbers[FITTING] and state.numbers[SEEN] > 0.0)


def is_due(state: Any) -> bool:
    """Tell whether something is to be done before a query is looked at."""
    return fades(state) or fits(state) or bool(state.numbers[HEARD] >= state.numbers[DUE])


@inner
def fade(state: Any) -> None:
    """Let what was seen count for less, where there is a memory."""
    numbers, arms = state.numbers, state.arms
    passed = numbers[CLOCK] - numbers[FADED]
    if not fades(state):
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
    for entry in (SEEN, HEARD, STOOD, SUM, SQUARES, SPENT):
        numbers[entry] *= left
    numbers[STOOD_SQUARES] *= left * left
    numbers[DUE] = 0.0
    solve_all(state)
    numbers[UPDATES] = 0.0


@inner
def tend(state: Any) -> None:
    """Do what is due before a query is looked at: fade, fit the prior, estimate the bar."""
    numbers = state.numbers
    fade(state)
    if fits(state):
        fit_pool(state, numbers[SEEN])
        solve_all(state)
        numbers[UPDATES] = 0.0
        numbers[FITTING] = max(math.floor(1.1 * numbers[CLOCK]), numbers[CLOCK] + 10.0)
    if numbers[HEARD] >= numbers[DUE]:
        look_around(state)
        numbers[DUE] = numbers[HEARD] + max(math.floor(numbers[HEARD] / 100.0), 1.0)


@inner
def decide(
    state: Any, phi: Floats, expected: Floats, costs: Floats, usable: Any, rng: Any, floors: Floats
) -> Choice:
    """Return which option takes this query with which propensity, and put the floors down; all else stays."""
    spread = spreads(state.inverse, phi)
    options = len(expected)
    price, share = math.exp(state.numbers[PRICE]), state.numbers[WANTED]
    greedy, least, forced = -1, math.inf, 0.0
    for k in range(options):
        draw = rng.standard_normal()
        floors[k] = 0.0
        if usable[k]:
            hope = expected[k] + 0.5 * math.sqrt(variance(state, k) * max(spread[k], 0.0)) * draw
            score = costs[k] / state.unit - price * hope
            floors[k] = state.arms[RATE, k] / share
            forced += floors[k]
            if greedy < 0 or score < least:
                greedy, least = k, score
    coin = rng.random()
    blind = blind_choice(state, usable)
    if blind >= 0:
        return Choice(blind, 1.0, True)
    if coin >= share:
        floors[:] = 0.0
        return Choice(greedy, UNWANTED, False)
    arm, passed = greedy, 0.0
    for k in range(options):
        if usable[k]:
            passed += floors[k] * share
            if coin < passed:
                arm = k
                break
    propensity = min(floors[arm] + (1.0 - forced if arm == greedy else 0.0), UNWANTED - TINY)
    return Choice(arm, propensity, True)


@inner
def note(state: Any, phi: Floats, costs: Floats, arm: int, propensity: float, expected: float) -> None:
    """Count a decision, and move lambda by what is expected of it; a blind one, of propensity 1, does not."""
    numbers = state.numbers
    numbers[CLOCK] += 1.0
    numbers[SEEN] += 1.0
    add_to(state.queries[0], phi, 1.0)
    for j in range(len(phi)):
        state.queries[1, j] += phi[j] * phi[j]
    count_handed(state, propensity)
    state.arms[ASKED, arm] += 1.0
    numbers[SPENT] += costs[arm] / state.unit
    if numbers[HEARD] > 0.0 and propensity < 1.0:
        step = max(STEPS[0], min(STEPS[1], 1.0 / math.sqrt(numbers[HEARD])))
        owed = owing(state) / REPAID
        missing = numbers[BAR] - expected - numbers[DRIFT] + min(max(owed, -GIVEN), TAKEN)
        numbers[PRICE] = min(max(numbers[PRICE] + step * missing, numbers[LOW]), numbers[HIGH])


@compiled
def choose(state: Any, phi: Floats, costs: Floats, usable: Any, rng: Any, floors: Floats) -> Choice:
    """Count a decision, and return which option takes this query with which propensity."""
    tend(state)
    expected = means(state.theta, phi)
    choice = decide(state, phi, expected, costs, usable, rng, floors)
    note(state, phi, costs, choice.arm, choice.propensity, expected[choice.arm])
    return choice


@compiled
def count(state: Any, phi: Floats, costs: Floats, arm: int, propensity: float) -> None:
    """Count a decision that was taken elsewhere, on another copy of the state."""
    tend(state)
    note(state, phi, costs, arm, propensity, means(state.theta, phi)[arm])


@compiled
def learn(state: Any, phi: Floats, arm: int, propensity: float, reward: float, floors: Floats) -> None:
    """Fold in one reward; a propensity of 0 marks a use that was no decision, and teaches the model alone."""
    numbers, arms = state.numbers, state.arms
    expected = means(state.theta, phi)
    surprise = reward - expected[arm]
    if propensity > 0.0:
        if numbers[HEARD] == 0.0:
            numbers[DARK] = max(numbers[CLOCK] - 1.0, 0.0)
        count_told(state, propensity)
        stood = stands_for(state, propensity)
        numbers[HEARD] += 1.0
        numbers[STOOD] += stood
        numbers[STOOD_SQUARES] += stood * stood
        numbers[SUM] += stood * reward
        numbers[SQUARES] += stood * reward * reward
        newest = max(stood / numbers[STOOD], RECENT * min(stood * (numbers[HEARD] / numbers[STOOD]), MUCH))
        numbers[DRIFT] += newest * (surprise - numbers[DRIFT])
        for k in range(len(expected)):
            floor, noise = floors[k], variance(state, k)
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
    count: ClassVar[Any] = staticmethod(count)

    def start(self, setting: ContextualSetting) -> DualCOFState:
        """Return the state before the first query."""
        return new_state(setting)

    def beliefs(self, state: DualCOFState) -> Beliefs:
        """Say where the bar is by now, what was reached, and how good each option is over all queries."""
        state = copied(state)
        look_around(state)
        numbers, arms = state.numbers.tolist(), state.arms
        bar, reach = numbers[BAR], 1.96 * numbers[BAR_ERROR]
        stood = max(numbers[STOOD], 1.0)
        heard = stood * stood / max(numbers[STOOD_SQUARES], 1.0)  # as many rewards of one weight know as much
        mean = numbers[SUM] / stood
        error = 1.96 * math.sqrt(max(numbers[SQUARES] / stood - mean * mean, 0.25 / (heard + 1.0)) / heard)
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
        return float(trust(state)) + (len(state.costs) + 1.0) * state.level * waiting + blind

    def reason(self, state: DualCOFState, arm: int, propensity: float) -> str:
        """Say whether the query was looked at, and what was weighed."""
        if propensity == 1.0:
            return "caution: the level was missed, so the query is not looked at"
        if propensity < 0.5:
            return "a trial: to know where the bar is, options are tried whatever the query"
        price = math.exp(float(state.numbers[PRICE])) * state.unit
        return f"the least of cost less {price:.4g} times the quality that is expected on this query"

    def range_of(self, setting: ContextualSetting) -> dict[str, tuple[float, float]]:
        """Return the ranges of the arrays that change: wide enough for all that a session may be fed."""
        # 2**53 decisions with the largest features sum up to 1e28. Weights of rewards grow with the cube of
        # their number, and spending is in units of the range of usual costs.
        much, most = 1e60, float(2**53)
        return {
            "inverse": (-much, much),
            "gram": (-much, much),
            "moments": (-much, much),
            "prior": (-much, much),
            "theta": (-much, much),
            "ridge": (1e-9, much),
            "queries": (-much, much),
            "arms": (-much, much),
            "numbers": (-most, 1e250),
        }

    def apart(self, state: DualCOFState) -> DualCOFState:
        """Return a state to choose on; what no choice changes is shared, unless something is due."""
        if is_due(state):
            whole: DualCOFState = copied(state)
            return whole
        return state._replace(
            queries=state.queries.copy(), arms=state.arms.copy(), numbers=state.numbers.copy()
        )

    def from_version_1(self, arrays: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        """Return the arrays of a state that kept the floors of the latest query, and these."""
        return without_floors(arrays)

    def from_version_2(self, arrays: dict[str, Any]) -> dict[str, Any]:
        """Return the arrays of a state that wanted to hear of every decision."""
        return without_wishes(arrays)

    def contradiction(self, state: DualCOFState) -> str | None:
        """Say what in a stored state cannot be."""
        return contradiction(state)

    def pending_contradiction(self, propensity: float, floors: list[float]) -> str | None:
        """Say what is wrong with a stored decision: trials take less than half of all decisions."""
        return f"floors that add up to {sum(floors)}" if sum(floors) > 0.5 else None

    def widened(self, state: DualCOFState, width: int) -> DualCOFState:
        """Return the state with more segments, of which nothing was seen."""
        return widened_state(state, width)

    def carried(self, state: DualCOFState, setting: ContextualSetting, origin: list[int]) -> DualCOFState:
        """Return the state for other options or costs."""
        return carried_state(state, new_state(setting), origin)
