"""Options that come and go, and prices that change, while a session goes on."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, SupportsIndex

from frugalbandits.core.options import check_names
from frugalbandits.core.quality import RelativeTo
from frugalbandits.core.session.feedback import Decision
from frugalbandits.core.session.handing import Reach
from frugalbandits.core.session.history import Changes
from frugalbandits.core.session.money import check_cost
from frugalbandits.core.session.taking import Taking
from frugalbandits.core.session.terms import ACTIVE, PAUSED, RETIRED, STANDINGS
from frugalbandits.errors import InputError, UnknownDecision, unknown_name

__all__ = ["LiveOptions"]

_REMEMBERED = 256  # ways in which calls have limited the options


class LiveOptions(Taking):
    """The part of a session that deals with its options."""

    def set_cost(self, option: str, cost: float) -> None:
        """Set the price of an option from now on; with learned costs, a first guess that starts afresh.

        What was seen of quality stays. The same price again changes nothing.

        Examples
        --------
        >>> import frugalbandits as fb
        >>> session = fb.Session({"small": 0.2, "large": 3.0}, alpha=0.1)
        >>> session.set_cost("large", 0.1)
        >>> [arm.name for arm in session.explain().arms]
        ['large', 'small']
        """
        price = check_cost(f"the cost of {option!r}", cost)
        with self._lock:
            known = self._option(option, there=True)
            last = self._costs[known]
            if price == last:
                return
            costs = list(self._costs)
            costs[known] = price
            self._change(self._names, costs, self._standing, known)
            self._money.reprice(
                known, price, self._asked[known], self._next, self._waiting.oldest(self._next)
            )
            self._history.add(self._next, "price", option, f"from {last:g} to {price:g}")

    def add(self, option: str, cost: float) -> None:
        """Take in a new option. A name is used once, also that of an option that was retired.

        Examples
        --------
        >>> import frugalbandits as fb
        >>> session = fb.Session({"small": 0.2, "large": 3.0}, alpha=0.1)
        >>> session.add("medium", 1.0)
        >>> print(session.changes())
        decision  kind   option  what
               0  added  medium  at 1
        """
        price = check_cost(f"the cost of {option!r}", cost)
        check_names([option], 1)
        with self._lock:
            if option in self._names:
                was = " and was retired" if self._standing[self._names.index(option)] == RETIRED else ""
                raise InputError(f"an option called {option!r} is there already{was}: take another name")
            self._change([*self._names, option], [*self._costs, price], [*self._standing, ACTIVE])
            self._asked.append(0)
            self._observed.append(0)
            self._money.add(price, self._next)
            self._history.add(self._next, "added", option, f"at {price:g}")

    def pause(self, option: str) -> None:
        """Leave an option out of decisions until it is resumed. It still sets the bar.

        Examples
        --------
        >>> import frugalbandits as fb
        >>> session = fb.Session({"small": 0.2, "large": 3.0}, alpha=0.1)
        >>> session.pause("small")
        >>> {decision.option for decision in session.ask(5)}
        {'large'}
        """
        self._stand(option, PAUSED, "paused", "left out of decisions")

    def resume(self, option: str) -> None:
        """Let decisions be for an option again that was paused."""
        self._stand(option, ACTIVE, "resumed", "decisions may be for it again")

    def retire(self, option: str) -> None:
        """Take an option out for good, out of the bar too; feedback on its decisions may still be told.

        Examples
        --------
        >>> import frugalbandits as fb
        >>> session = fb.Session({"small": 0.2, "medium": 1.0, "large": 3.0}, alpha=0.1)
        >>> session.retire("large")
        >>> [arm.name for arm in session.explain().arms], session.explain().retired[0].name
        (['small', 'medium'], 'large')
        """
        with self._lock:
            known = self._option(option, there=True)
            if len(self._ranked) == 1:
                raise InputError(f"{option!r} is the last option: add another one before it is retired")
            if isinstance(self._quality, RelativeTo) and self._quality.reference == option:
                raise InputError(f"{option!r} sets the bar, {self._quality!r}, and cannot be retired")
            standing = list(self._standing)
            standing[known] = RETIRED
            self._change(self._names, self._costs, standing)
            self._history.add(self._next, "retired", option, "taken out for good")

    def changes(self) -> Changes:
        """Return what was changed or noticed so far, when, in words: it prints as a table.

        Prices, options, conclusions drawn and dropped, alarms of drift, and feedback that comes after the
        time to live; the newest 1,000, with `total` for their number in all.
        """
        with self._lock:
            return self._history.listed()

    def _stand(self, option: str, standing: int, kind: str, words: str) -> None:
        with self._lock:
            known = self._option(option, there=True)
            if self._standing[known] != standing:
                self._standing[known] = standing
                self._history.add(self._next, kind, option, words)
                if self._policy.minds_absence:
                    self._void()
                self._look_around()

    def _option(self, name: Any, there: bool = False) -> int:
        """Return the number of an option; `there`: which is not retired."""
        if not isinstance(name, str):
            raise InputError(f"an option is called by its name, but this is {name!r}")
        if name not in self._names:
            raise unknown_name("option", name, self._by_rank)
        option = self._names.index(name)
        if there and self._standing[option] == RETIRED:
            raise InputError(f"the option {name!r} was retired")
        return option

    def _reach(self, among: Any, exclude: Any) -> Reach:
        """Return which options may be used in a call, at least one."""
        key = _listed("among", among), _listed("exclude", exclude)
        # Most calls that leave something out leave out what others did.
        try:
            known = self._reached.get(key)
        except TypeError:
            known = None  # no names at all, which is said below
        if known is None:
            known = self._reach_of(*key)
            if len(self._reached) == _REMEMBERED:
                self._reached.clear()
            self._reached[key] = known
        return known

    def _reach_of(self, among: tuple[Any, ...] | None, exclude: tuple[Any, ...] | None) -> Reach:
        chosen = None if among is None else frozenset(map(self._option, among))
        barred = frozenset(map(self._option, exclude or ()))
        allowed = [
            standing == ACTIVE and option not in barred and (chosen is None or option in chosen)
            for option, standing in enumerate(self._standing)
        ]
        if any(allowed):
            return Reach(allowed, [allowed[option] for option in self._ranked])
        if ACTIVE not in self._standing:
            raise InputError(
                f"every option is paused: {', '.join(map(repr, self._by_rank))}; resume one of them first"
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


def _listed(what: str, names: Any) -> tuple[Any, ...] | None:
    if names is None:
        return None
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"{what} must be a list of names of options, but it is {names!r}")
    return tuple(names)
