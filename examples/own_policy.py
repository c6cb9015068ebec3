"""A policy of your own: try every arm a few times, then stay with the cheapest that looks good enough."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

import frugalbandits as fb
from frugalbandits.core.contract import (
    FOREVER,
    OPTIMAL,
    Batch,
    Bounds,
    Journal,
    Policy,
    Ranges,
    Setting,
    new_journal,
    note,
    single,
)
from frugalbandits.core.jit import compiled
from frugalbandits.core.tally import Tally, any_pending, handed, mean, new_tally
from frugalbandits.testing import check_policy


class GreedyState(NamedTuple):
    """What a run remembers. Arrays are changed in place; scalars that change are arrays of length one."""

    tally: Tally  # every state has a tally ...
    journal: Journal  # ... and a journal
    keep: float
    trial: int
    chosen: NDArray[np.int64]  # the arm that was settled on, or -1


@compiled
def plan(state: Any, rng: Any) -> Batch:
    """Which pulls next, whatever their outcomes? Arms are numbered from cheapest to most expensive."""
    arms = len(state.tally.pulls)
    for k in range(arms):
        if handed(state, k) < state.trial:
            return Batch(single(k), state.trial - handed(state, k))
    if state.chosen[0] < 0:
        best = 0.0
        for k in range(arms):
            best = max(best, mean(state, k))
        cheapest = 0
        while mean(state, cheapest) < state.keep * best:
            cheapest += 1
        if any_pending(state):
            return Batch(single(cheapest), 1)  # what is still out may change the choice
        state.chosen[0] = cheapest
        note(state, OPTIMAL, cheapest)  # a conclusion: it appears among the events
    return Batch(single(state.chosen[0]), FOREVER)


@dataclass(frozen=True)
class Greedy(Policy):
    """Try every arm a few times, then stay with the cheapest that looks good enough."""

    title: ClassVar[str] = "Greedy after a fixed trial (an example)"
    plan: ClassVar[Any] = staticmethod(plan)

    trial: int = 30

    def __post_init__(self) -> None:
        if isinstance(self.trial, bool) or not isinstance(self.trial, int) or self.trial < 1:
            raise fb.InputError(f"trial must be a whole number, 1 or more, but it is {self.trial!r}")

    def start(self, setting: Setting) -> GreedyState:
        """Return a fresh state."""
        arms = len(setting.costs)
        return GreedyState(
            new_tally(arms), new_journal(arms), 1 - setting.alpha, self.trial, np.full(1, -1, np.int64)
        )

    def ranges(self, setting: Setting) -> Ranges:
        """Return what the arrays that change lie between, so that a stored state can be checked."""
        return {"chosen": (-1, len(setting.costs) - 1)}

    def bounds(self, state: GreedyState) -> Bounds:
        """Describe every arm for `Session.explain`."""
        means = np.array([mean(state, k) for k in range(len(state.tally.pulls))])
        status = tuple("in use" if k == state.chosen[0] else "tried" for k in range(len(means)))
        return Bounds(means, means, status, int(state.chosen[0]))

    def reason(self, state: GreedyState, arm: int) -> str:
        """Say in a few words why the planned batch pulls this arm."""
        return "settled" if arm == state.chosen[0] else "trial"


def main() -> None:
    """Register it, put it through the contract, and use it by name."""
    fb.register("greedy", Greedy())
    print(check_policy(Greedy(trial=5)))
    print(fb.simulate(fb.instance("nu1"), "greedy", horizon=10_000, runs=10))


if __name__ == "__main__":
    main()
