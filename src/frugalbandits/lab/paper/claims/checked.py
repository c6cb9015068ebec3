"""The paper's claims, each checked by a stated rule against the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from frugalbandits.lab.paper.claims import ablations as claims_ablations
from frugalbandits.lab.paper.claims import failures as claims_failures
from frugalbandits.lab.paper.claims import guarantees as claims_main
from frugalbandits.lab.paper.claims.ablations import EventRow, event_times
from frugalbandits.lab.paper.claims.evidence import (
    DOES_NOT_HOLD,
    NOT_AT_THIS_SCALE,
    NOT_TESTED,
    PARTLY,
    PLACES,
    Evidence,
    Finding,
    Untestable,
    Verdict,
)
from frugalbandits.lab.paper.experiments import PAPER_POLICIES, experiment, experiments
from frugalbandits.lab.ratios import ratio
from frugalbandits.lab.sweeps.cells import Outcome, Settings
from frugalbandits.lab.text import counted

__all__ = [
    "VERDICTS",
    "Claim",
    "EventRow",
    "FactorRow",
    "check_claims",
    "event_times",
    "factors",
    "paper_scale",
]

Scale: TypeAlias = dict[tuple[str, float, str], tuple[int, int]]

#: What a check can find, in the order in which it is told.
VERDICTS: tuple[Verdict, ...] = ("holds", "partly", "does not hold", "not at this scale", "not tested")

_CHECKS = (*claims_main.CHECKS, *claims_failures.CHECKS, *claims_ablations.CHECKS)


class Claim(NamedTuple):
    """A claim of the paper and what became of it."""

    key: str
    place: str  # where it stands in the paper
    words: str  # the claim, in our words
    measured: str  # what was measured, with numbers
    verdict: Verdict
    rule: str  # how the verdict is computed
    wants: str = ""  # the experiment to run, where results that it needs are missing


def check_claims(outcomes: Sequence[Outcome], scale: Scale | None = None) -> list[Claim]:
    """Check each claim of the paper against the results.

    A claim is "not tested" when a cell that it needs is not among the outcomes. `scale` has the horizon and
    the runs of the paper for each cell. A claim that smaller results do not confirm is then "not at this
    scale": they say nothing against it.

    Examples
    --------
    >>> sorted({claim.verdict for claim in check_claims([])})
    ['not tested']
    """
    evidence = Evidence(outcomes)
    claims = []
    for check in _CHECKS:
        missing = sum(cell not in evidence for cell in check.needs)
        wants = ""
        if missing:
            need = f"{missing} of the {counted(len(check.needs), 'result')} that it needs"
            found = Finding(NOT_TESTED, f"{need} {'is' if missing == 1 else 'are'} missing.")
            wants = _experiment_with(check.needs)
        else:
            try:
                found = check.find(evidence)
            except Untestable as why:
                found = Finding(NOT_TESTED, f"{str(why).capitalize()}.")
        if scale is not None and found.verdict in (PARTLY, DOES_NOT_HOLD):
            short = sum(evidence.is_smaller(cell, scale.get(cell, (0, 0))) for cell in check.needs)
            if short:
                of_all = f"{short:,} of its {counted(len(check.needs), 'result')}"
                measured = f"{found.measured} {of_all} have fewer pulls or runs than the paper's."
                found = Finding(NOT_AT_THIS_SCALE, measured)
        claims.append(
            Claim(check.key, check.place, check.words, found.measured, found.verdict, check.rule, wants)
        )
    return claims


def paper_scale() -> Scale:
    """Return the horizon and the runs of the paper for each cell; the least where experiments share one."""
    found: Scale = {}
    for name in experiments():
        for cell in experiment(name).cells(Settings()):
            key = (cell.instance, cell.alpha, cell.policy)
            known = found.get(key, (cell.horizon, cell.runs))
            found[key] = (min(known[0], cell.horizon), min(known[1], cell.runs))
    return found


def _experiment_with(needs: Sequence[tuple[str, float, str]]) -> str:
    """Return the first experiment that runs all of these cells."""
    for name in experiments():
        cells = {(cell.instance, cell.alpha, cell.policy) for cell in experiment(name).cells(Settings())}
        if cells.issuperset(needs):
            return name
    raise AssertionError(f"no experiment runs all of {needs}")


class FactorRow(NamedTuple):
    """The policies' mean summed regret at one place, and how many times that of COF it is."""

    instance: str
    alpha: float
    regrets: dict[str, float]
    factors: dict[str, float]


def factors(outcomes: Sequence[Outcome]) -> list[FactorRow]:
    """Return the regrets of the paper's comparison by instance and alpha, as far as there are results."""
    evidence = Evidence(outcomes)
    rows = []
    for place in PLACES:
        regrets = {
            policy: evidence.regret(place, policy)
            for policy in PAPER_POLICIES
            if (*place, policy) in evidence
        }
        cof = regrets.get("cof")
        others = {policy: regret for policy, regret in regrets.items() if policy != "cof"}
        if regrets:
            against = {} if cof is None else {policy: ratio(regret, cof) for policy, regret in others.items()}
            rows.append(FactorRow(*place, regrets, against))
    return rows
