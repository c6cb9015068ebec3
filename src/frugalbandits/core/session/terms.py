"""What a session is told at its start beside options, bar and policy, checked; and how options stand."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from frugalbandits.core.contract import EACH, QUERIES, Policy
from frugalbandits.core.quality import finite_number
from frugalbandits.core.registry import resolve
from frugalbandits.core.session.waiting import duration
from frugalbandits.core.settings import check_flag
from frugalbandits.core.tally import Bills, Tally
from frugalbandits.errors import InputError, unknown_name

__all__ = [
    "ACTIVE",
    "PAUSED",
    "RETIRED",
    "STANDINGS",
    "Left",
    "Terms",
    "check_promise",
    "check_terms",
    "memory_of",
]

# A paused option is left out of decisions, but still sets the bar; a retired one is gone for good.
ACTIVE, PAUSED, RETIRED = 0, 1, 2
STANDINGS = ("active", "paused", "retired")
AUTO = "auto"

# The policy that is taken for a promise where none is named, and the promise in words.
_TAKEN = {EACH: "voi-cs", QUERIES: "mix-cs"}
_PROMISED = {
    EACH: "that the option of each decision is good enough",
    QUERIES: "that decisions are good enough on average",
}


class Terms(NamedTuple):
    """The settings of a moving world; those of one that stands still by default."""

    worth: float | None = None
    learn_costs: bool = False
    memory: int | str | None = AUTO
    time_to_live: float | None = None
    judge_price: float = 0.0


class Left(NamedTuple):
    """What was seen of an option that was retired, as the state of one arm."""

    tally: Tally
    bills: Bills


def check_terms(worth: Any, learn_costs: Any, memory: Any, time_to_live: Any, judge_price: Any) -> Terms:
    """Return the terms, or say which of them cannot be."""
    if worth is not None:
        given, worth = worth, finite_number("worth", worth)
        if worth <= 0:
            raise InputError(
                f"worth is what a unit of quality is worth in units of cost, more than 0, but it is {given!r}"
            )
    price = finite_number("judge_price", judge_price)
    if price < 0:
        raise InputError(f"judge_price must be 0 or more, but it is {judge_price!r}")
    return Terms(
        worth=worth,
        learn_costs=check_flag("learn_costs", learn_costs),
        memory=_memory(memory),
        time_to_live=duration(time_to_live),
        judge_price=price,
    )


def check_promise(policy: str | Policy | None, over: Any) -> str | Policy:
    """Return the policy that keeps a promise: the one given, unless its promise is another one.

    Examples
    --------
    >>> check_promise(None, None), check_promise(None, "queries")
    ('voi-cs', 'mix-cs')
    >>> check_promise("glr-cof", "queries")
    Traceback (most recent call last):
    ...
    frugalbandits.errors.InputError: over='queries' promises that decisions are good enough on average, but \
glr-cof promises that the option of each decision is good enough: say over='each', or policy='mix-cs'
    """
    if over is not None and (not isinstance(over, str) or over not in _TAKEN):
        if isinstance(over, str):
            raise unknown_name("promise", over, _TAKEN)
        raise InputError(f"over must be 'each' or 'queries', but it is {over!r}")
    if policy is None:
        return _TAKEN[over or EACH]
    kept = resolve(policy).promise
    if over is not None and kept != over:
        raise InputError(
            f"over={over!r} promises {_PROMISED[over]}, but {resolve(policy).called()} promises "
            f"{_PROMISED[kept]}: say over={kept!r}, or policy={_TAKEN[over]!r}"
        )
    return policy


def _memory(memory: Any) -> int | str | None:
    if memory is None or (isinstance(memory, str) and memory == AUTO):
        return memory
    whole = isinstance(memory, int | np.integer) and not isinstance(memory, bool)
    if not whole or not 0 < memory <= 2**53:
        raise InputError(
            "memory must be 'auto', None (nothing is ever forgotten) or a number of decisions, 1 or more, "
            f"but it is {memory!r}"
        )
    return int(memory)


def memory_of(terms: Terms, policy: Policy) -> int | None:
    """Return the memory in the form of `Setting`."""
    if isinstance(terms.memory, str):
        return 0 if policy.forgets else None
    return terms.memory
