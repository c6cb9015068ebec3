"""Online decisions: ask for an option, tell what it was worth, in any order, and never wait.

A session hands out the current batch of its policy. When the batch is used up it plans again on what is
known by then: pulls whose feedback is still out count towards balance but not towards means.
"""

from __future__ import annotations

import math
import operator
import threading
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from frugalbandits.core.contract import EVENTS, Batch, Policy, Setting, copied
from frugalbandits.core.files import write_text
from frugalbandits.core.options import check_horizon, check_options, check_reference, cost_order
from frugalbandits.core.planner import planner_of
from frugalbandits.core.quality import Quality, check_quality, quality_to_dict
from frugalbandits.core.registry import resolve
from frugalbandits.core.session import arrays, stored
from frugalbandits.core.session.explanation import Explanation, explained
from frugalbandits.core.session.feedback import Decision, checked_reward, plain_copy
from frugalbandits.core.tally import observe
from frugalbandits.errors import (
    HorizonWarning,
    InputError,
    StateFormatError,
    ToldBefore,
    UnknownDecision,
)

__all__ = ["Session"]


class Session:
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
        A registered name or a policy with settings.
    horizon
        How many decisions are expected; the policy's confidence is set by it. More may be asked for. The
        default policy does without, unless a fixed level is asked for.
    seed
        Seed of a randomised policy; unpredictable by default.
    names
        Names of the options where `costs` is a list; "a1", "a2", ... by default.
    quality
        What is good enough, in place of alpha: `RelativeToBest`, `RelativeTo` or `AtLeast`, or its written
        form, such as "at-least:0.8". COF and GLR-COF know all of them.

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
    >>> session.ask().option
    'large'
    >>> Session({"small": 0.2, "large": 3.0}, quality="relative-to:large:0.05").quality
    RelativeTo(reference='large', alpha=0.05)
    """

    def __init__(
        self,
        costs: Mapping[str, float] | ArrayLike,
        alpha: float | None = None,
        policy: str | Policy = "glr-cof",
        horizon: float | None = None,
        seed: int | None = None,
        names: Iterable[str] | None = None,
        *,
        quality: Quality | str | None = None,
    ) -> None:
        if isinstance(costs, Mapping):
            if names is not None:
                raise InputError("names are given twice: as keys of costs and as names")
            names, costs = list(costs), list(costs.values())
        self._costs, self._names = check_options(costs, names)
        self._label = policy if isinstance(policy, str) else repr(policy)
        self._begin(resolve(policy), check_quality(alpha, quality), horizon, seed)
        self._warn_of_the_horizon()

    def _begin(self, policy: Policy, quality: Quality, horizon: float | None, seed: int | None) -> None:
        """Start afresh; costs, names and label are set."""
        self._order = cost_order(self._costs)
        self._quality = quality
        reference = check_reference(quality, self._names)
        self._horizon = None if horizon is None else check_horizon(horizon, self._costs.size)
        self._policy = policy
        self._setting = Setting.of(self._costs, quality, self._horizon, reference)
        self._state = policy.begin(self._setting)
        try:
            self._rng = np.random.default_rng(seed) if policy.randomised else None
        except (TypeError, ValueError):
            raise InputError(f"seed must be a whole number, 0 or more, but it is {seed!r}") from None
        self._planner = planner_of(policy, self._state, self._rng)
        # Names by rank of cost, which is how the policy numbers its arms.
        self._by_rank = tuple(self._names[arm] for arm in self._order)
        self._next = 0
        self._asked = [0] * len(self._names)  # decisions by rank
        self._pending: dict[int, int] = {}
        self._metadata: dict[int, Any] = {}
        self._events: list[tuple[int, str, str]] = []
        self._ranks: list[int] = []
        self._at = 0
        self._repeats = 0
        self._reasons: dict[int, str] = {}
        self._lock = threading.Lock()

    @property
    def quality(self) -> Quality:
        """What is good enough."""
        return self._quality

    @property
    def decisions(self) -> int:
        """Decisions handed out so far."""
        return self._next

    @property
    def pending(self) -> dict[int, str]:
        """Decisions that wait for feedback: id and option."""
        with self._lock:
            return {id_: self._by_rank[rank] for id_, rank in self._pending.items()}

    @overload
    def ask(self, n: None = None, *, metadata: Any = None) -> Decision: ...

    @overload
    def ask(self, n: int, *, metadata: Any = None) -> list[Decision]: ...

    def ask(self, n: int | None = None, *, metadata: Any = None) -> Decision | list[Decision]:
        """Return the next decision, or the next n; never waits, for feedback or for a compiler.

        Parameters
        ----------
        n
            How many decisions; they come as a list. By default one, by itself.
        metadata
            Anything that JSON can carry: a request's id, a customer. It is kept with the decision until its
            feedback is told or forgotten, stored sessions included; see `metadata`.

        Examples
        --------
        >>> session = Session([0.2, 3.0], alpha=0.1)
        >>> [decision.option for decision in session.ask(3, metadata={"request": 17})]
        ['a1', 'a2', 'a1']
        >>> session.metadata(2)
        {'request': 17}
        """
        kept = None if metadata is None else plain_copy(metadata)
        if n is None:
            with self._lock:
                return self._hand_out(kept)
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise InputError(f"n must be a whole number of decisions, 0 or more, but it is {n!r}")
        with self._lock:
            return [self._hand_out(kept) for _ in range(n)]

    def tell(self, id: int, reward: float) -> None:
        """Report how good a decision was, as a number from 0 to 1; once per decision, in any order."""
        value = checked_reward(id, reward)
        with self._lock:
            self._fold_in(self._known(id), value)

    def tell_many(self, feedback: Mapping[int, float] | Iterable[tuple[int, float]]) -> None:
        """Report how good some decisions were: all of it, or nothing where anything is wrong.

        Examples
        --------
        >>> session = Session([0.2, 3.0], alpha=0.1)
        >>> session.tell_many((decision.id, 1.0) for decision in session.ask(5))
        >>> session.pending
        {}
        """
        pairs = list(feedback.items() if isinstance(feedback, Mapping) else feedback)
        rewards = [(id_, checked_reward(id_, reward)) for id_, reward in pairs]
        with self._lock:
            known = [(self._known(id_), value) for id_, value in rewards]
            told: set[int] = set()
            for id_, _ in known:
                if id_ in told:
                    raise ToldBefore(f"decision {id_} stands twice in what is told")
                told.add(id_)
            for id_, value in known:
                self._fold_in(id_, value)

    def forget(self, id: int) -> None:
        """Say that the feedback of a decision will never come."""
        with self._lock:
            self._take(self._known(id))

    def metadata(self, id: int) -> Any:
        """Return what `ask` was given to keep with a decision that waits for feedback; None if nothing."""
        with self._lock:
            kept = self._metadata.get(self._known(id))
        return None if kept is None else plain_copy(kept)

    def explain(self) -> Explanation:
        """Return what is believed of each option, what was spent and saved, and the decision so far."""
        with self._lock:
            state = copied(self._state)
            asked, events, decisions = list(self._asked), tuple(self._events), self._next
        # Outside the lock: with hundreds of options this takes a while.
        return explained(
            policy=self._policy,
            label=self._label,
            state=state,
            setting=self._setting,
            names=self._by_rank,
            asked=asked,
            events=events,
            decisions=decisions,
        )

    def to_json(self) -> str:
        """Return the whole session as text; `from_json` goes on exactly where it stood."""
        with self._lock:
            asked = dict(zip(self._by_rank, self._asked, strict=True))
            return stored.dump(
                {
                    "names": list(self._names),
                    "costs": self._costs.tolist(),
                    "quality": quality_to_dict(self._quality),
                    "horizon": self._horizon,
                    "policy": stored.dump_policy(self._label, self._policy),
                    "decisions": self._next,
                    "asked": [asked[name] for name in self._names],
                    "pending": [
                        [id_, self._by_rank[rank], self._metadata.get(id_)]
                        for id_, rank in self._pending.items()
                    ],
                    "batch": {
                        "options": [self._by_rank[rank] for rank in self._ranks],
                        "at": self._at,
                        "repeats": self._repeats,
                    },
                    "events": [list(event) for event in self._events],
                    "state": arrays.dump_arrays(self._state),
                    "random": arrays.dump_random(self._rng),
                }
            )

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
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read the session file {str(path)!r}: {error}") from error
        try:
            return cls.from_json(text)
        except StateFormatError as error:
            raise StateFormatError(f"{str(path)!r}: {error}") from error

    def __repr__(self) -> str:
        return f"Session({self._label!r}, {len(self._names)} options, {self._next:,} decisions)"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._restored, (self.to_json(), self._policy)

    @classmethod
    def _restored(cls, text: str, policy: Policy | None) -> Session:
        data = stored.load(text, policy)
        session = cls.__new__(cls)
        try:
            # Earlier releases took any text for a name.
            session._costs, session._names = check_options(data.costs, data.names, any_text=True)
            session._label = data.label
            session._begin(data.policy, data.quality, data.horizon, None)
        except InputError as error:
            raise StateFormatError(f"this session state does not make sense: {error}") from error
        ranked = session._by_rank
        arrays.load_arrays(session._state, data.arrays, data.policy, session._setting, data.version)
        arrays.load_random(session._rng, data.random)
        stored.check_consistent(session._state, data, ranked)
        asked = dict(zip(data.names, data.asked, strict=True))
        ranks = {name: rank for rank, name in enumerate(ranked)}
        session._next = data.decisions
        session._asked = [asked[name] for name in ranked]
        session._pending = {id_: ranks[name] for id_, name in data.pending.items()}
        session._metadata = data.metadata
        session._events = data.events
        session._use(*stored.batch_of(data, ranked))
        return session

    def _hand_out(self, metadata: Any) -> Decision:
        if self._at == len(self._ranks):
            if self._repeats > 1:
                self._repeats -= 1
                self._at = 0
            else:
                self._plan()
        rank = self._ranks[self._at]
        reason = self._reasons.get(rank)
        if reason is None:
            reason = self._reasons[rank] = self._policy.reason(self._state, rank)
        self._at += 1
        id_ = self._next
        self._next = id_ + 1
        self._asked[rank] += 1
        self._pending[id_] = rank
        if metadata is not None:
            self._metadata[id_] = metadata
        self._state.tally.pending[rank] += 1
        return Decision(id_, self._by_rank[rank], reason, metadata)

    def _use(self, batch: Batch, at: int) -> None:
        self._ranks = batch.arms.tolist()
        self._repeats = int(batch.repeats)
        self._at = at
        self._reasons = {}

    def _plan(self) -> None:
        batch = self._planner(self._state, self._rng)
        journal = self._state.journal
        for i in range(len(self._events), int(journal.length[0])):
            self._events.append((self._next, EVENTS[journal.kinds[i]], self._by_rank[journal.arms[i]]))
        # A batch is the same whatever its own outcomes; what is still out from before may change it.
        repeats = 1 if self._pending else int(batch.repeats)
        self._use(Batch(batch.arms, repeats), 0)

    def _known(self, id_: int) -> int:
        """Return the id of a decision that waits for feedback; raise an error that says why it is none."""
        if not isinstance(id_, bool):
            try:
                whole = operator.index(id_)
            except TypeError:
                raise UnknownDecision(f"no decision has the id {id_!r}") from None
            if whole in self._pending:
                return whole
            if 0 <= whole < self._next:
                raise ToldBefore(f"decision {whole} was told or forgotten before")
        raise UnknownDecision(f"no decision has the id {id_!r}")

    def _take(self, id_: int) -> int:
        rank = self._pending.pop(id_)
        self._metadata.pop(id_, None)
        self._state.tally.pending[rank] -= 1
        return rank

    def _fold_in(self, id_: int, reward: float) -> None:
        observe(self._state, self._take(id_), 1, reward)

    def _warn_of_the_horizon(self) -> None:
        if self._horizon is None:
            return
        needed = self._policy.decisions_to_conclude(self._setting)
        if needed is not None and needed > self._horizon:
            takes = "never would" if math.isinf(needed) else f"would take {needed:,.0f}"
            warnings.warn(
                f"{self._label} cannot come to a conclusion within {self._horizon:,} decisions: it {takes}, "
                f"even if each of the {len(self._names)} options were perfect. It will explore to the end; "
                "take policy='glr-cof', which waits for no conclusion, or a longer horizon, a lower bar, or "
                "a tolerance.",
                HorizonWarning,
                stacklevel=3,
            )
