"""What GLR-COF knows of each arm: its records, its conclusions, and what was decided so far.

How often an arm was tried counts in the sampling rule, and feedback may be out or lost. With N decisions of
an arm, n of them told, and p the share of all decisions that is told, h = (n + p (N - n)) / (2 - p) stands
for its pulls: what is out is worth what will be told of it, and the rest of the time passes as if all clocks
were those of told pulls. With all told h is n. The first sampling rule, and whoever pulls for a conclusion,
count the pulls that are told or out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.jit import inlined, inner, instead
from frugalbandits.core.likelihood import divergence
from frugalbandits.core.policies.episodes import has_level, is_judge, reach
from frugalbandits.core.policies.glr_cof.evidence import (
    ARM,
    Arm,
    evidence_against,
    evidence_for,
    penalty,
)

__all__ = ["decided", "facts", "has_to_look", "is_infeasible", "is_optimal", "not_looked_at", "same_usable"]


@inlined
def decided(state: Any, arm: int) -> int:
    """Count the decisions for an arm; the first sampling rule has those back whose feedback is lost."""
    count = state.tally.pulls[arm] + state.tally.pending[arm]
    return count + state.tally.lost[arm] if state.staked else count


@inlined
def weight(pulls: float, decisions: float, share: float) -> float:
    """Return h, the pulls that decisions stand for of which a share is told."""
    return (pulls + share * (decisions - pulls)) / (2 - share)


@inlined
def told_share(told: int, decisions: int) -> float:
    """Return the share p of all decisions that is told; before the first one is, all will be."""
    return float(told) / float(decisions) if told > 0 else 1.0


def facts(state: Any) -> Any:
    """Return what the tests and the sampling look at, for each arm."""
    tally = state.tally
    arms = [
        Arm(float(pulls), float(pulls + pending), total, is_judge(state.reference, k), usable)
        for k, (pulls, pending, total, usable) in enumerate(
            zip(
                tally.pulls.tolist(),
                tally.pending.tolist(),
                tally.sums.tolist(),
                state.usable.tolist(),
                strict=True,
            )
        )
    ]
    if state.staked:
        lost = tally.lost.tolist()
        told = int(sum(arm.pulls for arm in arms))
        share = told_share(told, int(sum(arm.handed for arm in arms)) + sum(lost))
        for arm, gone in zip(arms, lost, strict=True):
            arm.handed = weight(arm.pulls, arm.handed + gone, share)
    if state.proven:
        for arm in arms:
            arm.penalty = penalty(arm.pulls)
    return arms


@instead(facts)
def facts_as_records(state: Any) -> Any:
    """Return the same as records, for compiled code."""
    tally, reference, proven, staked = state.tally, state.reference, state.proven, state.staked
    arms = np.zeros(len(tally.pulls), ARM)
    told = 0
    decisions = 0
    for k in range(len(arms)):
        told += tally.pulls[k]
        decisions += tally.pulls[k] + tally.pending[k] + tally.lost[k]
    share = told_share(told, decisions)
    for k in range(len(arms)):
        arms[k].pulls = tally.pulls[k]
        arms[k].handed = tally.pulls[k] + tally.pending[k]
        if staked:
            arms[k].handed = weight(arms[k].pulls, arms[k].handed + tally.lost[k], share)
        arms[k].total = tally.sums[k]
        arms[k].average = tally.sums[k] / tally.pulls[k] if tally.pulls[k] > 0 else 0.0
        arms[k].judge = is_judge(reference, k)
        arms[k].usable = state.usable[k]
        if proven:
            arms[k].penalty = penalty(arms[k].pulls)
    return arms


@inner
def has_to_look(state: Any) -> bool:
    """Tell whether an arm that may be pulled must be pulled once before anything can be said."""
    if has_level(state):
        candidate = state.candidate[0]
        return bool(state.usable[candidate]) and decided(state, candidate) == 0
    found = False
    for k in range(reach(state)):
        found = found or (bool(state.usable[k]) and decided(state, k) == 0)
    return found


@inner
def not_looked_at(state: Any) -> NDArray[np.int64]:
    """Return the arms of use that may be pulled and of which no decision was made yet."""
    among = reach(state)
    found = np.empty(among, np.int64)
    count = 0
    for k in range(among):
        if state.usable[k] and decided(state, k) == 0:
            found[count] = k
            count += 1
    return found[:count].copy()


@inner
def same_usable(state: Any) -> bool:
    """Tell whether the same arms may be pulled as when the target was chosen."""
    same = True
    for k in range(len(state.usable)):
        same = same and state.usable[k] == state.planned_for[k]
    return same


@inner
def is_optimal(arms: Any, candidate: int, keep: float, tolerance: float, limit: float) -> bool:
    """Tell whether Z_i >= c for every judge that costs more."""
    for i in range(candidate + 1, len(arms)):
        # Z_i is 0 then: there is no need to work out the others.
        if (
            arms[i].judge
            and tolerance < keep
            and keep * arms[i].average - tolerance >= arms[candidate].average
        ):
            return False
    for i in range(candidate + 1, len(arms)):
        if arms[i].judge:
            evidence_for(arms, candidate, i, keep, tolerance)
            if arms[i].evidence < limit:
                return False
    return True


@inner
def is_infeasible(arms: Any, candidate: int, keep: float, entry: float, limit: float) -> bool:
    """Tell whether W >= c."""
    best = 0.0
    for k in range(len(arms)):
        if arms[k].judge and k != candidate:
            best = max(best, arms[k].average)
    # At y = max m no arm has a part in the sum, so W is at most this.
    if keep * best <= arms[candidate].average:
        return False
    if divergence(arms[candidate].pulls, arms[candidate].total, keep * best, 1 - keep * best) < limit:
        return False
    return evidence_against(arms, candidate, keep, entry) >= limit
