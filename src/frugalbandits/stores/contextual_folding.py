"""The replica of a contextual session: here an ask is an event of the log too.

When feedback comes, the policy needs the query. It is in the log, under the key of the decision, before the
decision is handed out; so a replica keeps no list of pending decisions, and neither does its snapshot. The
newest ones are kept in memory, because most feedback comes soon; others are looked up by key, before the lock
is taken. Every replica that has read as far has the same state, to the last bit.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
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
from frugalbandits.stores.open_counts import OpenCounts
from frugalbandits.stores.series import Series
from frugalbandits.stores.telling import Telling

__all__ = ["FORMAT", "RECENT", "ContextualFolding"]

FORMAT = "frugalbandits-contextual-replica"
VERSION = 2  # since 2 there are no pending decisions in it
RECENT = 1_000  # of the newest decisions, what feedback needs is kept in memory


class ContextualFolding(Telling, ContextualSession):
    """The part of a stored contextual session that reads, and that is kept."""

    _routes = True
    _shares = True

    def _found(self) -> None:
        # Workers that draw the same numbers would make the same mistakes.
        self._draws = np.random.default_rng()
        self._late_here = 0
        self._recent: dict[str, str] = {}  # bodies of the newest asks, by key
        self._asks: dict[str, str] = {}  # bodies of those that the entries at hand need

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
        self._nothing_pending()
        self._series = Series(len(self._names))

    def _nothing_pending(self) -> None:
        waiting = Waiting(self._time_to_live)
        waiting.late, waiting.latest = self._waiting.late, self._waiting.latest
        self._wait_in(waiting, {})
        self._open = OpenCounts(self._time_to_live, AHEAD)
        self._recent = {}

    def _pending_count(self) -> int:
        return self._open.total

    def _captured(self) -> Callable[[], str]:
        session = stored.captured(self)
        data = {
            "format": FORMAT,
            "version": VERSION,
            "seen": self._seen,
            "key": self._seen_key,
            "now": self._log_now,
            "pending": self._open.dumped(),
            "series": self._series.listed(),
        }
        return lambda: json.dumps({**data, "session": session()}, allow_nan=False)

    def _restore(self, text: str) -> None:
        try:
            data = self._loaded(text, FORMAT, VERSION)
            stored.read_into(self, data["session"], None)
            issued = self._issued_times() if data["version"] == 1 else []
            self._nothing_pending()
            if data["version"] == 1:
                for each in issued:
                    self._open.add(each)
            else:
                self._open.load(data["pending"])
            self._series = Series.loaded(data["series"], len(self._names))
            self._seen, self._log_now = int(data["seen"]), self._believed(float(data["now"]))
            self._open.set_back(self._log_now)
            self._waiting.follow(self._clock() + 2 * AHEAD)
            self._seen_key = str(data.get("key", ""))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise self._damaged(error) from error

    def _issued_times(self) -> list[float]:
        """Return when the pending decisions of a snapshot of format 1 were handed out, roughly."""
        live = self._waiting.live
        if not live:
            return [0.0] * len(self._pending)
        firsts = [stretch.first for stretch in live]
        return [live[max(bisect_right(firsts, id_) - 1, 0)].end - AHEAD for id_ in self._pending]

    # What is taken in.

    def _apply_next(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        with self._lock:
            recent = {key: self._recent[key] for key in _asks_wanted(entries) if key in self._recent}
        # Without the lock: the store may hang, and whoever asks must not wait for it.
        asks, missing = self._look_up(entries, recent)
        if missing:
            # They were deleted with other old events, which a snapshot holds that this replica has not read.
            self._skip_what_has_gone()
        with self._lock:
            self._asks = asks
            try:
                return super()._apply_next(entries)
            finally:
                self._asks = {}

    def _has_all_for(self, entries: Sequence[Entry]) -> bool:
        own = {entry.fact.key for entry in entries}
        return all(key in self._recent or key in own for key in _asks_wanted(entries))

    def _look_ahead(self, entries: Sequence[Entry]) -> None:
        # Not from memory: it may hold asks of a log that is no more.
        self._asks, _ = self._look_up(entries, {})

    def _look_up(
        self, entries: Sequence[Entry], recent: Mapping[str, str]
    ) -> tuple[dict[str, str], set[str]]:
        """Return the asks that feedback among these entries belongs to, and the keys that are not there."""
        wanted = _asks_wanted(entries)
        asks = {entry.fact.key: entry.fact.body for entry in entries if entry.fact.key in wanted}
        asks.update(recent)
        missing = wanted - asks.keys()
        if missing:
            found = self._store.find(self._name, sorted(missing))
            asks.update((key, entry.fact.body) for key, entry in found.items())
        return asks, wanted - asks.keys()

    def _ask_of(self, entry: Entry, body: dict[str, Any]) -> dict[str, Any] | None:
        """Return the ask that feedback belongs to; None where the decision has expired."""
        if self._open.is_over(body["t"]):
            return None
        text = self._asks.get(f"{entry.fact.key[:-1]}a")
        found: dict[str, Any] | None = None if text is None else json.loads(text)
        return found

    def _took(self, says_anything: bool) -> None:
        del says_anything
        self._sweep()

    def _sweep(self) -> None:
        """Give up what has outlived its time to live, by the clock of the log."""
        self._open.expire(self._log_now)

    def _take_created(self, entry: Entry, body: dict[str, Any]) -> None:
        self._begin_with(body["state"])

    def _take_asked(self, entry: Entry, body: dict[str, Any]) -> None:
        option, segment = body["o"], body.get("s")
        if self._encoder.admit(segment):
            self._widen()
        prices = self._prices_of(body.get("k"))
        waiter = _waiter_of(body)
        arm = self._arm_of.get(option)
        if arm is not None:  # it may have been retired a moment ago, by somebody else
            phi = self._encoder.encode(waiter.features, segment)
            self._engine.count(self._state, phi, prices, arm, waiter.propensity)
        self._next += 1
        self._open.add(self._believed(body["t"]))
        self._recent[entry.fact.key] = entry.fact.body
        if len(self._recent) > RECENT:
            del self._recent[next(iter(self._recent))]
        self._count(option, waiter, prices)
        bin_ = self._series.bin(entry.fact.at)
        bin_.asked[option] += 1
        bin_.spent += waiter.cost
        for each, price in zip(self._options, prices.tolist(), strict=True):
            bin_.always[each] += price

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
        option, reward = body["o"], body["r"]
        asked = self._ask_of(entry, body)
        account = self._accounts[option]
        places = [account] if account.told < account.decisions else []
        if asked is not None:
            self._open.close(body["t"])
            waiter = _waiter_of(asked)
            self._learn(option, waiter, reward)
            place = self._segment_account(waiter.segment)
            if place is not None:
                places.append(place)
        for each in places:
            each.told += 1
            each.rewards += reward
        bin_ = self._series.bin(entry.fact.at)
        bin_.told[option] += 1
        bin_.rewards[option] += reward
        bin_.answers += 1
        bin_.delays += max(entry.fact.at - body["t"], 0.0)

    def _take_forget(self, entry: Entry, body: dict[str, Any]) -> None:
        if body.get("u") == 0:
            self._take_cost(entry, {**body, "c": 0.0})
        if self._ask_of(entry, body) is not None:
            self._open.close(body["t"])

    def _take_cost(self, entry: Entry, body: dict[str, Any]) -> None:
        more = body["c"] - body["m"]  # than the price that its id has with it
        self._accounts[body["o"]].spent += more
        self._series.bin(entry.fact.at).spent += more
        asked = self._ask_of(entry, body)
        place = None if asked is None else self._segment_account(asked.get("s"))
        if place is not None:
            place.spent += more

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


def _asks_wanted(entries: Sequence[Entry]) -> set[str]:
    """Return the keys of the asks that feedback among entries belongs to."""
    kinds = (facts.REWARD, facts.COST, facts.FORGET)
    return {f"{entry.fact.key[:-1]}a" for entry in entries if entry.fact.kind in kinds}


def _waiter_of(body: Mapping[str, Any]) -> Waiter:
    """Return what feedback needs of an ask."""
    features = np.array(body.get("x", []), np.float64)
    return Waiter(features, body.get("s"), body["p"], body["c"], np.array(body["f"], np.float64))


def _nothing() -> None:
    pass
