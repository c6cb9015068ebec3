"""A decision, and what comes with it or back for it: rewards and metadata, checked."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

from frugalbandits.core.quality import finite_number
from frugalbandits.errors import InputError

__all__ = ["Decision", "checked_reward", "plain_copy"]


class Decision(NamedTuple):
    """One decision: tell its `id` what the option `arm` was worth."""

    id: int
    arm: str
    reason: str
    metadata: Any = None

    @property
    def option(self) -> str:
        """The option, by its other name."""
        return self.arm


def checked_reward(id_: object, reward: float) -> float:
    """Return the reward of a decision as a number from 0 to 1."""
    if isinstance(reward, bool | np.bool_):
        return float(reward)  # a thumb up or down
    value = finite_number(f"the reward of decision {id_!r}", reward)
    if not 0.0 <= value <= 1.0:
        raise InputError(f"reward must lie in [0, 1], but for decision {id_!r} it is {reward!r}")
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
