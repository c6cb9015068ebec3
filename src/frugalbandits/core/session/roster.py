"""Options by name: which there are, which may be used in a call, and which an earlier decision was for."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex

from frugalbandits.core.session.feedback import Decision
from frugalbandits.core.session.terms import ACTIVE, RETIRED, STANDINGS
from frugalbandits.errors import InputError, UnknownDecision, unknown_name

__all__ = ["Roster", "listed_names"]


class Roster(ABC):
    """The part of a session that reads names of options; numbers are in the order in which they came."""

    _names: list[str]
    _standing: list[int]
    _pending: dict[int, int]
    _next: int

    @abstractmethod
    def _there(self) -> Sequence[str]:
        """Return the names of options that were not retired, from cheapest to most expensive."""

    def _option(self, name: Any, there: bool = False) -> int:
        """Return the number of an option; `there`: which is not retired."""
        if not isinstance(name, str):
            raise InputError(f"an option is called by its name, but this is {name!r}")
        if name not in self._names:
            raise unknown_name("option", name, self._there())
        option = self._names.index(name)
        if there and self._standing[option] == RETIRED:
            raise InputError(f"the option {name!r} was retired")
        return option

    def _allowed(self, among: tuple[Any, ...] | None, exclude: tuple[Any, ...] | None) -> list[bool]:
        """Return which options may be used in a call, at least one."""
        chosen = None if among is None else frozenset(map(self._option, among))
        barred = frozenset(map(self._option, exclude or ()))
        allowed = [
            standing == ACTIVE and option not in barred and (chosen is None or option in chosen)
            for option, standing in enumerate(self._standing)
        ]
        if any(allowed):
            return allowed
        if ACTIVE not in self._standing:
            raise InputError(
                f"every option is paused: {', '.join(map(repr, self._there()))}; resume one of them first"
            )
        given = {"among": among, "exclude": exclude}
        told = [f"{what} is {sorted(names)!r}" for what, names in given.items() if names is not None]
        stand = [
            f"{name!r} is {STANDINGS[standing]}"
            for name, standing in zip(self._names, self._standing, strict=True)
            if standing != ACTIVE
        ]
        raise InputError(f"no option is left to choose from: {'; '.join([*told, *stand])}")

    def _to_keep(self, after: Any) -> int | None:
        """Return the option of an earlier decision, as far as it is known; None: no wish."""
        if after is None:
            return None
        if isinstance(after, Decision):
            return self._option(after.option)
        if not isinstance(after, bool) and isinstance(after, SupportsIndex):
            id_ = operator.index(after)
            if 0 <= id_ < self._next:
                return self._pending.get(id_)
        raise UnknownDecision(f"no decision has the id {after!r}")


def listed_names(what: str, names: Any) -> tuple[Any, ...] | None:
    """Return names of options as a tuple; None: all."""
    if names is None:
        return None
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"{what} must be a list of names of options, but it is {names!r}")
    return tuple(names)
