"""The option that a report compares with: the one that was used before, or else the one believed best.

Which option has the highest mean changes with every few judgements, and so would the saving. So the belief
begins with the most expensive option, and changes only where another one is clearly better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

__all__ = ["NAMED", "chosen_baseline", "reason_for"]

NAMED = "named in the settings"
# Intervals of a report are of 95%. The ones that decide here are of 99.9%, since reports look many times.
_WIDER = 3.290527 / 1.959964


class Judged(Protocol):
    """An option with its quality and the interval of that, as in a report."""

    @property
    def name(self) -> str:
        """The name of the option."""

    @property
    def quality(self) -> float | None:
        """The mean of its rewards; None before the first."""

    @property
    def low(self) -> float:
        """The lower end of the interval of 95%."""

    @property
    def high(self) -> float:
        """The upper end."""


def chosen_baseline(options: Sequence[Judged], current: str | None) -> str:
    """Return the option to compare with: the current one, unless another is clearly better.

    Parameters
    ----------
    options
        From cheapest to most expensive.
    current
        The option that was compared with so far; None: the most expensive one.
    """
    by_name = {each.name: each for each in options}
    start = by_name.get(current or "", options[-1])
    ceiling = _high(start)
    better = [each for each in options if _low(each) > ceiling]
    return max(better, key=_low).name if better else start.name


def reason_for(options: Sequence[Judged], baseline: str) -> str:
    """Say why a baseline that was not named is the one."""
    if baseline == options[-1].name:
        return "the most expensive option, and none is clearly better"
    return "clearly better than the most expensive option"


def _low(option: Judged) -> float:
    if option.quality is None:
        return 0.0
    return max(option.quality - _WIDER * (option.quality - option.low), 0.0)


def _high(option: Judged) -> float:
    if option.quality is None:
        return 1.0
    return min(option.quality + _WIDER * (option.high - option.quality), 1.0)
