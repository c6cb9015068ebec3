"""Online decisions: ask for an option, tell what it was worth, in any order, and never wait.

A session hands out the current batch of its policy. When the batch is used up it plans again on what is
known by then: pulls whose feedback is still out count towards balance but not towards means. Prices, options
and what may be used now can change at any time.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from frugalbandits.core.contract import Policy
from frugalbandits.core.files import read_with, write_text
from frugalbandits.core.options import check_options
from frugalbandits.core.quality import Quality, check_quality
from frugalbandits.core.registry import resolve
from frugalbandits.core.session import snapshot, stored
from frugalbandits.core.session.explaining import Facts, explained
from frugalbandits.core.session.explanation import Explanation
from frugalbandits.core.session.feedback import Decision, checked_reward, plain_copy, told, told_of_many
from frugalbandits.core.session.live import LiveOptions
from frugalbandits.core.session.money import check_cost
from frugalbandits.core.session.terms import check_promise, check_terms
from frugalbandits.core.settings import check_flag
from frugalbandits.errors import HorizonWarning, InputError

__all__ = ["Session"]


class Session(LiveOptions):
    """Ask which option to use, tell how good it was.

    Safe to use from several threads. Feedback may come late, in any order, or never (`forget`). It can be
    pickled and copied, and goes on from there.

    Parameters
    ----------
    costs
        Cost of one use of each option: a mapping from name to cost, or a list of costs.
    alpha
        Share of the best quality that may be given up, in [0, 1): short for ``RelativeToBest(alpha)``.
    policy
        A registered name or a policy with settings; by default the one for the promise: "voi-cs" or "mix-cs".
    horizon
        How many decisions are expected. It helps the default policy, which does without; others need it for
        their confidence. More may be asked for.
    seed
        Seed of a randomised policy; unpredictable by default.
    names
        Names of the options where `costs` is a list; "a1", "a2", ... by default.
    quality
        What is good enough, in place of alpha: `RelativeToBest`, `RelativeTo` or `AtLeast`, or its written
        form, such as "at-least:0.8". VOI-CS, MIX-CS, GLR-COF and COF know all of them.
    over
        What is good enough: "each" option that is decided for, or the average over all "queries", which a mix
        of two options may reach for less. By default what the policy promises, "each" where none is named.
    worth
        What a unit of quality is worth, in units of cost, to a policy that weighs one against the other; the
        range of the costs by default.
    learn_costs
        True where costs are only known afterwards: those given are a first guess, and what is told with
        ``tell(id, cost=...)`` counts. False: told costs count as spending alone.
    memory
        "auto": a policy that can notices when an option has changed, and drops what it knew before. None:
        nothing is ever forgotten. N: what was seen fades within N decisions as well.
    time_to_live
        Seconds, or a `timedelta`, after which a decision without feedback is given up. None: never.
    judge_price
        What feedback on one decision costs, in units of cost.
    store
        Where the session is kept: an address such as "sqlite:///decisions.db" or "postgresql://...", or a
        store that is open. What was told is durable when `tell` returns, several processes may share a
        session, and whoever opens it again under its name goes on with it. None: it lives in this process.
    name
        The name of the session in its store.
    on_difference
        What to do where the store has the session with other options or prices: "refuse" raises a `Conflict`
        that says what differs; "apply" sets the prices that are given, adds new options, and pauses active
        ones that are not named.

    Warns
    -----
    HorizonWarning
        If the policy cannot come to a conclusion within the horizon.

    Examples
    --------
    >>> session = Session(costs={"small": 0.2, "large": 3.0}, alpha=0.1)
    >>> decision = session.ask()
    >>> decision.id, decision.option
    (0, 'small')
    >>> session.tell(decision.id, reward=0.5)
    >>> session.ask().reason
    'leader: the least expected regret, and no question is worth its price'
    >>> Session({"small": 0.2, "large": 3.0}, quality="relative-to:large:0.05").quality
    RelativeTo(reference='large', alpha=0.05)
    """

    def __new__(cls, *args: Any, store: Any = None, **settings: Any) -> Session:
        """Return a session of the kind that is kept in a store, where one is given."""
        if store is None or cls is not Session:
            return super().__new__(cls)
        # The one door to the layer above: nothing of it is loaded where no store is asked for.
        kept: type[Session] = import_module("frugalbandits.stores").StoredSession
        return super().__new__(kept)

    def __init__(
        self,
        costs: Mapping[str, float] | ArrayLike,
        alpha: float | None = None,
        policy: str | Policy | None = None,
        horizon: float | None = None,
        seed: int | None = None,
        names: Iterable[str] | None = None,
        *,
        quality: Quality | str | None = None,
        over: Literal["each", "queries"] | None = None,
        worth: float | None = None,
        learn_costs: bool = False,
        memory: int | Literal["auto"] | None = "auto",
        time_to_live: float | timedelta | None = None,
        judge_price: float = 0.0,
        store: Any = None,
        name: str = "default",
        on_difference: Literal["refuse", "apply"] = "refuse",
    ) -> None:
        if isinstance(costs, Mapping):
            if names is not None:
                raise InputError("names are given twice: as keys of costs and as names")
            names, costs = list(costs), list(costs.values())
        checked, names = check_options(costs, names)
        self._costs, self._names = checked.tolist(), list(names)
        chosen = check_promise(policy, over)
        self._label = chosen if isinstance(chosen, str) else repr(chosen)
        terms = check_terms(worth, learn_costs, memory, time_to_live, judge_price)
        if terms.learn_costs:
            for name, cost in zip(self._names, self._costs, strict=True):
                check_cost(f"where costs are learned, that of {name!r}", cost)
        self._begin(resolve(chosen), check_quality(alpha, quality), horizon, seed, terms)
        self._warn_of_the_horizon()

    @property
    def quality(self) -> Quality:
        """What is good enough."""
        return self._quality

    @property
    def over(self) -> str:
        """What is good enough: "each" decision's option, or the average over "queries"."""
        return self._policy.promise

    @property
    def decisions(self) -> int:
        """Decisions handed out so far."""
        return self._next

    @property
    def pending(self) -> dict[int, str]:
        """Decisions that wait for feedback: id and option."""
        with self._lock:
            self._sweep()
            return {id_: self._names[option] for id_, option in self._pending.items()}

    @overload
    def ask(
        self,
        n: None = None,
        *,
        metadata: Any = None,
        among: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        after: int | str | Decision | None = None,
    ) -> Decision: ...

    @overload
    def ask(
        self,
        n: int,
        *,
        metadata: Any = None,
        among: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        after: int | str | Decision | None = None,
    ) -> list[Decision]: ...

    def ask(
        self,
        n: int | None = None,
        *,
        metadata: Any = None,
        among: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        after: int | str | Decision | None = None,
    ) -> Decision | list[Decision]:
        """Return the next decision, or the next n; never waits, for feedback or for a compiler.

        Parameters
        ----------
        n
            How many decisions; they come as a list. By default one, by itself.
        metadata
            Anything that JSON can carry: a request's id, a customer. It is kept with the decision until its
            feedback is told or forgotten, stored sessions included; see `metadata`.
        among, exclude
            Names of the only options that may be used this time, and of those that may not: an outage, a
            context window, a tenant's rights. The bar stays that of all options.
        after
            An earlier decision, or its id, whose option is to be kept if it may be used now: the next turn
            of a conversation. The option of an id that waits for feedback no more is not known; then it is
            as without.

        Examples
        --------
        >>> session = Session([0.2, 3.0], alpha=0.1, policy="glr-cof")
        >>> [decision.option for decision in session.ask(3, metadata={"request": 17})]
        ['a1', 'a2', 'a1']
        >>> session.metadata(2)
        {'request': 17}
        >>> session.ask(exclude=["a1"]).option, session.ask(after=1).option
        ('a2', 'a2')
        """
        kept = None if metadata is None else plain_copy(metadata)
        free = among is None and exclude is None and after is None
        if n is None:
            with self._lock:
                if free and not self._hindered:
                    return self._hand_out(kept)
                self._sweep()
                return self._hand_out_among(kept, self._reach(among, exclude), self._to_keep(after))
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise InputError(f"n must be a whole number of decisions, 0 or more, but it is {n!r}")
        with self._lock:
            if free and not self._hindered:
                return [self._hand_out(kept) for _ in range(n)]
            self._sweep()
            reach, option = self._reach(among, exclude), self._to_keep(after)
            return [self._hand_out_among(kept, reach, option) for _ in range(n)]

    def tell(self, id: int | str, reward: float | None = None, cost: float | None = None) -> None:
        """Report how good a decision was, as a number from 0 to 1, or what it cost, or both.

        Either may come first or alone, in any order of decisions, and each once. A decision waits until its
        reward is told; where costs are learned, its cost may come later still (until the time to live, or
        for 100,000 further decisions).

        Examples
        --------
        >>> session = Session({"small": 0.2, "large": 3.0}, alpha=0.1)
        >>> session.tell(session.ask().id, reward=1.0, cost=0.25)
        >>> session.explain().spent
        0.25
        """
        if cost is None and reward is not None:
            value = checked_reward(id, reward)
            with self._lock:
                known = (
                    id if type(id) is int and id in self._pending and not self._hindered else self._known(id)
                )
                self._fold_in(known, value)
            return
        entry = told(id, reward, cost)
        with self._lock:
            self._take_in([entry])

    def tell_many(self, feedback: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        """Report how good some decisions were: all of it, or nothing where anything is wrong.

        Each entry is an id with a reward, or with a dictionary that has "reward" or "cost" or both.

        Examples
        --------
        >>> session = Session([0.2, 3.0], alpha=0.1)
        >>> session.tell_many((decision.id, 1.0) for decision in session.ask(5))
        >>> session.tell_many({decision.id: {"reward": 1.0, "cost": 0.3} for decision in session.ask(2)})
        >>> session.pending
        {}
        """
        entries = told_of_many(feedback)
        with self._lock:
            self._take_in(entries)

    def observe(self, option: str, reward: float | None = None, cost: float | None = None) -> None:
        """Report on a use of an option that was no decision: a fallback's answer, a label, a shadow run.

        Examples
        --------
        >>> session = Session({"small": 0.2, "large": 3.0}, alpha=0.1)
        >>> session.observe("large", reward=1.0)
        >>> session.explain().arms[1].pulls
        1
        """
        if reward is None and cost is None:
            raise InputError(f"a reward or a cost is to be told of {option!r}, but both are None")
        value = None if reward is None else checked_reward(option, reward, "option")
        paid = None if cost is None else check_cost(f"the cost of option {option!r}", cost)
        with self._lock:
            known = self._option(option)
            state, rank = self._home(known)
            if value is not None:
                self._see(known, state, rank, value)
            if paid is not None:
                self._money.pay(known, paid)
                if self._terms.learn_costs:
                    self._learn_cost(known, paid)
            if state is self._state:
                # No batch has foreseen it.
                self._void()

    def forget(self, id: int | str, used: bool = True) -> None:
        """Say that the feedback of a decision will never come.

        Parameters
        ----------
        id
            The id of the decision.
        used
            Whether the option was used. If not (a cache answered, or the call was not made), the decision
            costs nothing, and is left out of what was spent and saved. Tell no cost of such a decision.

        Examples
        --------
        >>> session = Session({"small": 1.0, "large": 3.0}, alpha=0.1)
        >>> session.forget(session.ask().id, used=False)
        >>> session.explain().spent
        0.0
        """
        with self._lock:
            self._sweep()
            known = self._waiting.for_reward(id, self._next)
            if not check_flag("used", used) and known not in self._waiting.billed:
                self._money.void(self._pending[known], known)
            self._lose(known)

    def metadata(self, id: int | str) -> Any:
        """Return what `ask` was given to keep with a decision that waits for feedback; None if nothing."""
        with self._lock:
            self._sweep()
            kept = self._metadata.get(self._waiting.for_reward(id, self._next))
        return None if kept is None else plain_copy(kept)

    def explain(self) -> Explanation:
        """Return what is believed of each option, what was spent and saved, and the decision so far."""
        with self._lock:
            self._sweep()
            facts = Facts.of(self)
        # Outside the lock: with hundreds of options this takes a while.
        return explained(facts)

    def to_json(self) -> str:
        """Return the whole session as text; `from_json` goes on exactly where it stood."""
        with self._lock:
            data = snapshot.captured(self)
        return stored.dump(data)

    @classmethod
    def from_json(cls, text: str) -> Session:
        """Return the session that `to_json` wrote, of this release or of an earlier one."""
        return cls._restored(text, None)

    def save(self, path: str | Path) -> None:
        """Write the session to a file, whole or not at all, and on the disk when this returns."""
        write_text(path, self.to_json(), durable=True)

    @classmethod
    def load(cls, path: str | Path) -> Session:
        """Read a session that `save` wrote."""
        return read_with(cls.from_json, path)

    def __repr__(self) -> str:
        return f"Session({self._label!r}, {len(self._ranked)} options, {self._next:,} decisions)"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._restored, (self.to_json(), self._policy)

    @classmethod
    def _restored(cls, text: str, policy: Policy | None) -> Session:
        session = cls.__new__(cls)
        snapshot.read_into(session, text, policy)
        return session

    def _warn_of_the_horizon(self) -> None:
        if self._horizon is None:
            return
        needed = self._policy.decisions_to_conclude(self._setting)
        if needed is not None and needed > self._horizon:
            takes = "never would" if math.isinf(needed) else f"would take {needed:,.0f}"
            warnings.warn(
                f"{self._label} cannot come to a conclusion within {self._horizon:,} decisions: it {takes}, "
                f"even if each of the {len(self._names)} options were perfect. It will explore to the end; "
                "take policy='voi-cs', which waits for no conclusion, or a longer horizon, a lower bar, or "
                "a tolerance.",
                HorizonWarning,
                stacklevel=3,
            )
