"""What a session counts for itself: decisions, money and rewards, by option and by segment."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Account", "Waiter"]


@dataclass
class Waiter:
    """A decision that waits for feedback: what its policy needs then, and what it was expected to cost.

    `floors` are by option, in the order in which options came, of those that were there then.
    """

    features: NDArray[np.float64]
    segment: str | None
    propensity: float
    cost: float
    floors: NDArray[np.float64]


@dataclass
class Account:
    """Counts of one option, or of one segment.

    `always` is what all decisions would have cost, had they been for this option; `uses` counts decisions of
    a segment by option.
    """

    decisions: int = 0
    told: int = 0
    rewards: float = 0.0
    spent: float = 0.0
    always: float = 0.0
    observed: int = 0
    uses: dict[str, int] = field(default_factory=dict)

    @property
    def mean(self) -> float | None:
        """The mean of the rewards that were told."""
        return self.rewards / self.told if self.told else None
