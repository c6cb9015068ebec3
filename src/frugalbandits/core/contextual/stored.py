"""The stored form of a contextual session: JSON with a format name, a version and a checksum.

It has the arrays of the policy's state, of the size of options times the square of a query's width, and for
each decision that waits its query, option, propensity and floors. Compiled code trusts what it is given, so
all of it is held against ranges, and against itself. Whatever is wrong is a `StateFormatError`. Versions are
read for ever.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from frugalbandits.core.contextual.accounts import Account, Waiter
from frugalbandits.core.contextual.context import (
    LARGEST,
    Context,
    Encoder,
    Features,
    Joined,
    Segments,
    TextFeatures,
)
from frugalbandits.core.contextual.contract import ContextualPolicy
from frugalbandits.core.contextual.desk import Desk
from frugalbandits.core.contextual.registry import contextual_policies, resolve_contextual
from frugalbandits.core.contract import copied
from frugalbandits.core.options import check_options
from frugalbandits.core.quality import RelativeTo, quality_from_dict, quality_to_dict
from frugalbandits.core.session.arrays import MOST, dump_arrays, dump_random, load_random
from frugalbandits.core.session.checks import amount, broken, listed, option, rows, short, texts, whole
from frugalbandits.core.session.moved import load_history, load_waiting, parts_of, waiting_of, word_of
from frugalbandits.core.session.stored import checksum, signed
from frugalbandits.core.session.terms import RETIRED, STANDINGS, Terms
from frugalbandits.core.session.waiting import duration
from frugalbandits.errors import InputError, StateFormatError, unknown_name

__all__ = ["FORMAT", "captured", "read_into", "written"]

FORMAT = "frugalbandits-contextual-session"
VERSION = 3  # since 2 a decision that waits has its floors; since 3 DualCOF knows what it wants to hear of
_MUCH = 1e300
_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Segments, Features, TextFeatures)}


def written(desk: Desk) -> str:
    """Return the text of a session whose lock is held."""
    return captured(desk)()


def captured(desk: Desk) -> Callable[[], str]:
    """Copy a session whose lock is held; return what makes a text of the copy, which needs no lock.

    To write thousands of numbers takes seconds, to copy them milliseconds.
    """
    names = list(desk._names)
    state = copied(desk._state)
    pending = [
        (id_, names[each], desk._waiters[id_], desk._metadata.get(id_)) for id_, each in desk._pending.items()
    ]
    data = {
        "format": FORMAT,
        "version": VERSION,
        "names": names,
        "costs": list(desk._costs),
        "standing": [STANDINGS[each] for each in desk._standing],
        "quality": quality_to_dict(desk._quality),
        "context": _context_to_dict(desk._context),
        "segments": list(desk._encoder.names),
        "policy": {
            "name": desk._label,
            "kind": type(desk._policy).__name__,
            "settings": dataclasses.asdict(desk._policy),
        },
        "memory": desk._memory,
        "time_to_live": desk._time_to_live,
        "decisions": desk._next,
        "pending": [],
        "accounts": [_account_to_list(each) for each in desk._accounts],
        "by_segment": [
            [name, *_account_to_list(each), dict(each.uses)] for name, each in desk._segments.items()
        ],
        "waiting": waiting_of(desk._waiting, names, 0),
        "changes": [list(each) for each in desk._history.changes],
        "changes_in_all": desk._history.total,
        "state": {},
        "random": dump_random(desk._rng),
    }

    def text() -> str:
        data["pending"] = [_pending_to_list(*each) for each in pending]
        data["state"] = dump_arrays(state)
        return json.dumps({**data, "checksum": checksum(data)}, allow_nan=False)

    return text


def _pending_to_list(id_: int, name: str, waiter: Waiter, metadata: Any) -> list[Any]:
    return [
        id_,
        name,
        waiter.features.tolist(),
        waiter.segment,
        waiter.propensity,
        waiter.cost,
        waiter.floors.tolist(),
        metadata,
    ]


def _account_to_list(account: Account) -> list[Any]:
    return [
        account.decisions,
        account.told,
        account.rewards,
        account.spent,
        account.always,
        account.observed,
    ]


def _context_to_dict(context: Context) -> dict[str, Any]:
    """Return what a session looks at as plain values."""
    if isinstance(context, Joined):
        parts = {
            "segments": _context_to_dict(context.segments),
            "features": _context_to_dict(context.features),
        }
        return {"kind": "Joined", **parts}
    return {"kind": type(context).__name__, **dataclasses.asdict(context)}


def _context_from_dict(data: Any) -> Context:
    parts = dict(parts_of("context", data))
    kind = parts.pop("kind", None)
    if kind == "Joined" and set(parts) == {"segments", "features"}:
        segments, features = _context_from_dict(parts["segments"]), _context_from_dict(parts["features"])
        if isinstance(segments, Segments) and isinstance(features, Features | TextFeatures):
            return Joined(segments, features)
    if not isinstance(kind, str) or kind not in _KINDS:
        broken(f"'context' is {short(data)}")
    try:
        made: Context = _KINDS[kind](**parts)
    except (TypeError, InputError) as error:
        broken(f"'context' is {short(data)}: {error}")
    return made


def read_into(desk: Desk, text: str, policy: ContextualPolicy | None) -> None:
    """Make an empty session what a text says; `policy` may be of a kind that has no name."""
    data = signed(text, FORMAT, VERSION)
    names = texts("names", data.get("names"))
    known = frozenset(names)
    costs = [amount("an entry of 'costs'", each, 0.0, _MUCH) for each in listed("costs", data.get("costs"))]
    standing = [word_of("standing", each, STANDINGS) for each in listed("standing", data.get("standing"))]
    if not len(costs) == len(names) == len(standing) or all(each == RETIRED for each in standing):
        broken(f"'standing' is {short(standing)} and 'costs' {short(costs)} for {len(names)} options")
    decisions = whole("decisions", data.get("decisions"), 0, MOST)
    memory = data.get("memory")
    encoder = _encoder(data)
    label, made = _policy(data.get("policy"), policy)
    try:
        checked, given = check_options(costs, names)
        desk._costs, desk._names, desk._label = checked.tolist(), list(given), label
        quality = quality_from_dict(data.get("quality"))
        lives = duration(data.get("time_to_live"))
        fading = None if memory is None else whole("'memory'", memory, 1, MOST)
        desk._begin(made, quality, encoder, None, fading, lives)
    except StateFormatError:
        raise
    except InputError as error:
        raise StateFormatError(f"this session state does not make sense: {error}") from error
    if isinstance(quality, RelativeTo) and standing[names.index(quality.reference)] == RETIRED:
        broken(f"{quality.reference!r} sets the bar, but was retired")
    desk._standing = standing
    desk._arrange()
    desk._state = made.start(desk._setting)
    if data["version"] == 1:
        data = _from_version_1(desk, data)
    if data["version"] <= 2:
        data = {**data, "state": made.from_version_2(parts_of("state", data.get("state")))}
    _fill(desk, data.get("state"))
    load_random(desk._rng, data.get("random"))
    desk._next = decisions
    desk._history = load_history(data, known, decisions)
    _load_accounts(desk, data, known, decisions)
    _load_waiting(desk, data, known, decisions)


def _from_version_1(desk: Desk, data: dict[str, Any]) -> dict[str, Any]:
    """Return a session of format 1 in the present form: what waits has the floors of the latest query."""
    arrays, latest = desk._policy.from_version_1(parts_of("state", data.get("state")))
    given = [amount("a floor of the state", each, 0.0, 1.0) for each in listed("floors", latest or [])]
    floors = [0.0] * len(desk._names)
    for option_, floor in zip(desk._options, given, strict=False):
        floors[option_] = floor
    pending = []
    for row in rows("pending", data.get("pending"), 7):
        own = list(floors)
        if row[1] in desk._names:
            place = desk._names.index(row[1])
            own[place] = min(own[place], amount("a propensity in 'pending'", row[4], 1e-12, 1.0))
        pending.append([*row[:6], own, row[6]])
    return {**data, "state": arrays, "pending": pending}


def _encoder(data: dict[str, Any]) -> Encoder:
    context = _context_from_dict(data.get("context"))
    found = texts("segments", data.get("segments"))
    encoder = Encoder(context, found)
    given = Encoder(context)
    most = getattr(getattr(context, "segments", context), "most", 0)
    if list(given.names) != found[: len(given.names)] or len(encoder.names) < len(found) or len(found) > most:
        broken(f"'segments' is {short(found)}, which does not fit {context!r}")
    return encoder


def _policy(data: Any, given: ContextualPolicy | None) -> tuple[str, ContextualPolicy]:
    known = [resolve_contextual(name) for name in contextual_policies()] + ([] if given is None else [given])
    kinds = {type(each).__name__: type(each) for each in known}
    parts = parts_of("policy", data)
    kind, label = parts.get("kind"), parts.get("name")
    if not isinstance(kind, str) or not isinstance(label, str):
        broken(f"'policy' is {short(data)}")
    if kind not in kinds:
        raise StateFormatError(str(unknown_name("kind of policy", kind, kinds)))
    try:
        return label, kinds[kind](**parts_of("settings", parts.get("settings")))
    except (TypeError, InputError) as error:
        broken(f"the settings of {kind} are {short(parts.get('settings'))}: {error}")


def _fill(desk: Desk, data: Any) -> None:
    """Fill the arrays of a fresh state with what was stored."""
    parts = parts_of("state", data)
    ranges = desk._policy.range_of(desk._setting)
    for name, array in desk._state._asdict().items():
        if not isinstance(array, np.ndarray):
            continue
        values = parts.get(name)
        _check_numbers(name, values)
        try:
            found = np.array(values, np.float64)
        except (ValueError, OverflowError) as error:
            broken(f"{name!r} of the state: {error}")
        if found.shape != array.shape:
            broken(f"{name!r} of the state has the shape {found.shape}, not {array.shape}")
        if name not in ranges:
            if not np.array_equal(found, array):
                broken(f"{name!r} of the state does not follow from the settings")
            continue
        low, high = ranges[name]
        outside = ~((found >= low) & (found <= high))
        if outside.any():
            broken(f"{name!r} of the state has the value {found[outside][0]}")
        array[...] = found
    trouble = desk._policy.contradiction(desk._state)
    if trouble is not None:
        broken(trouble)


def _check_numbers(name: str, values: Any) -> None:
    """Reject anything but lists of numbers, nested as an array is."""
    if isinstance(values, list):
        for each in values:
            if type(each) is not float:
                _check_numbers(name, each)
    elif isinstance(values, bool) or not isinstance(values, int | float):
        broken(f"{name!r} of the state has the entry {short(values)}")


def _account(what: str, row: list[Any], decisions: int) -> Account:
    counts = [whole(f"a count in {what!r}", each, 0, MOST) for each in (row[0], row[1], row[5])]
    amounts = [amount(f"an amount in {what!r}", each, -_MUCH, _MUCH) for each in row[2:5]]
    if counts[0] > decisions or counts[1] > counts[0] or not 0.0 <= amounts[0] <= counts[1]:
        broken(f"{what!r} has the entry {short(row)} of {decisions} decisions")
    return Account(counts[0], counts[1], amounts[0], amounts[1], amounts[2], counts[2])


def _load_accounts(desk: Desk, data: dict[str, Any], known: frozenset[str], decisions: int) -> None:
    desk._accounts = [
        _account("accounts", row, decisions) for row in rows("accounts", data.get("accounts"), 6)
    ]
    if len(desk._accounts) != len(desk._names) or sum(each.decisions for each in desk._accounts) != decisions:
        broken(f"'accounts' has not {decisions} decisions of {len(desk._names)} options")
    known_segments: set[str] = set()
    for name, *row in rows("by_segment", data.get("by_segment"), 8):
        if not isinstance(name, str) or name in known_segments or not desk._encoder.has_segments:
            broken(f"'by_segment' has the segment {short(name)}")
        account = _account("by_segment", row[:6], decisions)
        for key, count in parts_of("uses", row[6]).items():
            account.uses[option("uses", key, known)] = whole("a count in 'uses'", count, 1, account.decisions)
        if sum(account.uses.values()) != account.decisions or not account.uses:
            broken(f"'by_segment' has the entry {short(row)}")
        known_segments.add(name)
        # Earlier releases kept an account for every segment that ever turned up.
        place = desk._segments.setdefault(desk._segment_key(name), Account())
        place.add(account)


def _load_waiting(desk: Desk, data: dict[str, Any], known: frozenset[str], decisions: int) -> None:
    numbers = {name: number for number, name in enumerate(desk._names)}
    terms = Terms(time_to_live=desk._time_to_live)
    waiting = load_waiting(data.get("waiting"), terms, numbers, decisions)
    waiters: dict[int, Waiter] = {}
    encoder = desk._encoder
    for row in rows("pending", data.get("pending"), 8):
        id_ = whole("an id in 'pending'", row[0], 0, decisions - 1)
        if waiters and id_ <= next(reversed(waiters)):
            broken(f"decision {id_} does not come after the one before it in 'pending'")
        given = listed("features", row[2])
        features = [amount("a feature in 'pending'", each, -LARGEST, LARGEST) for each in given]
        segment = row[3]
        if len(features) != encoder.features or (segment is None) == encoder.has_segments:
            broken(f"'pending' has the entry {short(row)}")
        if segment is not None and desk._segment_account(segment) is None:
            broken(f"'pending' has the segment {short(segment)}")
        number = waiting.options[id_] = numbers[option("pending", row[1], known)]
        propensity = amount("a propensity in 'pending'", row[4], 1e-12, 1.0)
        floors = [amount("a floor in 'pending'", each, 0.0, 1.0) for each in listed("floors", row[6])]
        if not number < len(floors) <= len(numbers) or floors[number] > propensity:
            broken(f"'pending' has the floors {short(floors)} with a propensity of {propensity}")
        trouble = desk._policy.pending_contradiction(propensity, floors)
        if trouble is not None:
            broken(f"'pending' has the entry {short(row)}, with {trouble}")
        waiters[id_] = Waiter(
            np.array(features, np.float64),
            segment,
            propensity,
            amount("a cost in 'pending'", row[5], 0.0, _MUCH),
            np.array(floors, np.float64),
        )
        if row[7] is not None:
            waiting.metadata[id_] = row[7]
    if not waiting.billed <= set(waiters):
        broken("bills came for decisions that do not wait")
    if desk._time_to_live is not None and waiters:
        live = waiting.live[0].first if waiting.live else decisions
        if min(waiters) < live:
            broken(f"decision {min(waiters)} waits, but has no time")
    desk._wait_in(waiting, waiters)
