"""What every store agrees on: which values it takes, and what becomes of a fact."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import NamedTuple

from frugalbandits.errors import InputError, LogDiverged
from frugalbandits.stores.contract import CONFLICT, LEFT_OUT, NEW, SAME, Entry, Fact, Outcome

__all__ = [
    "LARGEST",
    "LONGEST",
    "Call",
    "added",
    "check_count",
    "check_key",
    "check_name",
    "check_text",
    "check_upto",
    "checked",
    "settle",
]

#: The longest name of a session, a key, a kind or an author. PostgreSQL indexes 2,700 bytes at most.
LONGEST = 300

#: The largest number that both databases can hold.
LARGEST = 2**63 - 1


class Call(NamedTuple):
    """What one caller wants to add to the log of a session, all or nothing."""

    session: str
    facts: tuple[Fact, ...]


def check_name(what: str, value: str, shortest: int = 1) -> None:
    """Refuse what cannot be a name in one of the stores, so that all of them take the same names."""
    if not isinstance(value, str):
        raise InputError(f"{what} must be a text, got {value!r}")
    if not shortest <= len(value) <= LONGEST:
        raise InputError(
            f"{what} must have {shortest} to {LONGEST} characters, got {len(value):,}: {_short(value)}"
        )
    check_text(what, value)


def check_text(what: str, value: str) -> None:
    """Refuse a text that PostgreSQL could not hold: one with NUL, or with half of a surrogate pair."""
    if not isinstance(value, str):
        raise InputError(f"{what} must be a text, got {value!r}")
    if "\0" in value:
        raise InputError(f"{what} must not contain NUL: {_short(value)}")
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            wrong = value[error.start : error.end]
            raise InputError(f"{what} has no form in UTF-8, because of {wrong!r}: {_short(value)}") from None


def check_count(what: str, value: int, least: int) -> int:
    """Return a whole number that both databases can hold, or say what is wrong with it."""
    if not isinstance(value, int) or value < least:
        raise InputError(f"{what} must be a whole number of at least {least}, got {value!r}")
    return min(value, LARGEST)


def check_upto(session: str, upto: int, last: int) -> None:
    """Refuse a snapshot of entries that are not there."""
    if upto > last:
        raise LogDiverged(f"no snapshot of session {session!r} can be at {upto}: its newest entry is {last}")


def check_key(session: str, upto: int, expected: str | None, found: str | None) -> None:
    """Refuse a snapshot of another log: `found` is the key of entry `upto`, None where it was deleted."""
    if expected and found is not None and found != expected:
        raise LogDiverged(f"no snapshot of session {session!r} can be at {upto}: that entry is another one")


def checked(session: str, facts: Iterable[Fact]) -> Call:
    """Return a call whose values every store can hold, or say what is wrong with it.

    Examples
    --------
    >>> checked("router", [Fact("d1", "reward", '{"r":1.0}', float("nan"), "w1")])
    Traceback (most recent call last):
    ...
    frugalbandits.errors.InputError: the time of fact 'd1' must be a finite number, got nan
    """
    check_name("the name of a session", session)
    taken = []
    for fact in facts:
        check_name("the key of a fact", fact.key)
        check_name(f"the kind of fact {fact.key!r}", fact.kind)
        check_name(f"the author of fact {fact.key!r}", fact.by, shortest=0)
        check_text(f"the body of fact {fact.key!r}", fact.body)
        try:
            at = float(fact.at)
        except (TypeError, ValueError, OverflowError):
            at = math.nan
        if not math.isfinite(at):
            raise InputError(f"the time of fact {fact.key!r} must be a finite number, got {fact.at!r}")
        taken.append(Fact(fact.key, fact.kind, fact.body, at, fact.by))
    return Call(session, tuple(taken))


def settle(
    calls: Sequence[Call], there: MutableMapping[tuple[str, str], Entry], last: MutableMapping[str, int]
) -> list[list[Outcome]]:
    """Return what becomes of the facts of several calls, taken one after the other.

    `there` has the entries of the log by session and key, as far as the calls name them, and `last` the
    newest number of each session; both are brought up to what the log is after the calls.
    """
    return [_settle_one(call, there, last) for call in calls]


def _settle_one(
    call: Call, there: MutableMapping[tuple[str, str], Entry], last: MutableMapping[str, int]
) -> list[Outcome]:
    session = call.session
    number = last.get(session, 0)
    fresh: dict[str, Entry] = {}
    outcomes = []
    for fact in call.facts:
        known = there.get((session, fact.key)) or fresh.get(fact.key)
        if known is None:
            number += 1
            entry = fresh[fact.key] = Entry(number, fact)
            outcomes.append(Outcome(NEW, entry))
        elif known.fact.body == fact.body and known.fact.kind == fact.kind:
            outcomes.append(Outcome(SAME, known))
        else:
            outcomes.append(Outcome(CONFLICT, known))
    if any(outcome.what == CONFLICT for outcome in outcomes):
        return [_without(outcome, fact, fresh) for outcome, fact in zip(outcomes, call.facts, strict=True)]
    if fresh:
        last[session] = number
        there.update(((session, key), entry) for key, entry in fresh.items())
    return outcomes


def _without(outcome: Outcome, fact: Fact, fresh: Mapping[str, Entry]) -> Outcome:
    """Return an outcome for a call of which nothing is added: what it would have added is not in the log."""
    if fact.key not in fresh:
        return outcome
    return Outcome(CONFLICT if outcome.what == CONFLICT else LEFT_OUT, None)


def added(calls: Sequence[Call], outcomes: Sequence[Sequence[Outcome]]) -> dict[str, list[Entry]]:
    """Return the entries that are new, by session and in order."""
    news: dict[str, list[Entry]] = {}
    for call, told in zip(calls, outcomes, strict=True):
        for what, entry in told:
            if what == NEW and entry is not None:
                news.setdefault(call.session, []).append(entry)
    return news


def _short(value: str) -> str:
    return repr(value if len(value) <= 40 else f"{value[:37]}...")
