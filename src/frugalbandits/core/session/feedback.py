"""A decision, and what comes with it or back for it: rewards and metadata, checked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from frugalbandits.core.quality import finite_number
from frugalbandits.core.session.money import check_cost
from frugalbandits.errors import InputError

__all__ = ["Decision", "Told", "checked_reward", "plain_copy", "told", "told_of_many"]


class Decision(NamedTuple):
    """One decision: tell its `id` what the option `arm` was worth, and what it cost if that was a surprise.

    `wanted` says whether feedback on it is worth a judgement; what is told all the same counts as any other.
    `expires` is when feedback comes too late, in seconds since 1970, as far as that is known when it is
    handed out. `fallback` marks a decision that a client made by itself while the service was out of reach.
    """

    id: Any  # opaque: a whole number, or a text where the session is kept in a store
    arm: str
    reason: str
    metadata: Any = None
    wanted: bool = True
    expires: float | None = None
    fallback: bool = False

    @property
    def option(self) -> str:
        """The option, by its other name."""
        return self.arm


class Told(NamedTuple):
    """What is told of one decision, checked; None: nothing of that kind."""

    id: Any
    reward: float | None
    cost: float | None


def told(id_: Any, reward: Any, cost: Any) -> Told:
    """Return what is told of one decision: a reward, a cost, or both."""
    if reward is None and cost is None:
        raise InputError(
            f"a reward or a cost is to be told, but for decision {id_!r} there is neither: both are None"
        )
    return Told(
        id_,
        None if reward is None else checked_reward(id_, reward),
        None if cost is None else check_cost(f"the cost of decision {id_!r}", cost),
    )


def told_of_many(feedback: Any) -> list[Told]:
    """Return what is told of many decisions: pairs of an id and what is told of it, or a mapping."""
    if isinstance(feedback, Mapping):
        feedback = feedback.items()
    if isinstance(feedback, str) or not isinstance(feedback, Iterable):
        raise InputError(f"what is told must be pairs of an id and a reward, but it is {feedback!r}")
    entries = []
    for pair in feedback:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InputError(f"what is told must be pairs of an id and a reward, but one is {pair!r}")
        entries.append(_told_in(*pair))
    return entries


def _told_in(id_: Any, value: Any) -> Told:
    """Return what one entry of many tells: a reward, or a mapping with "reward" or "cost" or both."""
    if not isinstance(value, Mapping):
        return told(id_, value, None)
    unknown = [key for key in value if key not in ("reward", "cost")]
    if unknown:
        raise InputError(
            f"what is told has 'reward' and 'cost', but for decision {id_!r} it has {unknown[0]!r}"
        )
    return told(id_, value.get("reward"), value.get("cost"))


def checked_reward(id_: object, reward: float, of: str = "decision") -> float:
    """Return the reward of a decision, or of an option, as a number from 0 to 1."""
    if isinstance(reward, bool | np.bool_):
        return float(reward)  # a thumb up or down
    value = finite_number(f"the reward of {of} {id_!r}", reward)
    if not 0.0 <= value <= 1.0:
        raise InputError(f"reward must lie in [0, 1], but for {of} {id_!r} it is {reward!r}")
    if value < 2.0**-8:
        # Rounded to a multiple of 2**-60, so that sums are exact in any order: see `observe`.
        value = (value + 2.0**-8) - 2.0**-8
    return value


def plain_copy(metadata: Any) -> Any:
    """Return a copy that no one else holds, as a stored session would give it back."""
    try:
        return json.loads(json.dumps(metadata, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"metadata must be what JSON can carry: {error}") from None
