"""Every property on every case, the smallest case where one fails, and the report."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from frugalbandits.core.contract import Policy
from frugalbandits.core.registry import resolve
from frugalbandits.errors import InputError
from frugalbandits.testing.cases import Case, drawn, smaller
from frugalbandits.testing.properties import PROPERTIES, Broken, Property

__all__ = ["Checked", "ContractBroken", "Report", "check_policy"]


class ContractBroken(AssertionError):
    """A policy does not keep the contract: `property` names what is broken, `case` the smallest example."""

    def __init__(self, policy: Policy, property: str, case: Case, why: str) -> None:
        super().__init__(
            f"{policy!r} breaks the contract: {property}.\n{why}\n"
            f"To repeat it: check_policy(policy, case={case!r})"
        )
        self.policy, self.property, self.case, self.why = policy, property, case, why


class Checked(NamedTuple):
    """One line of a report; no cases where the property could not be checked, and the verdict says why."""

    property: str
    cases: int
    verdict: str


@dataclasses.dataclass(frozen=True)
class Report:
    """What was checked; prints as a table."""

    policy: Policy
    lines: tuple[Checked, ...]

    @property
    def skipped(self) -> tuple[Checked, ...]:
        """What could not be checked here."""
        return tuple(line for line in self.lines if not line.cases)

    def __str__(self) -> str:
        rows = [("property", "cases", "verdict"), *((p, str(n), v) for p, n, v in self.lines)]
        wide, narrow = (max(len(row[i]) for row in rows) for i in (0, 1))
        lines = [f"{p.ljust(wide)}  {n.rjust(narrow)}  {v}" for p, n, v in rows]
        return "\n".join([repr(self.policy), "", *lines])


def check_policy(
    policy: str | Policy, *, examples: int = 20, seed: int = 0, case: Case | None = None
) -> Report:
    """Put a policy through the whole batch contract.

    Parameters
    ----------
    policy
        A policy with its settings, or a registered name. Its kind must be registered for the properties of
        stored sessions.
    examples
        How many cases each property is tried on.
    seed
        The same seed gives the same cases.
    case
        This case alone, to repeat what was found.

    Returns
    -------
    Report
        One line a property.

    Raises
    ------
    ContractBroken
        With the first property that does not hold, and the smallest case that was found.

    Examples
    --------
    >>> from frugalbandits import ETCCS
    >>> report = check_policy(ETCCS(budget=0.3), examples=2)
    >>> report.lines[0]
    Checked(property='a run starts from nothing', cases=2, verdict='holds')
    """
    if isinstance(examples, bool) or not isinstance(examples, int) or examples < 1:
        raise InputError(f"examples must be a whole number, 1 or more, but it is {examples!r}")
    tested = resolve(policy)
    cases = list(drawn(tested, examples, seed)) if case is None else [case]
    lines = []
    for name, property in PROPERTIES.items():
        obstacle = property.why_not(tested)
        if obstacle is not None:
            lines.append(Checked(name, 0, f"skipped: {obstacle}"))
            continue
        for each in cases:
            error = _failure(property, tested, each)
            if error is not None:
                smallest, found = _shrink(property, tested, each, error)
                if isinstance(found, Broken):
                    raise ContractBroken(tested, name, smallest, str(found))
                raise ContractBroken(tested, name, smallest, f"It raised {found!r}.") from found
        lines.append(Checked(name, len(cases), "holds"))
    return Report(tested, tuple(lines))


def _failure(property: Property, policy: Policy, case: Case) -> Exception | None:
    try:
        property.check(policy, case)
    except Exception as error:  # whatever a policy raises breaks the property
        return error
    return None


def _shrink(property: Property, policy: Policy, case: Case, error: Exception) -> tuple[Case, Exception]:
    """Return the smallest case near this one that fails too, and how."""
    smallest, found = case, error
    waiting = list(smaller(case))
    for _ in range(200):
        if not waiting:
            break
        tried = waiting.pop(0)
        failed = _failure(property, policy, tried)
        if failed is not None:
            smallest, found = tried, failed
            waiting = list(smaller(tried))
    return smallest, found
