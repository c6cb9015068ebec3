"""What the checks of the paper's claims share: results by place, the slope test, and words for numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from frugalbandits.experiments.specs import ALPHAS, INSTANCES, Outcome
from frugalbandits.instances import instance
from frugalbandits.result import Result

__all__ = [
    "DOES_NOT_HOLD",
    "HOLDS",
    "NEARLY_ALL",
    "NOT_TESTED",
    "PARTLY",
    "PLACES",
    "Check",
    "Evidence",
    "Finding",
    "Place",
    "Untestable",
    "Verdict",
    "counted",
    "feasible_from",
    "final_regret",
    "geometric_mean",
    "graded",
    "late_growth",
    "linear_runs",
    "listed",
    "needed",
    "percent",
    "places",
    "ratio",
    "shown",
    "steady_from",
    "times",
    "title",
]

Verdict: TypeAlias = Literal["holds", "partly", "does not hold", "not tested"]
Place: TypeAlias = tuple[str, float]  # an instance and an alpha

HOLDS: Verdict = "holds"
PARTLY: Verdict = "partly"
DOES_NOT_HOLD: Verdict = "does not hold"
NOT_TESTED: Verdict = "not tested"

#: Every instance and alpha of the paper's comparison.
PLACES: tuple[Place, ...] = tuple((name, alpha) for name in INSTANCES for alpha in ALPHAS)
#: The share of runs, or of places, that counts as nearly all.
NEARLY_ALL = 0.9

_LATE = 0.8  # the last part of the horizon starts here
_LINEAR = 0.5  # of the average growth
_FEWEST_CHECKPOINTS = 5

_INSTANCE_TITLES = {"goodreads": "Goodreads", "movielens": "MovieLens"}
_POLICY_TITLES = {
    "cof-no-exclusive": "COF (no exclusive)",
    "cof-no-combine": "COF (no combine)",
    "cof-cost-biased": "COF (cost-biased)",
}


class Untestable(Exception):
    """The results are there, but they cannot decide the claim."""


class Finding(NamedTuple):
    """What a check found."""

    verdict: Verdict
    measured: str


class Evidence:
    """The results by instance, alpha and policy."""

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        self._results = {
            (outcome.cell.instance, outcome.cell.alpha, outcome.cell.policy): outcome.result
            for outcome in outcomes
        }

    def __contains__(self, key: object) -> bool:
        return key in self._results

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
    late = int(np.searchsorted(result.times, _LATE * result.horizon, side="right")) - 1
    if late < 0:
        raise Untestable("the checkpoints are too late to see a slope")
    regret = result.summed_regret
    total = regret[:, -1]
    rest = 1 - result.times[late] / result.horizon
    share = np.divide(total - regret[:, late], total, out=np.zeros_like(total), where=total > 0)
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
    late = float(np.mean(rate[clock[1:] > _LATE * result.horizon]))
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


def final_regret(result: Result, kind: str = "summed") -> NDArray[np.float64]:
    """Return the regret of each run at the horizon, without computing it at the other checkpoints."""
    cost, quality = result.problem.regrets(result.pulls[:, -1])
    return {"cost": cost, "quality": quality, "summed": cost + quality}[kind]


def ratio(above: float, below: float) -> float:
    """Return a quotient of regrets; nothing over nothing is 1.

    Examples
    --------
    >>> ratio(6.0, 2.0), ratio(0.0, 0.0), ratio(1.0, 0.0)
    (3.0, 1.0, inf)
    """
    if below == 0:
        return 1.0 if above == 0 else math.inf
    return above / below


def geometric_mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean of those that are neither 0 nor infinite; nan if there is none.

    Examples
    --------
    >>> geometric_mean([2.0, 8.0, math.inf])
    4.0
    """
    usable = [value for value in ratios if 0 < value < math.inf]
    return math.exp(sum(map(math.log, usable)) / len(usable)) if usable else math.nan


def times(value: float) -> str:
    """Write a ratio in words.

    Examples
    --------
    >>> times(12.345), times(math.inf), times(math.nan)
    ('12.3 times', '∞ times (no regret)', 'no ratio (no regret)')
    """
    if math.isnan(value):
        return "no ratio (no regret)"
    return f"{shown(value)} times" + (" (no regret)" if math.isinf(value) else "")


def shown(value: float) -> str:
    """Write a ratio with about three significant digits.

    Examples
    --------
    >>> [shown(value) for value in (1.0, 12.34, 1234.5, 0.00685, 0.0)]
    ['1.00', '12.3', '1,234', '0.0069', '0']
    """
    if value == 0 or math.isinf(value):
        return "0" if value == 0 else "∞"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:#.2g}"


def percent(share: float) -> str:
    """Write a share, rounded so that only all is 100% and only none is 0%.

    Examples
    --------
    >>> percent(0.999), percent(1.0), percent(0.0001), percent(0.344)
    ('99%', '100%', '1%', '34%')
    """
    rounded = round(100 * share)
    if 0 < share < 1:
        rounded = min(max(rounded, 1), 99)
    return f"{rounded}%"


def listed(items: Sequence[str]) -> str:
    """Join words with commas and an "and".

    Examples
    --------
    >>> listed(["a1", "a2", "a3"]), listed(["a1"]), listed([])
    ('a1, a2 and a3', 'a1', 'none')
    """
    if len(items) < 2:
        return items[0] if items else "none"
    return f"{', '.join(items[:-1])} and {items[-1]}"


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


def title(name: str) -> str:
    """Return how an instance or a policy is written in a text.

    Examples
    --------
    >>> title("pe-cs"), title("movielens"), title("nu1")
    ('PE-CS', 'MovieLens', 'nu1')
    """
    if name in _INSTANCE_TITLES:
        return _INSTANCE_TITLES[name]
    if name in _POLICY_TITLES:
        return _POLICY_TITLES[name]
    return name.upper() if name == "cof" or name.endswith("-cs") else name


def counted(count: int, noun: str) -> str:
    """Write a count with its noun.

    Examples
    --------
    >>> counted(1, "run"), counted(1000, "run")
    ('1 run', '1,000 runs')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
