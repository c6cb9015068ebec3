"""Online decisions that look at the query: the average quality is held at the bar, at the least cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from numpy.typing import ArrayLike

from frugalbandits.core.contextual import stored
from frugalbandits.core.contextual.changing import Changing
from frugalbandits.core.contextual.context import Context, Encoder, check_context
from frugalbandits.core.contextual.contract import ContextualPolicy
from frugalbandits.core.contextual.explaining import explained
from frugalbandits.core.contextual.explanation import ContextualExplanation
from frugalbandits.core.contextual.registry import resolve_contextual
from frugalbandits.core.files import read_with, write_text
from frugalbandits.core.options import check_options
from frugalbandits.core.quality import Quality, check_quality
from frugalbandits.core.session.feedback import Decision, checked_reward, plain_copy, told, told_of_many
from frugalbandits.core.session.money import check_cost
from frugalbandits.core.session.roster import listed_names
from frugalbandits.core.session.terms import check_terms
from frugalbandits.core.session.waiting import duration
from frugalbandits.core.settings import check_flag
from frugalbandits.errors import InputError

__all__ = ["ContextualSession"]


class ContextualSession(Changing):
    """Ask which option to use for a query, tell how good it was.

    What is promised is the average: the mean quality over queries is held at the bar, with the least cost. A
    hard query goes to an option that can do it, an easy one to one that costs less. A `Session` promises more
    of each decision, and looks at none.

    Safe to use from several threads. Feedback may come late, in any order, on some decisions only, or never.

    Parameters
    ----------
    costs
        Usual cost of each option: a mapping from name to cost, or a list of costs.
    alpha
        Share of the best single option's mean quality that may be given up: short for
        ``RelativeToBest(alpha)``.
    context
        What is known of a query: ``Segments([...])``, ``Features(number)``, ``TextFeatures(number)``, or
        ``Segments([...]) + Features(number)``.
    quality
        What is good enough, in place of alpha: `RelativeToBest`, `RelativeTo` or `AtLeast`, or its written
        form, such as "at-least:0.8".
    policy
        A name, or a contextual policy.
    seed
        Seed of the policy's draws; unpredictable by default, and where several processes may share it.
    names
        Names of the options where `costs` is a list; "a1", "a2", ... by default.
    memory
        Decisions within which what was seen fades; None: nothing is forgotten.
    time_to_live
        Seconds, or a `timedelta`, after which a decision without feedback is given up. None: never.
    store
        Where the session is kept: an address such as "sqlite:///decisions.db" or "postgresql://...", or a
        store that is open. What was asked and told is durable when `ask` and `tell` return, and several
        processes may share a session. None: it lives in this process.
    name
        The name of the session in its store.
    on_difference
        What to do where the store has the session with other options or prices: "refuse" raises a `Conflict`
        that says what differs; "apply" sets the prices that are given, adds new options, and pauses active
        ones that are not named.

    Examples
    --------
    >>> from frugalbandits.core.contextual.context import Features, Segments
    >>> costs = {"small": 0.2, "large": 3.0}
    >>> session = ContextualSession(costs, alpha=0.05, context=Segments(["easy", "hard"]))
    >>> decision = session.ask("easy")
    >>> session.tell(decision.id, reward=1.0)
    >>> session.decisions, session.pending
    (1, {})
    """

    def __new__(cls, *args: Any, store: Any = None, **settings: Any) -> ContextualSession:
        """Return a session of the kind that is kept in a store, where one is given."""
        if store is None or cls is not ContextualSession:
            return super().__new__(cls)
        # The one door to the layer above: nothing of it is loaded where no store is asked for.
        kept: type[ContextualSession] = import_module("frugalbandits.stores").StoredContextualSession
        return super().__new__(kept)

    def __init__(
        self,
        costs: Mapping[str, float] | ArrayLike,
        alpha: float | None = None,
        context: Context | None = None,
        *,
        quality: Quality | str | None = None,
        policy: str | ContextualPolicy = "dual-cof",
        seed: int | None = None,
        names: Iterable[str] | None = None,
        memory: int | None = None,
        time_to_live: float | timedelta | None = None,
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
        for name, cost in zip(self._names, self._costs, strict=True):
            check_cost(f"the cost of {name!r}", cost)
        self._label = policy if isinstance(policy, str) else repr(policy)
        fading = None if memory is None else check_terms(None, False, memory, None, 0.0).memory
        if isinstance(fading, str):
            raise InputError(f"memory must be None or a number of decisions, 1 or more, but it is {memory!r}")
        self._begin(
            resolve_contextual(policy),
            check_quality(alpha, quality),
            Encoder(check_context(context)),
            seed,
            fading,
            duration(time_to_live),
        )

    @property
    def quality(self) -> Quality:
        """What is good enough, on average over queries."""
        return self._quality

    @property
    def context(self) -> Context:
        """What is known of a query."""
        return self._context

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

    def ask(
        self,
        context: Any,
        *,
        metadata: Any = None,
        among: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        after: int | Decision | None = None,
        costs: Mapping[str, float] | ArrayLike | None = None,
    ) -> Decision:
        """Return which option takes this query; never waits, for feedback or for a compiler.

        Parameters
        ----------
        context
            What is known of the query, in the form that the session was given.
        metadata
            Anything that JSON can carry; it is kept with the decision until feedback is told or forgotten.
        among, exclude
            Names of the only options that may be used this time, and of those that may not.
        after
            An earlier decision, or its id, whose option is to be kept if it may be used now.
        costs
            What this query would cost, by name or for all options, where that is not the usual cost: a long
            prompt.

        Examples
        --------
        >>> from frugalbandits.core.contextual.context import Features
        >>> session = ContextualSession({"small": 0.2, "large": 3.0}, alpha=0.05, context=Features(1), seed=0)
        >>> session.ask([0.7], costs={"large": 9.0}, metadata={"request": 17}).metadata
        {'request': 17}
        >>> session.ask([0.7], exclude=["small"]).option
        'large'
        """
        kept = None if metadata is None else plain_copy(metadata)
        with self._lock:
            self._sweep()
            allowed = self._allowed(listed_names("among", among), listed_names("exclude", exclude))
            return self._hand_out(context, kept, allowed, self._to_keep(after), costs)

    def tell(self, id: int, reward: float | None = None, cost: float | None = None) -> None:
        """Report how good a decision was, as a number from 0 to 1, or what it cost, or both.

        A cost that is told takes the place of the expected one in what was spent. It is to be told before the
        reward, or with it.
        """
        entry = told(id, reward, cost)
        with self._lock:
            self._take_in([entry])

    def tell_many(self, feedback: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        """Report how good some decisions were: all of it, or nothing where anything is wrong.

        Each entry is an id with a reward, or with a dictionary that has "reward" or "cost" or both.
        """
        entries = told_of_many(feedback)
        with self._lock:
            self._take_in(entries)

    def observe(self, context: Any, option: str, reward: float) -> None:
        """Report how good an option was on a query that was no decision: a label, a shadow run.

        It teaches what the option can do. It does not count in what was reached or spent, nor where the bar
        is set by weighing: who chose these queries is not known.

        Examples
        --------
        >>> from frugalbandits.core.contextual.context import Features
        >>> session = ContextualSession({"small": 0.2, "large": 3.0}, alpha=0.05, context=Features(1))
        >>> session.observe([0.7], "large", reward=1.0)
        """
        value = checked_reward(option, reward, "option")
        with self._lock:
            known = self._option(option, there=True)
            features, segment = self._encoder.read(context)
            self._observe(known, features, segment, value)

    def forget(self, id: int, used: bool = True) -> None:
        """Say that the feedback of a decision will never come, and whether its option was used.

        If not (a cache answered, or the call was not made), the decision costs nothing.
        """
        check_flag("used", used)
        with self._lock:
            if not used:
                self._take_in([told(id, None, 0.0)])
            self._sweep()
            self._drop(self._waiting.for_reward(id, self._next))

    def metadata(self, id: int) -> Any:
        """Return what `ask` was given to keep with a decision that waits for feedback; None if nothing."""
        with self._lock:
            self._sweep()
            kept = self._metadata.get(self._waiting.for_reward(id, self._next))
        return None if kept is None else plain_copy(kept)

    def explain(self) -> ContextualExplanation:
        """Return the bar, what was reached, the price of quality, what was spent, and what is believed."""
        with self._lock:
            self._sweep()
            return explained(self)

    def to_json(self) -> str:
        """Return the whole session as text; `from_json` goes on exactly where it stood."""
        with self._lock:
            captured = stored.captured(self)
        return captured()

    @classmethod
    def from_json(cls, text: str) -> ContextualSession:
        """Return the session that `to_json` wrote, of this release or of an earlier one."""
        return cls._restored(text, None)

    def save(self, path: str | Path) -> None:
        """Write the session to a file, whole or not at all, and on the disk when this returns."""
        write_text(path, self.to_json(), durable=True)

    @classmethod
    def load(cls, path: str | Path) -> ContextualSession:
        """Read a session that `save` wrote."""
        return read_with(cls.from_json, path)

    def __repr__(self) -> str:
        return f"ContextualSession({self._label!r}, {len(self._options)} options, {self._next:,} decisions)"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._restored, (self.to_json(), self._policy)

    @classmethod
    def _restored(cls, text: str, policy: ContextualPolicy | None) -> ContextualSession:
        session = cls.__new__(cls)
        stored.read_into(session, text, policy)
        return session
