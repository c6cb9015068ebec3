"""The paper's claims on the parts of COF: exclusive sampling, combining samples, cost-biased sampling."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.lab.paper.claims.evidence import (
    DOES_NOT_HOLD,
    HOLDS,
    PARTLY,
    Check,
    Evidence,
    Finding,
    Place,
    Untestable,
    graded,
    needed,
)
from frugalbandits.lab.paper.experiments import experiment
from frugalbandits.lab.result import Result, final_regret
from frugalbandits.lab.sweeps.cells import Outcome, Settings
from frugalbandits.lab.text import counted, readable, shown, times, title

__all__ = ["CHECKS", "EventRow", "event_times"]

_CLEAR = 2.0  # standard errors
_KINDS = ("cost", "quality", "summed")
_APPENDIX = "Appendix, Ablation Experiments"


class _Ablation(NamedTuple):
    """COF against a variant of it at one place, and the events whose times matter."""

    place: Place
    variant: str
    events: tuple[tuple[str, int], ...] = ()  # kind and arm


def _ablation(name: str, *events: tuple[str, int]) -> _Ablation:
    cell = experiment(name).cells(Settings())[1]
    return _Ablation((cell.instance, cell.alpha), cell.policy, events)


_EXCLUSIVE = _ablation("ablation-exclusive", ("infeasible", 0), ("optimal", 1))
_COMBINING = _ablation("ablation-combining", ("infeasible", 0), ("infeasible", 1), ("infeasible", 2))
_COST_BIASED = _ablation("cost-biased")


class _Compared(NamedTuple):
    """Two means, their ratio with a 95% confidence interval, and what is clear."""

    cof: float
    variant: float
    ratio: float  # the variant's over COF's
    low: float
    high: float

    @property
    def lower(self) -> bool:
        """COF is clearly lower."""
        return self.low > 1

    @property
    def higher(self) -> bool:
        """COF is clearly higher."""
        return self.high < 1


def _compare(cof: NDArray[np.float64], variant: NDArray[np.float64]) -> _Compared:
    """Compare means over independent runs: the interval is that of the log of the ratio (delta method)."""
    if min(len(cof), len(variant)) < 2:
        raise Untestable("one run has no spread, so nothing can be tested")
    means = float(np.mean(cof)), float(np.mean(variant))
    if min(means) == 0:
        ratio = 1.0 if means[0] == means[1] else math.inf if means[0] == 0 else 0.0
        return _Compared(*means, ratio, ratio, ratio)
    ratio = means[1] / means[0]
    relative = [float(np.var(each, ddof=1)) / len(each) / np.mean(each) ** 2 for each in (cof, variant)]
    reach = math.exp(_CLEAR * math.sqrt(sum(relative)))
    return _Compared(*means, ratio, ratio / reach, ratio * reach)


def _compared(ablation: _Ablation, evidence: Evidence) -> dict[str, _Compared]:
    cof, variant = _pair(ablation, evidence)
    return {kind: _compare(final_regret(cof, kind), final_regret(variant, kind)) for kind in _KINDS}


def _pair(ablation: _Ablation, evidence: Evidence) -> tuple[Result, Result]:
    return evidence.result(ablation.place, "cof"), evidence.result(ablation.place, ablation.variant)


def _told(ablation: _Ablation, compared: dict[str, _Compared]) -> str:
    parts = [
        f"{kind} {readable(each.cof)} against {readable(each.variant)}, {_interval(each)}"
        for kind, each in compared.items()
    ]
    return f"Mean regret of COF against {title(ablation.variant)}: {'; '.join(parts)}."


def _interval(each: _Compared) -> str:
    if not 0 < each.ratio < math.inf:
        return "one without regret"
    return f"{times(each.ratio)} [{shown(each.low)}, {shown(each.high)}]"


def _exclusive_regret(evidence: Evidence) -> Finding:
    compared = _compared(_EXCLUSIVE, evidence)
    clean = not (compared["cost"].higher or compared["quality"].higher)
    verdict = (HOLDS if clean else PARTLY) if compared["summed"].lower else DOES_NOT_HOLD
    return Finding(verdict, _told(_EXCLUSIVE, compared))


def _combining_regret(evidence: Evidence) -> Finding:
    compared = _compared(_COMBINING, evidence)
    good = compared["cost"].lower + compared["quality"].lower
    return Finding(graded(good, 2), _told(_COMBINING, compared))


def _cost_biased(evidence: Evidence) -> Finding:
    compared = _compared(_COST_BIASED, evidence)
    cost, quality = compared["cost"], compared["quality"]
    # Here the variant is the one that should do better.
    if not cost.higher:
        return Finding(DOES_NOT_HOLD, _told(_COST_BIASED, compared))
    clean = compared["summed"].higher
    change = f" Quality regret changes by {quality.ratio - 1:+.0%}." if math.isfinite(quality.ratio) else ""
    return Finding(HOLDS if clean else PARTLY, _told(_COST_BIASED, compared) + change)


class EventRow(NamedTuple):
    """When a conclusion was drawn, with and without a part of COF: means over runs."""

    instance: str
    event: str
    variant: str
    cof_mean: float
    cof_error: float
    variant_mean: float
    variant_error: float
    difference: float  # in standard errors; positive when COF is earlier
    cof_missing: int  # runs without the event before the horizon, counted as the horizon
    variant_missing: int
    runs: int


def event_times(outcomes: Iterable[Outcome]) -> list[EventRow]:
    """Return the times of the events of the two ablations, as far as there are results.

    A run without the event before the horizon counts as the horizon.
    """
    evidence = Evidence(outcomes)
    return [row for ablation in (_EXCLUSIVE, _COMBINING) for row in _event_rows(ablation, evidence)]


def _event_rows(ablation: _Ablation, evidence: Evidence) -> list[EventRow]:
    if not all((*ablation.place, policy) in evidence for policy in ("cof", ablation.variant)):
        return []
    cof, variant = _pair(ablation, evidence)
    rows = []
    for kind, arm in ablation.events:
        (own, own_missing), (other, other_missing) = (_first(each, kind, arm) for each in (cof, variant))
        errors = _error(own), _error(other)
        spread = math.hypot(*errors)
        gap = float(other.mean() - own.mean())
        rows.append(
            EventRow(
                ablation.place[0],
                f"{cof.problem.names[arm]} deemed {kind}",
                ablation.variant,
                float(own.mean()),
                errors[0],
                float(other.mean()),
                errors[1],
                gap / spread if spread else math.copysign(math.inf, gap) if gap else 0.0,
                own_missing,
                other_missing,
                min(len(own), len(other)),
            )
        )
    return rows


def _first(result: Result, kind: str, arm: int) -> tuple[NDArray[np.float64], int]:
    found = np.full(result.runs, np.inf)
    events = result.events
    chosen = events[(events["event"] == kind) & (events["arm"] == arm)]
    np.minimum.at(found, chosen["run"], chosen["time"])
    missing = int(np.isinf(found).sum())
    return np.minimum(found, result.horizon), missing


def _error(values: NDArray[np.float64]) -> float:
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def _earlier(ablation: _Ablation, events: tuple[tuple[str, int], ...], evidence: Evidence) -> Finding:
    rows = _event_rows(ablation._replace(events=events), evidence)
    if rows[0].runs < 2:
        raise Untestable("one run has no spread, so nothing can be tested")
    parts = []
    for row in rows:
        ended = [
            f"{counted(missing, 'run')} of {title(policy)} without it"
            for policy, missing in (("cof", row.cof_missing), (row.variant, row.variant_missing))
            if missing
        ]
        note = f" ({', '.join(ended)}, counted as the horizon)" if ended else ""
        gap = "" if math.isinf(row.difference) else f", {row.difference:+.1f} standard errors"
        parts.append(
            f"{row.event}: t = {row.cof_mean:,.0f} against {row.variant_mean:,.0f}{gap}{note}",
        )
    measured = f"Mean times of COF against {title(ablation.variant)}: {'; '.join(parts)}."
    clear = sum(row.difference >= _CLEAR for row in rows)
    verdict = graded(clear, len(rows))
    if verdict == DOES_NOT_HOLD and any(row.difference > 0 for row in rows):
        verdict = PARTLY
    return Finding(verdict, measured)


def _needs(ablation: _Ablation) -> tuple[tuple[str, float, str], ...]:
    return needed([ablation.place], "cof", ablation.variant)


_CLEARLY = (
    f"Clearly lower: the interval of {_CLEAR:g} standard errors around the ratio of the means "
    "does not reach 1."
)
_SOONER = (
    f"Holds when the mean time is earlier by {_CLEAR:g} standard errors or more{{}}, partly when it is "
    "earlier by less{}. A run without the event counts as the horizon."
)

CHECKS = (
    Check(
        "exclusive-regret",
        f"{_APPENDIX}, (a), (b)",
        "Exclusive sampling lowers the regret on nu1.",
        f"{_CLEARLY} Holds when the summed regret of COF is clearly lower and neither cost nor quality "
        "regret is clearly higher, partly when one is.",
        _needs(_EXCLUSIVE),
        _exclusive_regret,
    ),
    Check(
        "exclusive-time",
        f"{_APPENDIX}, (b)",
        "With exclusive sampling a2 is deemed optimal earlier on nu1.",
        _SOONER.format("", ""),
        _needs(_EXCLUSIVE),
        functools.partial(_earlier, _EXCLUSIVE, _EXCLUSIVE.events[1:]),
    ),
    Check(
        "combining-regret",
        f"{_APPENDIX}, (c) to (e)",
        "Combining samples lowers both cost and quality regret on nu2.",
        f"{_CLEARLY} Holds when both regrets of COF are clearly lower, partly when one is.",
        _needs(_COMBINING),
        _combining_regret,
    ),
    Check(
        "combining-time",
        f"{_APPENDIX}, (c) to (e)",
        "With combined samples a1, a2 and a3 are each deemed infeasible earlier on nu2.",
        _SOONER.format(" for all three arms", " or for some"),
        _needs(_COMBINING),
        functools.partial(_earlier, _COMBINING, _COMBINING.events),
    ),
    Check(
        "cost-biased",
        "Appendix, Non-uniform sampling with COF",
        "Cost-biased sampling lowers the cost regret on the 13-arm instance.",
        f"{_CLEARLY} Holds when the cost regret and the summed regret of the cost-biased variant are clearly "
        "lower, partly when only the cost regret is.",
        _needs(_COST_BIASED),
        _cost_biased,
    ),
)
