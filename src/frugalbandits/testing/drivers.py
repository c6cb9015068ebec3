"""Plain drivers of the contract: a policy by itself, in a session, and in the simulator."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contract import EVENTS, Batch, Policy
from frugalbandits.core.planner import Planner
from frugalbandits.core.session import Session
from frugalbandits.core.tally import observe
from frugalbandits.errors import HorizonWarning
from frugalbandits.testing.cases import Case

__all__ = ["Plan", "Run", "play", "play_in_session", "play_in_simulator", "session_of"]

Plan = Callable[[Any, Any], Batch]


class Run(NamedTuple):
    """The arms pulled and the events (pulls before it, kind, arm), in the caller's order."""

    pulled: list[int]
    events: list[tuple[int, str, int]]


def play(
    policy: Policy,
    case: Case,
    plan: Plan | None = None,
    one_pass: bool = False,
    watch: Callable[[Any, Batch], None] | None = None,
) -> Run:
    """Drive a policy to the horizon, a reward at a time.

    With `one_pass`, each batch is cut to its first pass. `watch` is called with the state and the batch
    after every plan.
    """
    order, pull, state = case.order, case.pull(), policy.begin(case.setting)
    rng = case.rng(3) if policy.randomised else None
    plan = plan or type(policy).plan
    run = Run([], [])
    while len(run.pulled) < case.horizon:
        batch = plan(state, rng)
        for i in range(len(run.events), int(state.journal.length[0])):
            arm = int(order[state.journal.arms[i]])
            run.events.append((len(run.pulled), EVENTS[state.journal.kinds[i]], arm))
        if watch is not None:
            watch(state, batch)
        ranks = batch.arms.tolist()
        passes = 1 if one_pass else int(batch.repeats)
        for i in range(min(case.horizon - len(run.pulled), passes * len(ranks))):
            rank = ranks[i % len(ranks)]
            arm = int(order[rank])
            observe(state, rank, 1, pull(arm))
            run.pulled.append(arm)
    return run


def session_of(
    policy: Policy,
    case: Case,
    costs: NDArray[np.float64] | None = None,
    names: tuple[str, ...] | None = None,
    memory: int | Literal["auto"] | None = "auto",
) -> Session:
    """Return a fresh session, with other costs or the arms in another order where they are given."""
    with warnings.catch_warnings():
        # Cases are short on purpose: a session may say that its policy comes to no conclusion in them.
        warnings.simplefilter("ignore", HorizonWarning)
        session = Session(
            case.costs if costs is None else costs,
            policy=policy,
            horizon=case.horizon,
            seed=case.seed,
            names=names or case.names,
            quality=case.quality,
            memory=memory,
        )
    # Plain to the end, so that a case shows the same again: machine code has a property of its own.
    session._planner = Planner(type(policy).plan, patience=0)
    return session


def play_in_session(session: Session, case: Case, between: Callable[[Session], Session] | None = None) -> Run:
    """Ask and tell in turn to the horizon; `between` may put another session in the place of this one."""
    pull = case.pull()
    pulled = []
    for _ in range(case.horizon):
        decision = session.ask()
        pulled.append(int(decision.arm))
        session.tell(decision.id, pull(pulled[-1]))
        if between is not None:
            session = between(session)
    return Run(pulled, [(time, event, int(arm)) for time, event, arm in session.explain().events])


def play_in_simulator(policy: Policy, case: Case) -> Run:
    """Run the simulator's own driver, uncompiled, with rewards from the table in place of random ones.

    Every time is a checkpoint, so that the counts of pulls tell which arm each pull was of.
    """
    from frugalbandits.lab import driver

    order, pull = case.order, case.pull()

    def table_sum(draws: Any, rank: int, pulls: int, rng: Any) -> float:
        return sum(pull(int(order[rank])) for _ in range(pulls))

    scope = {**driver.drive.__globals__, "plan": type(policy).plan, "draw_sum": table_sum}
    drive = FunctionType(driver.drive.__code__, scope)
    state = policy.begin(case.setting)
    rng = np.random.default_rng(case.seed) if policy.randomised else None
    times = np.arange(1, case.horizon + 1)
    counts = np.zeros((case.horizon, case.arms), np.int64)
    noted = np.zeros(len(state.journal.kinds), np.int64)
    drive(state, None, rng, None, times, counts, noted, np.zeros(1, np.bool_))
    steps = np.diff(counts, axis=0, prepend=0)
    journal = state.journal
    events = [
        (int(noted[i]), EVENTS[journal.kinds[i]], int(order[journal.arms[i]]))
        for i in range(int(journal.length[0]))
    ]
    return Run(order[steps.argmax(axis=1)].tolist(), events)
