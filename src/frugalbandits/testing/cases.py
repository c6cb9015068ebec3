"""Cases that a policy is tried on: a few numbers from which everything else follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contract import Policy, Setting
from frugalbandits.core.options import check_reference, cost_order
from frugalbandits.core.quality import AtLeast, Quality, RelativeTo, RelativeToBest, check_quality

__all__ = ["Case", "drawn", "smaller"]

Pull = Callable[[int], float]

STYLES = ("bernoulli", "fractions", "blocks", "turncoats", "zeros", "ones")
LONGEST = 300


class Case(NamedTuple):
    """One example: everything else (costs, rewards, moments) is drawn from the seed.

    The arms are called "0", "1", ...; `quality` is the written form of a bar, such as "at-least:0.5".
    """

    seed: int
    arms: int
    horizon: int
    quality: str
    style: str

    @property
    def names(self) -> tuple[str, ...]:
        """The arms' names, which are their numbers."""
        return tuple(map(str, range(self.arms)))

    @property
    def costs(self) -> NDArray[np.float64]:
        """Costs, some of them equal, some negative."""
        return self.rng(1).integers(-2, 9, self.arms) / 2.0

    @property
    def order(self) -> NDArray[np.int64]:
        """Arms from cheapest to most expensive."""
        return cost_order(self.costs)

    @property
    def setting(self) -> Setting:
        """What a policy is told."""
        bar = check_quality(None, self.quality)
        return Setting.of(self.costs, bar, self.horizon, check_reference(bar, self.names))

    @property
    def rewards(self) -> NDArray[np.float64]:
        """Rewards (arms x horizon); a shorter or smaller case has the beginning of the same table.

        Multiples of 1/64, so that the sum of a batch is exact however it is added up.
        """
        rows = [_row(self.rng(2, arm), self.style)[: self.horizon] for arm in range(self.arms)]
        return np.round(np.array(rows) * 64) / 64

    def rng(self, *purpose: int) -> np.random.Generator:
        """Return the random numbers of one purpose."""
        return np.random.default_rng([self.seed, *purpose])

    def pull(self) -> Pull:
        """Return a fresh function that gives the next reward of an arm."""
        rows = [iter(row) for row in self.rewards.tolist()]
        return lambda arm: next(rows[arm])


def _row(rng: np.random.Generator, style: str) -> NDArray[np.float64]:
    """Return the rewards of one arm; the styles are meant to upset a policy in turn."""
    mean = rng.uniform(0.02, 0.98)
    if style == "bernoulli":
        return (rng.random(LONGEST) < mean).astype(float)
    if style == "fractions":
        return np.clip(rng.normal(mean, 0.2, LONGEST), 0, 1)
    if style == "blocks":
        # Long runs of ones and zeros, where a mean moves as fast as it can.
        lengths = rng.geometric(1 / rng.integers(2, 80), LONGEST)
        return np.repeat((np.arange(LONGEST) + rng.integers(2)) % 2, lengths)[:LONGEST].astype(float)
    if style == "turncoats":
        # Good until a random moment and bad from then on, or the other way round.
        first = float(rng.integers(2))
        return np.where(np.arange(LONGEST) < rng.integers(1, LONGEST), first, 1.0 - first)
    return np.full(LONGEST, 1.0 if style == "ones" else 0.0)


def drawn(policy: Policy, examples: int, seed: int) -> Iterator[Case]:
    """Draw cases from a seed, with every quality bar that the policy knows."""
    rng = np.random.default_rng(seed)
    for i in range(examples):
        arms = int(rng.integers(2, 7))
        alpha = float(rng.choice([0.0, 0.05, 0.1, 0.3, 0.6, 0.95]))
        bars: list[Quality] = [RelativeToBest(alpha)]
        if policy.any_bar:
            level = float(rng.choice([0.0, 0.25, 0.5, 0.9, 1.0]))
            bars += [RelativeTo(str(rng.integers(arms)), alpha), AtLeast(level)]
        # Small cases first: what they find needs no shrinking.
        longest = arms + 2 + (LONGEST - arms - 2) * (i + 1) // examples
        horizon = int(rng.integers(arms + 1, longest))
        yield Case(int(rng.integers(1000)), arms, horizon, str(bars[i % len(bars)]), str(rng.choice(STYLES)))


def smaller(case: Case) -> Iterator[Case]:
    """Yield cases that are a step smaller or simpler than a case."""
    fewer = case.arms - 1
    if fewer >= 2 and f"relative-to:{fewer}:" not in case.quality:
        # Another seed too: with its last arm, a case may lose what made it fail.
        for seed in (case.seed, *range(5)):
            yield case._replace(arms=fewer, seed=seed)
    for horizon in (case.arms + 1, case.horizon // 2, case.horizon * 3 // 4, case.horizon - 1):
        if case.arms < horizon < case.horizon:
            yield case._replace(horizon=horizon)
    if case.quality.startswith("relative-to-best:") and case.quality != "relative-to-best:0.1":
        yield case._replace(quality="relative-to-best:0.1")
    for seed in range(min(case.seed, 3)):
        yield case._replace(seed=seed)
