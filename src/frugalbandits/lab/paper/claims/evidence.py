"""What the checks of the paper's claims share: results by place, verdicts, and the slope test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from frugalbandits.lab.instances.catalogue import instance
from frugalbandits.lab.paper.experiments import ALPHAS, INSTANCES
from frugalbandits.lab.result import Result, final_regret
from frugalbandits.lab.sweeps.cells import Outcome
from frugalbandits.lab.text import title

__all__ = [
    "CORRECT",
    "DOES_NOT_HOLD",
    "HOLDS",
    "NEARLY_ALL",
    "NOT_AT_THIS_SCALE",
    "NOT_TESTED",
    "PARTLY",
    "PLACES",
    "Check",
    "Evidence",
    "Finding",
    "Place",
    "Untestable",
    "Verdict",
    "feasible_from",
    "graded",
    "late_growth",
    "linear_runs",
    "needed",
    "places",
    "steady_from",
]

Verdict: TypeAlias = Literal["holds", "partly", "does not hold", "not at this scale", "not tested"]
Place: TypeAlias = tuple[str, float]  # an instance and an alpha
HOLDS: Verdict = "holds"
PARTLY: Verdict = "partly"
DOES_NOT_HOLD: Verdict = "does not hold"
NOT_AT_THIS_SCALE: Verdict = "not at this scale"
NOT_TESTED: Verdict = "not tested"
#: Every instance and alpha of the paper's comparison.
PLACES: tuple[Place, ...] = tuple((name, alpha) for name in INSTANCES for alpha in ALPHAS)
#: The share of runs, or of places, that counts as nearly all.
NEARLY_ALL = 0.9
#: The share of late pulls, or of runs, on a* that a policy with a guarantee should have.
CORRECT = 0.95
_LINEAR = 0.5  # of the average growth
_FEWEST_CHECKPOINTS = 5


class Untestable(Exception):
    """The results are there, but they cannot decide the claim."""


class Finding(NamedTuple):
    """What a check found."""

    verdict: Verdict
    measured: str


class Evidence:
    """The results by instance, alpha and policy."""

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        found = {(each.cell.instance, each.cell.alpha, each.cell.policy): each for each in outcomes}
        self._results = {key: each.result for key, each in found.items()}
        self._sizes = {key: (each.cell.horizon, each.cell.runs) for key, each in found.items()}

    def __contains__(self, key: object) -> bool:
        return key in self._results

    def is_smaller(self, key: tuple[str, float, str], size: tuple[int, int]) -> bool:
        """Tell whether a result has fewer pulls, or fewer runs, than this."""
        return any(own < wanted for own, wanted in zip(self._sizes[key], size, strict=True))

    def result(self, place: Place, policy: str) -> Result:
        """Return the result of a policy at a place."""
        return self._results[*place, policy]

    def regret(self, place: Place, policy: str) -> float:
        """Return the mean summed regret of a policy at the horizon."""
        return float(np.mean(final_regret(self.result(place, policy))))

    def regrets(self, name: str, alphas: Iterable[float], policy: str) -> list[float]:
        """Return the mean summed regrets of a policy on an instance, by alpha."""
        return [self.regret((name, alpha), policy) for alpha in alphas]

    def known(self, policy: str) -> list[Place]:
        """Return the places of the paper's comparison where the policy has a result."""
        return [place for place in PLACES if (*place, policy) in self]


class Check(NamedTuple):
    """A claim of the paper, and how it is checked."""

    key: str
    place: str
    words: str
    rule: str
    needs: tuple[tuple[str, float, str], ...]
    find: Callable[[Evidence], Finding]


def needed(where: Iterable[Place], *policies: str) -> tuple[tuple[str, float, str], ...]:
    """Return the cells of some policies at some places."""
    return tuple((*place, policy) for place in where for policy in policies)


def graded(good: int, of: int) -> Verdict:
    """Return "holds" when all parts are good, "partly" when some are."""
    return HOLDS if good == of else PARTLY if good else DOES_NOT_HOLD


def late_growth(result: Result) -> NDArray[np.float64]:
    """Return, for each run, the growth of regret late in the horizon over its average growth.

    Late is the last fifth. 1 is a straight line, 0 is flat, and a run without regret has 0.
    """
    if len(result.times) < _FEWEST_CHECKPOINTS:
        raise Untestable(f"{len(result.times)} checkpoints are too few to see a slope")
    if not result.late_from:
        raise Untestable("the checkpoints are too late to see a slope")
    regret = result.summed_regret
    total = regret[:, -1]
    rest = 1 - result.late_from / result.horizon
    before = regret[:, np.searchsorted(result.times, result.late_from)]
    share = np.divide(total - before, total, out=np.zeros_like(total), where=total > 0)
    return np.asarray(share / rest)


def linear_runs(result: Result) -> NDArray[np.bool_]:
    """Tell which runs still grow at half their average rate, or faster, in the last fifth."""
    return np.asarray(late_growth(result) >= _LINEAR)


def steady_from(result: Result) -> int:
    """Return the time from which the mean regret grows steadily until the horizon.

    Steadily is at half the late rate, or faster, between any two checkpoints from then on.
    """
    regret = np.concatenate([[0.0], result.summed_regret.mean(axis=0)])
    clock = np.concatenate([[0], result.times])
    rate = np.diff(regret) / np.diff(clock)
    late = float(np.mean(rate[clock[1:] > result.late_from]))
    slow = np.flatnonzero(rate < _LINEAR * late)
    return int(clock[slow[-1] + 1]) if slow.size else 0


def feasible_from(name: str) -> float:
    """Return the smallest of the paper's alphas at which all arms are feasible.

    Examples
    --------
    >>> feasible_from("goodreads")
    0.15
    """
    return min(alpha for alpha in ALPHAS if bool(instance(name, alpha).feasible.all()))


def places(where: Iterable[Place]) -> str:
    """Write places by instance, with neighbouring alphas as a range.

    Examples
    --------
    >>> places([("goodreads", 0.01), ("goodreads", 0.05), ("movielens", 0.1)])
    'Goodreads 0.01, 0.05; MovieLens 0.1'
    >>> places(("goodreads", alpha) for alpha in ALPHAS[1:])
    'Goodreads 0.05 to 0.6'
    >>> places([])
    'nowhere'
    """
    grouped: dict[str, list[int]] = {}
    for name, alpha in where:
        grouped.setdefault(name, []).append(ALPHAS.index(alpha))
    return "; ".join(f"{title(name)} {_ranges(steps)}" for name, steps in grouped.items()) or "nowhere"


def _ranges(steps: Sequence[int]) -> str:
    spans: list[list[int]] = []
    for step in steps:
        if spans and step == spans[-1][-1] + 1:
            spans[-1].append(step)
        else:
            spans.append([step])
    told: list[str] = []
    for span in spans:
        alphas = [f"{ALPHAS[step]:g}" for step in span]
        told += [f"{alphas[0]} to {alphas[-1]}"] if len(alphas) > 2 else alphas
    return ", ".join(told)
