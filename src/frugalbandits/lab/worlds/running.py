"""Many runs of a policy in a world, on all cores, the same for any number of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from frugalbandits.core.carried import carried
from frugalbandits.core.contract import Policy
from frugalbandits.core.registry import resolve
from frugalbandits.lab.driver import prepare
from frugalbandits.lab.rewards import RewardModel, resolve_rewards
from frugalbandits.lab.running import check_count, check_seed, checkpoint_times, label, run_all
from frugalbandits.lab.watching import Progress, listener
from frugalbandits.lab.worlds.driver import drive_of
from frugalbandits.lab.worlds.records import (
    ALARMS,
    BEST,
    COST,
    PLANS,
    QUALITY,
    RAISED,
    SPEND,
    Books,
    Law,
    Streams,
    new_books,
    new_mail,
)
from frugalbandits.lab.worlds.result import ALARM, WorldResult
from frugalbandits.lab.worlds.script import Script, law_of, script_of
from frugalbandits.lab.worlds.world import World

__all__ = ["simulate_world"]

# A geometric delay is cut here, in means: once in e**40 letters.
_PATIENCE = 40


def simulate_world(
    world: World,
    policy: str | Policy,
    horizon: float,
    runs: int = 50,
    seed: int = 0,
    checkpoints: int | Sequence[int] = 500,
    workers: int | None = None,
    rewards: str | RewardModel = "bernoulli",
    progress: Progress = True,
) -> WorldResult:
    """Run a policy in a world many times; `simulate` with a world does this, and states the parameters.

    Run i depends on the world, policy, horizon, rewards, seed and i alone. Which options are down, which
    feedback comes and when is the same for all policies.
    """
    chosen = resolve(policy)
    script = script_of(world, horizon, chosen)
    law = law_of(world, resolve_rewards(rewards))
    count = check_count("runs", runs)
    times = checkpoint_times(checkpoints, int(script.path.starts[-1]))
    threads = min(count, (os.cpu_count() or 1) if workers is None else check_count("workers", workers))
    check_seed(seed)
    heard = listener(progress, count)

    # What is wrong with a setting shows before the first run.
    for segment in script.segments:
        chosen.begin(segment.setting)
    books: list[Books | None] = [None] * count
    stop = np.zeros(1, np.bool_)
    _prepare(chosen, label(policy), world, script, law, times, stop)

    def one(run: int) -> None:
        books[run] = run_once(world, chosen, script, law, times, seed, run, stop)

    with heard as tell:
        tell(label(policy), 0)
        run_all(one, count, threads, stop, partial(tell, label(policy)))
    return _result(world, label(policy), chosen, seed, [each for each in books if each is not None])


def run_once(
    world: World,
    policy: Policy,
    script: Script,
    law: Law,
    times: Any,
    seed: int,
    run: int,
    stop: Any,
    drive: Any = None,
) -> Books:
    """Make one run, segment by segment; `drive` is the policy's own driver by default."""
    # The children that SeedSequence(seed).spawn would give to this run; the first two are as in `simulate`.
    for_policy, *others = np.random.SeedSequence(seed, spawn_key=(run,)).spawn(5)
    policy_rng = np.random.default_rng(for_policy) if policy.randomised else None
    streams = Streams(*map(np.random.default_rng, others))
    books = new_books(times, world.problem.arms)
    mail = new_mail(_longest(world), world.problem.arms)
    state: Any = None
    for segment in script.segments:
        if state is None:
            state = policy.begin(segment.setting)
        else:
            state = carried(policy, state, segment.setting, segment.origin.tolist())
            if hasattr(state, "bills"):
                # What an option cost before its price changed says nothing of what it costs now.
                for part in state.bills:
                    part[segment.repriced] = 0
        run_to_end = drive or drive_of(policy, state)
        run_to_end(
            state,
            script.path,
            segment.seats,
            law,
            policy_rng,
            streams,
            mail,
            books,
            segment.start,
            segment.end,
            stop,
        )
    return books


def _longest(world: World) -> int:
    if isinstance(world.delay, tuple):
        return int(_PATIENCE * (world.delay[1] + 1.0))
    return int(world.delay)


def _prepare(
    policy: Policy, name: str, world: World, script: Script, law: Law, times: Any, stop: Any
) -> None:
    segment = script.segments[0]
    sample = np.random.default_rng(0)
    state = policy.begin(segment.setting)
    prepare(
        drive_of(policy, state),
        name,
        state,
        script.path,
        segment.seats,
        law,
        sample if policy.randomised else None,
        Streams(sample, sample, sample, sample),
        new_mail(1, world.problem.arms),
        new_books(times, world.problem.arms),
        segment.start,
        segment.end,
        stop,
    )


def _result(world: World, policy: str, chosen: Policy, seed: int, books: Sequence[Books]) -> WorldResult:
    sums = np.stack([each.sums for each in books])
    horizon = int(books[0].times[-1])
    alarms = [
        (run, time, option, _right(world, horizon, each, place))
        for run, each in enumerate(books)
        for place in range(min(int(each.counts[RAISED]), ALARMS))
        for time, option in [(each.alarm_time[place], each.alarm_option[place])]
    ]
    return WorldResult(
        world=world,
        policy=policy,
        seed=seed,
        times=books[0].times,
        pulls=np.stack([each.pulls for each in books]),
        cost_regret=np.ascontiguousarray(sums[:, :, COST]),
        quality_regret=np.ascontiguousarray(sums[:, :, QUALITY]),
        spend=np.ascontiguousarray(sums[:, :, SPEND]),
        spend_on_best=np.ascontiguousarray(sums[:, :, BEST]),
        judged=np.stack([each.judged for each in books]),
        alarms=np.array(alarms, dtype=ALARM),
        plans=np.array([each.counts[PLANS] for each in books], np.int64),
        notes=_notes(world, chosen),
    )


def _right(world: World, horizon: int, books: Books, place: int) -> bool:
    """Tell whether an alarm is right: its option has changed since its last alarm."""
    time, option = int(books.alarm_time[place]), int(books.alarm_option[place])
    same = books.alarm_option[:place] == option
    last = int(books.alarm_time[:place][same].max(initial=0))
    return world.has_changed(option, last, time, horizon)


def _notes(world: World, policy: Policy) -> tuple[str, ...]:
    """Say what a policy cannot do of what the world asks for."""
    notes = []
    if world.bills is not None and not policy.learns_costs:
        notes.append("cannot learn costs: goes by what it was told")
    if world.drift and world.memory is not None and not policy.forgets and not policy.for_moving_means:
        notes.append("does not notice that options change")
    if world.feedback == "wanted" and not policy.wants:
        notes.append("has no say in what is judged: all is")
    return tuple(notes)
