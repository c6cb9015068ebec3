"""What the batch contract asks of a policy, property by property."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from frugalbandits.core.contract import EVENTS, Batch, Policy
from frugalbandits.core.jit import has_compiler, machine_code
from frugalbandits.core.quality import AtLeast, Quality, RelativeTo, RelativeToBest
from frugalbandits.core.registry import policies, resolve
from frugalbandits.core.session import Session
from frugalbandits.errors import InputError
from frugalbandits.testing.cases import Case
from frugalbandits.testing.drivers import Run, play, play_in_session, play_in_simulator, session_of

__all__ = ["PROPERTIES", "Broken", "Property"]

# Values that hardly any setting can have: a policy refuses them in words, or can do with them.
NONSENSE = (float("nan"), float("inf"), -1.0, "nonsense", None)


class Broken(Exception):
    """A property does not hold, said in words."""


class Property(NamedTuple):
    """What must hold, and why it cannot be checked where it cannot."""

    check: Callable[[Policy, Case], None]
    why_not: Callable[[Policy], str | None] = lambda policy: None


def demand(holds: object, words: str) -> None:
    """Raise Broken unless something holds."""
    if not holds:
        raise Broken(words)


def same(one: Run, other: Run, this: str, that: str) -> None:
    """Demand the same pulls and events of two runs."""
    for i, (a, b) in enumerate(zip(one.pulled, other.pulled, strict=True)):
        demand(a == b, f"Pull {i} is of arm {a} {this}, and of arm {b} {that}.")
    demand(one.events == other.events, f"The events are {one.events} {this}, and {other.events} {that}.")


def seen(value: Any) -> str:
    """Return a state, or a part of it, as text, to compare it later."""
    if hasattr(value, "_asdict"):
        return ", ".join(f"{name} {seen(part)}" for name, part in value._asdict().items())
    return repr(value.tolist()) if isinstance(value, np.ndarray) else repr(value)


def starts_from_nothing(policy: Policy, case: Case) -> None:
    """Check that nothing was pulled, nothing concluded, and that two runs have no array in common."""
    one, other = policy.begin(case.setting), policy.begin(case.setting)
    for part in one.tally:
        demand(part.shape == (case.arms,), f"A part of the tally has the shape {part.shape}.")
        demand(not part.any(), f"The tally of a fresh state is {seen(one.tally)}.")
    demand(one.journal.length.tolist() == [0], f"The journal of a fresh state is {seen(one.journal)}.")
    for mine in _arrays(one):
        for yours in _arrays(other):
            demand(not np.shares_memory(mine, yours), f"Two runs share the array {mine.tolist()}.")


def _arrays(state: Any) -> list[np.ndarray[Any, Any]]:
    if isinstance(state, np.ndarray):
        return [state]
    return [array for part in state for array in _arrays(part)] if hasattr(state, "_asdict") else []


def valid_pulls(policy: Policy, case: Case) -> None:
    """Check that a batch has pulls, of arms that there are, and at least one pass."""

    def watch(state: Any, batch: Batch) -> None:
        demand(isinstance(batch, Batch), f"`plan` returned {batch!r}, which is no Batch.")
        ranks = np.asarray(batch.arms)
        whole = ranks.dtype.kind == "i" and ranks.ndim == 1
        demand(whole, f"The arms of a batch are {batch.arms!r}: no flat array of whole numbers.")
        demand(ranks.size, "A batch has no pulls.")
        within = ((ranks >= 0) & (ranks < case.arms)).all()
        demand(within, f"A batch pulls {ranks.tolist()}, but there are {case.arms} arms, 0 the cheapest.")
        demand(int(batch.repeats) >= 1, f"A batch has {batch.repeats} passes.")

    play(policy, case, watch=watch)


def plan_keeps_to_its_part(policy: Policy, case: Case) -> None:
    """Check that `plan` leaves the tally alone, adds to the journal and changes nothing that stands there."""
    counts = np.zeros(case.arms, np.int64)
    noted: list[tuple[int, int]] = []

    def watched(state: Any, rng: Any) -> Batch:
        before = seen(state.tally)
        batch: Batch = type(policy).plan(state, rng)
        demand(seen(state.tally) == before, f"`plan` changed the tally: {before} became {seen(state.tally)}.")
        pulls = state.tally.pulls.tolist()
        demand(pulls == counts.tolist(), f"The tally has {pulls} pulls, but there were {counts.tolist()}.")
        length, room = int(state.journal.length[0]), len(state.journal.kinds)
        demand(length <= room, f"The journal has room for {room} conclusions, but {length} were noted.")
        now = list(
            zip(state.journal.kinds[:length].tolist(), state.journal.arms[:length].tolist(), strict=True)
        )
        demand(now[: len(noted)] == noted, f"The journal was {noted} and became {now}.")
        for kind, rank in now[len(noted) :]:
            known = 0 <= kind < len(EVENTS) and 0 <= rank < case.arms
            demand(known, f"Noted was a conclusion of kind {kind} on arm {rank}.")
        noted[:] = now
        ranks = np.asarray(batch.arms)
        left = case.horizon - int(counts.sum())
        for i in range(min(left, len(ranks) * int(batch.repeats))):
            counts[ranks[i % len(ranks)]] += 1
        return batch

    play(policy, case, watched)
    kinds = [kind for kind, _ in noted]
    demand(kinds.count(EVENTS.index("optimal")) <= 1, f"More than one arm was deemed optimal: {noted}.")


def step_equals_batch(policy: Policy, case: Case) -> None:
    """Check that a batch is right whatever its outcomes: planned anew after every pass, it is the same."""
    whole, cut = play(policy, case), play(policy, case, one_pass=True)
    same(whole, cut, "in whole batches", "when every pass is planned anew")


def planning_twice(policy: Policy, case: Case) -> None:
    """Check that `plan`, called again with nothing observed, says the same and notes nothing."""

    def watch(state: Any, batch: Batch) -> None:
        before = seen(state.journal)
        again = type(policy).plan(state, None)
        one, other = ((each.arms.tolist(), int(each.repeats)) for each in (batch, again))
        demand(one == other, f"The same state was planned as {one} and then as {other}.")
        demand(seen(state.journal) == before, f"The second plan noted something: {seen(state.journal)}.")

    play(policy, case, watch=watch)


def answers_while_pending(policy: Policy, case: Case) -> None:
    """Check that decisions go on while all feedback is out, and when it comes late, out of order or never."""
    session, silent = session_of(policy, case), session_of(policy, case)
    for _ in range(case.horizon):
        silent.ask()
    rng, pull = case.rng(4), case.pull()
    out: list[tuple[int, int]] = []
    for _ in range(case.horizon):
        decision = session.ask()
        out.append((decision.id, int(decision.arm)))
        while out and rng.random() < 0.4:
            id_, arm = out.pop(int(rng.integers(len(out))))
            if rng.random() < 0.1:
                session.forget(id_)
            else:
                session.tell(id_, pull(arm))
    waiting = len(session.pending)
    demand(waiting == len(out), f"{len(out)} decisions are out, but {waiting} wait for feedback.")


def any_order_of_tells(policy: Policy, case: Case) -> None:
    """Check that the order in which feedback comes leaves no trace."""
    one, other = session_of(policy, case), session_of(policy, case)
    rng = case.rng(5)
    number = min(case.horizon, 60)
    ids = [one.ask().id for _ in range(number)]
    demand([other.ask().id for _ in range(number)] == ids, "Two fresh sessions differ.")
    rewards = rng.random(number)
    for id_ in ids:
        one.tell(id_, float(rewards[id_]))
    for id_ in rng.permutation(ids).tolist():
        other.tell(id_, float(rewards[id_]))
    for this, that in zip(one.explain().arms, other.explain().arms, strict=True):
        demand(this == that, f"Told in turn an arm is {this}, and in another order {that}.")
    demand(one.to_json() == other.to_json(), "The stored states differ after another order of tells.")
    after = [[session.ask().arm for _ in range(20)] for session in (one, other)]
    demand(after[0] == after[1], f"Told in turn what follows is {after[0]}, and else {after[1]}.")


def session_equals_simulator(policy: Policy, case: Case) -> None:
    """Check that ask and tell in turn make the pulls that the simulator makes."""
    simulated = play_in_simulator(policy, case)
    # In the simulator nothing changes, so nothing is looked for that has.
    session = session_of(policy, case, memory=None)
    same(play_in_session(session, case), simulated, "in a session", "in the simulator")


def storing_changes_nothing(policy: Policy, case: Case) -> None:
    """Check that a session that is written and read now and then makes the same decisions."""
    rng = case.rng(6)

    def stored(session: Session) -> Session:
        if rng.random() > 0.2:
            return session
        text = session.to_json()
        again = Session.from_json(text)
        again._planner = session._planner  # plain, as `session_of` has it
        demand(again.to_json() == text, "A session that was read is written in another way.")
        return again

    live = play_in_session(session_of(policy, case), case)
    same(live, play_in_session(session_of(policy, case), case, stored), "if nothing is stored", "else")


def plain_equals_compiled(policy: Policy, case: Case) -> None:
    """Check that machine code makes the same pulls, and so does a run that switches at any moment."""
    plain, fast = type(policy).plan, machine_code(type(policy).plan)
    rng = case.rng(7)
    expected = play(policy, case, plain)
    same(expected, play(policy, case, fast), "in plain Python", "compiled")

    def either(state: Any, generator: Any) -> Batch:
        batch: Batch = (plain if rng.random() < 0.5 else fast)(state, generator)
        return batch

    same(expected, play(policy, case, either), "in plain Python", "when it switches to and fro")


def repeatable(policy: Policy, case: Case) -> None:
    """Check that the same seed gives the same run, whatever was run or drawn before."""
    # The generators of the process, which a policy must not draw from, stand elsewhere the second time.
    first = play_in_session(session_of(policy, case), case)
    again = play_in_session(session_of(policy, case), case)
    same(first, again, "at first", "with the same seed again")


def order_of_arms(policy: Policy, case: Case) -> None:
    """Check that arms in another order, with their costs and rewards, are pulled as before."""
    # Distinct, because equal costs are taken in the order that they are given in.
    costs = np.linspace(0.5, 2.5, case.arms)
    order = case.rng(8).permutation(case.arms)
    given = play_in_session(session_of(policy, case, costs), case)
    names = tuple(map(str, order))
    shuffled = play_in_session(session_of(policy, case, costs[order], names), case)
    same(given, shuffled, "in the order of cost", f"in the order {order.tolist()}")


def settings_survive(policy: Policy, case: Case) -> None:
    """Check that a policy is its settings: frozen, and the same again from their JSON form."""
    fields = dataclasses.asdict(policy)
    again = type(policy)(**json.loads(json.dumps(fields)))
    demand(again == policy, f"From its settings {fields} the policy is made anew as {again!r}.")
    demand(hash(again) == hash(policy), f"{policy!r} has another hash when it is made anew.")
    for name in fields:
        try:
            setattr(policy, name, fields[name])
        except dataclasses.FrozenInstanceError:
            continue
        raise Broken(f"The setting {name!r} can be changed: a policy is a frozen dataclass.")


def explains_itself(policy: Policy, case: Case) -> None:
    """Check that bounds and reasons are there at any time, make sense, and change nothing."""

    def look(state: Any, ranks: list[int]) -> None:
        before = seen(state)
        bounds = policy.bounds(state)
        for name in ("lower", "upper", "status", "evidence"):
            part = getattr(bounds, name)
            fits = len(part) == case.arms if part is not None else name == "evidence"
            demand(fits, f"`bounds` has {name} {part!r} for {case.arms} arms.")
        fine = (np.asarray(bounds.lower) <= np.asarray(bounds.upper)).all()
        lower, upper = list(map(float, bounds.lower)), list(map(float, bounds.upper))
        demand(fine, f"Lower bounds {lower} do not lie below the upper ones {upper}.")
        said = all(isinstance(word, str) and word for word in bounds.status)
        demand(said, f"The status of the arms is {bounds.status!r}: a word each is wanted.")
        for rank in (bounds.candidate, bounds.likely):
            demand(-1 <= rank < case.arms, f"`bounds` names arm {rank} of {case.arms}.")
        for rank in ranks:
            reason = policy.reason(state, rank)
            demand(isinstance(reason, str) and reason, f"The reason to pull arm {rank} is {reason!r}.")
        demand(seen(state) == before, "`bounds` or `reason` changed the state.")

    fresh = policy.begin(case.setting)
    look(fresh, [])
    play(policy, case, watch=lambda state, batch: look(state, sorted(set(batch.arms.tolist()))))
    session = session_of(policy, case)
    for _ in range(min(case.horizon, 20)):
        session.ask()
        demand(str(session.explain()), "A session has no explanation.")


def refusals_are_words(policy: Policy, case: Case) -> None:
    """Check that what a policy cannot use is refused by an InputError, when it enters."""
    bars: tuple[Quality, ...] = (RelativeToBest(0.1), RelativeTo("0", 0.1), AtLeast(0.5))
    for bar in bars:
        setting = case.setting._replace(quality=bar, reference=0 if isinstance(bar, RelativeTo) else -1)
        wanted = policy.any_bar or isinstance(bar, RelativeToBest)
        try:
            policy.begin(setting)
        except InputError as error:
            demand(not wanted, f"The bar {bar!r} was refused: {error}")
        else:
            demand(wanted, f"The bar {bar!r} was taken, but `any_bar` says that it is not known.")
    _words(functools.partial(policy.begin, case.setting._replace(horizon=None)), "no horizon")
    for field in dataclasses.fields(policy):
        for value in NONSENSE:
            attempt = functools.partial(dataclasses.replace, policy, **{field.name: value})
            _words(attempt, f"{field.name}={value!r}")


def _words(attempt: Callable[[], object], what: str) -> None:
    try:
        attempt()
    except InputError:
        return
    except Exception as error:
        raise Broken(f"With {what} it raised {error!r}, not an InputError.") from error


def _if_repeatable(policy: Policy) -> str | None:
    return "a randomised policy draws anew" if policy.randomised else None


def _if_registered(policy: Policy) -> str | None:
    known = {type(resolve(name)) for name in policies()}
    if type(policy) in known:
        return None
    return f"stored sessions are of registered policies: frugalbandits.register(NAME, {policy!r})"


def _if_compiler(policy: Policy) -> str | None:
    return None if has_compiler() else "there is no numba: pip install 'frugalbandits[fast]'"


def _if_simulator(policy: Policy) -> str | None:
    try:
        import_module("frugalbandits.lab.driver")
    except ModuleNotFoundError as error:
        return f"the simulator needs {error.name}: pip install 'frugalbandits[lab]'"
    return None


# In this order: what comes first is what the others stand on.
PROPERTIES = {
    "a run starts from nothing": Property(starts_from_nothing),
    "pulls are of arms that there are": Property(valid_pulls),
    "plan leaves the tally alone and only adds to the journal": Property(plan_keeps_to_its_part),
    "planning twice changes nothing": Property(planning_twice, _if_repeatable),
    "step equals batch": Property(step_equals_batch, _if_repeatable),
    "settings survive": Property(settings_survive),
    "refusals are InputErrors": Property(refusals_are_words),
    "it answers while feedback is out": Property(answers_while_pending),
    "bounds and reasons are there at any time": Property(explains_itself),
    "the same seed gives the same run": Property(repeatable),
    "any order of tells gives the same state": Property(any_order_of_tells),
    "the order of the arms does not matter": Property(order_of_arms),
    "session equals simulator": Property(session_equals_simulator, _if_simulator),
    "storing in the middle changes nothing": Property(storing_changes_nothing, _if_registered),
    "plain equals compiled": Property(plain_equals_compiled, _if_compiler),
}
