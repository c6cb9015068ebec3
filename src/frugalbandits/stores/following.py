"""A session that follows its log in a store: whatever it promises, it is the fold of facts.

What is common to sessions in a store is here: how one is created and opened, how it reads what others add,
and how it keeps snapshots. What a fact means is said by a table of each kind of session.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

from frugalbandits.errors import (
    Conflict,
    InputError,
    LogDiverged,
    StateFormatError,
    UnknownDecision,
)
from frugalbandits.stores.contract import NEW, Entry, Fact, Outcome, Snapshot, Store
from frugalbandits.stores.facts import COUNT
from frugalbandits.stores.identity import (
    SERVER,
    check_session_name,
    first_of,
    looks_at_queries,
    secret_of,
    settings_in,
)
from frugalbandits.stores.keeping import keeper_of
from frugalbandits.stores.log_reader import has_entry, read_after
from frugalbandits.stores.opening import open_store
from frugalbandits.stores.price_list import REFUSE, changes_for, check_on_difference
from frugalbandits.stores.series import Series
from frugalbandits.stores.tokens import Token, Tokens

__all__ = [
    "AHEAD",
    "SERVER",
    "Following",
    "Take",
    "check_session_name",
    "first_of",
    "looks_at_queries",
    "secret_of",
]

#: Seconds that the clock of another worker may be ahead and is still believed.
AHEAD = 60.0
PAGE = 10_000  # entries that are read at a time
SNAPSHOT_EVERY = 20_000  # entries
SNAPSHOT_AFTER = 600.0  # seconds, if there is anything new
REFUSED = 100  # changes that could not be made, the newest that are remembered
_log = logging.getLogger("frugalbandits")

#: What takes in one kind of facts: called with the session, the entry and the body of its fact.
Take = Callable[[Any, Entry, dict[str, Any]], None]


class Following(ABC):
    """The part of a stored session that creates, opens, reads and keeps."""

    #: Whether sessions of this kind look at queries.
    _routes: ClassVar[bool]
    #: How facts are taken in, by kind.
    _takes: ClassVar[Mapping[str, Take]]
    #: How changes are made, by what they do.
    _makes: ClassVar[Mapping[str, Callable[..., None]]]

    _lock: threading.RLock
    _clock: Callable[[], float]
    _names: list[str]
    _costs: list[float]
    _standing: list[int]
    _series: Series
    _store: Store
    _owns_store = False
    _closed = False
    #: How old the newest entry was, in seconds, when others' entries were last read.
    lag = 0.0
    #: Grows with each entry that says anything new to this process: all but its own decision counts.
    revision = 0
    _worker: str

    # What a kind of session says.

    @abstractmethod
    def _beginning(self, session: Any, by: str) -> Fact:
        """Return the fact with which a session begins in the log, or say why others could not read it."""

    @abstractmethod
    def _found(self) -> None:
        """Begin with nothing; what follows comes from the log or from a snapshot."""

    @abstractmethod
    def _restore(self, text: str) -> None:
        """Be what `_dumped` wrote."""

    def _start_over(self, load: Callable[[], None]) -> None:
        """Load another state in place of the present one; keep what only this process knows."""
        load()

    @abstractmethod
    def _captured(self) -> Callable[[], str]:
        """Copy what the log adds up to so far; return what writes it down, which needs no lock."""

    def _dumped(self) -> str:
        """Return what the log adds up to so far."""
        return self._captured()()

    def _look_ahead(self, entries: Sequence[Entry]) -> None:
        """Read what these entries need of the log to be folded in, before the lock is taken."""
        del entries  # they have it all, unless a kind of session says otherwise

    @abstractmethod
    def _lives(self) -> float | None:
        """Return the time to live of decisions."""

    @abstractmethod
    def _took(self, says_anything: bool) -> None:
        """Do what follows from an entry, whatever it was; not all entries say anything that was not known."""

    @abstractmethod
    def start_flush(self) -> Callable[[], None]:
        """Submit what is not in the log yet; return a function that waits until it is written."""

    def flush(self) -> None:
        """Write what is not in the log yet: decision counts and what was noticed."""
        self.start_flush()()

    @abstractmethod
    def draft_change(self, do: str, option: str, cost: float | None = None, by: str = "") -> list[Fact]:
        """Return the fact of a change, checked; nothing where it changes nothing."""

    @abstractmethod
    def settle(self, outcomes: Sequence[Outcome]) -> None:
        """Raise what the log had against facts that were appended."""

    # Created and opened.

    def _open_or_create(self, store: Any, name: str, fresh: Any, on_difference: str) -> None:
        """Keep a fresh session in a store that is given by its address, or open already."""
        check_on_difference(on_difference)
        opened = open_store(store) if isinstance(store, str) else store
        if not isinstance(opened, Store):
            raise InputError(f"store must be an address or a store, but it is {store!r}")
        try:
            self._owns_store = opened is not store
            self._create(opened, name, fresh, "", on_difference)
        except BaseException:
            if self._owns_store:
                opened.close()
            raise

    @classmethod
    def create(
        cls, store: Store, name: str, session: Any, by: str = "", on_difference: str = REFUSE
    ) -> tuple[Self, bool]:
        """Keep a session under a name from now on, and return whether it is new there.

        Where a session of that name exists with the same settings and options, it is opened. Other settings
        are a `Conflict`. Other options or prices are a `Conflict` too, or with `on_difference="apply"` become
        those of the session.
        """
        check_session_name(name)
        check_on_difference(on_difference)
        found = object.__new__(cls)
        return found, found._create(store, name, session, by, on_difference)

    @classmethod
    def open(cls, store: Store, name: str) -> Self:
        """Return a session that is in a store."""
        check_session_name(name)
        found = object.__new__(cls)
        found._join(store, name, first_of(store, name))
        return found

    def _create(self, store: Store, name: str, session: Any, by: str, on_difference: str) -> bool:
        fact = self._beginning(session, by)
        [outcome] = store.append(name, [fact])
        assert outcome.entry is not None
        if outcome.what == NEW:
            # What others add from here on is read by the thread that follows the log.
            self._begin_at(store, name, outcome.entry)
            self._apply(outcome.entry)
            self._follow(snapshot_at=self._seen)
            return True
        self._check_kind(name, outcome.entry)
        before, now = settings_in(outcome.entry.fact), settings_in(fact)
        for key in now:
            # Options may have changed since: they are compared with those of today.
            if key != "options" and before.get(key) != now[key]:
                raise Conflict(
                    f"a session called {name!r} exists, with {key} {before.get(key)!r}, not {now[key]!r}: "
                    "use the same settings, or another name"
                )
        self._join(store, name, outcome.entry)
        try:
            self._agree_on_options(dict(now["options"]), by, on_difference)
        except BaseException:
            self._closed = True
            keeper_of(store).detach(self)
            raise
        return False

    def _agree_on_options(self, given: Mapping[str, float], by: str, on_difference: str) -> None:
        """Make the options those of a price list, or raise a `Conflict` that names what differs."""
        with self._lock:
            current = list(zip(self._names, self._costs, self._standing, strict=True))
        drafts: list[Fact] = []
        for do, option, cost in changes_for(self._name, given, current, on_difference):
            drafts += self.draft_change(do, option, cost, by)
        # Together, so that others see all of it or nothing.
        self.settle(self._store.append(self._name, drafts) if drafts else [])

    def _check_kind(self, name: str, first: Entry) -> None:
        if looks_at_queries(first) != self._routes:
            looks = "no query: it is a Session" if self._routes else "queries: it is a ContextualSession"
            raise Conflict(f"a session called {name!r} is there, and looks at {looks}")

    def _begin_at(self, store: Store, name: str, first: Entry) -> None:
        """Begin with nothing, as a session of this name that begins with this entry."""
        self._check_kind(name, first)
        self._name, self._store = name, store
        self._tokens = Tokens(secret_of(store), name)
        self._seen, self._seen_key, self._log_now, self._last_issue = 0, "", 0.0, 0.0
        self._invalid = False
        self._refused: dict[int, InputError] = {}
        self._author = ""
        self._found()

    def _follow(self, snapshot_at: int) -> None:
        """Follow the log from here on; the latest snapshot is of this entry."""
        self._snapshot_at, self._snapshot_time = snapshot_at, time.monotonic()
        self.lag = 0.0
        keeper_of(self._store).attach(self)

    def _join(self, store: Store, name: str, first: Entry) -> None:
        """Take in the log of a session that is there, and follow it."""
        self._begin_at(store, name, first)
        latest = store.latest(name)
        if latest is not None:
            self._restore(latest.state)
        else:
            self._apply(first)
        snapshot_at = self._seen
        written = store.last(name)
        self.catch_up()
        if self._seen < written:
            raise StateFormatError(
                f"the log of session {name!r} in {store.address} ends with number {self._seen:,}, but "
                f"{written:,} were written: the store is damaged, so restore a backup"
            )
        self._follow(snapshot_at)

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
    def needs_rebuild(self) -> bool:
        """Whether the state is not the one of the log: `catch_up` then builds it anew."""
        return self._invalid

    @property
    def pending(self) -> dict[int, str]:
        """Not known by id: whoever asks keeps the id. `explain` counts what waits."""
        raise InputError(
            "a session in a store keeps no list of its pending decisions: an id carries all that is needed; "
            "explain() counts them by option"
        )

    # Reading.

    def catch_up(self) -> None:
        """Take in what the log has beyond what was seen.

        Where the log has become another one, after a failover or a restore, the session is built anew from
        it.
        """
        if self._invalid:
            self._rebuild()
        while True:
            with self._lock:
                seen, key = self._seen, self._seen_key
            try:
                entries = read_after(self._store, self._name, seen, key, PAGE)
            except LogDiverged as error:
                _log.warning("%s: the session is built anew from the log", error)
                self._rebuild()
                continue
            self.take(entries)
            if not entries:
                self._skip_what_has_gone()
            if len(entries) < PAGE:
                return

    def take(self, entries: Sequence[Entry]) -> None:
        """Take in entries that were read from the log, and note how old the newest one is."""
        self.receive(entries)
        if entries:
            self.lag = max(self._clock() - entries[-1].fact.at, 0.0)

    def confirm(self) -> None:
        """Compare the entry that was read last with the log; build the session anew where it differs."""
        with self._lock:
            seen, key = self._seen, self._seen_key
        if not has_entry(self._store, self._name, seen, key):
            _log.warning(
                "session %r: entry %d is not in the log, or was deleted: it is built anew from the log",
                self._name,
                seen,
            )
            self._rebuild()
            self.catch_up()

    def receive(self, entries: Sequence[Entry]) -> None:
        """Take in entries of the log; what lies between is read, what was seen is passed over.

        An entry that cannot be taken in leaves the session as it was before that entry.
        """
        if self._invalid:
            return  # `catch_up` reads them from the log
        try:
            left = self._apply_next(entries)
            while left:
                # Without the lock: the store may hang, and whoever asks must not wait for it.
                self._fill(left[0].seq - 1)
                left = self._apply_next(left)
        except LogDiverged as error:
            _log.warning("%s: the session is built anew from the log", error)
            self._invalid = True
        except BaseException:
            if self.needs_rebuild:
                self._rebuild(self._seen)
            raise

    def receive_at_once(self, entries: Sequence[Entry]) -> bool:
        """Take in entries, unless that would mean to wait for another thread or for the store.

        Returns whether they were taken in.
        """
        if not self._lock.acquire(blocking=False):
            return False
        try:
            if entries[0].seq > self._seen + 1 or not self._has_all_for(entries):
                return False
            if not self._invalid:
                self._apply_next(entries)
            return True
        except Exception:
            if not self._invalid:
                raise
            return False  # an entry may be taken in by half: the session is built anew by another thread
        finally:
            self._lock.release()

    def _has_all_for(self, entries: Sequence[Entry]) -> bool:
        """Tell whether these entries can be folded in without reading anything else from the store."""
        del entries
        return True

    def _apply_next(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Fold in entries as far as they follow what was seen; return those beyond a gap."""
        with self._lock:
            for place, entry in enumerate(entries):
                if entry.seq > self._seen + 1:
                    return entries[place:]
                if entry.seq == self._seen + 1:
                    self._apply(entry)
                elif entry.seq == self._seen and entry.fact.key != self._seen_key != "":
                    self._invalid = True  # the log has become another one
                    return ()
        return ()

    def _fill(self, upto: int) -> None:
        """Take in what the log has up to a number; where some of it has gone, a snapshot has it."""
        while True:
            with self._lock:
                after, key = self._seen, self._seen_key
            if after >= upto:
                return
            self._apply_next(read_after(self._store, self._name, after, key, min(upto - after, PAGE)))
            if self._seen == after and not self._skip_what_has_gone():
                raise StateFormatError(
                    f"the log of session {self._name!r} lacks what comes after number {after}"
                )

    def _rebuild(self, upto: int = 0) -> None:
        """Build the session anew from its latest snapshot, and from entries up to a number if there are any.

        Until this has worked, the state is invalid: no snapshot is taken of it, and `catch_up` tries again.
        """
        self._invalid = True
        # All that has to be read is read without the lock: the store may hang.
        first = first_of(self._store, self._name)
        self._check_kind(self._name, first)
        latest = self._store.latest(self._name)
        after, entries = 1 if latest is None else latest.upto, [first]
        while after < upto:
            entries += self._store.read(self._name, after, min(upto - after, PAGE))
            if entries[-1].seq <= after:
                break  # the log is shorter: `catch_up` finds out
            after = entries[-1].seq
        self._look_ahead(entries)
        with self._lock:
            self._replace_state(lambda: self._load(latest, entries))
            self._snapshot_at = self._seen
            self._invalid = False

    def _load(self, latest: Snapshot | None, entries: Sequence[Entry]) -> None:
        """Take the state of a snapshot, or an empty one, and fold in entries as far as they follow it."""
        self._refused = {}
        if latest is not None:
            self._restore(latest.state)
        else:
            self._seen, self._seen_key, self._log_now = 0, "", 0.0
        for entry in entries:
            if entry.seq == self._seen + 1:
                self._apply(entry)

    def _skip_what_has_gone(self) -> bool:
        """Go on from a snapshot that is further, as old entries may have gone; tell whether there is one."""
        latest = self._store.latest(self._name)
        with self._lock:
            if latest is None or latest.upto <= self._seen:
                return False
            self._replace_state(lambda: self._restore(latest.state))
            return True

    def _replace_state(self, load: Callable[[], None]) -> None:
        """Load another state in place of the present one, which stays where the other cannot be read."""
        before = dict(self.__dict__)
        try:
            self._start_over(load)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _apply(self, entry: Entry) -> None:
        """Fold the next entry of the log in."""
        fact = entry.fact
        take = self._takes.get(fact.kind)
        if take is None:
            raise StateFormatError(
                f"the log of session {self._name!r} has a fact of the kind {fact.kind!r}, which this release "
                "does not know: it was written by a later one"
            )
        body = json.loads(fact.body)
        try:
            if body.get("o", -1) < len(getattr(self, "_names", ())):
                take(self, entry, body)
            else:
                # Told for an option of a log that is no more, after a failover: all replicas leave it out.
                _log.warning("session %r: entry %d is for an unknown option", self._name, entry.seq)
            self._log_now = max(self._log_now, self._believed(fact.at))
            says_anything = fact.kind != COUNT or body["w"] != self._worker
            self._took(says_anything)
            self.revision += says_anything
        except BaseException:
            self._invalid = True  # it may have been taken in by half
            raise
        self._seen, self._seen_key = entry.seq, fact.key
        self._check_clock()

    def _take_change(self, entry: Entry, body: dict[str, Any]) -> None:
        """Make a change; where two that exclude each other were asked for at once, the later is refused."""
        try:
            self._makes[body["do"]](self, body["option"], *([body["cost"]] if "cost" in body else []))
        except InputError as error:
            self._refused[entry.seq] = error
            while len(self._refused) > REFUSED:
                del self._refused[next(iter(self._refused))]
            return
        if body["do"] == "add":
            self._series.add_option()

    def _loaded(self, text: str, kind: str, version: int) -> dict[str, Any]:
        """Return the parts of a snapshot of a kind, if this release can read it."""
        data = json.loads(text)
        if not isinstance(data, dict) or data.get("format") != kind:
            raise StateFormatError(f"a snapshot of session {self._name!r} is not of the format {kind!r}")
        if data["version"] > version:
            raise StateFormatError(
                f"a snapshot of session {self._name!r} has version {data['version']!r}, but this release "
                f"reads up to {version}: it was written by a later release"
            )
        return data

    def _damaged(self, error: Exception) -> StateFormatError:
        """Return what to say of a snapshot that cannot be read."""
        if isinstance(error, StateFormatError):
            return error
        return StateFormatError(f"a snapshot of session {self._name!r} is damaged: {error!r}")

    # Keeping.

    def snapshot_if_due(self) -> None:
        """Keep a snapshot in the store, if much has happened since the last one, or it is long ago."""
        new = self._seen - self._snapshot_at
        if new >= SNAPSHOT_EVERY or (new and time.monotonic() - self._snapshot_time >= SNAPSHOT_AFTER):
            self.snapshot()

    def snapshot(self) -> None:
        """Keep a snapshot in the store; feedback that is older than the time to live goes from the log.

        Where the log has become another one, none is kept and the session is built anew.
        """
        with self._lock:
            self._check_clock()
            if self._invalid:
                return
            upto, key, captured, now = self._seen, self._seen_key, self._captured(), self._log_now
            ttl = self._lives()
        stored = self._store.now()
        if ttl is not None and now > stored + 2 * AHEAD:
            # Decisions that have expired by this clock have not by the store's: that must not be kept.
            _log.warning("session %r: no snapshot: this clock is %.0f s ahead", self._name, now - stored)
            self._snapshot_time = time.monotonic()
            return
        state = captured()
        # Twice: feedback within the time to live of any worker's clock must find what was told before.
        before = None if ttl is None else min(now, stored) - 2 * ttl - 60.0
        try:
            self._store.snapshot(self._name, upto, state, before, key)
        except LogDiverged as error:
            _log.warning("%s: the session is built anew from the log", error)
            self._rebuild()
            self.catch_up()
            return
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a session in a store is not copied: open it again by its name")

    # Time, and ids.

    def _now(self) -> float:
        """Return the time. A clock that is set back by up to a minute stands still here until then."""
        now = self._clock()
        if now >= self._last_issue - AHEAD:
            now = max(now, self._last_issue)
        else:
            self._check_clock()
        self._last_issue = now
        return now

    def _believed(self, at: float) -> float:
        """Return a time that another clock has said, which may be ahead by a minute at most."""
        return min(at, self._clock() + AHEAD)

    def _check_clock(self) -> None:
        """Have the session built anew where this clock was ahead: it has let decisions expire too early."""
        if self._lives() is not None and self._log_now > self._clock() + 2 * AHEAD:
            _log.warning("session %r: the clock was set back: it is built anew from the log", self._name)
            self._log_now = self._believed(self._log_now)
            self._invalid = True

    def is_behind(self, id_: object) -> bool:
        """Tell whether an id is of an option that this process has not read of yet: `catch_up` helps."""
        return self._tokens.read(id_).option >= len(self._names)

    def _token(self, id_: object) -> Token:
        """Return what an id of this session says."""
        token = self._tokens.read(id_)
        if token.option >= len(self._names):
            # Another worker took in a new option, and this one has not read of it yet.
            self.catch_up()
            if token.option >= len(self._names):
                raise UnknownDecision("the decision is for an option that this session does not have")
        return token

    def series(self) -> dict[str, Any]:
        """Return how it went over time: times, and by option decisions, rewards and costs."""
        with self._lock:
            return {"options": list(self._names), **self._series.listed()}
