"""What a session says of an average that it holds: shares, the bar, what is reached, and the debt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from frugalbandits.core.contract import Average

__all__ = ["Mixture", "mixture_of"]


@dataclass(frozen=True)
class Mixture:
    """Where a session stands that promises an average.

    `shares` has the share of decisions for each option, the cheapest first. `average` is their quality, those
    without feedback counted as their option's mean; it lies between `low` and `high`, two standard errors
    around. `bar` is what it should be, and `debt` what all decisions lack to it together: negative where they
    are above it. `cheap` and `dear` are the options of the mix that is aimed at, with `share` of the
    decisions for the dear one; both are the same where one option by itself is the cheapest way to the bar.
    Where no option reaches the bar, `reached` is False, and the best one is used.
    """

    shares: dict[str, float]
    average: float | None
    low: float | None
    high: float | None
    bar: float
    debt: float
    cheap: str
    dear: str
    share: float
    reached: bool

    @property
    def shared(self) -> str:
        """The shares of decisions in words, the largest first."""
        return _shares(self.shares)

    @property
    def words(self) -> list[str]:
        """Sentences on the average, and on what is aimed at."""
        if self.average is None or self.low is None or self.high is None:
            return []
        short = f"{abs(self.debt):,.3g} of quality {'short' if self.debt > 0 else 'ahead'} in all"
        told = f"Average {self.average:.4g} ({self.low:.4g} to {self.high:.4g}), bar {self.bar:.4g}: {short}."
        if not self.reached:
            return [told, f"No option seems to reach {self.bar:.4g}: the best one, {self.dear!r}, is used."]
        if self.cheap == self.dear:
            return [told, f"Aimed at: {self.dear!r} alone, the cheapest way to the bar."]
        aim = _shares({self.cheap: 1.0 - self.share, self.dear: self.share})
        return [told, f"Aimed at: {aim}, the cheapest mix at the bar."]


def _shares(shares: dict[str, float]) -> str:
    found = sorted((name for name in shares if shares[name] >= 0.005), key=lambda name: -shares[name])
    return ", ".join(f"{shares[name]:.0%} {name!r}" for name in found)


def mixture_of(average: Average, names: Sequence[str]) -> Mixture:
    """Return the same in names of options, which are given by rank of cost."""
    total = float(average.decided.sum())
    known = math.isfinite(average.quality)
    reach = 2.0 * average.error
    return Mixture(
        shares={
            name: float(count) / total if total > 0 else 0.0
            for name, count in zip(names, average.decided, strict=True)
        },
        average=average.quality if known else None,
        low=max(average.quality - reach, 0.0) if known else None,
        high=min(average.quality + reach, 1.0) if known else None,
        bar=average.bar,
        debt=average.debt,
        cheap=names[average.low],
        dear=names[average.high],
        share=average.share,
        reached=average.reached,
    )
