"""Options that come and go, and prices that change, while a session goes on."""

from __future__ import annotations

from typing import Any

from frugalbandits.core.options import check_names
from frugalbandits.core.quality import RelativeTo
from frugalbandits.core.session.handing import Reach
from frugalbandits.core.session.history import Changes
from frugalbandits.core.session.money import check_cost
from frugalbandits.core.session.roster import Roster, listed_names
from frugalbandits.core.session.taking import Taking
from frugalbandits.core.session.terms import ACTIVE, PAUSED, RETIRED
from frugalbandits.errors import InputError

__all__ = ["LiveOptions"]

_REMEMBERED = 256  # ways in which calls have limited the options


class LiveOptions(Roster, Taking):
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

    def _there(self) -> tuple[str, ...]:
        return self._by_rank

    def _stand(self, option: str, standing: int, kind: str, words: str) -> None:
        with self._lock:
            known = self._option(option, there=True)
            if self._standing[known] != standing:
                self._standing[known] = standing
                self._history.add(self._next, kind, option, words)
                if self._policy.minds_absence:
                    self._void()
                self._look_around()

    def _reach(self, among: Any, exclude: Any) -> Reach:
        """Return which options may be used in a call, at least one."""
        key = listed_names("among", among), listed_names("exclude", exclude)
        # Most calls that leave something out leave out what others did.
        try:
            known = self._reached.get(key)
        except TypeError:
            known = None  # no names at all, which is said below
        if known is None:
            allowed = self._allowed(*key)
            known = Reach(allowed, [allowed[option] for option in self._ranked])
            if len(self._reached) == _REMEMBERED:
                self._reached.clear()
            self._reached[key] = known
        return known
