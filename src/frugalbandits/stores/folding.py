"""How a replica takes in the facts of a log, kind by kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from frugalbandits.core.session.history import Change
from frugalbandits.core.session.live import LiveOptions
from frugalbandits.core.tally import observe
from frugalbandits.stores import facts
from frugalbandits.stores.contract import Entry
from frugalbandits.stores.counts import GRACE
from frugalbandits.stores.following import Take
from frugalbandits.stores.replica import Replica

__all__ = ["Folding"]


class Folding(Replica):
    """The part of a replica that reads."""

    def _took(self, says_anything: bool) -> None:
        if says_anything:
            # What the batch was planned on is no longer all that is known.
            self._repeats = min(self._repeats, 1)
        self._end_slots()

    def _end_slots(self) -> None:
        over = False
        for option, lost in self._counts.end(self._log_now):
            over = True
            state, rank = self._home(option)
            state.tally.pending[rank] -= lost
            state.tally.lost[rank] += lost
        ttl = self._terms.time_to_live
        if over and ttl is not None and len(self._money.epochs) > 1:
            self._money.fold(self._log_now - ttl - 2 * GRACE, self._counts.epochs())

    def _take_created(self, entry: Entry, body: dict[str, Any]) -> None:
        self._begin_with(body["state"])

    def _take_count(self, entry: Entry, body: dict[str, Any]) -> None:
        bin_ = self._series.bin(entry.fact.at)
        mine = body["w"] == self._worker
        self._in_flight.pop(entry.fact.key, None)
        for option, epoch, slot, count in body["n"]:
            if option >= len(self._names):
                continue  # of a log that is no more: see `Following._apply`
            if not mine:
                self._count(option, epoch, self._counts.hand_out(epoch, slot, option, count))
            prices = self._money.at(epoch).prices
            bin_.asked[option] += count
            bin_.spent += count * prices[option]
            for each, price in enumerate(prices):
                bin_.always[each] += count * price

    def _answered(self, entry: Entry, body: dict[str, Any]) -> tuple[Any, int]:
        """Count that feedback came for a decision; return where its option is counted."""
        option, epoch, issued = body["o"], body["e"], body["t"]
        state, rank = self._home(option)
        slot = self._counts.slot(issued)
        self._count(option, epoch, self._counts.answer(epoch, slot, option, int(state.tally.lost[rank])))
        return state, rank

    def _take_reward(self, entry: Entry, body: dict[str, Any]) -> None:
        state, rank = self._answered(entry, body)
        observe(state, rank, 1, body["r"])
        bin_ = self._series.bin(entry.fact.at)
        bin_.told[body["o"]] += 1
        bin_.rewards[body["o"]] += body["r"]
        bin_.answers += 1
        bin_.delays += max(entry.fact.at - body["t"], 0.0)

    def _take_forget(self, entry: Entry, body: dict[str, Any]) -> None:
        state, rank = self._answered(entry, body)
        if body.get("u") == 0:
            self._leave_out(entry, body["o"], body["e"])
        state.tally.lost[rank] += 1
        if state.tally.pulls[rank] == 0 and state is self._state:
            self._lost_at[body["o"]] = self._next
            self._hindered = True

    def _leave_out(self, entry: Entry, option: int, epoch: int) -> None:
        """Count a decision that was not carried out as one that cost nothing, whatever the option."""
        self._money.void(option, epoch)
        prices, bin_ = self._money.at(epoch).prices, self._series.bin(entry.fact.at)
        bin_.spent -= prices[option]
        for each, price in enumerate(prices):
            bin_.always[each] -= price

    def _take_cost(self, entry: Entry, body: dict[str, Any]) -> None:
        option, epoch, cost = body["o"], body["e"], body["c"]
        bin_ = self._series.bin(entry.fact.at)
        bin_.spent += cost - self._money.at(epoch).prices[option]
        self._money.bill(option, epoch, cost)
        if self._terms.learn_costs and epoch >= self._money.since[option]:
            self._learn_cost(option, cost)

    def _take_observe(self, entry: Entry, body: dict[str, Any]) -> None:
        option = body["o"]
        state, rank = self._home(option)
        if "r" in body:
            self._see(option, state, rank, body["r"])
            bin_ = self._series.bin(entry.fact.at)
            bin_.told[option] += 1
            bin_.rewards[option] += body["r"]
        if "c" in body:
            self._money.pay(option, body["c"])
            self._series.bin(entry.fact.at).spent += body["c"]
            if self._terms.learn_costs:
                self._learn_cost(option, body["c"])
        if state is self._state:
            self._void()

    def _take_change(self, entry: Entry, body: dict[str, Any]) -> None:
        epoch, options = self._money.epoch, len(self._names)
        super()._take_change(entry, body)
        if self._money.epoch != epoch:
            self._money.epochs[epoch].ended = entry.fact.at
        if len(self._names) > options:
            self._counts.add_option()

    def _take_noticed(self, entry: Entry, body: dict[str, Any]) -> None:
        self._proposed.pop(entry.fact.key, None)
        if body["kind"] == "alarm":
            self._logged[body["option"]] += 1
        decision = min(int(body["decision"]), self._next)
        self._history.record(Change(decision, body["kind"], body["option"], body["words"]))

    _takes: ClassVar[Mapping[str, Take]] = {
        facts.CREATED: _take_created,
        facts.COUNT: _take_count,
        facts.REWARD: _take_reward,
        facts.FORGET: _take_forget,
        facts.COST: _take_cost,
        facts.OBSERVE: _take_observe,
        facts.CHANGE: _take_change,
        facts.NOTICED: _take_noticed,
    }
    _makes: ClassVar[Mapping[str, Callable[..., None]]] = {
        "set_cost": LiveOptions.set_cost,
        "add": LiveOptions.add,
        "pause": LiveOptions.pause,
        "resume": LiveOptions.resume,
        "retire": LiveOptions.retire,
    }
