"""The functions of a contextual policy for those who cannot wait: plain at once, compiled when it is made."""

from __future__ import annotations

from typing import Any

import numpy as np

from frugalbandits.core.contextual.contract import Choice, ContextualPolicy
from frugalbandits.core.jit import compile_for, machine_code
from frugalbandits.core.planner import How, Planner, made_ready, shared_planner

__all__ = ["Engine", "engine_of"]


class Engine(Planner):
    """`choose` and `learn` of one kind of policy, for states of one form; shared by sessions that have it."""

    def __init__(self, functions: Any, patience: int) -> None:
        super().__init__(functions[0], patience)
        self._plain_learn = functions[1]
        self._learn_code: Any = None

    def choose(self, state: Any, phi: Any, costs: Any, usable: Any, rng: Any) -> Choice:
        """Return which option takes a query, by whatever is fastest by now."""
        if self._code is not None:
            choice: Choice = self._code(state, phi, costs, usable, rng)
            return choice
        if self._left > 0:
            self._count(state, rng)
        plain: Choice = self._plain(state, phi, costs, usable, rng)
        return plain

    def learn(self, state: Any, phi: Any, arm: int, propensity: float, reward: float) -> None:
        """Fold in a reward."""
        code = self._learn_code if self._learn_code is not None else self._plain_learn
        code(state, phi, arm, propensity, reward)

    def make(self, state: Any, rng: Any) -> tuple[float, How]:
        """Have machine code for both functions, and use it from now on."""
        options, width = state.moments.shape
        phi, costs, usable = np.zeros(width), np.zeros(options), np.ones(options, np.bool_)
        choose, learn = machine_code(self._plain), machine_code(self._plain_learn)
        seconds, how = made_ready(choose, state, phi, costs, usable, rng)
        more, _ = made_ready(learn, state, phi, 0, 0.5, 0.5)
        self._learn_code = compile_for(learn, state, phi, 0, 0.5, 0.5)
        self._code = compile_for(choose, state, phi, costs, usable, rng)
        return seconds + more, how


def engine_of(policy: ContextualPolicy, state: Any, rng: Any) -> Engine:
    """Return the engine for a policy of this kind and states of this form."""
    return shared_planner(Engine, (type(policy).choose, type(policy).learn), state, rng)
