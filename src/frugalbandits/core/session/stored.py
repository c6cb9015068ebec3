"""The stored form of a session: JSON with a format name, a version and a checksum.

Every version is read for ever; golden files of each are kept in the tests. Only what changes is stored of
a policy's state (its arrays); the rest follows from the settings. Compiled code trusts what it is given, so
every value is held against its range before a session is made of it; the checksum is there for damage that
leaves all of them in range. Whatever is wrong is a `StateFormatError`.

Options stand in it by name, so that it means the same whatever they cost.

Version 2 has the draws ahead of TS-CS in another form. Version 3 has a quality bar in place of alpha.
Version 4 has names in place of ranks of cost, decisions by option, and metadata of decisions.
Version 5 has what moves: see `moved`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter, deque
from typing import Any, NamedTuple

import numpy as np

from frugalbandits.core.contract import EVENTS, FOREVER, Batch, Policy
from frugalbandits.core.options import cost_order
from frugalbandits.core.past import past_contradiction
from frugalbandits.core.quality import Quality, RelativeToBest, quality_from_dict
from frugalbandits.core.registry import policies, resolve
from frugalbandits.core.session.arrays import MOST
from frugalbandits.core.session.checks import broken, listed, option, rows, short, texts, whole
from frugalbandits.core.session.moved import Moved, load_moved
from frugalbandits.errors import InputError, StateFormatError, unknown_name

__all__ = [
    "Stored",
    "batch_of",
    "check_consistent",
    "check_events",
    "check_known",
    "checksum",
    "dump",
    "dump_policy",
    "load",
    "signed",
]

FORMAT = "frugalbandits-session"
VERSION = 6  # since 6 the zeros at the ends of rows are left out


class Stored(NamedTuple):
    """What a stored session says, checked as far as it can be without its policy's state."""

    version: int
    names: list[str]
    costs: list[float]
    quality: Quality
    horizon: int | None
    label: str
    policy: Policy
    decisions: int
    asked: list[int]  # by name
    pending: dict[int, str]
    metadata: dict[int, Any]
    batch: tuple[list[str], int, int]  # options, place in them, repeats
    events: list[tuple[int, str, str]]
    arrays: dict[str, Any]
    random: Any
    moved: Moved


_NUMBERS = frozenset({int, float})
# Texts that this process has just written: a new session in a store is read back at once, and computing the
# checksum again would be most of that work.
_lately_written: deque[str] = deque(maxlen=4)
_SMALL = 100_000  # characters


def dump(data: dict[str, Any]) -> str:
    """Return the text of a state."""
    whole = {"format": FORMAT, "version": VERSION, **data}
    text = json.dumps({**whole, "checksum": checksum(whole)}, allow_nan=False)
    if len(text) < _SMALL:
        _lately_written.append(text)
    return text


def checksum(data: dict[str, Any]) -> str:
    """Return a digest that does not depend on the order of keys or on how a store writes whole numbers."""
    canonical = json.dumps(_with_floats(data), sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def _with_floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_floats(part) for key, part in value.items()}
    if isinstance(value, list):
        # Most of a state is long lists of numbers: without a call for each of them.
        if _NUMBERS.issuperset(map(type, value)):
            return list(map(float, value))
        return [_with_floats(part) for part in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def load(text: str, policy: Policy | None = None) -> Stored:
    """Return what a stored state says, or say why it is none; `policy` may be of a kind not registered."""
    data = signed(text, FORMAT, VERSION)
    version = data["version"]
    names = texts("names", data.get("names"))
    known = frozenset(names)
    costs = listed("costs", data.get("costs"))
    if len(costs) != len(names):
        broken(f"there are {len(names)} names and {len(costs)} costs")
    for cost in costs:
        if isinstance(cost, bool) or not isinstance(cost, int | float):
            broken(f"'costs' has the entry {cost!r}")
    if version < 4:
        _names_for_ranks(data, names, costs)
    label, stored_policy = _policy(data.get("policy"), policy)
    horizon = data.get("horizon")
    decisions = whole("decisions", data.get("decisions"), 0, MOST)
    pending: dict[int, str] = {}
    metadata: dict[int, Any] = {}
    for row in rows("pending", data.get("pending"), 3):
        id_ = whole("an id in 'pending'", row[0], 0, decisions - 1)
        if id_ in pending:
            broken(f"decision {id_} is pending twice")
        pending[id_] = option("pending", row[1], known)
        if row[2] is not None:
            metadata[id_] = row[2]
    batch = _required(data, "batch")
    options = [option("batch", name, known) for name in listed("options of 'batch'", batch.get("options"))]
    at = whole("the place in 'batch'", batch.get("at"), 0, len(options))
    repeats = whole("the repeats of 'batch'", batch.get("repeats"), 0, FOREVER)
    events = []
    for time, kind, name in rows("events", data.get("events"), 3):
        if kind not in EVENTS:
            broken(f"'events' has the kind {short(kind)}")
        events.append((whole("a time in 'events'", time, 0, decisions), kind, option("events", name, known)))
    asked = [whole("'asked'", count, 0, decisions) for count in listed("asked", data.get("asked"))]
    if len(asked) != len(names) or sum(asked) > decisions:
        broken(f"'asked' is {short(asked)} of {decisions} decisions for {len(names)} options")
    moved = _required(data, "moved") if version >= 5 else None
    return Stored(
        version=version,
        names=names,
        costs=[float(cost) for cost in costs],
        quality=_quality(data),
        horizon=None if horizon is None else whole("horizon", horizon, 0, MOST),
        label=label,
        policy=stored_policy,
        decisions=decisions,
        asked=asked,
        pending=pending,
        metadata=metadata,
        batch=(options, at, repeats),
        events=events,
        arrays=_required(data, "state"),
        random=data.get("random"),
        moved=load_moved(moved, names, [float(cost) for cost in costs], decisions, len(events)),
    )


def signed(text: str, form: str, newest: int) -> dict[str, Any]:
    """Return the parts of a text that is whole, of our form, and of a version that is known."""
    try:
        data = json.loads(text)
        # RecursionError: nested deeper than Python goes; ValueError: also a number of thousands of digits.
    except (ValueError, TypeError, RecursionError) as error:
        raise StateFormatError(f"this is not a whole session state: {error}") from None
    if not isinstance(data, dict) or data.get("format") != form:
        raise StateFormatError(f"this is not a session state: its format is not {form!r}")
    version = data.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise StateFormatError(f"the session state has no valid version: {short(version)}")
    if version > newest:
        raise StateFormatError(
            f"the session state has format version {version}, but this release reads up to {newest}; "
            "it was written by a later release"
        )
    written = data.pop("checksum", None)
    try:
        fits = text in _lately_written or written == checksum(data)
    except (OverflowError, RecursionError):  # a whole number that no float can hold, or very deep nesting
        fits = False
    if not fits:
        broken("its checksum does not fit")
    return data


def _required(data: dict[str, Any], key: str) -> dict[str, Any]:
    part = data.get(key)
    if not isinstance(part, dict):
        broken(f"{key!r} is {short(part)}")
    return part


def _names_for_ranks(data: dict[str, Any], names: list[str], costs: list[float]) -> None:
    """Bring a state of version 1 to 3 to the form of version 4."""
    try:
        ranked = [names[arm] for arm in cost_order(np.array(costs, np.float64))]
    except OverflowError:
        broken(f"'costs' is {short(costs)}")
    last = len(ranked) - 1
    pending = rows("pending", data.get("pending"), 2)
    data["pending"] = [[id_, ranked[whole("'pending'", rank, 0, last)], None] for id_, rank in pending]
    events = rows("events", data.get("events"), 3)
    data["events"] = [
        [
            time,
            EVENTS[whole("a kind in 'events'", kind, 0, len(EVENTS) - 1)],
            ranked[whole("'events'", rank, 0, last)],
        ]
        for time, kind, rank in events
    ]
    batch = _required(data, "batch")
    ranks = listed("arms of 'batch'", batch.get("arms"))
    batch["options"] = [ranked[whole("an arm of 'batch'", rank, 0, last)] for rank in ranks]
    # What was forgotten was not counted by option then.
    tally = data.get("state", {}).get("tally", {}) if isinstance(data.get("state"), dict) else {}
    pulls = listed("pulls", tally.get("pulls") if isinstance(tally, dict) else None)
    if len(pulls) != len(names):
        broken(f"'pulls' of the state has {len(pulls)} entries for {len(names)} options")
    asked = dict.fromkeys(names, 0)
    for name, count in zip(ranked, pulls, strict=True):
        asked[name] += whole("'pulls'", count, 0, MOST)
    for _, name, _ in data["pending"]:
        asked[name] += 1
    data["asked"] = list(asked.values())


def dump_policy(label: str, policy: Policy) -> dict[str, Any]:
    """Return a policy as its name, kind and settings."""
    return {"name": label, "kind": type(policy).__name__, "settings": dataclasses.asdict(policy)}


def check_known(label: str, policy: Policy) -> None:
    """Raise an error if another process could not load a policy of this kind and settings."""
    _policy(dump_policy(label, policy), None)


def _policy(data: Any, given: Policy | None) -> tuple[str, Policy]:
    """Return label and policy; its kind must be among the registered ones, or the one given."""
    known = [resolve(name) for name in policies()] + ([] if given is None else [given])
    kinds = {type(policy).__name__: type(policy) for policy in known}
    if not isinstance(data, dict):
        broken(f"'policy' is {short(data)}")
    kind, settings = data.get("kind"), data.get("settings")
    if not isinstance(kind, str) or not isinstance(settings, dict) or not isinstance(data.get("name"), str):
        broken(f"'policy' is {short(data)}")
    if kind not in kinds:
        raise StateFormatError(str(unknown_name("kind of policy", kind, kinds)))
    try:
        return data["name"], kinds[kind].restored(settings)
    except (TypeError, InputError) as error:
        broken(f"the settings of {kind} are {short(settings)}: {error}")


def _quality(data: dict[str, Any]) -> Quality:
    """Return the quality bar; before version 3 there was alpha only."""
    alpha: Any = data.get("alpha")
    try:
        return quality_from_dict(data.get("quality")) if data["version"] >= 3 else RelativeToBest(alpha)
    except InputError as error:
        raise StateFormatError(f"this session state does not make sense: {error}") from error


def check_consistent(homes: dict[str, tuple[Any, int]], state: Any, stored: Stored) -> None:
    """Reject a session whose parts contradict each other; `homes` has where each option is counted."""
    waiting = Counter(stored.pending.values())
    moved = stored.moved
    for option_, name in enumerate(stored.names):
        home, arm = homes[name]
        tally = home.tally
        pulls, pending, lost = int(tally.pulls[arm]), int(tally.pending[arm]), int(tally.lost[arm])
        if waiting[name] != pending:
            broken(f"{waiting[name]} decisions for {name!r} wait for feedback, but the state has {pending}")
        if not tally.sums[arm] <= pulls:
            broken(f"rewards of {name!r} sum to {tally.sums[arm]} over {pulls} pulls")
        if not abs(tally.carry[arm]) <= np.spacing(max(float(tally.sums[arm]), 1.0)):
            broken(f"'tally.carry' of the state is {tally.carry[arm]}, more than rounding leaves over")
        handed_out = stored.asked[option_] + moved.observed[option_]
        if stored.version < 5:
            tally.lost[arm] = lost = max(handed_out - pulls - pending, 0)
        if pulls + pending + lost != handed_out:
            told = "more" if pulls + pending + lost > handed_out else "less"
            broken(
                f"there is {told} feedback on {name!r} than the decisions that were handed out, {handed_out}"
            )
        if moved.money.counted[option_] > stored.asked[option_]:
            broken(f"'counted' is {moved.money.counted} of {stored.asked} decisions")
        if hasattr(home, "bills"):
            _check_bills(home.bills, arm)
        if hasattr(home, "aside") and home.aside[arm] != moved.observed[option_]:
            broken(f"'aside' of {name!r} is {home.aside[arm]}, but 'observed' is {moved.observed[option_]}")
    if not moved.waiting.billed <= set(stored.pending):
        broken("bills came for decisions that do not wait")
    if any(id_ in stored.pending for id_ in moved.waiting.owed):
        broken("a decision waits for a reward, and has had it")
    first = min(stored.pending, default=stored.decisions)
    if moved.terms.time_to_live is not None and stored.decisions > 0:
        live = moved.waiting.live[0].first if moved.waiting.live else stored.decisions
        if first < live:
            broken(f"decision {first} waits, but has no time")
    trouble = past_contradiction(state.past, state.tally) if hasattr(state, "past") else None
    trouble = trouble or stored.policy.contradiction(state)
    if trouble is not None:
        broken(trouble)


def _check_bills(bills: Any, arm: int) -> None:
    count, total, squares = int(bills.counts[arm]), float(bills.sums[arm]), float(bills.squares[arm])
    for sums, carry in ((total, bills.carry[arm]), (squares, bills.squares_carry[arm])):
        if not abs(carry) <= np.spacing(sums):
            broken(f"a carry of 'bills' is {carry}, more than rounding leaves over")
    # The mean of squares is no less than the square of the mean; told costs are not arbitrarily small.
    if (
        (count == 0 and (total or squares))
        or 0 < total < 1e-110
        or total * (total / max(count, 1)) > squares * (1 + 1e-9)
    ):
        broken(f"{count} bills sum to {total}, and their squares to {squares}")


def check_events(journal: Any, stored: Stored, ranked: tuple[str, ...]) -> None:
    """Reject events that are not those of the journal, or conclusions from before a change."""
    noted = [(EVENTS[journal.kinds[i]], ranked[journal.arms[i]]) for i in range(int(journal.length[0]))]
    events = [(kind, name) for _, kind, name in stored.events]
    before, since = events[: stored.moved.kept], events[stored.moved.kept :]
    place = 0
    for each in noted:
        if place < len(since) and each == since[place]:
            place += 1
        elif each not in before:
            place = len(since) + 1
    if place != len(since):
        broken("its events are not those of its journal")
    if not set(stored.moved.unconfirmed) <= set(before):
        broken("conclusions are to be drawn again that were not drawn")


def batch_of(stored: Stored, ranked: tuple[str, ...]) -> tuple[Batch, int]:
    """Return the batch that is being handed out, and the place in it."""
    options, at, repeats = stored.batch
    ranks = {name: rank for rank, name in enumerate(ranked)}
    if not set(options) <= set(ranks):
        broken(f"'batch' has an option that was retired: {short(options)}")
    return Batch(np.array([ranks[name] for name in options], np.int64), repeats), at
