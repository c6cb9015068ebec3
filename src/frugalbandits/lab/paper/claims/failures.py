"""The paper's claims on the two policies without guarantees, UCB-CS and TS-CS."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from frugalbandits.lab.paper.claims.evidence import (
    DOES_NOT_HOLD,
    HOLDS,
    NEARLY_ALL,
    PARTLY,
    PLACES,
    Check,
    Evidence,
    Finding,
    Place,
    Untestable,
    feasible_from,
    graded,
    linear_runs,
    needed,
    places,
    steady_from,
)
from frugalbandits.lab.paper.experiments import ALPHAS, INSTANCES
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.ratios import ratio
from frugalbandits.lab.result import Result, final_regret
from frugalbandits.lab.text import counted, listed, percent, times, title

__all__ = ["CHECKS"]

_TEXT = "Section Experiments"
_UNPRINCIPLED = ("ucb-cs", "ts-cs")
_LINEAR_RULE = (
    "A run is linear when its regret grows in the last fifth of the horizon at half its average rate "
    "or faster"
)
# Where the paper sees linear regret.
_UCB_LINEAR: tuple[Place, ...] = tuple(("goodreads", alpha) for alpha in ALPHAS if 0.15 <= alpha <= 0.35)
_TS_OUTLIERS: tuple[Place, ...] = (("goodreads", 0.3), ("goodreads", 0.35), ("movielens", 0.25))
_LATE: Place = ("movielens", 0.3)
_LATE_START = 0.4  # 2 of 5 million
_LARGE: tuple[Place, ...] = tuple(place for place in PLACES if place[1] >= 0.4)
_SEVERAL = 3
_FAR = 10.0


def _linear_places(evidence: Evidence, policy: str) -> list[Place]:
    return [
        place
        for place in evidence.known(policy)
        if float(np.mean(linear_runs(evidence.result(place, policy)))) >= NEARLY_ALL
    ]


def _ucb_linear(evidence: Evidence) -> Finding:
    linear = _linear_places(evidence, "ucb-cs")
    hit = [place for place in _UCB_LINEAR if place in linear]
    told = [
        f"{alpha:g}: {percent(float(np.mean(linear_runs(evidence.result((name, alpha), 'ucb-cs')))))}"
        for name, alpha in _UCB_LINEAR
    ]
    elsewhere = [place for place in linear if place[0] == "goodreads" and place not in _UCB_LINEAR]
    measured = f"Linear runs on Goodreads by alpha: {', '.join(told)}."
    if elsewhere:
        measured += f" Linear as well: {places(elsewhere)}."
    return Finding(graded(len(hit), len(_UCB_LINEAR)), measured)


def _ucb_several(evidence: Evidence) -> Finding:
    linear = _linear_places(evidence, "ucb-cs")
    counts = {name: sum(place[0] == name for place in linear) for name in INSTANCES}
    told = [f"{counts[name]} of {len(ALPHAS)} alphas on {title(name)}" for name in INSTANCES]
    measured = f"Linear at {listed(told)}: {places(linear)}."
    if min(counts.values()) >= _SEVERAL:
        return Finding(HOLDS, measured)
    return Finding(PARTLY if linear else DOES_NOT_HOLD, measured)


def _outliers(result: Result) -> int:
    final = final_regret(result)
    return int(np.sum((final > _FAR * np.median(final)) & linear_runs(result)))


def _ts_outliers(evidence: Evidence) -> Finding:
    if any(evidence.result(place, "ts-cs").runs < 3 for place in _TS_OUTLIERS):
        raise Untestable("fewer than three runs have no outliers")
    parts, found = [], {}
    for place in evidence.known("ts-cs"):
        result = evidence.result(place, "ts-cs")
        count = _outliers(result)
        if count:
            found[place] = count
        if count or place in _TS_OUTLIERS:
            final = final_regret(result)
            worst = times(ratio(float(final.max()), float(np.median(final))))
            linear = int(np.sum(linear_runs(result)))
            parts.append(
                f"{places([place])}: {count} of {counted(result.runs, 'run')} "
                f"(worst run {worst} the median; {linear} linear)"
            )
    hit = sum(place in found for place in _TS_OUTLIERS)
    verdict = HOLDS if hit == len(_TS_OUTLIERS) else PARTLY if found else DOES_NOT_HOLD
    return Finding(verdict, f"Outliers at {'; '.join(parts)}. None at the other alphas.")


def _large_alpha(evidence: Evidence) -> Finding:
    parts, good = [], 0
    feasible = all(evidence.result(place, "cof").problem.feasible.all() for place in _LARGE)
    for policy in _UNPRINCIPLED:
        ratios = [ratio(evidence.regret(place, policy), evidence.regret(place, "cof")) for place in _LARGE]
        linear = [int(np.sum(linear_runs(evidence.result(place, policy)))) for place in _LARGE]
        good += sum(each < 1 and not count for each, count in zip(ratios, linear, strict=True))
        parts.append(
            f"{title(policy)} has less regret than COF at {sum(each < 1 for each in ratios)} of "
            f"{len(_LARGE)} places, at most {times(max(ratios))} that of COF, and "
            f"{counted(sum(linear), 'linear run')}"
        )
    since = [f"{feasible_from(name):g} on {title(name)}" for name in INSTANCES]
    measured = f"{'; '.join(parts)}. All arms are feasible from alpha {listed(since)}."
    of = len(_UNPRINCIPLED) * len(_LARGE)
    if good == of:
        return Finding(HOLDS if feasible else PARTLY, measured)
    return Finding(PARTLY if 2 * good >= of else DOES_NOT_HOLD, measured)


def _outperform(evidence: Evidence) -> Finding:
    parts, good = [], 0
    for policy in _UNPRINCIPLED:
        lower = [place for place in PLACES if evidence.regret(place, policy) < evidence.regret(place, "cof")]
        good += bool(lower)
        parts.append(f"{title(policy)} at {len(lower)} of {len(PLACES)} places ({places(lower)})")
    return Finding(graded(good, len(_UNPRINCIPLED)), f"Less regret than COF: {'. '.join(parts)}.")


def _late(evidence: Evidence) -> Finding:
    result = evidence.result(_LATE, "ucb-cs")
    linear = linear_runs(result)
    growing = float(np.mean(linear))
    if growing < 1 - NEARLY_ALL:
        return Finding(DOES_NOT_HOLD, f"The regret of {percent(growing)} of the runs grows in the end.")
    start = steady_from(result)
    share = start / result.horizon
    late = result.late_pulls[linear]
    arm = int(np.argmax(late.sum(axis=0)))
    problem = result.problem
    only = float(np.mean(late[:, arm] == late.sum(axis=1)))
    in_time = _LATE_START / 2 <= share <= _LATE_START * 2
    cheap = bool(problem.costs[arm] < problem.costs[problem.optimal_arm])
    measured = (
        f"The mean regret grows steadily from t = {start:,}, {percent(share)} of the horizon. "
        f"{percent(growing)} of the runs are linear; {percent(only)} of these pull arm {problem.names[arm]} "
        f"alone in the last fifth. This arm is {_kind(problem, arm)}."
    )
    return Finding(graded(in_time + (only >= NEARLY_ALL) + cheap, 3), measured)


def _kind(problem: Problem, arm: int) -> str:
    optimal = problem.optimal_arm
    fine = "feasible" if problem.feasible[arm] else "not feasible"
    if arm == optimal:
        return "a* itself"
    gap = problem.costs[arm] - problem.costs[optimal]
    cost = "cheaper than" if gap < 0 else "more expensive than" if gap > 0 else "as expensive as"
    return f"{fine} and {cost} a* (cost {problem.costs[arm]:g} against {problem.costs[optimal]:g})"


def _check(
    key: str,
    place: str,
    words: str,
    rule: str,
    needs: tuple[tuple[str, float, str], ...],
    find: Callable[[Evidence], Finding],
) -> Check:
    return Check(key, f"{_TEXT}, {place}", words, rule, needs, find)


CHECKS = (
    _check(
        "ucb-cs-linear-goodreads",
        "Fig. 3 (a), (b)",
        "UCB-CS has linear regret on Goodreads for alpha from 0.15 to 0.35, in all runs.",
        f"{_LINEAR_RULE}. Holds when {percent(NEARLY_ALL)} of the runs or more are linear at each of these "
        "alphas, partly at some.",
        needed(_UCB_LINEAR, "ucb-cs"),
        _ucb_linear,
    ),
    _check(
        "ucb-cs-linear-several",
        "Fig. 3 (b), (d)",
        "UCB-CS has linear regret in several cases on both instances.",
        f"{_LINEAR_RULE}. A case is an alpha where {percent(NEARLY_ALL)} of the runs or more are linear. "
        f"Holds with {_SEVERAL} cases or more on each instance, partly with one somewhere.",
        needed(PLACES, "ucb-cs"),
        _ucb_several,
    ),
    _check(
        "ts-cs-outliers",
        "Fig. 3 (b), (d)",
        "TS-CS has outlier runs with linear regret on Goodreads at 0.3 and 0.35 and on MovieLens at 0.25.",
        f"{_LINEAR_RULE}. An outlier is a linear run that ends above {_FAR:g} times the median run. Holds "
        "with one or more at each of the three places, partly with one anywhere.",
        needed(PLACES, "ts-cs"),
        _ts_outliers,
    ),
    _check(
        "large-alpha",
        "Fig. 3 (b), (d)",
        "From alpha 0.4 on UCB-CS and TS-CS do well, because all arms are feasible.",
        f"{_LINEAR_RULE}. At each alpha from 0.4 on, both have a lower mean than COF and no linear run, and "
        "all arms are feasible. Holds when all this is so; partly when the policies do well at half of the "
        "places or more.",
        needed(_LARGE, "cof", *_UNPRINCIPLED),
        _large_alpha,
    ),
    _check(
        "others-below-cof",
        "Fig. 3 (b), (d)",
        "UCB-CS and TS-CS are better than COF at some alphas.",
        "A policy is better at a place when its mean summed regret is below that of COF. Holds when each of "
        "the two is at one place or more, partly when only one is.",
        needed(PLACES, "cof", *_UNPRINCIPLED),
        _outperform,
    ),
    _check(
        "ucb-cs-late-growth",
        "Fig. 3 (c)",
        "On MovieLens at alpha 0.3 UCB-CS pulls a cheap arm only, from about t = 2 million on.",
        "Three parts: the mean regret grows at half its late rate or faster for good from some time between "
        f"20% and 80% of the horizon (2 million is 40%); {percent(NEARLY_ALL)} of the linear runs pull one "
        "arm alone in the last fifth; this arm costs less than a*. Holds with all three, partly with some.",
        needed([_LATE], "ucb-cs"),
        _late,
    ),
)
