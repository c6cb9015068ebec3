"""Options that come and go, and usual costs that change, while a contextual session goes on."""

from __future__ import annotations

from frugalbandits.core.contextual.accounts import Account
from frugalbandits.core.contextual.desk import Desk
from frugalbandits.core.options import check_names
from frugalbandits.core.quality import RelativeTo
from frugalbandits.core.session.history import Changes
from frugalbandits.core.session.money import check_cost
from frugalbandits.core.session.terms import ACTIVE, PAUSED, RETIRED
from frugalbandits.errors import InputError

__all__ = ["Changing"]


class Changing(Desk):
    """The part of a contextual session that deals with its options."""

    def set_cost(self, option: str, cost: float) -> None:
        """Set the usual cost of an option from now on. What was seen of quality stays."""
        price = check_cost(f"the cost of {option!r}", cost)
        with self._lock:
            known = self._option(option, there=True)
            last = self._costs[known]
            if price == last:
                return
            costs = list(self._costs)
            costs[known] = price
            self._change(self._names, costs, self._standing)
            self._history.add(self._next, "price", option, f"from {last:g} to {price:g}")

    def add(self, option: str, cost: float) -> None:
        """Take in a new option. A name is used once, also that of an option that was retired."""
        price = check_cost(f"the cost of {option!r}", cost)
        check_names([option], 1)
        with self._lock:
            if option in self._names:
                was = " and was retired" if self._standing[self._names.index(option)] == RETIRED else ""
                raise InputError(f"an option called {option!r} is there already{was}: take another name")
            self._change([*self._names, option], [*self._costs, price], [*self._standing, ACTIVE])
            self._accounts.append(Account())
            self._history.add(self._next, "added", option, f"at {price:g}")

    def pause(self, option: str) -> None:
        """Leave an option out of decisions until it is resumed. It still sets the bar."""
        self._stand(option, PAUSED, "paused", "left out of decisions")

    def resume(self, option: str) -> None:
        """Let decisions be for an option again that was paused."""
        self._stand(option, ACTIVE, "resumed", "decisions may be for it again")

    def retire(self, option: str) -> None:
        """Take an option out for good, out of the bar too; feedback on its decisions may still be told."""
        with self._lock:
            known = self._option(option, there=True)
            if len(self._options) == 1:
                raise InputError(f"{option!r} is the last option: add another one before it is retired")
            if isinstance(self._quality, RelativeTo) and self._quality.reference == option:
                raise InputError(f"{option!r} sets the bar, {self._quality!r}, and cannot be retired")
            standing = list(self._standing)
            standing[known] = RETIRED
            self._change(self._names, self._costs, standing)
            self._history.add(self._next, "retired", option, "taken out for good")

    def changes(self) -> Changes:
        """Return what was changed so far, when, in words: it prints as a table."""
        with self._lock:
            return self._history.listed()

    def _stand(self, option: str, standing: int, kind: str, words: str) -> None:
        with self._lock:
            known = self._option(option, there=True)
            if self._standing[known] != standing:
                self._standing[known] = standing
                self._history.add(self._next, kind, option, words)
