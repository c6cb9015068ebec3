"""What a caller can get wrong, said in words.

Every error that a user's value can cause is an `InputError`: it names the value, and whatever raised
it has changed nothing. The command line turns it into one line on standard error and exit code 2.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

__all__ = [
    "Conflict",
    "Expired",
    "HorizonWarning",
    "InputError",
    "LogDiverged",
    "NotAllowed",
    "ServiceUnavailable",
    "StateFormatError",
    "StoreClosed",
    "StoreUnavailable",
    "ToldBefore",
    "UnknownDecision",
    "UnknownSession",
    "extra_needed",
    "unknown_name",
]

# How many names an error suggests, and how many it lists.
_NEAR = 3
_SHOWN = 60


class InputError(ValueError):
    """A value that came in from outside cannot be used; the message names it."""


class UnknownDecision(InputError):
    """No decision of this session has such an id."""


class UnknownSession(InputError):
    """No session of a store has such a name."""


class ToldBefore(InputError):
    """The decision was told or forgotten before: nothing is counted twice."""


class Conflict(ToldBefore):
    """Something else was told before under the same name: what is there stays."""


class Expired(UnknownDecision):
    """The decision has outlived its time to live: what comes for it now is not counted.

    `seconds` is how long ago it was handed out.
    """

    def __init__(self, message: str, seconds: float = 0.0) -> None:
        super().__init__(message)
        self.seconds = seconds


class StateFormatError(InputError):
    """A stored session cannot be read: truncated, not ours, or written by a later version."""


class LogDiverged(InputError):
    """The log of a session is not the one that was read: after a failover or a restore to an earlier time."""


class StoreUnavailable(RuntimeError):
    """A store cannot be reached or cannot write at present; the same call may succeed later."""


class StoreClosed(StoreUnavailable):
    """A store was closed here: it must be opened again."""


class ServiceUnavailable(ConnectionError):
    """The decision service cannot be reached or cannot answer at present; the same call may succeed later."""


class NotAllowed(PermissionError):
    """The decision service refuses the token of a client, or what its holder wants to do.

    `status` is 401 where the token is not known, and 403 where it is for something else.
    """

    def __init__(self, message: str, status: int = 403) -> None:
        super().__init__(message)
        self.status = status


class HorizonWarning(UserWarning):
    """The policy cannot come to a conclusion within the horizon that was given."""


@contextmanager
def extra_needed(what: str, extra: str = "lab") -> Iterator[None]:
    """Say which extra to install where an import in the body fails, unless it is of our own package.

    Examples
    --------
    >>> with extra_needed("a plot"):
    ...     import no_such_thing
    Traceback (most recent call last):
    ModuleNotFoundError: a plot needs no_such_thing, which is not installed: pip install 'frugalbandits[lab]'
    """
    ours = __name__.partition(".")[0]
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("", ours):
            raise
        raise ModuleNotFoundError(
            f"{what} needs {missing}, which is not installed: pip install '{ours}[{extra}]'", name=error.name
        ) from error


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """Build the error for a name that is not registered, with the nearest ones that are.

    Near is what is spelt alike, or what a short form begins or is part of.

    Examples
    --------
    >>> print(unknown_name("policy", "coff", ["cof", "pe-cs"]))
    no policy is called 'coff'; did you mean 'cof'? Known: cof, pe-cs
    >>> print(unknown_name("option", "GPT4", ["claude-v2", "gpt-4-1106-preview"]))
    no option is called 'GPT4'; did you mean 'gpt-4-1106-preview'? Known: claude-v2, gpt-4-1106-preview
    >>> print(unknown_name("policy", "greedy", ["cof", "pe-cs"]))
    no policy is called 'greedy'. Known: cof, pe-cs
    """
    names = sorted(known)
    plain: dict[str, str] = {}
    for each in names:
        plain.setdefault(_plain(each), each)
    wanted = _plain(name)
    near = difflib.get_close_matches(wanted, plain, n=_NEAR, cutoff=0.5)
    parts = [each for each in plain if wanted and wanted in each]
    chosen = list(dict.fromkeys(plain[each] for each in [*near, *parts]))[:_NEAR]
    hint = f"; did you mean {' or '.join(map(repr, chosen))}?" if chosen else "."
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return InputError(f"no {kind} is called {name!r}{hint} Known: {', '.join(names[:_SHOWN])}{more}")


def _plain(name: str) -> str:
    """Return a name without what people leave out or write otherwise: capitals and punctuation."""
    return "".join(character for character in name.casefold() if character.isalnum())
