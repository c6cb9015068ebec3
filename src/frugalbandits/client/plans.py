"""What to answer while the service is away: the last plan, and decisions with ids of their own.

The id of such a decision carries its session and option, so that feedback on it may come at any time, from
any process. What is told of it is an observation under a part of its id: so it counts once.
"""

from __future__ import annotations

import binascii
import json
import threading
import uuid
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeGuard

from frugalbandits.core.session import Decision
from frugalbandits.errors import InputError, UnknownDecision

__all__ = ["LOCAL", "Local", "Plans", "is_local", "local_id", "read_local"]

LOCAL = "local-"
REMEMBERED = 10_000  # decisions of the service whose options are known here
_SEEN = "fallback: the service cannot be reached; the last plan"
_GIVEN = "fallback: the service cannot be reached; the order that was given"


class Local(NamedTuple):
    """What the id of a decision that was made here says."""

    key: str
    session: str
    option: str


def is_local(id_: object) -> TypeGuard[str]:
    """Tell whether a decision was made by a client."""
    return isinstance(id_, str) and id_.startswith(LOCAL)


def local_id(session: str, option: str) -> str:
    """Return a new id.

    Examples
    --------
    >>> read_local(local_id("shop", "large"))[1:]
    ('shop', 'large')
    """
    about = json.dumps([session, option]).encode()
    return f"{LOCAL}{uuid.uuid4().hex}-{urlsafe_b64encode(about).decode().rstrip('=')}"


def read_local(id_: str) -> Local:
    """Return what an id says, or say that it is nobody's."""
    key, _, about = id_.removeprefix(LOCAL).partition("-")
    try:
        # Read strictly: another spelling of the same id would count the same feedback twice.
        if uuid.UUID(hex=key).hex == key:
            session, option = json.loads(urlsafe_b64decode(about + "=" * (-len(about) % 4)))
            if isinstance(session, str) and isinstance(option, str):
                return Local(f"{LOCAL}{key}", session, option)
    except (ValueError, TypeError, binascii.Error, RecursionError):
        pass
    raise UnknownDecision(f"no decision has the id {id_[:100]!r}")


class Plans:
    """The options of each session in the order in which to fall back on them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[str, ...]] = {}
        self._given: dict[str, tuple[str, ...]] = {}
        self._options: OrderedDict[str, str] = OrderedDict()

    def copy(self) -> Plans:
        """Return the same plans for another process; no lock is taken, for a dead thread may hold it."""
        found = Plans()
        found._seen, found._given = dict(self._seen), dict(self._given)
        return found

    def give(self, session: str, order: Sequence[str]) -> None:
        """Take down the order that the caller wants before a plan was seen."""
        self._given[session] = tuple(order)

    def see(self, session: str, order: Sequence[str]) -> None:
        """Take down the plan of the service."""
        if order:
            self._seen[session] = tuple(order)

    def remember(self, decisions: Sequence[Decision]) -> None:
        """Take down which option decisions were for."""
        with self._lock:
            for each in decisions:
                self._options[str(each.id)] = each.option
            while len(self._options) > REMEMBERED:
                self._options.popitem(last=False)

    def drop(self, session: str, option: str) -> None:
        """Leave out an option that was paused or retired."""
        for orders in (self._seen, self._given):
            if option in orders.get(session, ()):
                orders[session] = tuple(each for each in orders[session] if each != option)

    def there(self, session: str, among: Sequence[str] | None) -> bool:
        """Tell whether there is anything to fall back on."""
        return bool(self._seen.get(session) or self._given.get(session) or among)

    def option_of(self, after: Any) -> str | None:
        """Return the option of an earlier decision, as far as it is known."""
        if isinstance(after, Decision):
            return after.option
        if is_local(after):
            return read_local(after).option
        return self._options.get(after) if isinstance(after, str) else None

    def decide(
        self,
        session: str,
        among: Sequence[str] | None,
        exclude: Sequence[str] | None,
        after: Any,
        metadata: Any,
    ) -> Decision:
        """Return a decision by the plan alone.

        What the plan does not have comes after it: the order that was given, and then what the caller says
        may be used, in that order. The caller knows of options that the plan is too short for.
        """
        seen, given = self._seen.get(session, ()), self._given.get(session, ())
        known = dict.fromkeys([*seen, *given, *(among or ())])
        barred = frozenset(exclude or ())
        left = [each for each in known if each not in barred and (among is None or each in among)]
        if not left:
            told = [f"{what} is {names!r}" for what, names in (("among", among), ("exclude", exclude))]
            raise InputError(
                f"no option is left to choose from: the service cannot be reached, the last plan is "
                f"{list(known)!r}; {'; '.join(told)}"
            )
        kept = self.option_of(after)
        option = kept if kept in left else left[0]
        return Decision(
            id=local_id(session, option),
            arm=option,
            reason=_SEEN if seen else _GIVEN,
            metadata=metadata,
            fallback=True,
        )
