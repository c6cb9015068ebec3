"""Lines of a result from what runs gave: policies, what happened, the oracle, and each option alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from frugalbandits.lab.problem import Problem
from frugalbandits.lab.replay.confounding import Shifts
from frugalbandits.lab.replay.data import Floats
from frugalbandits.lab.replay.estimating import Replays, interval
from frugalbandits.lab.replay.looking import Rules
from frugalbandits.lab.replay.result import Estimate, Line

__all__ = ["HAPPENED", "ORACLE", "Happened", "Limits", "Played", "bar_of", "lines_of"]

#: Names of two lines.
HAPPENED, ORACLE = "what happened", "oracle"
_SAME = 1e-12
_SHARE = (0.0, 1.0)
_REWARD, _COST = 0, 1


class Happened(NamedTuple):
    """What the log itself spent and reached, a request, and the share of each option."""

    spend: float
    quality: float
    shares: dict[str, float]


class Played(NamedTuple):
    """Policies by name, what their runs gave, and the rules of oracles on the same past."""

    names: Sequence[str]
    found: Replays
    rules: Rules | None = None


class Limits(NamedTuple):
    """What an interval may not leave, and by how much it is widened.

    `costs` are the least and the greatest cost of a row: no mean lies beyond them. `shifts` is for a log that
    does not identify what options would give; None for others.
    """

    costs: tuple[float, float]
    shifts: Shifts | None = None

    def spend(self, value: float, resampled: Floats, uses: dict[str, float]) -> Estimate:
        """Return a mean cost with its interval."""
        wider = 0.0 if self.shifts is None else self.shifts.of(uses)[_COST]
        return _estimate(value, resampled, self.costs, wider)

    def quality(self, value: float, resampled: Floats, uses: dict[str, float]) -> Estimate:
        """Return a mean reward with its interval."""
        return _estimate(value, resampled, _SHARE, self.wider(uses))

    def wider(self, uses: dict[str, float]) -> float:
        """Return by how much the interval of a mean reward is widened."""
        return 0.0 if self.shifts is None else self.shifts.of(uses)[_REWARD]


def bar_of(problem: Problem, found: Replays, limits: Limits) -> Estimate:
    """Return the quality that is good enough, with its interval."""
    wider = 0.0 if limits.shifts is None else limits.shifts.of_bar(problem)
    levels = np.array([each.threshold for each in _problems(problem, found)])
    return _estimate(problem.threshold, levels, _SHARE, wider)


def lines_of(
    problem: Problem, played: Played, looked: Played | None, happened: Happened | None, limits: Limits
) -> tuple[tuple[Line, ...], str]:
    """Return all lines, and the name of the one that savings are compared with.

    `looked` are policies that look at the request; they may have been run on a part of the past.
    """
    found = played.found
    resampled = _problems(problem, found)
    wider = 0.0 if limits.shifts is None else limits.shifts.of_bar(problem)
    bars = _Bars(problem.threshold, np.array([each.threshold for each in resampled]), wider)
    best = f"always {problem.names[problem.best_arm]}"
    base = float(problem.costs[problem.best_arm]) if happened is None else happened.spend
    lines = [
        _policy(name, place, problem, found, bars, base, limits) for place, name in enumerate(played.names)
    ]
    rules: list[Line] = []
    if looked is not None:
        own = Problem(
            np.minimum(looked.found.means[:, 0], 1.0),
            looked.found.means[:, 1],
            names=problem.names,
            quality=problem.quality,
        )
        marks = _Bars(own.threshold, np.array([each.threshold for each in _problems(problem, looked.found)]))
        lines += [
            _policy(name, place, problem, looked.found, marks, base, limits)
            for place, name in enumerate(looked.names)
        ]
        rules = [] if looked.rules is None else _rules(problem, looked.rules, base, limits)
    if happened is not None:
        lines.append(_happened(happened, bars))
    lines += [_oracle(problem, resampled, bars, base, limits), *rules]
    lines += [_always(arm, problem, found, bars, base, limits) for arm in problem.order.tolist()]
    return tuple(lines), best if happened is None else HAPPENED


class _Bars(NamedTuple):
    own: float
    resampled: Floats
    wider: float = 0.0

    def over(self, quality: Estimate, resampled: Floats | float, wider: float = 0.0) -> Estimate | None:
        """Return a quality over the bar, in each resampled past over its own; None for a bar of 0.

        `wider` is by how much the quality is widened.
        """
        if self.own <= 0 or self.resampled.min() <= 0:
            return None
        ratio = quality.value / self.own
        more = (wider + ratio * self.wider) / self.own
        return _estimate(ratio, resampled / self.resampled, (0.0, np.inf), more)


def _problems(problem: Problem, found: Replays) -> list[Problem]:
    """Return what is true in each resampled past."""
    return [
        # A mean of ones may be rounded to above 1.
        Problem(np.minimum(means[:, 0], 1.0), means[:, 1], names=problem.names, quality=problem.quality)
        for means in found.resampled_means
    ]


def _estimate(value: float, resampled: Floats, limits: tuple[float, float], wider: float = 0.0) -> Estimate:
    """Return a value with its interval: percentiles of the resampled ones, and room for their bias.

    What a policy reaches is what looked best, and that looks better than it is: the more so in pasts that are
    drawn from a past. By as much as resampled values lie above the value, the truth is taken to lie below it,
    so the interval reaches to the percentiles around there as well. It ends where no value can lie.
    """
    low, high = interval(resampled)
    back = 2.0 * (float(resampled.mean()) - value)
    least, most = limits
    low, high = min(low, low - back) - wider, max(high, high - back) + wider
    # The value itself is never left out: its own past is one of those that might have been.
    return Estimate(value, min(max(low, least), value), max(min(high, most), value))


def _saving(spend: Estimate, base: float) -> Estimate | None:
    if base <= 0:
        return None
    return Estimate(1.0 - spend.value / base, 1.0 - spend.high / base, 1.0 - spend.low / base)


def _share(quality: Floats, bars: Floats) -> float:
    return float((quality >= bars * (1.0 - _SAME)).mean())


def _policy(
    name: str, place: int, problem: Problem, found: Replays, bars: _Bars, base: float, limits: Limits
) -> Line:
    runs, resampled = found.runs[place], found.resampled[place].mean(axis=1)
    uses = dict(zip(problem.names, found.uses[place].mean(axis=0).tolist(), strict=True))
    spend = limits.spend(float(runs[:, _COST].mean()), resampled[:, _COST], uses)
    quality = limits.quality(float(runs[:, _REWARD].mean()), resampled[:, _REWARD], uses)
    in_order = None
    if found.in_order is not None:
        reward, cost = found.in_order[place].mean(axis=0).tolist()
        in_order = (cost, reward)
    return Line(
        name,
        "policy",
        None,
        spend,
        quality,
        _saving(spend, base),
        _share(resampled[:, _REWARD], bars.resampled),
        in_order,
        (_range(runs[:, _COST]), _range(runs[:, _REWARD])),
        uses,
        bars.over(quality, resampled[:, _REWARD], limits.wider(uses)),
    )


def _range(values: Floats) -> tuple[float, float]:
    low, high = np.quantile(values, [0.025, 0.975]).tolist()
    return low, high


def _happened(happened: Happened, bars: _Bars) -> Line:
    spend = Estimate(happened.spend, happened.spend, happened.spend)
    quality = Estimate(happened.quality, happened.quality, happened.quality)
    reaches = float((happened.quality >= bars.resampled * (1.0 - _SAME)).mean())
    over = bars.over(quality, happened.quality)
    return Line(HAPPENED, "happened", None, spend, quality, None, reaches, None, None, happened.shares, over)


def _oracle(problem: Problem, resampled: Sequence[Problem], bars: _Bars, base: float, limits: Limits) -> Line:
    own = problem.optimal_arm
    costs = np.array([each.costs[each.optimal_arm] for each in resampled])
    rewards = np.array([each.means[each.optimal_arm] for each in resampled])
    name = problem.names[own]
    shares = {name: 1.0}
    spend = limits.spend(float(problem.costs[own]), costs, shares)
    quality = limits.quality(float(problem.means[own]), rewards, shares)
    same = float(np.mean([each.optimal_arm == own for each in resampled]))
    over = bars.over(quality, rewards, limits.wider(shares))
    return Line(ORACLE, "oracle", name, spend, quality, _saving(spend, base), same, None, None, shares, over)


def _rules(problem: Problem, rules: Rules, base: float, limits: Limits) -> list[Line]:
    """Return a line for each rule that looks at something of its own."""
    there = {"mix": True, "segments": rules.segmented, "linear": rules.featured}
    bars = _Bars(rules.own.bar, np.array([each.bar for each in rules.resampled]))
    lines = []
    for place, rule in enumerate(rules.own.rules):
        if not there[rule.kind]:
            continue
        resampled = [each.rules[place] for each in rules.resampled]
        shares = dict(zip(problem.names, rule.shares.tolist(), strict=True))
        spend = limits.spend(rule.cost, np.array([each.cost for each in resampled]), shares)
        rewards = np.array([each.quality for each in resampled])
        quality = limits.quality(rule.quality, rewards, shares)
        reaches = float(np.mean([each.reaches for each in resampled]))
        over, name = bars.over(quality, rewards), f"{ORACLE}: {rule.kind}"
        saving = _saving(spend, base)
        lines.append(Line(name, "oracle", None, spend, quality, saving, reaches, None, None, shares, over))
    return lines


def _always(arm: int, problem: Problem, found: Replays, bars: _Bars, base: float, limits: Limits) -> Line:
    name = problem.names[arm]
    shares = {name: 1.0}
    resampled = found.resampled_means[:, arm]
    spend = limits.spend(float(problem.costs[arm]), resampled[:, _COST], shares)
    quality = limits.quality(float(problem.means[arm]), resampled[:, _REWARD], shares)
    return Line(
        f"always {name}",
        "always",
        name,
        spend,
        quality,
        _saving(spend, base),
        _share(resampled[:, _REWARD], bars.resampled),
        None,
        None,
        shares,
        bars.over(quality, resampled[:, _REWARD], limits.wider(shares)),
    )
