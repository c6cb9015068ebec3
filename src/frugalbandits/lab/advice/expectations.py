"""What plans come to: a policy, always one option, or knowing everything; each as a few numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.quality import AtLeast, Quality, RelativeTo, RelativeToBest
from frugalbandits.lab.advice.beliefs import Logged
from frugalbandits.lab.advice.case import Case, Feedback
from frugalbandits.lab.advice.trial import Trial, lost_on
from frugalbandits.lab.problem import Problem

__all__ = [
    "NOTED",
    "Bar",
    "Expectation",
    "Spread",
    "Standing",
    "always",
    "bars",
    "expectation_of",
    "knowing",
    "standings",
]

Floats = NDArray[np.float64]
#: A lack of quality from which on it is told.
NOTED = 0.01
_TRACE = 0.001
_ALPHAS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3)
_LEVELS = (-0.1, -0.05, 0.0, 0.05, 0.1)


class Spread(NamedTuple):
    """A middle and an 80% interval over the runs, which differ in what is true and in luck."""

    middle: float
    low: float
    high: float


class Expectation(NamedTuple):
    """What a plan comes to over the whole period.

    `spend` and `quality` have the mean as their middle, `days_to_know` the median. `saving` is the share
    saved of the spend on the option that the case is held against. `gain` is by how much less is lost than
    with that option, in money: cost above the right option's, and what a lack of quality is worth; what is
    saved with an option that is not good enough is no gain. `error` is its standard error. `lack` is by how
    much a decision misses good enough, on average. `bar` is the quality that is good enough, on average over
    what may be true.
    """

    plan: str
    spend: Spread
    saving: float
    quality: Spread
    lack: float
    gain: float
    error: float
    feedback: Feedback | None = None
    days_to_know: Spread | None = None
    knows: float | None = None
    ends_right: float | None = None
    judged: float | None = None
    bar: float = 0.0

    @property
    def missing(self) -> float:
        """By how much it misses the bar: what a decision lacks on average, or what the mean quality does."""
        return max(self.lack, self.bar - self.quality.middle)

    @property
    def misses(self) -> bool:
        """Whether that is more than a trace."""
        return self.lack >= NOTED or self.bar - self.quality.middle >= _TRACE


class Standing(NamedTuple):
    """What is believed of an option, and how likely it is good enough, and the one to use."""

    option: str
    cost: float
    low: float
    high: float
    source: str
    good_enough: float
    to_use: float


class Bar(NamedTuple):
    """What another bar would come to once all is known: cost and quality a decision, and who is used."""

    quality: Quality
    cost: float
    mean: float
    saving: float
    option: str
    chance: float


def spread(values: Floats) -> Spread:
    """Return the mean, and the 10th and 90th percentile."""
    low, high = np.percentile(values, [10, 90])
    return Spread(float(values.mean()), float(low), float(high))


def middle_of(values: Floats) -> Spread:
    """Return the median, and the 10th and 90th percentile; some values may be infinite."""
    low, median, high = np.quantile(values, [0.1, 0.5, 0.9], method="inverted_cdf")
    return Spread(float(median), float(low), float(high))


def expectation_of(trial: Trial) -> Expectation:
    """Return what a policy comes to."""
    case = trial.case
    days = trial.known / case.volume
    return _held(
        case, trial.problems, trial.policy, trial.spend, trial.loss, trial.lack, trial.quality
    )._replace(
        feedback=trial.feedback,
        days_to_know=middle_of(days),
        knows=float(np.isfinite(days).mean()),
        ends_right=float(trial.ends_right.mean()),
        judged=float(trial.judged.mean()) / case.horizon,
    )


def always(case: Case, problems: Sequence[Problem], option: int) -> Expectation:
    """Return what it comes to to use one option throughout."""
    return _throughout(case, problems, f"always {case.names[option]}", [option] * len(problems))


def knowing(case: Case, problems: Sequence[Problem]) -> Expectation:
    """Return what it would come to if all were known from the start."""
    return _throughout(case, problems, "all known at once", [problem.optimal_arm for problem in problems])


def _throughout(case: Case, problems: Sequence[Problem], plan: str, used: Sequence[int]) -> Expectation:
    pairs = list(zip(problems, used, strict=True))
    lack = np.array([problem.quality_gaps[arm] for problem, arm in pairs])
    quality = np.array([problem.means[arm] for problem, arm in pairs])
    loss = np.array([lost_on(problem)[arm] for problem, arm in pairs]) * case.horizon
    return _held(case, problems, plan, case.costs[list(used)] * case.horizon, loss, lack, quality)


def _held(
    case: Case,
    problems: Sequence[Problem],
    plan: str,
    spend: Floats,
    loss: Floats,
    lack: Floats,
    quality: Floats,
) -> Expectation:
    """Return what a plan comes to, held against always using the anchor."""
    cost = float(case.costs[case.anchor]) * case.horizon
    gain = np.array([lost_on(problem)[case.anchor] for problem in problems]) * case.horizon - loss
    return Expectation(
        plan=plan,
        spend=spread(spend),
        saving=float(1.0 - spend.mean() / cost) if cost > 0 else 0.0,
        quality=spread(quality),
        lack=float(lack.mean()),
        gain=float(gain.mean()),
        error=float(gain.std() / np.sqrt(len(gain))),
        bar=float(np.mean([_level(problem) for problem in problems])),
    )


def _level(problem: Problem) -> float:
    """Return what is good enough: a fixed level too where no option reaches it."""
    return problem.quality.level if isinstance(problem.quality, AtLeast) else problem.threshold


def standings(case: Case, problems: Sequence[Problem]) -> tuple[Standing, ...]:
    """Return what is believed of each option, from the cheapest on."""
    feasible = np.mean([problem.feasible for problem in problems], axis=0)
    used = np.bincount([problem.optimal_arm for problem in problems], minlength=len(case.names))
    found = []
    for arm in case.expected.order.tolist():
        belief = case.beliefs[arm]
        if isinstance(belief, Logged):
            source = f"log, {belief.rows:,} rows"
        else:
            source = "guess" if belief.given else "nothing known"
        found.append(
            Standing(
                case.names[arm],
                float(case.costs[arm]),
                belief.low,
                belief.high,
                source,
                float(feasible[arm]),
                float(used[arm]) / len(problems),
            )
        )
    return tuple(found)


def bars(case: Case, problems: Sequence[Problem]) -> tuple[Bar, ...]:
    """Return what other bars would come to once all is known, the case's own among them."""
    found = []
    for quality in _others(case.quality):
        moved = [problem.with_quality(quality) for problem in problems]
        best = np.array([problem.optimal_arm for problem in moved])
        counts = np.bincount(best, minlength=len(case.names))
        cost = float(case.costs[best].mean())
        mean = float(np.mean([problem.means[arm] for problem, arm in zip(moved, best, strict=True)]))
        held = float(case.costs[case.anchor])
        most = int(counts.argmax())
        saving = 1.0 - cost / held if held > 0 else 0.0
        found.append(Bar(quality, cost, mean, saving, case.names[most], float(counts[most]) / len(best)))
    return tuple(found)


def _others(quality: Quality) -> list[Quality]:
    if isinstance(quality, AtLeast):
        levels = {round(quality.level + step, 6) for step in _LEVELS} | {quality.level}
        return [AtLeast(level) for level in sorted(levels) if 0.0 <= level <= 1.0]
    alphas = sorted({*_ALPHAS, quality.alpha})
    if isinstance(quality, RelativeTo):
        return [RelativeTo(quality.reference, alpha) for alpha in alphas]
    return [RelativeToBest(alpha) for alpha in alphas]
