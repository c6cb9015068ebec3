"""What a caller can get wrong, said in words.

Every error that a user's value can cause is an `InputError`: it names the value, and whatever raised
it has changed nothing. The command line turns it into one line on standard error and exit code 2.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "HorizonWarning",
    "InputError",
    "StateFormatError",
    "ToldBefore",
    "UnknownDecision",
    "unknown_name",
]


class InputError(ValueError):
    """A value that came in from outside cannot be used; the message names it."""


class UnknownDecision(InputError):
    """No decision of this session has such an id."""


class ToldBefore(InputError):
    """The decision was told or forgotten before: nothing is counted twice."""


class StateFormatError(InputError):
    """A stored session cannot be read: truncated, not ours, or written by a later version."""


class HorizonWarning(UserWarning):
    """The policy cannot come to a conclusion within the horizon that was given."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """Build the error for a name that is not registered, with the nearest ones that are.

    Examples
    --------
    >>> print(unknown_name("policy", "coff", ["cof", "pe-cs"]))
    no policy is called 'coff'; did you mean 'cof'? Known: cof, pe-cs
    """
    names = sorted(known)
    near = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
    hint = f" did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
    return InputError(f"no {kind} is called {name!r};{hint} Known: {', '.join(names)}")
