"""Online decisions: ask for an option, tell what it was worth, in any order, and never wait.

A session hands out the current batch of its policy. When the batch is used up it plans again on what is
known by then: pulls whose feedback is still out count towards balance but not towards means.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from frugalbandits.core.contract import EVENTS, OPTIMAL, Batch, Policy, Setting, observe
from frugalbandits.core.files import write_text
from frugalbandits.core.options import check_horizon, check_options, check_reference, cost_order
from frugalbandits.core.quality import Quality, check_quality, quality_to_dict
from frugalbandits.core.registry import resolve
from frugalbandits.core.session import stored as session_state
from frugalbandits.core.session.explanation import ArmReport, Explanation
from frugalbandits.errors import InputError, StateFormatError

__all__ = ["Decision", "Session"]


class Decision(NamedTuple):
    """One decision: tell its `id` what the option `arm` was worth."""

    id: int
    arm: str
    reason: str


class Session:
    """Ask which option to use, tell how good it was.

    Safe to use from several threads. Feedback may come late, in any order, or never (`forget`).

    Parameters
    ----------
    costs
        Cost of one use of each option: a mapping from name to cost, or a list of costs.
    alpha
        Share of the best quality that may be given up, in [0, 1): short for ``RelativeToBest(alpha)``.
    policy
        A registered name or a policy with settings.
    horizon
        How many decisions are expected; the policy's confidence is set by it. More may be asked for.
    seed
        Seed of a randomised policy; unpredictable by default.
    names
        Names of the options where `costs` is a list; "a1", "a2", ... by default.
    quality
        What is good enough, in place of alpha: `RelativeToBest`, `RelativeTo` or `AtLeast`, or its written
        form, such as "at-least:0.8". COF and GLR-COF know all of them.

    Examples
    --------
    >>> session = Session(costs={"small": 0.2, "large": 3.0}, alpha=0.1, horizon=1000)
    >>> decision = session.ask()
    >>> decision.id, decision.arm
    (0, 'small')
    >>> session.tell(decision.id, reward=0.5)
    >>> session.ask().arm
    'large'
    >>> Session({"small": 0.2, "large": 3.0}, quality="relative-to:large:0.05", horizon=1000).quality
    RelativeTo(reference='large', alpha=0.05)
    """

    def __init__(
        self,
        costs: Mapping[str, float] | ArrayLike,
        alpha: float | None = None,
        policy: str | Policy = "cof",
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
        self._order = cost_order(self._costs)
        self._quality = check_quality(alpha, quality)
        reference = check_reference(self._quality, self._names)
        self._horizon = None if horizon is None else check_horizon(horizon, self._costs.size)
        self._policy = resolve(policy)
        self._label = policy if isinstance(policy, str) else repr(policy)
        setting = Setting.of(self._costs, self._quality, self._horizon, reference)
        self._state = self._policy.begin(setting)
        try:
            self._rng = np.random.default_rng(seed) if self._policy.randomised else None
        except (TypeError, ValueError):
            raise InputError(f"seed must be a whole number, 0 or more, but it is {seed!r}") from None
        # Names by rank of cost, which is how the policy numbers its arms.
        self._by_rank = tuple(self._names[arm] for arm in self._order)
        self._next = 0
        self._pending: dict[int, int] = {}
        self._events: list[tuple[int, int, int]] = []
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

    def ask(self) -> Decision:
        """Return the next decision; never waits for feedback."""
        with self._lock:
            if self._at == len(self._ranks):
                if self._repeats > 1:
                    self._repeats -= 1
                    self._at = 0
                else:
                    self._plan()
            rank = self._ranks[self._at]
            self._at += 1
            reason = self._reasons.get(rank)
            if reason is None:
                reason = self._reasons[rank] = self._policy.reason(self._state, rank)
            id_ = self._next
            self._next = id_ + 1
            self._pending[id_] = rank
            self._state.tally.pending[rank] += 1
            return Decision(id_, self._by_rank[rank], reason)

    def tell(self, id: int, reward: float) -> None:
        """Report how good a decision was, as a number from 0 to 1; once per decision, in any order."""
        try:
            value = float(reward)
        except (TypeError, ValueError):
            raise InputError(f"reward must be a number, but for decision {id!r} it is {reward!r}") from None
        if not 0.0 <= value <= 1.0:  # also catches NaN
            raise InputError(f"reward must lie in [0, 1], but for decision {id!r} it is {reward!r}")
        if value < 2.0**-8:
            # Rounded to a multiple of 2**-60, so that sums are exact in any order: see `observe`.
            value = (value + 2.0**-8) - 2.0**-8
        with self._lock:
            rank = self._take(id)
            self._state.tally.pending[rank] -= 1
            observe(self._state, rank, 1, value)

    def forget(self, id: int) -> None:
        """Say that the feedback of a decision will never come."""
        with self._lock:
            self._state.tally.pending[self._take(id)] -= 1

    def explain(self) -> Explanation:
        """Return what is believed of each option, and the decision so far; prints as a table."""
        with self._lock:
            bounds = self._policy.bounds(self._state)
            tally = self._state.tally
            reports = tuple(
                ArmReport(
                    name=name,
                    cost=float(self._costs[self._order[rank]]),
                    pulls=int(tally.pulls[rank]),
                    pending=int(tally.pending[rank]),
                    mean=float(tally.sums[rank] / tally.pulls[rank]) if tally.pulls[rank] else None,
                    lcb=_finite(bounds.lower[rank]),
                    ucb=_finite(bounds.upper[rank]),
                    status=bounds.status[rank]
                    if tally.pulls[rank] or bounds.status[rank] == "not needed"
                    else "not seen yet",
                    evidence=None if bounds.evidence is None else _finite(bounds.evidence[rank]),
                )
                for rank, name in enumerate(self._by_rank)
            )
            optimal = [rank for _, kind, rank in self._events if kind == OPTIMAL]
            return Explanation(
                policy=self._label,
                quality=self._quality,
                horizon=self._horizon,
                decisions=self._next,
                arms=reports,
                candidate=self._by_rank[bounds.candidate] if bounds.candidate >= 0 else None,
                decision=self._by_rank[optimal[0]] if optimal else None,
                events=tuple((time, EVENTS[kind], self._by_rank[rank]) for time, kind, rank in self._events),
                needed=bounds.needed,
                likely=self._by_rank[bounds.likely] if bounds.likely >= 0 else None,
            )

    def to_json(self) -> str:
        """Return the whole session as text; `from_json` goes on exactly where it stood."""
        with self._lock:
            return session_state.dump(
                {
                    "names": list(self._names),
                    "costs": self._costs.tolist(),
                    "quality": quality_to_dict(self._quality),
                    "horizon": self._horizon,
                    "policy": session_state.dump_policy(self._label, self._policy),
                    "decisions": self._next,
                    "pending": [[id_, rank] for id_, rank in self._pending.items()],
                    "batch": {"arms": self._ranks, "at": self._at, "repeats": self._repeats},
                    "events": [list(event) for event in self._events],
                    "state": session_state.dump_arrays(self._state),
                    "random": session_state.dump_random(self._rng),
                }
            )

    @classmethod
    def from_json(cls, text: str) -> Session:
        """Return the session that `to_json` wrote."""
        data = session_state.load(text)
        label, policy = session_state.load_policy(data["policy"])
        try:
            bar = session_state.load_quality(data)
            session = cls(data["costs"], None, policy, data["horizon"], names=data["names"], quality=bar)
        except InputError as error:
            raise StateFormatError(f"this session state does not make sense: {error}") from error
        session._label = label
        session_state.load_arrays(session._state, data["state"], policy.made_anew(data["version"]))
        session_state.load_random(session._rng, data["random"])
        session._next = data["decisions"]
        session._pending = dict(data["pending"])
        session._events = [(time, kind, rank) for time, kind, rank in data["events"]]
        batch = data["batch"]
        session._use(Batch(np.array(batch["arms"], np.int64), batch["repeats"]), batch["at"])
        session_state.check_consistent(session._state, session._pending, session._next)
        return session

    def save(self, path: str | Path) -> None:
        """Write the session to a file, whole or not at all."""
        write_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Session:
        """Read a session that `save` wrote."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read the session file {str(path)!r}: {error}") from error
        return cls.from_json(text)

    def __repr__(self) -> str:
        return f"Session({self._label!r}, {len(self._names)} options, {self._next:,} decisions)"

    def _use(self, batch: Batch, at: int) -> None:
        self._ranks = batch.arms.tolist()
        self._repeats = int(batch.repeats)
        self._at = at
        self._reasons = {}

    def _plan(self) -> None:
        batch = self._policy.plan(self._state, self._rng)
        journal = self._state.journal
        for i in range(len(self._events), int(journal.length[0])):
            self._events.append((self._next, int(journal.kinds[i]), int(journal.arms[i])))
        # A batch is the same whatever its own outcomes; what is still out from before may change it.
        repeats = 1 if self._pending else int(batch.repeats)
        self._use(Batch(batch.arms, repeats), 0)

    def _take(self, id_: int) -> int:
        if isinstance(id_, int) and id_ in self._pending:
            return self._pending.pop(id_)
        if isinstance(id_, int) and 0 <= id_ < self._next:
            raise InputError(f"decision {id_} was told or forgotten before")
        raise InputError(f"no decision has the id {id_!r}")


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
