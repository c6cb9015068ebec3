"""What a moving world adds to a stored session, since version 5: written, and read value by value.

Every number is held against its range, and against the others where they hang together.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from frugalbandits.core.contract import EVENTS
from frugalbandits.core.session.checks import amount, broken, listed, option, rows, short, whole
from frugalbandits.core.session.handing import Handing
from frugalbandits.core.session.history import KEPT, KINDS, Change, History
from frugalbandits.core.session.money import Epoch, Money
from frugalbandits.core.session.terms import ACTIVE, RETIRED, STANDINGS, Terms, check_terms
from frugalbandits.core.session.waiting import BILLS, PARTS, REMEMBERED, Expiry, Stretch, Waiting
from frugalbandits.errors import InputError

__all__ = [
    "Moved",
    "load_history",
    "load_moved",
    "load_waiting",
    "moved_of",
    "parts_of",
    "waiting_of",
    "word_of",
]

MOST = 2**53
_LARGEST = 1e300
_WORDS = 1_000  # characters of a change
_SUMS = ("base", "replaced", "always", "billed", "billed_carry", "extra", "extra_carry")


class Moved(NamedTuple):
    """The parts of a stored session that a world which stands still does not have; options by number."""

    terms: Terms
    standing: list[int]
    observed: list[int]
    left: dict[int, Any]  # arrays of retired options
    lost_at: dict[int, int]
    money: Money
    waiting: Waiting
    history: History
    kept: int
    unconfirmed: list[tuple[str, str]]


def moved_of(session: Handing, money: Money) -> dict[str, Any]:
    """Return these parts of a session as plain values."""
    names, waiting = session._names, session._waiting
    since = 0 if waiting.time_to_live is not None else session._next - BILLS
    return {
        "terms": session._terms._asdict(),
        "standing": [STANDINGS[each] for each in session._standing],
        "observed": list(session._observed),
        "lost_at": [[names[each], at] for each, at in sorted(session._lost_at.items())],
        "money": {
            "units": list(money.units),
            "since": list(money.since),
            "before": [
                [[each.until, each.price, each.asked, each.billed] for each in earlier]
                for earlier in money.before
            ],
            "counted": list(money.counted),
            "bills": list(money.bills),
            **{name: list(getattr(money, name)) for name in _SUMS},
        },
        "waiting": waiting_of(waiting, names, since),
        "changes": [list(each) for each in session._history.changes],
        "changes_in_all": session._history.total,
        "kept": session._kept,
        "unconfirmed": [list(each) for each in session._unconfirmed],
    }


def waiting_of(waiting: Waiting, names: list[str], since: int) -> dict[str, Any]:
    """Return what is waited for as plain values; bills of decisions before `since` can come no more."""
    return {
        "billed": sorted(waiting.billed),
        "owed": [[id_, names[each]] for id_, each in sorted(waiting.owed.items()) if id_ >= since],
        "live": [list(each) for each in waiting.live],
        "expired": [[*each[:4], f"{each.which:x}"] for each in waiting.expired],
        "now": waiting.now,
        "late": waiting.late,
        "latest": waiting.latest,
    }


def load_moved(data: Any, names: list[str], costs: list[float], decisions: int, events: int) -> Moved:
    """Return these parts, checked; None stands for a session of a version that had none of them."""
    count = len(names)
    if data is None:
        # Sessions of those versions never forgot anything.
        terms = Terms(memory=None)
        money, waiting = Money(costs), Waiting(None)
        standing = [ACTIVE] * count
        return Moved(terms, standing, [0] * count, {}, {}, money, waiting, History(), 0, [])
    data = parts_of("moved", data)
    terms = _terms(data.get("terms"))
    standing = [word_of("standing", each, STANDINGS) for each in listed("standing", data.get("standing"))]
    if len(standing) != count or all(each == RETIRED for each in standing):
        broken(f"'standing' is {short(data['standing'])} for {count} options")
    numbers = {name: number for number, name in enumerate(names)}
    known = frozenset(names)
    there = frozenset(name for name, each in zip(names, standing, strict=True) if each != RETIRED)
    return Moved(
        terms=terms,
        standing=standing,
        observed=_counts("observed", data.get("observed"), count, MOST),
        left={
            numbers[option("left", name, known - there)]: arrays
            for name, arrays in rows("left", data.get("left"), 2)
        },
        lost_at={
            numbers[option("lost_at", name, there)]: whole("a time in 'lost_at'", at, 0, decisions)
            for name, at in rows("lost_at", data.get("lost_at"), 2)
        },
        money=_money(data.get("money"), costs, decisions),
        waiting=load_waiting(data.get("waiting"), terms, numbers, decisions),
        history=load_history(data, known, decisions),
        kept=whole("'kept'", data.get("kept"), 0, min(events, KEPT)),
        unconfirmed=[
            (EVENTS[word_of("unconfirmed", kind, EVENTS)], option("unconfirmed", name, there))
            for kind, name in rows("unconfirmed", data.get("unconfirmed"), 2)
        ],
    )


def parts_of(what: str, value: Any) -> dict[str, Any]:
    """Return a dictionary."""
    if not isinstance(value, dict):
        broken(f"{what!r} is {short(value)}")
    return value


def word_of(what: str, value: Any, words: tuple[str, ...]) -> int:
    """Return the place of a word among those that it may be."""
    if not isinstance(value, str) or value not in words:
        broken(f"{what!r} has the entry {short(value)}")
    return words.index(value)


def _counts(what: str, value: Any, length: int, most: int) -> list[int]:
    found = [whole(f"an entry of {what!r}", each, 0, most) for each in listed(what, value)]
    if len(found) != length:
        broken(f"{what!r} has {len(found)} entries for {length} options")
    return found


def _terms(data: Any) -> Terms:
    parts = parts_of("terms", data)
    if set(parts) != set(Terms._fields):
        broken(f"'terms' is {short(data)}")
    memory = parts["memory"]
    if isinstance(memory, float):
        parts = {**parts, "memory": whole("'memory'", memory, 1, MOST)}
    try:
        return check_terms(**parts)
    except InputError as error:
        broken(f"'terms': {error}")


def _money(data: Any, costs: list[float], decisions: int) -> Money:
    parts = parts_of("money", data)
    count = len(costs)
    money = Money(costs)
    money.units = [
        amount("an entry of 'units'", each, 1e-290, 1e290) for each in listed("units", parts.get("units"))
    ]
    if len(money.units) != count or any(math.frexp(unit)[0] != 0.5 for unit in money.units):
        broken(f"'units' is {short(parts['units'])}")
    money.since = _counts("since", parts.get("since"), count, decisions)
    money.counted = _counts("counted", parts.get("counted"), count, decisions)
    money.bills = _counts("bills", parts.get("bills"), count, MOST)
    for name in _SUMS:
        amounts = [
            amount(f"an entry of {name!r}", each, -_LARGEST, _LARGEST)
            for each in listed(name, parts.get(name))
        ]
        if len(amounts) != count:
            broken(f"{name!r} has {len(amounts)} entries for {count} options")
        setattr(money, name, amounts)
    before = listed("before", parts.get("before"))
    if len(before) != count:
        broken(f"'before' has {len(before)} entries for {count} options")
    money.before = [
        [
            Epoch(
                whole("a decision in 'before'", until, 0, decisions),
                amount("a price in 'before'", price, -math.inf, math.inf),
                whole("a count in 'before'", asked, 0, decisions),
                whole("a count in 'before'", billed, 0, decisions),
            )
            for until, price, asked, billed in rows("before", earlier, 4)
        ]
        for earlier in before
    ]
    return money


def load_waiting(data: Any, terms: Terms, numbers: dict[str, int], decisions: int) -> Waiting:
    """Return what is waited for, checked."""
    parts = parts_of("waiting", data)
    waiting = Waiting(terms.time_to_live)
    known = frozenset(numbers)
    ids = [
        whole("an id in 'billed'", each, 0, decisions - 1) for each in listed("billed", parts.get("billed"))
    ]
    waiting.billed = set(ids)
    for id_, name in rows("owed", parts.get("owed"), 2):
        waiting.owed[whole("an id in 'owed'", id_, 0, decisions - 1)] = numbers[option("owed", name, known)]
    if waiting.owed and not terms.learn_costs:
        broken("bills are waited for, but costs are not learned")
    waiting.now = amount("'now'", parts.get("now"), 0.0, _LARGEST)
    waiting.late = whole("'late'", parts.get("late"), 0, MOST)
    waiting.latest = amount("'latest'", parts.get("latest"), 0.0, _LARGEST)
    last = -1
    for first, end, length, lost, which in rows("expired", parts.get("expired"), 5):
        each = Expiry(
            whole("a decision in 'expired'", first, last + 1, decisions - 1),
            amount("a time in 'expired'", end, 0.0, waiting.now),
            whole("decisions in 'expired'", length, 1, decisions),
            whole("losses in 'expired'", lost, 0, decisions),
            _bits(which),
        )
        last = each.first + each.decisions - 1
        some = each.lost if 0 < each.lost < each.decisions else 0
        fits = each.which == -1 or (each.which.bit_count() == some and each.which >> each.decisions == 0)
        if each.lost > each.decisions or last >= decisions or not fits:
            broken(f"'expired' has the entry {short(list(each))}")
        waiting.expired.append(each)
    for first, start, end in rows("live", parts.get("live"), 3):
        each_one = Stretch(
            whole("a decision in 'live'", first, last + 1, decisions - 1),
            amount("a time in 'live'", start, 0.0, waiting.now),
            amount("a time in 'live'", end, 0.0, waiting.now),
        )
        if each_one.end < each_one.start:
            broken(f"'live' has the entry {short(list(each_one))}")
        last = each_one.first
        waiting.live.append(each_one)
    timed = bool(waiting.live or waiting.expired)
    if timed and terms.time_to_live is None:
        broken("decisions have times, but no time to live")
    if len(waiting.live) > 2 * PARTS + 2 or len(waiting.expired) > REMEMBERED:
        broken(f"'live' has {len(waiting.live)} entries and 'expired' {len(waiting.expired)}")
    return waiting


def _bits(text: Any) -> int:
    if text == "-1":
        return -1
    if not isinstance(text, str) or not re.fullmatch("[0-9a-f]+", text):
        broken(f"'expired' has the entry {short(text)}")
    return int(text, 16)


def load_history(data: dict[str, Any], known: frozenset[str], decisions: int) -> History:
    """Return what was changed, checked."""
    changes = []
    for at, kind, name, words in rows("changes", data.get("changes"), 4):
        if not isinstance(words, str) or len(words) > _WORDS:
            broken(f"'changes' has the words {short(words)}")
        changes.append(
            Change(
                whole("a decision in 'changes'", at, 0, decisions),
                KINDS[word_of("changes", kind, KINDS)],
                None if name is None else option("changes", name, known),
                words,
            )
        )
    if len(changes) > KEPT:
        broken(f"'changes' has {len(changes)} entries")
    return History(changes, whole("'changes_in_all'", data.get("changes_in_all"), len(changes), MOST))
