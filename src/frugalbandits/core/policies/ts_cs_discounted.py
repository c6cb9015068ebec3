"""Discounted TS-CS: Thompson sampling that forgets, after Raj and Kalyani, 2017, with a cost subsidy.

What was seen of every arm loses the share 1 - discount of its weight with each reward that is told, of
whichever arm. A pull draws theta_k ~ Beta(1 + S_k, 1 + F_k) from what is left and takes the cheapest arm with
theta_k >= (1 - alpha) max theta. A plan folds in what was told since the last one, at full weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contract import Batch, Bounds, Journal, Policy, Ranges, Setting, new_journal, single
from frugalbandits.core.jit import compiled, inner
from frugalbandits.core.quality import finite_number
from frugalbandits.core.tally import Tally, all_seen, new_tally, unseen
from frugalbandits.errors import InputError

__all__ = ["DiscountedTSCS", "DiscountedTSCSState"]


class DiscountedTSCSState(NamedTuple):
    """The state of a run: `sums` and `misses` are what is left of the tally, as of `told` and `paid`."""

    tally: Tally
    journal: Journal
    keep: float  # 1 - alpha
    discount: float
    sums: NDArray[np.float64]  # S, of rewards
    misses: NDArray[np.float64]  # F, of what rewards lack to 1
    told: NDArray[np.int64]
    paid: NDArray[np.float64]


@inner
def fold(state: Any) -> None:
    """Take in what was told since the last plan."""
    arms = len(state.tally.pulls)
    new = 0
    for k in range(arms):
        new += state.tally.pulls[k] - state.told[k]
    if new == 0:
        return
    stays = state.discount ** float(new)
    for k in range(arms):
        pulls = state.tally.pulls[k] - state.told[k]
        total = min(max(state.tally.sums[k] - state.paid[k], 0.0), float(pulls))
        state.sums[k] = stays * state.sums[k] + total
        state.misses[k] = stays * state.misses[k] + (pulls - total)
        state.told[k] = state.tally.pulls[k]
        state.paid[k] = state.tally.sums[k]


@compiled
def plan(state: Any, rng: Any) -> Batch:
    """Return the arm of one draw."""
    arms = len(state.tally.pulls)
    fold(state)
    if not all_seen(state, arms):
        return Batch(unseen(state, arms), 1)
    thetas = np.empty(arms)
    for k in range(arms):
        thetas[k] = rng.beta(1.0 + state.sums[k], 1.0 + state.misses[k])
    bar = state.keep * thetas.max()
    arm = 0
    while thetas[arm] < bar:
        arm += 1
    return Batch(single(arm), 1)


@dataclass(frozen=True)
class DiscountedTSCS(Policy):
    """Thompson sampling with a cost subsidy that forgets; a baseline where means change.

    Parameters
    ----------
    discount
        The weight that what was seen keeps when another reward is told. 0.9995 looks back over about 2,000
        rewards.

    Examples
    --------
    >>> DiscountedTSCS()
    DiscountedTSCS(discount=0.9995)
    """

    title: ClassVar[str] = "Discounted Thompson sampling (Raj and Kalyani 2017, with subsidy)"
    plan: ClassVar[Any] = staticmethod(plan)
    randomised: ClassVar[bool] = True
    concludes: ClassVar[bool] = False
    for_moving_means: ClassVar[bool] = True

    discount: float = 0.9995

    def __post_init__(self) -> None:
        value = finite_number("discount", self.discount)
        if not 0.0 < value <= 1.0:
            raise InputError(f"discount must lie in (0, 1], but it is {self.discount!r}")
        self.settings_checked(discount=value)

    def start(self, setting: Setting) -> DiscountedTSCSState:
        arms = len(setting.costs)
        return DiscountedTSCSState(
            tally=new_tally(arms),
            journal=new_journal(arms),
            keep=1.0 - setting.alpha,
            discount=self.discount,
            sums=np.zeros(arms),
            misses=np.zeros(arms),
            told=np.zeros(arms, np.int64),
            paid=np.zeros(arms),
        )

    def ranges(self, setting: Setting) -> Ranges:
        most = float(2**53)
        return {"sums": (0.0, most), "misses": (0.0, most), "told": (0, 2**53), "paid": (0.0, most)}

    def contradiction(self, state: DiscountedTSCSState) -> str | None:
        if (state.told > state.tally.pulls).any():
            return "more pulls were folded in than there were"
        return None

    def bounds(self, state: DiscountedTSCSState) -> Bounds:
        size = state.sums + state.misses + 2.0
        centre = (1.0 + state.sums) / size
        # Two standard deviations around the mean of each posterior.
        reach = 2.0 * np.sqrt(centre * (1.0 - centre) / (size + 1.0))
        lower, upper = np.maximum(centre - reach, 0.0), np.minimum(centre + reach, 1.0)
        enough = centre >= state.keep * centre.max()
        status = tuple("looks feasible" if good else "looks poor" for good in enough)
        return Bounds(lower, upper, status, int(np.argmax(enough)))

    def reason(self, state: DiscountedTSCSState, arm: int) -> str:
        if state.tally.pulls[arm] + state.tally.pending[arm] == 0:
            return "first look at every option"
        return "cheapest option that is good enough in a draw from what is remembered"
