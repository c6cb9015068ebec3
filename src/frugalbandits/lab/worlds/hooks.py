"""What a policy is asked and told in a world, by what it can do, and what stands in where it cannot.

A policy with `learns_costs` is told bills, one with `wants` says what feedback it wants, one with
`minds_absence` is told who is up, and one with `forgets` raises alarms. All of it becomes part of the driver.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from frugalbandits.core.contract import Policy
from frugalbandits.core.jit import inlined
from frugalbandits.core.tally import charge as charge_bill

__all__ = [
    "always",
    "charge_nobody",
    "hooks_of",
    "mind_nobody",
    "mind_nothing",
    "never",
    "no_alarms",
    "nobody",
]


@inlined
def charge_nobody(state: Any, arm: int, cost: float) -> None:
    """Take no notice of a bill."""


@inlined
def always(state: Any) -> bool:
    """Say yes: feedback is wanted on every decision, or the policy minds who is up."""
    return True


@inlined
def as_planned(state: Any) -> bool:
    """Tell whether feedback on the batch that was just planned is wanted."""
    return bool(state.wanted[0])


@inlined
def never(state: Any) -> bool:
    """Tell that the policy plans without regard to who is up."""
    return False


@inlined
def mind_nobody(state: Any, usable: Any) -> None:
    """Leave a policy alone that does not mind."""


@inlined
def mind_absence(state: Any, usable: Any) -> None:
    """Let the policy know who is up."""
    for k in range(len(usable)):
        state.usable[k] = usable[k]


@inlined
def mind_all(state: Any) -> None:
    """Let the policy know that everybody is up."""
    for k in range(len(state.usable)):
        state.usable[k] = True


@inlined
def mind_all_afresh(state: Any) -> None:
    """Let the policy know that everybody is up, and that its batch is over: it was for one call alone."""
    for k in range(len(state.usable)):
        state.usable[k] = True
    # As `Policy.cut_short` does it.
    state.target[1] = min(state.target[1], 1)


@inlined
def mind_nothing(state: Any) -> None:
    """Leave a policy alone that does not mind."""


@inlined
def no_alarms(state: Any) -> int:
    """Count no alarms."""
    return 0


@inlined
def alarms_so_far(state: Any) -> int:
    """Count the alarms that a policy has raised."""
    return state.past.alarms[0]


@inlined
def nobody(state: Any, number: int) -> int:
    """Name no arm."""
    return 0


@inlined
def alarmed_arm(state: Any, number: int) -> int:
    """Return the arm of an alarm by its number; the newest ones are known."""
    return state.past.log_arm[number % len(state.past.log_arm)]


def hooks_of(kind: type[Policy], fields: Sequence[str]) -> dict[str, Any]:
    """Return the functions of the driver that are another for this kind of policy, by name.

    `fields` are those of its state. One with `target` goes on with a batch until an arm is brought so far,
    and has to be told that a batch is over.
    """
    parts: dict[str, Any] = {"plan": kind.plan}
    if kind.learns_costs:
        parts["charge"] = charge_bill
    if kind.wants:
        parts["wanted"] = as_planned
    if kind.minds_absence:
        parts |= {"minds": always, "tell_usable": mind_absence}
        parts["tell_all_usable"] = mind_all_afresh if "target" in fields else mind_all
    if kind.forgets:
        parts |= {"raised": alarms_so_far, "arm_of_alarm": alarmed_arm}
    return parts
