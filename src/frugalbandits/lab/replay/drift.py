"""Whether rewards and costs stayed as they were: a test for a change of mean at any time, option by option.

With n values x in the order of time, mean m and standard deviation s, the statistic is the greatest of
|x_1 + ... + x_t - t m| / (s sqrt(n)). Where nothing changes and rows are independent, it is at most the
greatest value of a Brownian bridge, in the limit of many rows and from below, so Kolmogorov's distribution
gives a p-value that errs on the safe side (Page 1954 for the idea, Ploberger and Kraemer 1992 for the law).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from frugalbandits.lab.replay.data import Floats, Past, Table

__all__ = ["FALSE_ALARMS", "LEAST_ROWS", "Change", "find_changes", "kolmogorov", "largest_departure"]

#: The probability that anything is said of a log in which nothing changes, over all options together.
FALSE_ALARMS = 0.01
#: Options with fewer rows are not tested.
LEAST_ROWS = 20


class Change(NamedTuple):
    """A mean that did not stay as it was, and what it was before and after the time that splits it best."""

    option: str
    of: str  # "reward" or "cost"
    p_value: float
    after_rows: int  # of this option
    before: float
    after: float


def find_changes(past: Past) -> tuple[Change, ...]:
    """Return what has changed, the surest first; each of the tests has its share of the false alarms."""
    tests = [
        (name, of, values)
        for option, name in enumerate(past.names)
        for part, of in enumerate(("reward", "cost"))
        if len(values := _series(past, option, part)) >= LEAST_ROWS
    ]
    found = []
    for name, of, values in tests:
        statistic, split = largest_departure(values)
        p_value = kolmogorov(statistic)
        if p_value * len(tests) <= FALSE_ALARMS:
            before, after = float(values[:split].mean()), float(values[split:].mean())
            found.append(Change(name, of, p_value, split, before, after))
    return tuple(sorted(found, key=lambda change: change.p_value))


def kolmogorov(statistic: float) -> float:
    """Return the probability that the greatest value of a Brownian bridge is above this.

    Examples
    --------
    >>> round(kolmogorov(1.358), 4), kolmogorov(0.0)
    (0.05, 1.0)
    """
    if statistic < 0.2:  # beyond the last digit, and the series has too many terms
        return 1.0
    terms = np.arange(1, 101)
    return float(2.0 * np.sum((-1.0) ** (terms - 1) * np.exp(-2.0 * (terms * statistic) ** 2)))


def _series(past: Past, option: int, part: int) -> Floats:
    if isinstance(past, Table):
        series: Floats = past.pairs[option, :, part]
    else:
        series = past.pairs[past.choice == option, part]
    return series


def largest_departure(values: Floats) -> tuple[float, int]:
    """Return the statistic, and the number of values before the time that it is reached at.

    Examples
    --------
    >>> largest_departure(np.array([0.0, 0.0, 1.0, 1.0]))
    (1.0, 2)
    >>> largest_departure(np.ones(5))[0]
    0.0
    """
    centred = values - values.mean()
    spread = float(np.sqrt(centred @ centred / len(values)))
    # Where all are the same there is nothing but rounding.
    if spread <= 1e-9 * abs(float(values[0])) or spread == 0:
        return 0.0, 1
    departures = np.abs(np.cumsum(centred))[:-1]
    split = int(np.argmax(departures))
    return float(departures[split] / (spread * np.sqrt(len(values)))), split + 1
