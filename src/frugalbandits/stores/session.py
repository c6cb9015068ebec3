"""A session that is kept in a store: durable, and shared by as many processes as like.

What is told is a fact in the log of the session before `tell` returns. Whoever has the session open reads
what the others add. Asking writes nothing: a decision's id carries all that feedback needs.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from frugalbandits.core.session import Session
from frugalbandits.core.session.explaining import Facts, explained
from frugalbandits.core.session.explanation import Explanation
from frugalbandits.core.session.feedback import told_of_many
from frugalbandits.errors import Conflict, InputError, ToldBefore, UnknownSession
from frugalbandits.stores import facts
from frugalbandits.stores.contract import CONFLICT, NEW, Entry, Fact, Outcome, Store
from frugalbandits.stores.drafting import Drafting
from frugalbandits.stores.keeping import keeper_of
from frugalbandits.stores.opening import open_store
from frugalbandits.stores.tokens import SECRET_BYTES

__all__ = ["SERVER", "StoredSession", "check_session_name", "secret_of"]

#: The name under which a store keeps what is of all sessions: no session can have it.
SERVER = "$server"
PAGE = 10_000  # entries that are read at a time
SNAPSHOT_EVERY = 20_000  # entries
SNAPSHOT_AFTER = 600.0  # seconds, if there is anything new
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+-]{0,119}")


def check_session_name(name: object) -> str:
    """Return a name under which a session can be kept."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        shown = (
            repr(name)
            if len(repr(name)) <= 100
            else f"{repr(name)[:60]}... of {len(repr(name)):,} characters"
        )
        raise InputError(
            "the name of a session is 1 to 120 letters, digits or one of . _ : @ + -, and begins with a "
            f"letter or a digit, but it is {shown}"
        )
    return name


def secret_of(store: Store) -> bytes:
    """Return the secret that signs decisions of a store; the first who asks makes it."""
    made = Fact("secret", "secret", f'"{secrets.token_hex(SECRET_BYTES)}"', time.time(), "")
    [outcome] = store.append(SERVER, [made])
    assert outcome.entry is not None
    return bytes.fromhex(outcome.entry.fact.body.strip('"'))


class StoredSession(Drafting):
    """A session in a store: what ``Session(..., store=...)`` returns.

    It has all that a `Session` has. Ids are texts; the same told again is the same, and something else told
    for the same id is an `fb.Conflict`. Several processes may have it open. `close` it when done, or use it
    with ``with``: what was handed out in the last second is said then.

    Examples
    --------
    >>> import frugalbandits as fb
    >>> with fb.Session({"small": 0.2, "large": 3.0}, alpha=0.1, store="memory:", name="shop") as session:
    ...     decision = session.ask()
    ...     session.tell(decision.id, reward=1.0)
    ...     session.tell(decision.id, reward=1.0)
    ...     session.explain().arms[0].pulls
    1
    """

    _store: Store
    _owns_store = False
    _closed = False
    #: How old the newest entry was, in seconds, when others' entries were last read.
    lag = 0.0

    def __init__(self, *args: Any, store: Any, name: str = "default", **settings: Any) -> None:
        check_session_name(name)
        fresh = Session(*args, **settings)
        opened = open_store(store) if isinstance(store, str) else store
        if not isinstance(opened, Store):
            raise InputError(f"store must be an address or a store, but it is {store!r}")
        try:
            self._owns_store = opened is not store
            self._create(opened, name, fresh, "")
        except BaseException:
            if self._owns_store:
                opened.close()
            raise

    @classmethod
    def create(cls, store: Store, name: str, session: Session, by: str = "") -> tuple[StoredSession, bool]:
        """Keep a session under a name from now on; tell whether it is new there.

        A session of that name that was created alike is gone on with; another one is a `Conflict`.
        """
        check_session_name(name)
        found = object.__new__(cls)
        return found, found._create(store, name, session, by)

    @classmethod
    def open(cls, store: Store, name: str) -> StoredSession:
        """Return a session that is in a store."""
        check_session_name(name)
        found = object.__new__(cls)
        found._join(store, name)
        return found

    def _create(self, store: Store, name: str, session: Session, by: str) -> bool:
        fact = facts.created(session, time.time(), by)
        # What others cannot read must not be in the log: a policy of a kind that only this program knows.
        Session.from_json(session.to_json())
        [outcome] = store.append(name, [fact])
        if outcome.what == CONFLICT:
            assert outcome.entry is not None
            before, now = _settings(outcome.entry.fact), _settings(fact)
            differing = [key for key in now if before.get(key) != now[key]]
            if differing:
                key = differing[0]
                raise Conflict(
                    f"a session called {name!r} is there, with {key} {before.get(key)!r}, not {now[key]!r}; "
                    "take another name, or change prices and options while it runs"
                )
        self._join(store, name)
        return outcome.what == NEW

    def _join(self, store: Store, name: str) -> None:
        self._found(name, secret_of(store))
        self._store = store
        latest = store.latest(name)
        if latest is not None:
            self._restore(latest.state)
        else:
            entries = store.read(name, 0, 1)
            if not entries:
                raise UnknownSession(f"no session is called {name!r} in {store.address}")
            self._apply(entries[0])
        self._snapshot_at, self._snapshot_time = self._seen, time.monotonic()
        self.catch_up()
        self.lag = 0.0
        keeper_of(store).attach(self)

    # Of the store.

    @property
    def name(self) -> str:
        """The name of the session in its store."""
        return self._name

    @property
    def store(self) -> Store:
        """Where it is kept."""
        return self._store

    @property
    def seen(self) -> int:
        """The number of the newest entry of the log that is taken in."""
        return self._seen

    @property
    def pending(self) -> dict[int, str]:
        """Not known by id: whoever asks keeps the id. `explain` counts what waits by option."""
        raise InputError(
            "a session in a store keeps no list of its pending decisions: an id carries all that is needed; "
            "explain() counts them by option"
        )

    def catch_up(self) -> None:
        """Take in what the log has beyond what was seen."""
        while True:
            entries = self._store.read(self._name, self._seen, PAGE)
            self.receive(entries)
            if entries:
                self.lag = max(self._clock() - entries[-1].fact.at, 0.0)
            if len(entries) < PAGE:
                return

    def receive(self, entries: Sequence[Entry]) -> None:
        """Take in entries of the log; what lies between is read, what was seen is passed over."""
        with self._lock:
            if entries and entries[0].seq > self._seen + 1:
                between = self._store.read(self._name, self._seen, entries[0].seq - self._seen - 1)
                for entry in between:
                    self._apply_next(entry)
            for entry in entries:
                self._apply_next(entry)

    def _apply_next(self, entry: Entry) -> None:
        # After a snapshot, entries below it may have gone: so numbers may be passed over, but never repeated.
        if entry.seq > self._seen:
            self._apply(entry)

    def _behind(self) -> None:
        self.catch_up()

    def flush(self) -> None:
        """Say how many decisions were handed out, and what was noticed; others count it from then on."""
        with self._lock:
            if self._unsent:
                self._turn += 1
                self._in_flight[self._turn] = facts.counted(
                    self._worker, self._turn, self._unsent, self._now(), self._author
                )
                self._unsent.clear()
            waiting = [*self._in_flight.values()]
            noticed = [*self._proposed.values()]
        if waiting:
            self._store.append(self._name, waiting)
        for fact in noticed:
            # Somebody else may have noticed the same in other words.
            self._store.append(self._name, [fact])
            with self._lock:
                self._proposed.pop(fact.key, None)

    def snapshot_if_due(self) -> None:
        """Keep a snapshot in the store, if much has happened since the last one, or it is long ago."""
        new = self._seen - self._snapshot_at
        if new >= SNAPSHOT_EVERY or (new and time.monotonic() - self._snapshot_time >= SNAPSHOT_AFTER):
            self.snapshot()

    def snapshot(self) -> None:
        """Keep a snapshot in the store; feedback that is older than the time to live goes from the log."""
        with self._lock:
            upto, state, now = self._seen, self._dumped(), self._log_now
            ttl = self._terms.time_to_live
        # Twice: feedback within the time to live of any worker's clock must find what was told before.
        self._store.snapshot(self._name, upto, state, None if ttl is None else now - 2 * ttl - 60.0)
        self._snapshot_at, self._snapshot_time = upto, time.monotonic()

    def close(self) -> None:
        """Say what is to be said, and let go of the store; closing twice is the same as once."""
        if self._closed:
            return
        self._closed = True
        try:
            self.flush()
        finally:
            keeper_of(self._store).detach(self)
            if self._owns_store:
                keeper_of(self._store).close()
                self._store.close()

    def __enter__(self) -> StoredSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Feedback.

    def tell(self, id: int | str, reward: float | None = None, cost: float | None = None) -> None:
        """Report how good a decision was, or what it cost, or both; durable when this returns."""
        self.settle(self._store.append(self._name, self.draft_tell(id, reward, cost)))

    def tell_many(self, feedback: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        """Report how good some decisions were: all of it, or nothing where anything is wrong."""
        drafts: list[Fact] = []
        for entry in told_of_many(feedback):
            drafts += self.draft_tell(entry.id, entry.reward, entry.cost)
        doubled = len({fact.key for fact in drafts}) < len(drafts)
        if doubled:
            raise ToldBefore("a decision stands twice in what is told")
        if drafts:
            self.settle(self._store.append(self._name, drafts))

    def forget(self, id: int | str) -> None:
        """Say that the feedback of a decision will never come."""
        self.settle(self._store.append(self._name, self.draft_forget(id)))

    def observe(
        self, option: str, reward: float | None = None, cost: float | None = None, id: str | None = None
    ) -> None:
        """Report on a use of an option that was no decision; with an id of yours, it counts once."""
        self.settle(self._store.append(self._name, self.draft_observe(option, reward, cost, id)))

    def metadata(self, id: int | str) -> Any:
        """Return what `ask` was given to keep with a decision."""
        return self._token(id).metadata

    def option_of(self, id: int | str) -> str:
        """Return the option of a decision."""
        return self._names[self._token(id).option]

    # Changes.

    def set_cost(self, option: str, cost: float, by: str = "") -> None:
        """Set the price of an option from now on, for all who share the session."""
        self.settle(self._made(self.draft_change("set_cost", option, cost, by)))

    def add(self, option: str, cost: float, by: str = "") -> None:
        """Take in a new option, for all who share the session."""
        self.settle(self._made(self.draft_change("add", option, cost, by)))

    def pause(self, option: str, by: str = "") -> None:
        """Leave an option out of decisions until it is resumed, for all who share the session."""
        self.settle(self._made(self.draft_change("pause", option, None, by)))

    def resume(self, option: str, by: str = "") -> None:
        """Let decisions be for an option again that was paused."""
        self.settle(self._made(self.draft_change("resume", option, None, by)))

    def retire(self, option: str, by: str = "") -> None:
        """Take an option out for good, for all who share the session."""
        self.settle(self._made(self.draft_change("retire", option, None, by)))

    def _made(self, drafts: list[Fact]) -> list[Outcome]:
        return self._store.append(self._name, drafts) if drafts else []

    # As a whole.

    def explain(self) -> Explanation:
        """Return what is believed of each option, what was spent and saved, and the decision so far."""
        with self._lock:
            inside = Facts.of(self)
        return explained(inside)

    def series(self) -> dict[str, Any]:
        """Return how it went over time: times, and by option decisions, rewards and costs."""
        with self._lock:
            return {"options": list(self._names), **self._series.listed()}

    def to_json(self) -> str:
        """Return the session as a text that `Session.from_json` reads; in it, what waits is given up."""
        with self._lock:
            return self._settled()

    @classmethod
    def _restored(cls, text: str, policy: Any) -> Session:
        return Session._restored(text, policy)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a session in a store is not copied: open it again by its name")

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self._name!r} in {self._store.address})"


def _settings(fact: Fact) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads(fact.body)["settings"]
    return settings
