"""A world at a horizon, as tables: what is true in each stretch of decisions, and who is there.

An *epoch* is a stretch in which nothing happens: means move in straight lines at most. A *segment* is a
stretch in which the same options are there at the same prices; a policy numbers its arms anew at its start.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contract import Policy, Setting
from frugalbandits.core.options import check_horizon, cost_order
from frugalbandits.core.quality import AtLeast
from frugalbandits.errors import InputError
from frugalbandits.lab.rewards import Bernoulli, BetaRewards, RewardModel, TwoPoint
from frugalbandits.lab.worlds.happenings import Arrival, Departure, Drift, Outage, Price, decisions_at
from frugalbandits.lab.worlds.records import Law, Path, Seats
from frugalbandits.lab.worlds.world import World

__all__ = ["Script", "Segment", "law_of", "script_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Segment(NamedTuple):
    """A stretch from decision `start` to decision `end` in which the same options have the same prices."""

    start: int
    end: int
    setting: Setting
    seats: Seats
    origin: Ints  # the rank that each arm had in the segment before, -1 for a new one
    repriced: Ints  # ranks of the arms whose price is another than in the segment before


class Script(NamedTuple):
    """All that a run needs to know of a world."""

    path: Path
    segments: tuple[Segment, ...]


def law_of(world: World, model: RewardModel) -> Law:
    """Return how rewards and bills spread and when feedback comes, as numbers."""
    low, high, concentration = 0.0, 1.0, 0.0
    if isinstance(model, TwoPoint):
        low, high = model.low, model.high
    elif isinstance(model, BetaRewards):
        concentration = model.concentration
    elif not isinstance(model, Bernoulli):
        raise InputError(
            "rewards in a world follow means that may change: bernoulli, beta or TwoPoint, "
            f"but they are {type(model).__name__}"
        )
    means = [*world.problem.means.tolist(), *(change.mean for change in world.drift)]
    for mean in means:
        if not low <= mean <= high:
            raise InputError(f"rewards of {low} or {high} give no mean of {mean:g}, which the world has")
    varying = isinstance(world.delay, tuple)
    delay = world.delay[1] if isinstance(world.delay, tuple) else float(world.delay)
    quality = world.problem.quality
    reference = world.problem.reference
    return Law(
        low=low,
        high=high,
        concentration=concentration,
        sigma=-1.0 if world.bills is None else world.bills.sigma,
        judged=-1.0 if world.feedback == "wanted" else world.feedback,
        delay=-1 if varying else int(delay),
        chance=1.0 / (1.0 + delay) if varying else 0.0,
        down=world.down_share,
        keep=1.0 if isinstance(quality, AtLeast) else 1.0 - quality.alpha,
        reference=-1 if reference is None else reference,
        level=quality.level if isinstance(quality, AtLeast) else -1.0,
    )


def script_of(world: World, horizon: float, policy: Policy) -> Script:
    """Return a world as tables for a horizon and a policy; refuse what cannot be at that horizon."""
    total = check_horizon(horizon, world.problem.arms)
    starts = _starts(world, total)
    path = Path(
        starts,
        *_means(world, total, starts),
        _down(world, total, starts),
        _active(world, total, starts),
        _prices(world, total, starts),
    )
    _check_somebody_is_there(world, path)
    return Script(path, tuple(_segments(world, policy, path)))


def _starts(world: World, horizon: int) -> Ints:
    """Return the first decision of each epoch, and the horizon."""
    moments = {0, horizon}
    for each in world.happenings:
        moments.add(decisions_at(each.at, horizon))
        if isinstance(each, Outage):
            moments.add(decisions_at(each.end, horizon))
        if isinstance(each, Drift) and each.over:
            moments.add(min(decisions_at(each.at, horizon) + decisions_at(each.over, horizon), horizon))
    return np.array(sorted(moments), np.int64)


def _means(world: World, horizon: int, starts: Ints) -> tuple[Floats, Floats]:
    """Return the means at the start of each epoch, and by how much they move a decision."""
    epochs, arms = len(starts) - 1, world.problem.arms
    means, slopes = np.zeros((epochs, arms)), np.zeros((epochs, arms))
    for arm, name in enumerate(world.problem.names):
        own = sorted(
            (
                (decisions_at(change.at, horizon), decisions_at(change.over, horizon), change.mean)
                for change in world.drift
                if change.option == name
            ),
            key=lambda each: each[0],
        )
        # Where the mean was when the last change began, and what it moves to.
        begun, takes, before, after = 0, 0, float(world.problem.means[arm]), float(world.problem.means[arm])
        for epoch, start in enumerate(starts[:-1].tolist()):
            for at, over, mean in own:
                if at == start:
                    before = _moved(begun, takes, before, after, at)
                    begun, takes, after = at, over, mean
            means[epoch, arm] = _moved(begun, takes, before, after, start)
            if start < begun + takes:
                slopes[epoch, arm] = (after - before) / takes
    return means, slopes


def _moved(begun: int, takes: int, before: float, after: float, time: int) -> float:
    return after if time >= begun + takes else before + (after - before) * (time - begun) / takes


def _down(world: World, horizon: int, starts: Ints) -> NDArray[np.bool_]:
    down = np.zeros((len(starts) - 1, world.problem.arms), np.bool_)
    for each in world.scheduled:
        start, end = decisions_at(each.start, horizon), decisions_at(each.end, horizon)
        arm = world.problem.names.index(str(each.option))
        down[(starts[:-1] >= start) & (starts[:-1] < end), arm] = True
    return down


def _active(world: World, horizon: int, starts: Ints) -> NDArray[np.bool_]:
    active = np.ones((len(starts) - 1, world.problem.arms), np.bool_)
    for each in world.options:
        at, arm = decisions_at(each.at, horizon), world.problem.names.index(str(each.option))
        if isinstance(each, Arrival):
            active[starts[:-1] < at, arm] = False
        elif isinstance(each, Departure):
            active[starts[:-1] >= at, arm] = False
    return active


def _prices(world: World, horizon: int, starts: Ints) -> Floats:
    prices = np.tile(world.problem.costs, (len(starts) - 1, 1))
    own = [each for each in world.options if isinstance(each, Price)]
    for each in sorted(own, key=lambda price: decisions_at(price.at, horizon)):
        at, arm = decisions_at(each.at, horizon), world.problem.names.index(str(each.option))
        prices[starts[:-1] >= at, arm] = each.cost
    return prices


def _check_somebody_is_there(world: World, path: Path) -> None:
    there = path.active.sum(axis=1)
    up = (path.active & ~path.down).sum(axis=1)
    for epoch, start in enumerate(path.starts[:-1].tolist()):
        if there[epoch] < 2:
            raise InputError(
                f"a choice needs at least two options, but after {start:,} decisions there are {there[epoch]}"
            )
        if up[epoch] == 0:
            raise InputError(f"after {start:,} decisions every option is down: nothing can be used")


def _segments(world: World, policy: Policy, path: Path) -> list[Segment]:
    found: list[Segment] = []
    epochs = len(path.starts) - 1
    first = 0
    for epoch in range(1, epochs + 1):
        if epoch < epochs and _alike(path, first, epoch):
            continue
        start, end = int(path.starts[first]), int(path.starts[epoch])
        found.append(_segment(world, policy, path, first, start, end, found[-1] if found else None))
        first = epoch
    return found


def _alike(path: Path, one: int, other: int) -> bool:
    same = np.array_equal(path.active[one], path.active[other])
    there = path.active[one]
    return same and np.array_equal(path.prices[one][there], path.prices[other][there])


def _segment(
    world: World, policy: Policy, path: Path, epoch: int, start: int, end: int, before: Segment | None
) -> Segment:
    problem = world.problem
    there = np.flatnonzero(path.active[epoch])
    told = (path.prices[epoch] * world.error)[there]
    order = cost_order(told)
    who = there[order].astype(np.int64)
    ranks = np.full(problem.arms, -1, np.int64)
    ranks[who] = np.arange(len(who))
    reference = None if problem.reference is None else int(np.flatnonzero(there == problem.reference)[0])
    setting = Setting.of(
        told,
        problem.quality,
        int(path.starts[-1]),
        reference,
        worth=problem.worth,
        learn_costs=world.bills is not None and policy.learns_costs,
        memory=_memory(world, policy),
        judge_price=world.judge_price,
    )
    origin = np.full(len(who), -1, np.int64) if before is None else before.seats.ranks[who]
    repriced = [] if before is None else _repriced(before, setting, origin)
    return Segment(start, end, setting, Seats(who, ranks), origin, np.array(repriced, np.int64))


def _repriced(before: Segment, setting: Setting, origin: Ints) -> list[int]:
    return [
        rank
        for rank, old in enumerate(origin.tolist())
        if old >= 0 and setting.costs[rank] != before.setting.costs[old]
    ]


def _memory(world: World, policy: Policy) -> int | None:
    """Return what a policy is told of changes; one that cannot notice them is told nothing."""
    if not policy.forgets or world.memory is None:
        return None
    return 0 if world.memory == "auto" else world.memory
