"""kl-UCB-CS with restarts: GLR-klUCB of Besson, Kaufmann, Maillard and Seznec, 2022, with a cost subsidy.

The index of an arm is its kl-UCB, the largest q with n kl(mean, q) <= log t, over the n rewards since the
last restart, t of them in all; 1 where there are none. The cheapest arm whose index reaches (1 - alpha) times
the largest one is pulled. A small share of the pulls explores all arms in turn.

Everything starts over when a split of an arm's n rewards since then makes them so much more likely:
n1 kl(m1, m) + n2 kl(m2, m) > log(3 n^(3/2) sqrt(T)). Splits are tried between at most 64 blocks of rewards;
when there are more, each two neighbours become one. What was told of an arm between two plans is a block, or
part of one that is not yet of its size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contract import Batch, Bounds, Journal, Policy, Ranges, Setting, new_journal, single
from frugalbandits.core.jit import compiled, inlined, inner
from frugalbandits.core.likelihood import greatest
from frugalbandits.core.quality import finite_number
from frugalbandits.core.tally import Tally, all_seen, new_tally, unseen
from frugalbandits.errors import InputError

__all__ = ["RestartingUCBCS", "RestartingUCBCSState"]

BLOCKS = 64
_SAME = 1e-9
_HALVINGS = 40  # of the interval that holds an index


class RestartingUCBCSState(NamedTuple):
    """The state of a run. Of each arm, `counts` and `totals` are its blocks since the last restart."""

    tally: Tally
    journal: Journal
    keep: float  # 1 - alpha
    surprise: float  # log(3 sqrt(T))
    period: int  # pulls between two rounds of exploration
    counts: NDArray[np.float64]
    totals: NDArray[np.float64]
    used: NDArray[np.int64]
    size: NDArray[np.float64]  # rewards that make a block full, by arm
    pulls: NDArray[np.float64]
    sums: NDArray[np.float64]
    told: NDArray[np.int64]
    paid: NDArray[np.float64]
    begun: NDArray[np.int64]  # decisions before the last restart
    restarts: NDArray[np.int64]


@inlined
def decisions(state: Any) -> int:
    """Count the decisions so far."""
    made = 0
    for k in range(len(state.tally.pulls)):
        made += state.tally.pulls[k] + state.tally.pending[k] + state.tally.lost[k]
    return made


@inner
def append(state: Any, arm: int, pulls: float, total: float) -> None:
    """Add rewards to the last block of an arm, or as a new one where that is full."""
    used = state.used[arm]
    if used == 0 or state.counts[arm, used - 1] >= state.size[arm]:
        if used == BLOCKS:
            for i in range(BLOCKS // 2):
                state.counts[arm, i] = state.counts[arm, 2 * i] + state.counts[arm, 2 * i + 1]
                state.totals[arm, i] = state.totals[arm, 2 * i] + state.totals[arm, 2 * i + 1]
            for i in range(BLOCKS // 2, BLOCKS):
                state.counts[arm, i] = 0.0
                state.totals[arm, i] = 0.0
            used = BLOCKS // 2
            state.size[arm] *= 2.0
        state.used[arm] = used + 1
        used += 1
    state.counts[arm, used - 1] += pulls
    state.totals[arm, used - 1] += total
    state.pulls[arm] += pulls
    state.sums[arm] = min(state.sums[arm] + total, state.pulls[arm])


@inner
def has_changed(state: Any, arm: int) -> bool:
    """Tell whether a split of an arm's rewards makes them much more likely."""
    pulls, total = state.pulls[arm], state.sums[arm]
    whole = greatest(pulls, total)
    most = state.surprise + 1.5 * math.log(max(pulls, 1.0))
    before = 0.0
    gained = 0.0
    for i in range(state.used[arm] - 1):
        before += state.counts[arm, i]
        gained += state.totals[arm, i]
        after = pulls - before
        rest = min(max(total - gained, 0.0), after)
        if after > 0 and greatest(before, min(gained, before)) + greatest(after, rest) - whole > most:
            return True
    return False


@inner
def start_over(state: Any) -> None:
    """Forget all that was seen."""
    state.counts[:] = 0.0
    state.totals[:] = 0.0
    state.used[:] = 0
    state.size[:] = 1.0
    state.pulls[:] = 0.0
    state.sums[:] = 0.0
    state.begun[0] = decisions(state)
    state.restarts[0] += 1


@inner
def fold(state: Any) -> None:
    """Take in what was told since the last plan, and start over where an arm has changed."""
    changed = False
    for k in range(len(state.told)):
        pulls = state.tally.pulls[k] - state.told[k]
        if pulls > 0:
            total = min(max(state.tally.sums[k] - state.paid[k], 0.0), float(pulls))
            state.told[k] = state.tally.pulls[k]
            state.paid[k] = state.tally.sums[k]
            append(state, k, float(pulls), total)
            changed = has_changed(state, k) or changed
    if changed:
        start_over(state)


@inner
def index(pulls: float, total: float, level: float) -> float:
    """Return the largest q with n kl(mean, q) <= level, to 12 digits; 1 where there is no reward."""
    if pulls <= 0:
        return 1.0
    whole = greatest(pulls, total)
    low, high = total / pulls, 1.0
    for _ in range(_HALVINGS):
        q = 0.5 * (low + high)
        # n kl(mean, q) is what the rewards are less likely under q.
        lost = whole
        if total > 0:
            lost -= total * math.log(q)
        if pulls - total > 0:
            lost = np.inf if q >= 1.0 else lost - (pulls - total) * math.log(1.0 - q)
        if lost <= level:
            low = q
        else:
            high = q
    return low


@inlined
def level_of(state: Any) -> float:
    """Return log t, of the rewards since the last restart."""
    seen = 0.0
    for k in range(len(state.pulls)):
        seen += state.pulls[k]
    return math.log(max(seen, 1.0))


@compiled
def plan(state: Any, rng: Any) -> Batch:
    """Return the cheapest arm whose index is good enough, or the arm whose turn it is, once."""
    arms = len(state.tally.pulls)
    fold(state)
    if not all_seen(state, arms):
        return Batch(unseen(state, arms), 1)
    turn = (decisions(state) - state.begun[0]) % state.period
    if turn < arms:
        return Batch(single(turn), 1)
    level = level_of(state)
    indices = np.empty(arms)
    for k in range(arms):
        indices[k] = index(state.pulls[k], state.sums[k], level)
    # An index is 1 - t^(-1/n) after n failures, so ties are real, and must not hang on rounding.
    bar = state.keep * indices.max() - _SAME
    arm = 0
    while indices[arm] < bar:
        arm += 1
    return Batch(single(arm), 1)


@dataclass(frozen=True)
class RestartingUCBCS(Policy):
    """kl-UCB with a cost subsidy that starts over when an arm has changed; a baseline where means change.

    Parameters
    ----------
    exploration
        How much it explores: this times sqrt(log T / T) of the pulls go to all arms in turn.

    Examples
    --------
    >>> RestartingUCBCS()
    RestartingUCBCS(exploration=0.1)
    """

    title: ClassVar[str] = "kl-UCB that restarts on a change (Besson et al. 2022, with subsidy)"
    plan: ClassVar[Any] = staticmethod(plan)
    concludes: ClassVar[bool] = False
    for_moving_means: ClassVar[bool] = True

    exploration: float = 0.1

    def __post_init__(self) -> None:
        value = finite_number("exploration", self.exploration)
        if not 0.0 < value <= 100.0:
            raise InputError(f"exploration must lie in (0, 100], but it is {self.exploration!r}")
        self.settings_checked(exploration=value)

    def start(self, setting: Setting) -> RestartingUCBCSState:
        arms, horizon = len(setting.costs), self.needs_horizon(setting)
        share = min(self.exploration * math.sqrt(math.log(horizon) / horizon), 1.0)
        return RestartingUCBCSState(
            tally=new_tally(arms),
            journal=new_journal(arms),
            keep=1.0 - setting.alpha,
            surprise=math.log(3.0 * math.sqrt(horizon)),
            period=min(math.ceil(arms / share), 2**53),
            counts=np.zeros((arms, BLOCKS)),
            totals=np.zeros((arms, BLOCKS)),
            used=np.zeros(arms, np.int64),
            size=np.ones(arms),
            pulls=np.zeros(arms),
            sums=np.zeros(arms),
            told=np.zeros(arms, np.int64),
            paid=np.zeros(arms),
            begun=np.zeros(1, np.int64),
            restarts=np.zeros(1, np.int64),
        )

    def ranges(self, setting: Setting) -> Ranges:
        most = float(2**53)
        amounts = dict.fromkeys(("counts", "totals", "pulls", "sums", "paid"), (0.0, most))
        numbers = dict.fromkeys(("told", "begun", "restarts"), (0, 2**53))
        return {**amounts, **numbers, "used": (0, BLOCKS), "size": (1.0, most)}

    def contradiction(self, state: RestartingUCBCSState) -> str | None:
        if (state.sums > state.pulls).any() or (state.totals > state.counts).any():
            return "there are more rewards than pulls"
        for k, used in enumerate(state.used.tolist()):
            if (state.counts[k, :used] <= 0).any() or state.counts[k, used:].any():
                return "there are blocks without rewards"
        if abs(state.counts.sum(axis=1) - state.pulls).max() > 1e-6 * max(1.0, state.pulls.max()):
            return "the blocks hold other rewards than are counted"
        if (state.told > state.tally.pulls).any() or state.begun[0] > decisions(state):
            return "more pulls were folded in than there were"
        return None

    def bounds(self, state: RestartingUCBCSState) -> Bounds:
        arms, level = range(len(state.pulls)), level_of(state)
        upper = np.array([index(state.pulls[k], state.sums[k], level) for k in arms])
        lower = np.array([1.0 - index(state.pulls[k], state.pulls[k] - state.sums[k], level) for k in arms])
        enough = upper >= state.keep * upper.max()
        chosen = int(np.argmax(enough))
        status = ["in use" if k == chosen else "looks feasible" if enough[k] else "looks poor" for k in arms]
        return Bounds(np.minimum(lower, upper), upper, tuple(status), chosen)

    def reason(self, state: RestartingUCBCSState, arm: int) -> str:
        if state.tally.pulls[arm] + state.tally.pending[arm] == 0:
            return "first look at every option"
        if (decisions(state) - state.begun[0]) % state.period < len(state.pulls):
            return "a look at every option now and then, in case one has changed"
        return "cheapest option whose optimistic index since the last change is good enough"
