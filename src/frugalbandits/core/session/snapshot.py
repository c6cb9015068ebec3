"""A session as text, and back."""

from __future__ import annotations

from typing import Any

from frugalbandits.core.contract import Policy
from frugalbandits.core.options import check_options
from frugalbandits.core.quality import RelativeTo, quality_to_dict
from frugalbandits.core.session import arrays, stored
from frugalbandits.core.session.checks import broken
from frugalbandits.core.session.money import Money
from frugalbandits.core.session.moved import moved_of
from frugalbandits.core.session.taking import Taking
from frugalbandits.core.session.terms import ACTIVE, RETIRED, Left
from frugalbandits.core.tally import new_bills, new_tally
from frugalbandits.errors import InputError, StateFormatError

__all__ = ["captured", "read_into"]


def captured(session: Taking, money: Money | None = None) -> dict[str, Any]:
    """Copy what is stored of a session whose lock is held; `stored.dump` writes it, which needs no lock.

    `money` takes the place of the session's own.
    """
    names = session._names
    left = [[names[option], arrays.dump_arrays(each)] for option, each in sorted(session._left.items())]
    return {
        "names": list(names),
        "costs": list(session._costs),
        "quality": quality_to_dict(session._quality),
        "horizon": session._horizon,
        "policy": stored.dump_policy(session._label, session._policy),
        "decisions": session._next,
        "asked": list(session._asked),
        "pending": [
            [id_, names[option], session._metadata.get(id_)] for id_, option in session._pending.items()
        ],
        "batch": {
            "options": [session._by_rank[rank] for rank in session._ranks],
            "at": session._at,
            "repeats": session._repeats,
        },
        "events": [list(event) for event in session._events],
        "moved": {**moved_of(session, money or session._money), "left": left},
        "state": arrays.dump_arrays(session._state, short_rows=True),
        "random": arrays.dump_random(session._rng),
    }


def read_into(session: Taking, text: str, policy: Policy | None) -> None:
    """Make an empty session what a text says; `policy` may be of a kind that is not registered."""
    data = stored.load(text, policy)
    moved = data.moved
    try:
        # Earlier releases took any text for a name.
        costs, names = check_options(data.costs, data.names, any_text=True)
        session._costs, session._names = costs.tolist(), list(names)
        session._label = data.label
        session._quality, session._policy = data.quality, data.policy
        session._begin(data.policy, data.quality, data.horizon, None, moved.terms)
        if RETIRED in moved.standing:
            if isinstance(data.quality, RelativeTo):
                judge = session._names.index(data.quality.reference)
                if moved.standing[judge] == RETIRED:
                    broken(f"{data.quality.reference!r} sets the bar, but was retired")
            session._standing = moved.standing
            session._arrange(*session._setting_for(session._names, session._costs, moved.standing))
            session._state = data.policy.begin(session._setting)
    except StateFormatError:
        raise
    except InputError as error:
        raise StateFormatError(f"this session state does not make sense: {error}") from error
    session._standing = moved.standing
    arrays.load_arrays(session._state, data.arrays, data.policy, session._setting, data.version)
    arrays.load_random(session._rng, data.random)
    _load_left(session, moved.left)
    homes = {name: session._home(option) for option, name in enumerate(session._names)}
    stored.check_consistent(homes, session._state, data)
    stored.check_events(session._state.journal, data, session._by_rank)
    _take_over(session, data)


def _load_left(session: Taking, left: dict[int, Any]) -> None:
    retired = {option for option, each in enumerate(session._standing) if each == RETIRED}
    if set(left) != retired:
        broken("'left' is not what was seen of the options that were retired")
    for option, data in left.items():
        session._left[option] = Left(new_tally(1), new_bills(1))
        arrays.load_left(session._left[option], data)


def _take_over(session: Taking, data: stored.Stored) -> None:
    moved = data.moved
    state = session._state
    session._next = data.decisions
    session._asked, session._observed = data.asked, moved.observed
    numbers = {name: option for option, name in enumerate(session._names)}
    moved.waiting.options.update((id_, numbers[name]) for id_, name in sorted(data.pending.items()))
    moved.waiting.metadata.update(data.metadata)
    session._wait_in(moved.waiting)
    session._money, session._history, session._lost_at = moved.money, moved.history, moved.lost_at
    session._events, session._kept = data.events, moved.kept
    session._unconfirmed = moved.unconfirmed
    session._noted = int(state.journal.length[0])
    if session._setting.memory is not None:
        session._alarms = int(state.past.alarms[0])
    if data.policy.wants:
        session._wanted = bool(state.wanted[0])
    if data.policy.minds_absence:
        usable = [session._standing[option] == ACTIVE for option in session._ranked]
        if state.usable.tolist() != usable:
            broken(f"'usable' of the state is {state.usable.tolist()}, but of the options it is {usable}")
    session._use(*stored.batch_of(data, session._by_rank))
    session._look_around()
