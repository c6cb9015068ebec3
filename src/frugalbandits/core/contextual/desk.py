"""The inside of a contextual session: how decisions go out and feedback comes in."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contextual.accounts import OTHERS, Account, Waiter
from frugalbandits.core.contextual.context import Context, Encoder
from frugalbandits.core.contextual.contract import ContextualPolicy, ContextualSetting
from frugalbandits.core.contextual.engine import engine_of
from frugalbandits.core.options import check_reference, cost_order, vector
from frugalbandits.core.quality import Quality, RelativeTo
from frugalbandits.core.session.feedback import Decision, Told
from frugalbandits.core.session.history import History
from frugalbandits.core.session.money import check_cost
from frugalbandits.core.session.roster import Roster
from frugalbandits.core.session.terms import ACTIVE, RETIRED
from frugalbandits.core.session.waiting import Waiting
from frugalbandits.errors import Expired, InputError

__all__ = ["Chosen", "Desk"]


class Chosen(NamedTuple):
    """What a policy chose for a query, by option, and why."""

    option: int
    waiter: Waiter
    reason: str
    wanted: bool


class Desk(Roster):
    """Options in the order in which they came; the policy knows those that are not retired, in this order."""

    _label: str
    _costs: list[float]
    _shares = False  # whether decisions of others are counted here

    def _begin(
        self,
        policy: ContextualPolicy,
        quality: Quality,
        encoder: Encoder,
        seed: int | None,
        memory: int | None,
        time_to_live: float | None,
    ) -> None:
        """Start afresh; costs, names and label are set."""
        check_reference(quality, tuple(self._names))
        self._policy, self._quality, self._encoder = policy, quality, encoder
        self._memory, self._time_to_live = memory, time_to_live
        self._standing = [ACTIVE] * len(self._names)
        self._arrange()
        self._state: Any = policy.start(self._setting)
        try:
            self._rng = np.random.default_rng(seed)
        except (TypeError, ValueError):
            raise InputError(f"seed must be a whole number, 0 or more, but it is {seed!r}") from None
        self._engine = engine_of(policy, self._state, self._rng, self._shares)
        self._clock: Callable[[], float] = getattr(self, "_clock", None) or time.time
        self._next = 0
        self._accounts = [Account() for _ in self._names]
        self._segments: dict[str, Account] = {}
        self._history = History()
        self._wait_in(Waiting(time_to_live), {})
        self._lock = getattr(self, "_lock", None) or threading.RLock()

    def load_machine_code(self, wait: bool = True) -> bool:
        """Load the policy's machine code if it is on disk, and tell whether it is in use; never compiles.

        A session does this by itself, in the background, from its first plan on. This is for a program that
        can wait before its first decision and not after it. Without `wait` it begins and returns at once.
        """
        load = self._engine.load if wait else self._engine.load_soon
        return load(self._state, self._rng)

    @property
    def _context(self) -> Context:
        return self._encoder.context

    def _wait_in(self, waiting: Waiting, waiters: dict[int, Waiter]) -> None:
        self._waiting, self._waiters = waiting, waiters
        self._pending, self._metadata = waiting.options, waiting.metadata

    def _setting_for(
        self, names: Sequence[str], costs: Sequence[float], standing: Sequence[int]
    ) -> tuple[ContextualSetting, list[int]]:
        there = [option for option, each in enumerate(standing) if each != RETIRED]
        reference = -1
        if isinstance(self._quality, RelativeTo):
            reference = there.index(names.index(self._quality.reference))
        values = np.array([costs[option] for option in there], np.float64)
        encoder = self._encoder
        setting = ContextualSetting(
            values, self._quality, reference, encoder.width, encoder.features, self._memory
        )
        return setting, there

    def _arrange(self) -> None:
        self._setting, self._options = self._setting_for(self._names, self._costs, self._standing)
        self._arm_of = {option: arm for arm, option in enumerate(self._options)}

    def _there(self) -> list[str]:
        return [self._names[self._options[arm]] for arm in cost_order(self._setting.costs)]

    def _change(self, names: list[str], costs: list[float], standing: list[int]) -> None:
        """Go on with other options or prices; an error leaves everything as it was."""
        setting, options = self._setting_for(names, costs, standing)
        origin = [self._arm_of.get(option, -1) if option < len(self._names) else -1 for option in options]
        state = self._policy.carried(self._state, setting, origin)
        self._names, self._costs, self._standing, self._state = names, costs, standing, state
        self._arrange()

    # Handing out.

    def _query_costs(self, costs: Any) -> NDArray[np.float64]:
        """Return what this query would cost by option: the usual costs but where others are given."""
        if costs is None:
            return self._setting.costs
        usual = self._setting.costs.copy()
        if isinstance(costs, Mapping):
            for name, cost in costs.items():
                option = self._option(name, there=True)
                usual[self._arm_of[option]] = check_cost(f"the cost of {name!r}", cost)
            return usual
        given = vector("costs", costs)
        if len(given) != len(usual):
            raise InputError(
                f"costs must be one for each of {len(usual)} options, but there are {len(given)}: "
                "a dictionary by name may have fewer"
            )
        return np.array([check_cost(f"costs[{place}]", cost) for place, cost in enumerate(given.tolist())])

    def _hand_out(
        self, context: Any, metadata: Any, allowed: Sequence[bool], kept: int | None, costs: Any
    ) -> Decision:
        features, segment = self._encoder.read(context)
        prices = self._query_costs(costs)
        if self._encoder.admit(segment):
            self._widen()
        chosen = self._choose(self._state, self._rng, features, segment, prices, allowed, kept)
        id_ = self._wait_for(chosen.option, chosen.waiter, metadata, self._clock())
        self._count(chosen.option, chosen.waiter, prices)
        return Decision(id_, self._names[chosen.option], chosen.reason, metadata, chosen.wanted)

    def _choose(
        self,
        state: Any,
        rng: Any,
        features: NDArray[np.float64],
        segment: str | None,
        prices: NDArray[np.float64],
        allowed: Sequence[bool],
        kept: int | None,
    ) -> Chosen:
        """Have the policy choose on a state, which may be a copy."""
        usable = np.array([allowed[option] for option in self._options], np.bool_)
        if kept is not None and allowed[kept]:
            usable[:] = False
            usable[self._arm_of[kept]] = True
        else:
            kept = None
        floors = np.zeros(len(self._options))
        phi = self._encoder.encode(features, segment)
        choice = self._engine.choose(state, phi, prices, usable, rng, floors)
        arm, propensity = int(choice.arm), float(choice.propensity)
        if kept is not None:
            reason = "kept: the option of an earlier decision"
        else:
            reason = self._policy.reason(state, arm, propensity)
        by_option = np.zeros(len(self._names))
        by_option[self._options] = floors
        waiter = Waiter(features, segment, propensity, float(prices[arm]), by_option)
        return Chosen(self._options[arm], waiter, reason, bool(choice.wanted))

    def _wait_for(self, option: int, waiter: Waiter, metadata: Any, now: float) -> int:
        """Wait for feedback on a decision from now on; return its number."""
        id_ = self._next
        self._next = id_ + 1
        if self._time_to_live is not None:
            self._waiting.handed_out(id_, now)
        self._pending[id_] = option
        self._waiters[id_] = waiter
        if metadata is not None:
            self._metadata[id_] = metadata
        return id_

    def _pending_count(self) -> int:
        return len(self._pending)

    def _widen(self) -> None:
        self._state = self._policy.widened(self._state, self._encoder.width)
        self._arrange()

    def _count(self, option: int, waiter: Waiter, prices: NDArray[np.float64]) -> None:
        account, price, segment = self._accounts[option], waiter.cost, waiter.segment
        account.decisions += 1
        account.spent += price
        for arm, cost in enumerate(prices.tolist()):
            self._accounts[self._options[arm]].always += cost
        if segment is not None:
            place = self._segments.setdefault(self._segment_key(segment), Account())
            place.decisions += 1
            place.spent += price
            name = self._names[option]
            place.uses[name] = place.uses.get(name, 0) + 1

    def _segment_key(self, segment: str) -> str:
        """Return under which key a segment is counted: its name while it is one of the `most`."""
        return segment if segment in self._encoder.names else OTHERS

    def _segment_account(self, segment: str | None) -> Account | None:
        return None if segment is None else self._segments.get(self._segment_key(segment))

    # Taking in.

    def _take_in(self, entries: list[Told]) -> None:
        """Fold in what is told, or raise an error before anything is."""
        self._sweep()
        try:
            rewards, costs = self._waiting.told_of(entries, self._next)
        except Expired as error:
            self._waiting.came_late(error)
            raise
        for id_, cost in costs.items():
            waiter = self._waiters[id_]
            self._waiting.billed.add(id_)
            self._accounts[self._pending[id_]].spent += cost - waiter.cost
            place = self._segment_account(waiter.segment)
            if place is not None:
                place.spent += cost - waiter.cost
        for id_, reward in rewards.items():
            self._fold_in(id_, reward)

    def _fold_in(self, id_: int, reward: float) -> None:
        waiter, option = self._waiters[id_], self._pending[id_]
        self._drop(id_)
        self._learn(option, waiter, reward)
        for account in (self._accounts[option], self._segment_account(waiter.segment)):
            if account is not None:
                account.told += 1
                account.rewards += reward

    def _learn(self, option: int, waiter: Waiter, reward: float) -> None:
        arm = self._arm_of.get(option)
        if arm is None:
            return  # it was retired: its account is all that is left of it
        phi = self._encoder.encode(waiter.features, waiter.segment)
        # What has come since was not tried then.
        known = len(waiter.floors)
        floors = np.array([waiter.floors[each] if each < known else 0.0 for each in self._options])
        self._engine.learn(self._state, phi, arm, waiter.propensity, reward, floors)

    def _observe(
        self, option: int, features: NDArray[np.float64], segment: str | None, reward: float
    ) -> None:
        """Fold in the reward of a use that was no decision."""
        if self._encoder.admit(segment):
            self._widen()
        self._learn(option, Waiter(features, segment, 0.0, 0.0, np.zeros(0)), reward)
        self._accounts[option].observed += 1

    def _drop(self, id_: int) -> None:
        del self._pending[id_], self._waiters[id_]
        self._metadata.pop(id_, None)
        self._waiting.billed.discard(id_)

    def _sweep(self) -> None:
        """Give up what has outlived its time to live."""
        if self._time_to_live is not None:
            self._waiting.follow(self._clock())
            for id_ in self._waiting.overdue(self._clock(), self._next):
                self._drop(id_)
