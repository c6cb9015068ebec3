"""What a session counts for itself: decisions, money and rewards, by option and by segment."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["OTHERS", "Account", "Waiter"]

#: The key of the account that all segments share which have no entry of their own; no segment is called so.
OTHERS = ""


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

    def add(self, other: Account) -> None:
        """Add the counts of another account."""
        self.decisions += other.decisions
        self.told += other.told
        self.rewards += other.rewards
        self.spent += other.spent
        self.always += other.always
        self.observed += other.observed
        for name, count in other.uses.items():
            self.uses[name] = self.uses.get(name, 0) + count

    @property
    def mean(self) -> float | None:
        """The mean of the rewards that were told."""
        return self.rewards / self.told if self.told else None
