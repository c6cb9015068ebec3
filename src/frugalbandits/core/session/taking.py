"""How a session takes in what comes back: rewards, bills, and that nothing will come."""

from __future__ import annotations

from typing import Any

from frugalbandits.core.session.feedback import Told
from frugalbandits.core.session.handing import Handing
from frugalbandits.core.session.money import LEARNED_BITS
from frugalbandits.core.tally import charge, observe
from frugalbandits.errors import Expired

__all__ = ["Taking"]

_FIRST_WARNING = 3  # late tells before it is said; then again after ten times as many


class Taking(Handing):
    """The part of a session that learns."""

    def _known(self, id_: object) -> int:
        """Return the id of a decision that waits for feedback; raise an error that says why it is none."""
        if self._hindered:
            self._sweep()
        try:
            return self._waiting.for_reward(id_, self._next)
        except Expired as error:
            self._came_late(error)
            raise

    def _take_in(self, entries: list[Told]) -> None:
        """Fold in what is told, or raise an error before anything is."""
        self._sweep()
        try:
            rewards, costs = self._waiting.told_of(entries, self._next)
        except Expired as error:
            self._came_late(error)
            raise
        for id_, cost in costs.items():
            self._bill(id_, cost)
        for id_, reward in rewards.items():
            self._fold_in(id_, reward)

    def _home(self, option: int) -> tuple[Any, int]:
        """Return where an option is counted: a state, and the arm in it."""
        rank = self._rank_of[option]
        return (self._state, rank) if rank >= 0 else (self._left[option], 0)

    def _fold_in(self, id_: int, reward: float) -> None:
        option = self._pending.pop(id_)
        if self._metadata:
            self._metadata.pop(id_, None)
        rank = self._rank_of[option]
        state = self._state
        if rank < 0:
            state, rank = self._left[option], 0
        state.tally.pending[rank] -= 1
        observe(state, rank, 1, reward)
        waiting = self._waiting
        if waiting.billed and id_ in waiting.billed:
            waiting.billed.remove(id_)
        elif self._learns:
            waiting.owes(id_, option, self._next)

    def _see(self, option: int, state: Any, rank: int, reward: float) -> None:
        """Take in the reward of a use that was no decision."""
        observe(state, rank, 1, reward)
        self._observed[option] += 1
        if hasattr(state, "aside"):
            state.aside[rank] += 1

    def _bill(self, id_: int, cost: float) -> None:
        waiting, money = self._waiting, self._money
        if id_ in self._pending:
            option = self._pending[id_]
            waiting.billed.add(id_)
        else:
            option = waiting.owed.pop(id_)
        money.bill(option, id_, cost)
        if self._terms.learn_costs and id_ >= money.since[option]:
            # A bill of an earlier price says nothing of the present one.
            self._learn_cost(option, cost)

    def _learn_cost(self, option: int, cost: float) -> None:
        state, rank = self._home(option)
        charge(state, rank, self._money.rounded(option, cost, LEARNED_BITS))

    def _lose(self, id_: int) -> None:
        """Give up the feedback of a decision."""
        option = self._pending.pop(id_)
        self._metadata.pop(id_, None)
        self._waiting.billed.discard(id_)
        state, rank = self._home(option)
        state.tally.pending[rank] -= 1
        state.tally.lost[rank] += 1
        if state.tally.pulls[rank] == 0 and state is self._state:
            self._lost_at[option] = self._next
            self._hindered = True

    def _sweep(self) -> None:
        """Give up what has outlived its time to live."""
        if self._terms.time_to_live is not None:
            self._waiting.follow(self._clock())
            for id_ in self._waiting.overdue(self._clock(), self._next):
                self._lose(id_)

    def _came_late(self, error: Expired) -> None:
        waiting = self._waiting
        waiting.came_late(error)
        count, step = waiting.late, _FIRST_WARNING
        while step < count:
            step *= 10
        if step == count:
            self._history.add(self._next, "late", None, f"{count:,} times {self._lateness()}")

    def _lateness(self) -> str:
        waiting = self._waiting
        return (
            f"feedback came for a decision that had expired, up to {waiting.latest:,.6g} s after it: the "
            f"time to live, {waiting.time_to_live:,.6g} s, is shorter than the delay of feedback"
        )
