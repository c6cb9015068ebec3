"""A session that looks at queries, as the fold of a log: here an ask is a fact too.

What a policy needs when a reward is told is the query, so that is written down before a decision is handed
out. Sums of products have no order that does not matter; but the log has one order, so whoever has read as
far has the same state, to the last bit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contextual import stored
from frugalbandits.core.contextual.accounts import Waiter
from frugalbandits.core.contextual.changing import Changing
from frugalbandits.core.contextual.session import ContextualSession
from frugalbandits.core.session.waiting import Waiting
from frugalbandits.errors import Expired
from frugalbandits.stores import facts
from frugalbandits.stores.contract import Entry
from frugalbandits.stores.following import AHEAD, Take
from frugalbandits.stores.series import Series
from frugalbandits.stores.telling import Telling

__all__ = ["FORMAT", "MOST_WAITING", "ContextualFolding"]

FORMAT = "frugalbandits-contextual-replica"
VERSION = 1
#: Decisions that wait for feedback, the newest: of older ones a reward still counts, but teaches nothing.
MOST_WAITING = 100_000


class ContextualFolding(Telling, ContextualSession):
    """The part of a stored contextual session that reads, and that is kept."""

    _routes = True
    _shares = True

    def _found(self) -> None:
        # Workers that draw the same numbers would make the same mistakes.
        self._draws = np.random.default_rng()
        self._late_here = 0

    def _lives(self) -> float | None:
        return self._time_to_live

    def _was_late(self, error: Expired) -> None:
        self._late_here += 1

    def start_flush(self) -> Callable[[], None]:
        """Do nothing: every decision is in the log already."""
        return _nothing

    # From a log or a snapshot.

    def _begin_with(self, text: str) -> None:
        """Be the session of a text, with no decision out: nobody has their ids."""
        stored.read_into(self, text, None)
        self._wait_in(self._nothing_waits(), {})
        self._ids: dict[str, int] = {}  # numbers of decisions that wait, by what names them in the log
        self._keys: dict[int, str] = {}
        self._series = Series(len(self._names))

    def _nothing_waits(self) -> Waiting:
        waiting = Waiting(self._time_to_live)
        waiting.late, waiting.latest = self._waiting.late, self._waiting.latest
        return waiting

    def _dumped(self) -> str:
        return json.dumps(
            {
                "format": FORMAT,
                "version": VERSION,
                "seen": self._seen,
                "key": self._seen_key,
                "now": self._log_now,
                "session": stored.written(self),
                "keys": list(self._keys.items()),
                "series": self._series.listed(),
            },
            allow_nan=False,
        )

    def _restore(self, text: str) -> None:
        try:
            data = self._loaded(text, FORMAT, VERSION)
            stored.read_into(self, data["session"], None)
            self._keys = {int(id_): str(key) for id_, key in data["keys"]}
            self._ids = {key: id_ for id_, key in self._keys.items()}
            if self._keys.keys() != self._pending.keys() or len(self._ids) != len(self._keys):
                raise ValueError("not every decision that waits has a name")
            self._series = Series.loaded(data["series"], len(self._names))
            self._seen, self._log_now = int(data["seen"]), self._believed(float(data["now"]))
            self._waiting.follow(self._clock() + 2 * AHEAD)
            self._seen_key = str(data.get("key", ""))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise self._damaged(error) from error

    def _settled(self) -> str:
        """Return the session as a text of its own: what waits is given up in it."""
        waiting, waiters = self._waiting, self._waiters
        try:
            self._wait_in(self._nothing_waits(), {})
            return stored.written(self)
        finally:
            self._wait_in(waiting, waiters)

    # What is taken in.

    def _took(self) -> None:
        self._sweep()

    def _sweep(self) -> None:
        """Give up what has outlived its time to live, by the clock of the log."""
        if self._time_to_live is not None:
            for id_ in self._waiting.overdue(self._log_now, self._next):
                self._drop(id_)

    def _drop(self, id_: int) -> None:
        super()._drop(id_)
        del self._ids[self._keys.pop(id_)]

    def _take_created(self, entry: Entry, body: dict[str, Any]) -> None:
        self._begin_with(body["state"])

    def _take_asked(self, entry: Entry, body: dict[str, Any]) -> None:
        option, segment = body["o"], body.get("s")
        if self._encoder.admit(segment):
            self._widen()
        prices = self._prices_of(body.get("k"))
        features = np.array(body.get("x", []), np.float64)
        waiter = Waiter(features, segment, body["p"], body["c"], np.array(body["f"], np.float64))
        arm = self._arm_of.get(option)
        if arm is not None:  # it may have been retired a moment ago, by somebody else
            phi = self._encoder.encode(features, segment)
            self._engine.count(self._state, phi, prices, arm, waiter.propensity)
        # It lives on here for as long as the clocks of workers may differ.
        id_ = self._wait_for(option, waiter, body.get("m"), self._believed(body["t"]) + AHEAD)
        key = entry.fact.key[:-1]
        self._ids[key], self._keys[id_] = id_, key
        self._count(option, waiter, prices)
        bin_ = self._series.bin(entry.fact.at)
        bin_.asked[option] += 1
        bin_.spent += waiter.cost
        for each, price in zip(self._options, prices.tolist(), strict=True):
            bin_.always[each] += price
        while len(self._pending) > MOST_WAITING:
            self._drop(next(iter(self._pending)))

    def _prices_of(self, given: list[float | None] | None) -> NDArray[np.float64]:
        """Return what a query costs by arm: the usual costs, but for those that were given, by option."""
        prices = self._setting.costs
        if given is None:
            return prices
        prices = prices.copy()
        for arm, option in enumerate(self._options):
            cost = given[option] if option < len(given) else None
            if cost is not None:
                prices[arm] = cost
        return prices

    def _take_reward(self, entry: Entry, body: dict[str, Any]) -> None:
        id_, option, reward = self._ids.get(entry.fact.key[:-1]), body["o"], body["r"]
        if id_ is not None:
            self._fold_in(id_, reward)
        else:
            # It was given up, because too many waited or clocks differ: the query is not known any more.
            self._accounts[option].told += 1
            self._accounts[option].rewards += reward
        bin_ = self._series.bin(entry.fact.at)
        bin_.told[option] += 1
        bin_.rewards[option] += reward
        bin_.answers += 1
        bin_.delays += max(entry.fact.at - body["t"], 0.0)

    def _take_forget(self, entry: Entry, body: dict[str, Any]) -> None:
        id_ = self._ids.get(entry.fact.key[:-1])
        if id_ is not None:
            self._drop(id_)

    def _take_cost(self, entry: Entry, body: dict[str, Any]) -> None:
        more = body["c"] - body["m"]  # than the price that its id has with it
        self._accounts[body["o"]].spent += more
        self._series.bin(entry.fact.at).spent += more
        id_ = self._ids.get(entry.fact.key[:-1])
        if id_ is not None:
            self._waiting.billed.add(id_)
            segment = self._waiters[id_].segment
            if segment is not None:
                self._segments[segment].spent += more

    def _take_observe(self, entry: Entry, body: dict[str, Any]) -> None:
        option, reward = body["o"], body["r"]
        self._observe(option, np.array(body.get("x", []), np.float64), body.get("s"), reward)
        bin_ = self._series.bin(entry.fact.at)
        bin_.told[option] += 1
        bin_.rewards[option] += reward

    _takes: ClassVar[Mapping[str, Take]] = {
        facts.CREATED: _take_created,
        facts.ASKED: _take_asked,
        facts.REWARD: _take_reward,
        facts.FORGET: _take_forget,
        facts.COST: _take_cost,
        facts.OBSERVE: _take_observe,
        facts.CHANGE: Telling._take_change,
    }
    _makes: ClassVar[Mapping[str, Callable[..., None]]] = {
        "set_cost": Changing.set_cost,
        "add": Changing.add,
        "pause": Changing.pause,
        "resume": Changing.resume,
        "retire": Changing.retire,
    }


def _nothing() -> None:
    pass
