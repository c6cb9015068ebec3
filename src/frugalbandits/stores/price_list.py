"""The price list that a program opens a stored session with, compared with the session's options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from frugalbandits.core.session.terms import ACTIVE, RETIRED
from frugalbandits.errors import Conflict, InputError

__all__ = ["APPLY", "REFUSE", "changes_for", "check_on_difference"]

REFUSE, APPLY = "refuse", "apply"
_NAMED = 5  # differences that an error names


class Difference(NamedTuple):
    """One difference: the change that removes it (None where no change can), and what to say of it."""

    do: str | None
    option: str
    cost: float | None
    words: str


def check_on_difference(value: Any) -> str:
    """Return what to do where a price list differs, "refuse" or "apply"."""
    if value not in (REFUSE, APPLY):
        raise InputError(f"on_difference must be 'refuse' or 'apply', but it is {value!r}")
    return str(value)


def changes_for(
    name: str, given: Mapping[str, float], current: Iterable[tuple[str, float, int]], on_difference: str
) -> list[tuple[str, str, float | None]]:
    """Return the changes that make a price list that of a session: what to do, the option, its cost.

    `current` has the options of the session: name, cost and status. Where they differ from `given` and
    `on_difference` is "refuse", or where no change helps, a `Conflict` says what differs.

    The order of options does not matter. An option that is not in the list is a difference while it is
    active: applying the list pauses it, which can be undone. A paused option may be in the list or not, and
    stays paused, because an operator may have paused it.

    Examples
    --------
    >>> now = [("small", 0.2, 0), ("large", 3.0, 0)]
    >>> changes_for("shop", {"large": 2.5, "small": 0.2, "medium": 1.0}, now, "apply")
    [('set_cost', 'large', 2.5), ('add', 'medium', 1.0)]
    """
    found = list(_differences(given, current))
    if found and on_difference != APPLY:
        words = "; ".join(each.words for each in found[:_NAMED])
        more = f"; and {len(found) - _NAMED:,} more" if len(found) > _NAMED else ""
        raise Conflict(
            f"a session called {name!r} exists with other options: {words}{more}. Pass "
            "on_difference='apply' to change the session, or use another name"
        )
    changes = []
    for each in found:
        if each.do is None:
            raise Conflict(f"{each.words}, and a name is used once: call the new option something else")
        changes.append((each.do, each.option, each.cost))
    return changes


def _differences(
    given: Mapping[str, float], current: Iterable[tuple[str, float, int]]
) -> Iterator[Difference]:
    known = {name: (cost, status) for name, cost, status in current}
    for name, cost in given.items():
        if name not in known:
            yield Difference("add", name, cost, f"{name!r} is not in the session")
            continue
        present, status = known[name]
        if status == RETIRED:
            yield Difference(None, name, None, f"{name!r} was retired in the session")
        elif present != cost:
            yield Difference(
                "set_cost", name, cost, f"{name!r} costs {present:g} in the session, {cost:g} here"
            )
    for name, (_, status) in known.items():
        if status == ACTIVE and name not in given:
            yield Difference("pause", name, None, f"{name!r} is active in the session and not named here")
