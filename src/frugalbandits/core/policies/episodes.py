"""What COF and GLR-COF share: candidates from cheapest to most expensive, under any quality bar.

Their states have `candidate`, `settled`, and of the bar `reference` and `level`:

- *Relative to the best arm* (both -1): every more expensive arm may disqualify a candidate.
- *Relative to one arm*: only the reference may. It is good enough itself, so it is the last candidate, and
  the arms that cost more than it are never pulled.
- *A fixed level*: no arm may; a candidate is pulled alone until it is on one side of the level for sure, and
  an arm is not looked at before its turn. When all arms are ruled out, the journal says so, and the
  episodes start over relative to the best arm with nothing given up: the best arm is the one to settle on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contract import INFEASIBLE, OPTIMAL, UNREACHABLE, note
from frugalbandits.core.jit import inlined, inner

__all__ = [
    "has_level",
    "is_judge",
    "judges",
    "reach",
    "reason",
    "rule_out",
    "settle",
    "statuses",
]


@inlined
def has_level(state: Any) -> bool:
    """Tell whether candidates are held against a fixed level: until the journal says that none reaches it."""
    return state.level >= 0 and state.journal.length[0] <= len(state.tally.pulls)


@inlined
def is_judge(reference: int, arm: int) -> bool:
    """Tell whether an arm may disqualify the candidates before it.

    It is given one number and not the state: compiled code counts the references of every array in there.
    """
    return reference < 0 or arm == reference


@inlined
def reach(state: Any) -> int:
    """Count the arms that can be of use, from the cheapest on."""
    return len(state.tally.pulls) if state.reference < 0 else state.reference + 1


@inner
def settle(state: Any) -> None:
    """Stay with the candidate for good."""
    note(state, OPTIMAL, state.candidate[0])
    state.settled[0] = 1


@inner
def rule_out(state: Any) -> None:
    """Go on to the next candidate; after the last one, to the first again without a level."""
    candidate = state.candidate[0]
    if state.level < 0 or has_level(state):
        note(state, INFEASIBLE, candidate)
    if candidate + 1 < len(state.tally.pulls):
        state.candidate[0] = candidate + 1
    else:
        note(state, UNREACHABLE, candidate)
        state.candidate[0] = 0


def judges(state: Any) -> NDArray[np.bool_]:
    """Return the arms that may disqualify the candidate, for `explain`."""
    ranks = np.arange(len(state.tally.pulls))
    if has_level(state):
        return np.zeros(len(ranks), np.bool_)
    after = ranks > state.candidate[0]
    return after if state.reference < 0 else after & (ranks == state.reference)


def statuses(state: Any, cleared: NDArray[np.bool_], paused: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return the part that each arm plays, given the judges that are cleared or not sampled now."""
    candidate, settled = int(state.candidate[0]), bool(state.settled[0])
    waiting = reach(state)
    judge = judges(state)

    def status(arm: int) -> str:
        if arm == candidate:
            return "optimal" if settled else "candidate"
        if arm < candidate:
            return "infeasible"
        if settled or arm >= waiting:
            return "not needed"
        if not judge[arm]:
            return "waiting"
        if cleared[arm]:
            return "cleared"
        return "paused" if paused[arm] else "gating"

    return tuple(status(k) for k in range(len(judge)))


def reason(state: Any, arm: int) -> str:
    """Say in a few words why the planned batch pulls this arm."""
    given_up = state.level >= 0 and not has_level(state)
    nothing = f"no option reaches {state.level:g}"
    if state.tally.pulls[arm] + state.tally.pending[arm] == 0:
        return "first look at this option" if has_level(state) else "first look at every option"
    if state.settled[0]:
        return (
            f"settled: {nothing}, and this is the best"
            if given_up
            else "settled: the cheapest option that is good enough"
        )
    if given_up:
        return f"{nothing}: looking for the best"
    if arm == state.candidate[0]:
        return "candidate: the cheapest option not ruled out"
    if arm == state.reference:
        return "reference: tells whether the candidate is good enough"
    return "gating: tells whether the candidate is good enough"
