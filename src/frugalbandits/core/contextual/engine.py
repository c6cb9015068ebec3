"""The functions of a contextual policy for those who cannot wait: plain at once, compiled when it is made."""

from __future__ import annotations

from typing import Any

import numpy as np

from frugalbandits.core.contextual.contract import Choice, ContextualPolicy
from frugalbandits.core.jit import compile_for, machine_code
from frugalbandits.core.planner import How, Planner, made_ready, shared_planner

__all__ = ["Engine", "engine_of"]


class Engine(Planner):
    """`choose`, `learn` and where needed `count` of one kind of policy, for states of one form; shared."""

    def __init__(self, functions: Any, patience: int) -> None:
        super().__init__(functions[0], patience)
        self._plain_learn, self._plain_count = functions[1:]
        self._learn_code: Any = None
        self._count_code: Any = None

    def choose(self, state: Any, phi: Any, costs: Any, usable: Any, rng: Any, floors: Any) -> Choice:
        """Return which option takes a query, by whatever is fastest by now."""
        if self._code is not None:
            choice: Choice = self._code(state, phi, costs, usable, rng, floors)
            return choice
        if self._left > 0:
            self._count(state, rng)
        plain: Choice = self._plain(state, phi, costs, usable, rng, floors)
        return plain

    def learn(self, state: Any, phi: Any, arm: int, propensity: float, reward: float, floors: Any) -> None:
        """Fold in a reward."""
        code = self._learn_code if self._learn_code is not None else self._plain_learn
        code(state, phi, arm, propensity, reward, floors)

    def count(self, state: Any, phi: Any, costs: Any, arm: int, propensity: float) -> None:
        """Fold in a decision that was taken on another copy of the state."""
        code = self._count_code if self._count_code is not None else self._plain_count
        code(state, phi, costs, arm, propensity)

    def _functions(self) -> tuple[Any, ...]:
        functions = (self._plain, self._plain_learn, self._plain_count)
        return tuple(each for each in functions if each is not None)

    def _make(self, state: Any, rng: Any) -> tuple[float, How]:
        options, width = state.moments.shape
        phi, costs, usable = np.zeros(width), np.zeros(options), np.ones(options, np.bool_)
        choosing = (state, phi, costs, usable, rng, np.zeros(options))
        learning = (state, phi, 0, 0.5, 0.5, np.zeros(options))
        choose, learn = machine_code(self._plain), machine_code(self._plain_learn)
        seconds, how = made_ready(choose, *choosing)
        seconds += made_ready(learn, *learning)[0]
        if self._plain_count is not None:
            count, counting = machine_code(self._plain_count), (state, phi, costs, 0, 0.5)
            seconds += made_ready(count, *counting)[0]
            self._count_code = compile_for(count, *counting)
        self._learn_code = compile_for(learn, *learning)
        self._code = compile_for(choose, *choosing)
        return seconds, how


def engine_of(policy: ContextualPolicy, state: Any, rng: Any, shared: bool = False) -> Engine:
    """Return the engine for a policy of this kind and states of this form; `shared`: with `count`."""
    kind = type(policy)
    functions = (kind.choose, kind.learn, kind.count if shared else None)
    return shared_planner(Engine, functions, state, rng)
