"""How a session hands out decisions; `taking` has how it takes in what comes back.

Options are numbered in the order in which they came, for good; a policy numbers those that are not retired by
rank of cost. What stands still is fast: pauses, rests and times to live are looked at where there are any.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.absence import LONGEST_REST, rest_after, stand_in
from frugalbandits.core.carried import carried
from frugalbandits.core.contract import EVENTS, Batch, Policy, Setting
from frugalbandits.core.options import check_horizon, check_reference, cost_order
from frugalbandits.core.planner import form, planner_of
from frugalbandits.core.quality import Quality, RelativeTo
from frugalbandits.core.session.feedback import Decision
from frugalbandits.core.session.history import KEPT, History
from frugalbandits.core.session.money import Money
from frugalbandits.core.session.terms import ACTIVE, PAUSED, RETIRED, Left, Terms, memory_of
from frugalbandits.core.session.waiting import Waiting
from frugalbandits.core.tally import Bills, Tally, new_bills
from frugalbandits.errors import InputError

__all__ = ["Handing", "Reach"]


class Reach(NamedTuple):
    """Which options may be used in a call: by number, and by rank of those that are not retired."""

    options: list[bool]
    ranks: list[bool]


class Handing:
    """The inside of a session: its policy, its options, its batch, and what it waits for."""

    _label: str
    _names: list[str]
    _costs: list[float]
    _ranks: list[int]  # the batch that is handed out, the place in it, and how often it is still to come
    _at: int
    _repeats: int
    _reasons: dict[int, str]
    _plans_to_explain = False  # whether what is explained is the plan of the moment, not the last one

    def _begin(
        self, policy: Policy, quality: Quality, horizon: float | None, seed: int | None, terms: Terms
    ) -> None:
        """Start afresh; costs, names and label are set."""
        count = len(self._names)
        check_reference(quality, tuple(self._names))
        self._quality, self._policy, self._terms = quality, policy, terms
        self._horizon = None if horizon is None else check_horizon(horizon, count)
        self._standing = [ACTIVE] * count
        self._arrange(*self._setting_for(self._names, self._costs, self._standing))
        self._state: Any = policy.begin(self._setting)
        try:
            self._rng = np.random.default_rng(seed) if policy.randomised else None
        except (TypeError, ValueError):
            raise InputError(f"seed must be a whole number, 0 or more, but it is {seed!r}") from None
        self._planner = planner_of(policy, self._state, self._rng)
        # One that is made anew from a text while others use it keeps its clock, and its lock.
        self._clock: Callable[[], float] = getattr(self, "_clock", None) or time.time
        self._next = 0
        self._asked = [0] * count  # decisions by option
        self._observed = [0] * count  # rewards that nobody asked for
        self._left: dict[int, Left] = {}
        self._lost_at: dict[int, int] = {}  # options without any feedback: when they were last forgotten
        self._money = Money(self._costs)
        self._history = History()
        self._alarms = 0
        self._events: list[tuple[int, str, str]] = []
        self._kept = 0  # events from before the policy started afresh
        self._noted = 0  # entries of its journal that were read
        self._unconfirmed: list[tuple[str, str]] = []  # conclusions from before, not yet drawn again
        self._wait_in(Waiting(terms.time_to_live))
        self._void()
        self._wanted = True
        self._wants, self._learns = policy.wants, terms.learn_costs
        self._alarming = self._setting.memory is not None
        self._lock = getattr(self, "_lock", None) or threading.RLock()
        self._look_around()

    def _wait_in(self, waiting: Waiting) -> None:
        self._waiting = waiting
        self._pending, self._metadata = waiting.options, waiting.metadata

    def _setting_for(
        self, names: Sequence[str], costs: Sequence[float], standing: Sequence[int]
    ) -> tuple[Setting, list[int]]:
        """Return what the policy is told of the options that are not retired, and these by rank."""
        there = [option for option, each in enumerate(standing) if each != RETIRED]
        values = np.array([costs[option] for option in there], np.float64)
        reference = None
        if isinstance(self._quality, RelativeTo):
            reference = there.index(names.index(self._quality.reference))
        setting = Setting.of(
            values,
            self._quality,
            self._horizon,
            reference,
            self._terms.worth,
            self._terms.learn_costs,
            memory_of(self._terms, self._policy),
            self._terms.judge_price,
        )
        return setting, [there[place] for place in cost_order(values)]

    def _arrange(self, setting: Setting, ranked: list[int]) -> None:
        self._setting = setting
        self._ranked = ranked
        self._rank_of = [-1] * len(self._names)
        for rank, option in enumerate(ranked):
            self._rank_of[option] = rank
        self._by_rank = tuple(self._names[option] for option in ranked)

    def _look_around(self) -> None:
        """Note whether anything moves: only then is there more to look at than the batch."""
        self._reached: dict[Any, Reach] = {}  # what calls may use, by what they said; see `Live._reach`
        if self._policy.minds_absence:
            self._state.usable[:] = [self._standing[option] == ACTIVE for option in self._ranked]
        self._hindered = (
            self._terms.time_to_live is not None or bool(self._lost_at) or PAUSED in self._standing
        )

    # Handing out.

    def _hand_out(self, metadata: Any) -> Decision:
        """Return the next decision where nothing moves."""
        if self._at == len(self._ranks):
            self._go_on()
        rank = self._ranks[self._at]
        reason = self._reasons.get(rank)
        if reason is None:
            reason = self._reasons[rank] = self._policy.reason(self._state, rank)
        self._at += 1
        # As `_deliver` does: this is where time counts.
        id_ = self._next
        option = self._ranked[rank]
        self._next = id_ + 1
        self._asked[option] += 1
        self._pending[id_] = option
        if metadata is not None:
            self._metadata[id_] = metadata
        self._state.tally.pending[rank] += 1
        return Decision(id_, self._by_rank[rank], reason, metadata, self._wanted)

    def _deliver(self, rank: int, reason: str, metadata: Any, wanted: bool) -> Decision:
        id_ = self._next
        option = self._ranked[rank]
        self._next = id_ + 1
        self._asked[option] += 1
        self._pending[id_] = option
        if metadata is not None:
            self._metadata[id_] = metadata
        self._state.tally.pending[rank] += 1
        return Decision(id_, self._names[option], reason, metadata, wanted)

    def _hand_out_among(self, metadata: Any, reach: Reach, kept: int | None) -> Decision:
        """Return the next decision for one of some options; the option `kept` if it may be."""
        if self._terms.time_to_live is not None:
            self._waiting.handed_out(self._next, self._clock())
        if kept is not None and reach.options[kept]:
            self._repeats = min(self._repeats, 1)
            rank = self._rank_of[kept]
            wanted = self._wanted or rank not in self._ranks
            return self._deliver(rank, "kept: the option of an earlier decision", metadata, wanted)
        mask = reach.ranks
        minds, rests = self._policy.minds_absence, bool(self._lost_at)
        if rests:
            resting = self._resting()
            awake = [each and option not in resting for each, option in zip(mask, self._ranked, strict=True)]
            mask = awake if any(awake) else mask
        if all(mask):
            return self._hand_out(metadata)
        # The usual plan goes first, but while options rest: it would begin with those again and again.
        if self._at == len(self._ranks) and (self._repeats > 1 or not (minds and rests)):
            self._go_on()
        if self._at < len(self._ranks) and mask[self._ranks[self._at]]:
            return self._hand_out(metadata)
        usable = np.array(mask, np.bool_)
        return self._replanned(metadata, usable) if minds else self._stood_in_for(metadata, usable)

    def _replanned(self, metadata: Any, usable: NDArray[np.bool_]) -> Decision:
        """Have a plan made for what is usable in this call, and another one in the next."""
        state = self._state
        usual = state.usable.copy()
        state.usable[:] = usable
        try:
            self._plan()
            rank = self._ranks[0]
            reason = self._policy.reason(state, rank)
            decision = self._deliver(rank, reason, metadata, self._wanted)
            self._policy.cut_short(state)
        finally:
            # Also where planning fails: the next call must not find the options of this one.
            self._void()
            state.usable[:] = usual
        return decision

    def _stood_in_for(self, metadata: Any, usable: NDArray[np.bool_]) -> Decision:
        """Hand out another option in place of the one that is planned."""
        missed = self._by_rank[self._ranks[self._at]]
        setting = self._setting
        rank = int(stand_in(self._state.tally, setting.keep, setting.reference, setting.level, usable))
        decision = self._deliver(rank, f"stands in: {missed!r} is not available", metadata, True)
        self._at += 1
        # What the stand-in shows was not foreseen by the batch.
        self._repeats = min(self._repeats, 1)
        return decision

    def _resting(self) -> set[int]:
        """Return options that no feedback was ever heard of, and that were forgotten a short while ago."""
        resting: set[int] = set()
        tally = self._state.tally
        told, lost = int(tally.pulls.sum()), int(tally.lost.sum())
        for option, at in list(self._lost_at.items()):
            rank = self._rank_of[option]
            if rank < 0 or tally.pulls[rank] > 0 or self._next >= at + LONGEST_REST:
                del self._lost_at[option]
                continue
            if self._next < at + rest_after(int(tally.lost[rank]), lost, told):
                resting.add(option)
        if not self._lost_at:
            self._look_around()
        return resting

    # Planning.

    def _go_on(self) -> None:
        if self._repeats > 1:
            self._repeats -= 1
            self._at = 0
        else:
            self._plan()

    def _use(self, batch: Batch, at: int) -> None:
        self._ranks = batch.arms.tolist()
        self._repeats = int(batch.repeats)
        self._at = at
        self._reasons = {}

    def _void(self) -> None:
        """Have a plan made before the next decision."""
        self._ranks, self._repeats, self._at, self._reasons = [], 0, 0, {}

    def _plan(self) -> None:
        batch = self._planner(self._state, self._rng)
        if self._state.journal.length[0] > self._noted:
            self._read_journal()
        if self._unconfirmed:
            self._drop_what_no_longer_holds(batch.arms.tolist())
        if self._alarming:
            self._read_alarms()
        if self._wants:
            self._wanted = bool(self._state.wanted[0])
        # A batch is the same whatever its own outcomes; what is still out from before may change it.
        repeats = 1 if self._anything_out() else int(batch.repeats)
        self._use(Batch(batch.arms, repeats), 0)

    def _anything_out(self) -> bool:
        """Tell whether feedback is still to come."""
        return bool(self._pending)

    def _read_journal(self) -> None:
        for kind, name in self._journal()[self._noted :]:
            if (kind, name) in self._unconfirmed:
                self._unconfirmed.remove((kind, name))
            else:
                self._events.append((self._next, kind, name))
                self._history.add(self._next, "conclusion", name, _CONCLUDED[kind])
            self._noted += 1

    def _journal(self) -> list[tuple[str, str]]:
        journal = self._state.journal
        return [
            (EVENTS[journal.kinds[i]], self._by_rank[journal.arms[i]]) for i in range(int(journal.length[0]))
        ]

    def _drop_what_no_longer_holds(self, planned: list[int]) -> None:
        tally = self._state.tally
        if any(tally.pulls[rank] + tally.pending[rank] == 0 for rank in planned):
            return  # the policy looks at a new option before it draws conclusions
        for kind, name in self._unconfirmed:
            self._history.add(self._next, "dropped", name, _DROPPED[kind])
        self._unconfirmed = []

    def _read_alarms(self) -> None:
        past = self._state.past
        raised, kept = int(past.alarms[0]), len(past.log_arm)
        for number in range(max(self._alarms, raised - kept), raised):
            place = number % kept
            name = self._by_rank[past.log_arm[place]]
            before, after = float(past.log_before[place]), float(past.log_after[place])
            words = f"its quality seems to have changed, from {before:.3g} to {after:.3g}"
            self._history.add(self._next, "alarm", name, words)
        self._alarms = raised

    def load_machine_code(self, wait: bool = True) -> bool:
        """Load the policy's machine code if it is on disk, and tell whether it is in use; never compiles.

        A session does this by itself, in the background, from its first plan on. This is for a program that
        can wait before its first decision and not after it. Without `wait` it begins and returns at once.
        """
        load = self._planner.load if wait else self._planner.load_soon
        return load(self._state, self._rng)

    # Other options, other prices.

    def _change(
        self, names: list[str], costs: list[float], standing: list[int], repriced: int | None = None
    ) -> None:
        """Go on with other options or prices; an error leaves everything as it was."""
        setting, ranked = self._setting_for(names, costs, standing)
        if self._horizon is not None:
            check_horizon(self._horizon, len(ranked))
        origin = [self._rank_of[option] if option < len(self._names) else -1 for option in ranked]
        state: Any = carried(self._policy, self._state, setting, origin)
        if repriced is not None and hasattr(state, "bills"):
            for part in state.bills:
                part[ranked.index(repriced)] = 0
        if form(state) != form(self._state):
            self._planner = planner_of(self._policy, state, self._rng)
        drawn = [*self._unconfirmed, *self._journal()]
        gone = [option for option in self._ranked if standing[option] == RETIRED]
        for option in gone:
            self._left[option] = self._leave(self._rank_of[option])
        self._names, self._costs, self._standing, self._state = names, costs, standing, state
        self._arrange(setting, ranked)
        self._unconfirmed = [each for each in dict.fromkeys(drawn) if each[1] in self._by_rank]
        self._events = self._events[-KEPT:]
        self._kept, self._noted = len(self._events), 0
        for option in gone:
            self._lost_at.pop(option, None)
        self._void()
        self._look_around()

    def _leave(self, rank: int) -> Left:
        """Return what was seen of an arm of the state."""
        here = slice(rank, rank + 1)
        tally = Tally(*(part[here].copy() for part in self._state.tally))
        if not hasattr(self._state, "bills"):
            return Left(tally, new_bills(1))
        return Left(tally, Bills(*(part[here].copy() for part in self._state.bills)))


_CONCLUDED = {
    "infeasible": "ruled out: it is not good enough",
    "optimal": "settled on: the cheapest option that is good enough",
    "unreachable": "no option reaches the level: the best one is looked for",
}
_DROPPED = {
    "infeasible": "no longer ruled out, after a change of options or prices",
    "optimal": "no longer settled on, after a change of options or prices",
    "unreachable": "no longer known to be out of reach, after a change of options or prices",
}
