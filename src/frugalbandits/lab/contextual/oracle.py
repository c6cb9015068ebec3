"""The best rules of three kinds, when everything is known: a mix, one by segment, and a linear one.

All three are the same walk. A rule takes the option with the least c_k - lambda m_k, where m_k is what it
believes of the quality. As lambda grows from 0, groups of queries change one after the other to an option
that is dearer and believed better; cost never falls on the way. The best rule is where the true quality first
reaches the bar, and mixes what stands before and after that change. Where beliefs are the truth of each group
this solves the linear programme with one coupling constraint exactly: one group for the mix, the segments for
the second kind. For the linear kind each query is a group of its own and the belief is the least-squares fit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["KINDS", "Oracle", "Rule", "Walk", "best_rule", "fitted_rewards", "walk"]

Floats = NDArray[np.float64]

#: The kinds of rules, by what they look at: nothing, the segment, all of the query.
KINDS = ("mix", "segments", "linear")

# Qualities that differ by less are the same number written in floating point.
_SAME = 1e-12


class Walk(NamedTuple):
    """A rule for every lambda: a row for each lambda at which it changes, the first at 0.

    `shares` has the share of the queries that each option takes.
    """

    price: Floats
    cost: Floats
    quality: Floats
    shares: Floats


class Rule(NamedTuple):
    """A rule for queries, as its means over all of them.

    `price` is lambda, what a unit of quality is worth, in units of cost. `reaches` is False where no rule of
    its kind reaches the bar; then it is the best one of its kind.
    """

    kind: str
    cost: float
    quality: float
    price: float
    shares: Floats
    reaches: bool


class Oracle(NamedTuple):
    """The best rule of each kind, and a*, the cheapest single option that reaches the bar."""

    bar: float
    single: Rule
    mix: Rule
    segments: Rule
    linear: Rule

    @property
    def rules(self) -> tuple[Rule, Rule, Rule]:
        """The three rules that mix."""
        return self.mix, self.segments, self.linear

    @property
    def best(self) -> Rule:
        """The cheapest rule that reaches the bar; where none does, the one of the highest quality."""
        able = [rule for rule in self.rules if rule.reaches]
        if able:
            return min(able, key=lambda rule: rule.cost)
        return max(self.rules, key=lambda rule: rule.quality)


def walk(costs: Floats, believed: Floats, truth: Floats, weights: Floats) -> Walk:
    """Return the rules for all lambda of groups (rows) with these costs and qualities of options (columns).

    Parameters
    ----------
    weights
        The share of each group.
    """
    groups, options = costs.shape
    rows = np.arange(groups)
    current = np.lexsort((-believed, costs), axis=1)[:, 0]
    first = current
    steps = []
    while True:
        rise = believed - believed[rows, current][:, None]
        extra = costs - costs[rows, current][:, None]
        slope = np.divide(extra, rise, out=np.full_like(extra, np.inf), where=rise > _SAME)
        least = slope.min(axis=1)
        # Of options at one price the best: those between are never the only ones.
        reach = np.where(slope <= least[:, None] * (1.0 + _SAME), rise, -np.inf)
        after = np.where(np.isfinite(least), np.argmax(reach, axis=1), current)
        moved = np.flatnonzero(after != current)
        if not moved.size:
            break
        steps.append((least[moved], moved, current[moved], after[moved]))
        current = after
    none = np.zeros(0, np.int64)
    price = np.concatenate([np.zeros(0), *(step[0] for step in steps)])
    order = np.argsort(price, kind="stable")
    price = price[order]
    row, before, after = (np.concatenate([none, *(step[i] for step in steps)])[order] for i in (1, 2, 3))
    change = np.zeros((len(price), options))
    change[np.arange(len(price)), after] += weights[row]
    change[np.arange(len(price)), before] -= weights[row]
    start = np.bincount(first, weights, options)
    found = Walk(
        np.concatenate([[0.0], price]),
        _summed(float(weights @ costs[rows, first]), weights[row] * (costs[row, after] - costs[row, before])),
        _summed(float(weights @ truth[rows, first]), weights[row] * (truth[row, after] - truth[row, before])),
        np.vstack([start, start + np.cumsum(change, axis=0)]),
    )
    # Groups that change at one price change together.
    last = np.append(found.price[1:] > found.price[:-1] * (1.0 + _SAME), True)
    return Walk(*(part[last] for part in found))


def best_rule(kind: str, path: Walk, bar: float) -> Rule:
    """Return the cheapest rule of a walk that reaches the bar, mixing two neighbours."""
    reached = np.flatnonzero(path.quality >= bar - _SAME)
    at = int(reached[0]) if reached.size else int(np.argmax(path.quality))
    share = 1.0
    if at > 0 and reached.size:
        share = float((bar - path.quality[at - 1]) / (path.quality[at] - path.quality[at - 1]))
        share = min(max(share, 0.0), 1.0)
    before = max(at - 1, 0)
    cost, quality, shares = (
        share * part[at] + (1.0 - share) * part[before] for part in (path.cost, path.quality, path.shares)
    )
    return Rule(kind, float(cost), float(quality), float(path.price[at]), shares, bool(reached.size))


def fitted_rewards(encoded: Floats, rewards: Floats) -> Floats:
    """Return the least-squares fit of each option's rewards on the encoded queries."""
    weights = np.linalg.lstsq(encoded, rewards, rcond=None)[0]
    return np.asarray(encoded @ weights)


def _summed(start: float, changes: Floats) -> Floats:
    return np.concatenate([[start], start + np.cumsum(changes)])
