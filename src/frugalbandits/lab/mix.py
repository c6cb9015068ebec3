"""The cheapest mix of arms that is good enough on average: what such a promise costs at least."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.policies.mix_cs.hull import cheapest_pair

__all__ = ["Mix", "cheapest_mix"]

_SAME = 1e-9


@dataclass(frozen=True)
class Mix:
    """A mix of two arms, or one arm alone.

    Attributes
    ----------
    cheap, dear
        The arms, in the caller's order; the same arm where nothing is mixed.
    share
        The share of pulls of `dear`; 1 where nothing is mixed.
    cost, quality
        Of a pull on average.
    bar
        The quality that is good enough on average.
    price
        What a unit of quality less would save there, lambda; 0 where no arm is cheaper.
    """

    cheap: int
    dear: int
    share: float
    cost: float
    quality: float
    bar: float
    price: float

    @property
    def alone(self) -> bool:
        """Whether one arm alone is the cheapest way."""
        return self.cheap == self.dear


def cheapest_mix(means: NDArray[np.float64], costs: NDArray[np.float64], bar: float) -> Mix:
    """Return the cheapest mix of arms whose average quality is at least `bar`; some arm must reach it."""
    # Costs in halves, because a difference of costs may be beyond the largest float.
    pair = cheapest_pair(means.tolist(), (costs / 2).tolist(), [True] * len(means), bar)
    low, high, share = pair.low, pair.high, float(pair.share)
    if share > 1.0 - _SAME:  # an arm just at the bar, mixed with another by rounding alone
        low, share = high, 1.0
    return Mix(
        cheap=low,
        dear=high,
        share=share,
        cost=float((1 - share) * costs[low] + share * costs[high]),
        quality=float((1 - share) * means[low] + share * means[high]),
        bar=bar,
        price=2 * float(pair.slope),
    )
