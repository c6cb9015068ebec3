"""The sessions that a worker has open, by name and by the ids of their decisions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from frugalbandits.core.contextual.session import ContextualSession
from frugalbandits.core.session import Session
from frugalbandits.errors import (
    InputError,
    StateFormatError,
    StoreUnavailable,
    UnknownDecision,
    UnknownSession,
)
from frugalbandits.service import limits
from frugalbandits.service.awaiting import Awaiting
from frugalbandits.service.logs import logger
from frugalbandits.service.store_threads import StoreThreads, answered_within
from frugalbandits.stores.contract import Fact, Outcome, Store
from frugalbandits.stores.following import check_session_name, secret_of
from frugalbandits.stores.keeping import keeper_of
from frugalbandits.stores.kinds import Stored, keep_session, open_session
from frugalbandits.stores.price_list import REFUSE
from frugalbandits.stores.tokens import mark_in, mark_of

__all__ = ["Hub"]

#: Seconds between two looks for sessions that other workers have made: who asks for one waits for the next.
LOOK_EVERY = 0.2
#: Seconds until a session that could not be opened is tried again: reading its log may take a while.
RETRY_AFTER = 2.0
_PAUSE = 1.0  # seconds until the next session is opened ahead, where the store did not answer
_Found = TypeVar("_Found")


class Hub:
    """Sessions of one store; all of it is for the one event loop of a worker.

    Parameters
    ----------
    store
        Where they are kept.
    patience
        So many seconds a request waits for the store; then it fails with `StoreUnavailable`.
    """

    def __init__(self, store: Store, patience: float = limits.STORE_PATIENCE) -> None:
        self.store = store
        self._patience = patience
        self._threads = StoreThreads(limits.STORE_THREADS, limits.STORE_QUEUE)
        self.secret = secret_of(store)
        self.sessions: dict[str, Stored] = {}
        self._opening: dict[str, asyncio.Task[Stored]] = {}
        self._marks: dict[bytes, str] = {}
        self._marked: set[str] = set()  # names whose marks are known
        self._look: asyncio.Task[None] | None = None
        self._looked = float("-inf")
        self._awaiting: Awaiting | None = None
        self._unopened: dict[str, tuple[float, Exception]] = {}  # when it failed, and why

    # By name.

    def troubles(self) -> dict[str, str]:
        """Return the sessions that cannot be opened or do not follow their logs, with the reason."""
        unopened = {name: str(error) or repr(error) for name, (_, error) in self._unopened.items()}
        broken = {name: each.reason for name, each in keeper_of(self.store).troubles().items()}
        return {**unopened, **broken}

    async def session(self, name: str) -> Stored:
        """Return a session, opened where it was not yet."""
        found = self.sessions.get(name)
        return found if found is not None else await self._once(name, lambda: self._open(name))

    async def _open(self, name: str) -> Stored:
        failed = self._unopened.get(name)
        if failed is not None and time.monotonic() < failed[0] + RETRY_AFTER:
            raise failed[1].with_traceback(None)
        try:
            known = known_name(name)
            found = await self._threads.run(lambda: _opened(self.store, known))
        except (UnknownSession, StoreUnavailable):
            self._unopened.pop(name, None)
            raise
        except Exception as found_out:
            error: Exception = found_out
            if not isinstance(error, InputError):
                # Its log or snapshot has something that nobody foresaw.
                error = StateFormatError(f"session {name!r} cannot be read: {found_out!r}")
            if failed is None or str(failed[1]) != str(error):
                trace = None if error is found_out else found_out
                logger().error("a session cannot be opened", session=name, why=str(error), exc_info=trace)
            self._unopened[name] = time.monotonic(), error
            raise error from found_out
        if failed is not None:
            logger().warning("a session can be opened again", session=name)
        self._unopened.pop(name, None)
        return found

    async def create(
        self,
        name: str,
        make: Callable[[], Session | ContextualSession],
        by: str,
        on_difference: str = REFUSE,
    ) -> tuple[Stored, bool]:
        """Make a session and keep it under a name; tell whether it is new."""
        check_session_name(name)
        return await answered_within(self._patience, self._create(name, make, by, on_difference))

    async def _create(
        self, name: str, make: Callable[[], Session | ContextualSession], by: str, on_difference: str
    ) -> tuple[Stored, bool]:
        found, new = await self._threads.run(lambda: _kept(self.store, name, make(), by, on_difference))
        # One copy of a session is enough: the one that is open stays.
        kept: Stored | None = None
        try:
            kept = await self._once(name, lambda: _ready(found))
        finally:
            if kept is not found:
                await self._threads.run(found.close)
        if kept is not found:
            # The price list may have changed options in the other copy.
            await self._threads.run(kept.catch_up)
        return kept, new

    async def _once(self, name: str, make: Callable[[], Awaitable[Stored]]) -> Stored:
        """Open a session, one at a time for each name; whoever comes meanwhile gets the same."""
        found = self.sessions.get(name)
        if found is not None:
            return found
        task = self._opening.get(name)
        if task is None:
            task = self._opening[name] = asyncio.ensure_future(self._keep(name, make))
        return await answered_within(self._patience, task)

    async def _keep(self, name: str, make: Callable[[], Awaitable[Stored]]) -> Stored:
        try:
            found = await make()
            self.sessions[name] = found
            self._mark(name)
            return found
        finally:
            del self._opening[name]

    # By the id of a decision.

    async def of_decision(self, id_: str) -> Stored:
        """Return the session that an id says it is of; the session checks the signature."""
        mark = mark_in(id_)
        if mark is None:
            raise UnknownDecision("no decision has such an id")
        name = self._marks.get(mark)
        if name is None:
            await self.look()
            name = self._marks.get(mark)
            if name is None:
                raise UnknownDecision("no decision has such an id")
        found = self.sessions.get(name)
        return found if found is not None else await self.session(name)

    async def catch_up_with(self, session: Stored, id_: str) -> None:
        """Read of options that others have added, where an id is of such an option.

        The session would do so itself, but in the event loop.
        """
        if session.is_behind(id_):
            await self.ask_store(session.catch_up)

    async def ask_store(self, work: Callable[[], _Found]) -> _Found:
        """Have something done that waits for the store, in a thread; give it up where that takes too long."""
        return await self.within(self.begin(work))

    def begin(self, work: Callable[[], _Found]) -> asyncio.Future[_Found]:
        """Have something done that waits for the store, in a thread, however long it takes."""
        return self._threads.run(work)

    async def within(self, found: Awaitable[_Found]) -> _Found:
        """Wait for something that the store has to do, as long as a request may."""
        return await answered_within(self._patience, found)

    async def names(self) -> dict[str, int]:
        """Return the names of all sessions, each with the number of its newest entry."""
        everything = await self.ask_store(self.store.sessions)
        found = {name: seen for name, seen in everything.items() if not name.startswith("$")}
        for name in found:
            self._mark(name)
        return found

    def _mark(self, name: str) -> None:
        if name not in self._marked:
            self._marked.add(name)
            self._marks[mark_of(self.secret, name)] = name

    async def look(self) -> None:
        """Look for sessions that others have made: at most a few times a second, for all who want to know."""
        if self._look is None:
            self._look = asyncio.ensure_future(self._look_soon())
        await asyncio.shield(self._look)

    async def _look_soon(self) -> None:
        try:
            await asyncio.sleep(max(self._looked + LOOK_EVERY - time.monotonic(), 0.0))
        finally:
            # Whoever comes from here on may want what this look is too early for.
            self._look = None
        self._looked = time.monotonic()
        await self.names()

    # Writing.

    def submit(self, session: Stored, facts: list[Fact]) -> asyncio.Future[list[Outcome]]:
        """Have facts written, together with what others submit meanwhile."""
        if self._awaiting is None:
            loop = asyncio.get_running_loop()
            self._awaiting = Awaiting(loop, self._patience, limits.STORE_WAITING)
        return self._awaiting.of(lambda: self.store.submit(session.name, facts))

    async def open_all(self) -> None:
        """Open every session in turn, so that nobody waits for it later."""
        for name in list(await self.names()):
            try:
                await self.session(name)
            except StoreUnavailable as error:
                logger().warning("a session is opened when it is used", session=name, why=str(error))
                await asyncio.sleep(_PAUSE)
            except Exception:
                continue  # `_open` has logged it and keeps the reason; the others are opened all the same

    def close(self) -> None:
        """Say what was handed out last, and let go of the store."""
        keeper_of(self.store).close()
        self.store.close()


def known_name(name: str) -> str:
    """Return a name that a session can have; of no other is there a session."""
    try:
        return check_session_name(name)
    except ValueError as error:
        raise UnknownSession(f"no session has such a name: {error}") from None


def _opened(store: Store, name: str) -> Stored:
    found = open_session(store, name)
    found.load_machine_code(wait=False)  # before the first ask, which may come much later
    return found


def _kept(
    store: Store, name: str, session: Session | ContextualSession, by: str, on_difference: str
) -> tuple[Stored, bool]:
    found, new = keep_session(store, name, session, by, on_difference)
    found.load_machine_code(wait=False)
    return found, new


async def _ready(found: _Found) -> _Found:
    return found
