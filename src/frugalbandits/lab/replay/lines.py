"""Lines of a result from what runs gave: policies, what happened, the oracle, and each option alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from frugalbandits.lab.problem import Problem
from frugalbandits.lab.replay.data import Floats
from frugalbandits.lab.replay.estimating import Replays, interval
from frugalbandits.lab.replay.result import Estimate, Line

__all__ = ["HAPPENED", "ORACLE", "Happened", "bar_of", "lines_of"]

#: Names of two lines.
HAPPENED, ORACLE = "what happened", "oracle"
_SAME = 1e-12
_REWARD, _COST = 0, 1


class Happened(NamedTuple):
    """What the log itself spent and reached, a request, and the share of each option."""

    spend: float
    quality: float
    shares: dict[str, float]


def bar_of(problem: Problem, found: Replays) -> Estimate:
    """Return the quality that is good enough, with its interval."""
    return _estimate(problem.threshold, np.array([each.threshold for each in _problems(problem, found)]))


def lines_of(
    problem: Problem, found: Replays, policies: Sequence[str], happened: Happened | None
) -> tuple[tuple[Line, ...], str]:
    """Return all lines, and the name of the one that savings are compared with."""
    resampled = _problems(problem, found)
    bars = np.array([each.threshold for each in resampled])
    best = f"always {problem.names[problem.best_arm]}"
    base = float(problem.costs[problem.best_arm]) if happened is None else happened.spend
    lines = [_policy(name, place, problem, found, bars, base) for place, name in enumerate(policies)]
    if happened is not None:
        lines.append(_happened(problem, happened, bars))
    lines.append(_oracle(problem, resampled, base))
    lines += [_always(arm, problem, found, bars, base) for arm in problem.order.tolist()]
    return tuple(lines), best if happened is None else HAPPENED


def _problems(problem: Problem, found: Replays) -> list[Problem]:
    """Return what is true in each resampled past."""
    return [
        # A mean of ones may be rounded to above 1.
        Problem(np.minimum(means[:, 0], 1.0), means[:, 1], names=problem.names, quality=problem.quality)
        for means in found.resampled_means
    ]


def _estimate(value: float, resampled: Floats) -> Estimate:
    """Return a value with its interval: percentiles of the resampled ones, and room for their bias.

    What a policy reaches is what looked best, and that looks better than it is: the more so in pasts that are
    drawn from a past. By as much as resampled values lie above the value, the truth is taken to lie below it,
    so the interval reaches to the percentiles around there as well.
    """
    low, high = interval(resampled)
    back = 2.0 * (float(resampled.mean()) - value)
    # The value itself is never left out: its own past is one of those that might have been.
    return Estimate(value, min(low, low - back, value), max(high, high - back, value))


def _saving(spend: Estimate, base: float) -> Estimate | None:
    if base <= 0:
        return None
    return Estimate(1.0 - spend.value / base, 1.0 - spend.high / base, 1.0 - spend.low / base)


def _share(quality: Floats, bars: Floats) -> float:
    return float((quality >= bars * (1.0 - _SAME)).mean())


def _policy(name: str, place: int, problem: Problem, found: Replays, bars: Floats, base: float) -> Line:
    runs, resampled = found.runs[place], found.resampled[place].mean(axis=1)
    spend = _estimate(float(runs[:, _COST].mean()), resampled[:, _COST])
    quality = _estimate(float(runs[:, _REWARD].mean()), resampled[:, _REWARD])
    in_order = None
    if found.in_order is not None:
        reward, cost = found.in_order[place].mean(axis=0).tolist()
        in_order = (cost, reward)
    uses = found.uses[place].mean(axis=0).tolist()
    return Line(
        name,
        "policy",
        None,
        spend,
        quality,
        _saving(spend, base),
        _share(resampled[:, _REWARD], bars),
        in_order,
        (_range(runs[:, _COST]), _range(runs[:, _REWARD])),
        dict(zip(problem.names, uses, strict=True)),
    )


def _range(values: Floats) -> tuple[float, float]:
    low, high = np.quantile(values, [0.025, 0.975]).tolist()
    return low, high


def _happened(problem: Problem, happened: Happened, bars: Floats) -> Line:
    spend = Estimate(happened.spend, happened.spend, happened.spend)
    quality = Estimate(happened.quality, happened.quality, happened.quality)
    reaches = float((happened.quality >= bars * (1.0 - _SAME)).mean())
    return Line(HAPPENED, "happened", None, spend, quality, None, reaches, None, None, happened.shares)


def _oracle(problem: Problem, resampled: Sequence[Problem], base: float) -> Line:
    own = problem.optimal_arm
    costs = np.array([each.costs[each.optimal_arm] for each in resampled])
    rewards = np.array([each.means[each.optimal_arm] for each in resampled])
    spend = _estimate(float(problem.costs[own]), costs)
    quality = _estimate(float(problem.means[own]), rewards)
    same = float(np.mean([each.optimal_arm == own for each in resampled]))
    name = problem.names[own]
    return Line(ORACLE, "oracle", name, spend, quality, _saving(spend, base), same, None, None, {name: 1.0})


def _always(arm: int, problem: Problem, found: Replays, bars: Floats, base: float) -> Line:
    name = problem.names[arm]
    resampled = found.resampled_means[:, arm]
    spend = _estimate(float(problem.costs[arm]), resampled[:, _COST])
    quality = _estimate(float(problem.means[arm]), resampled[:, _REWARD])
    return Line(
        f"always {name}",
        "always",
        name,
        spend,
        quality,
        _saving(spend, base),
        _share(resampled[:, _REWARD], bars),
        None,
        None,
        {name: 1.0},
    )
