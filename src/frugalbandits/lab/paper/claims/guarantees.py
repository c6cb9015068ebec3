"""The paper's claims on COF and the two other policies with guarantees, PE-CS and ETC-CS."""

from __future__ import annotations

import functools

import numpy as np

from frugalbandits.lab.paper.claims.evidence import (
    CORRECT,
    DOES_NOT_HOLD,
    HOLDS,
    NEARLY_ALL,
    PARTLY,
    PLACES,
    Check,
    Evidence,
    Finding,
    Place,
    graded,
    late_growth,
    needed,
    places,
)
from frugalbandits.lab.paper.experiments import ALPHAS, INSTANCES
from frugalbandits.lab.ratios import geometric_mean, ratio
from frugalbandits.lab.text import listed, percent, readable, shown, times, title

__all__ = ["CHECKS"]

PRINCIPLED = ("cof", "pe-cs", "etc-cs")

_TEXT = "Section Experiments"
_SMALLEST = tuple(alpha for alpha in ALPHAS if alpha <= 0.05)
_LOOSE = tuple(alpha for alpha in ALPHAS if alpha >= 0.1)
# The paper excepts the smallest alphas from its comparison with PE-CS.
_COMPARED = {"etc-cs": PLACES, "pe-cs": tuple(place for place in PLACES if place[1] not in _SMALLEST)}
_TIMES = [(name, 0.3) for name in INSTANCES]  # regret against time
_FLAT = 0.1
_SMALL = 1.5  # a small margin
_NEAR = 2.0  # a plateau
_FAR = 10.0  # a high plateau, a fall


def _better(rival: str, evidence: Evidence) -> Finding:
    where = _COMPARED[rival]
    factors = {place: ratio(evidence.regret(place, rival), evidence.regret(place, "cof")) for place in where}
    worse = [place for place in where if factors[place] <= 1]
    lower = len(where) - len(worse)
    mean = geometric_mean(list(factors.values()))
    low, high = min(factors.values()), max(factors.values())
    measured = (
        f"COF is lower at {lower} of {len(where)} places. The regret of {title(rival)} is {times(mean)} that "
        f"of COF (geometric mean), from {shown(low)} to {times(high)}."
    )
    if worse:
        measured += f" COF is not lower at {places(worse)}."
    if lower >= NEARLY_ALL * len(where):
        return Finding(HOLDS, measured)
    return Finding(PARTLY if mean > 1 and 2 * lower > len(where) else DOES_NOT_HOLD, measured)


def _etc_high(evidence: Evidence) -> Finding:
    parts, good = [], 0
    for name in INSTANCES:
        own = evidence.regrets(name, ALPHAS, "etc-cs")
        cof = evidence.regrets(name, ALPHAS, "cof")
        spread = ratio(max(own), min(own))
        above = [alpha for alpha, mine, other in zip(ALPHAS, own, cof, strict=True) if mine > other]
        good += (spread <= _FAR) + (len(above) >= NEARLY_ALL * len(ALPHAS))
        parts.append(
            f"{title(name)}: from {readable(min(own))} to {readable(max(own))} ({times(spread)}), above COF "
            f"at {len(above)} of {len(ALPHAS)} alphas"
        )
    return Finding(graded(good, 4), "; ".join(parts) + ".")


def _plateau(evidence: Evidence) -> Finding:
    parts, good = [], 0
    for name in INSTANCES:
        own = evidence.regrets(name, _LOOSE, "pe-cs")
        spread = ratio(max(own), min(own))
        excess = ratio(own[-1], evidence.regret((name, _LOOSE[-1]), "cof"))
        good += spread <= _NEAR and excess >= _FAR
        parts.append(
            f"{title(name)}: from {readable(min(own))} to {readable(max(own))} ({times(spread)}), and at "
            f"alpha {_LOOSE[-1]:g} {times(excess)} the regret of COF"
        )
    return Finding(graded(good, len(INSTANCES)), "; ".join(parts) + ".")


def _no_plateau(evidence: Evidence) -> Finding:
    parts, falls, steps = [], 0, 0
    for name in INSTANCES:
        own = evidence.regrets(name, _LOOSE, "cof")
        fall = ratio(own[0], own[-1])
        rising = [alpha for alpha, drop in zip(_LOOSE[1:], np.diff(own), strict=True) if drop >= 0]
        falls += fall >= _FAR
        steps += not rising
        how = f"not lower than at the alpha before: {places((name, each) for each in rising)}"
        parts.append(
            f"{title(name)}: from {readable(own[0])} to {readable(own[-1])} ({times(fall)} less), "
            f"{how if rising else 'lower at each step'}"
        )
    verdict = graded(falls + steps, 4) if falls else DOES_NOT_HOLD
    return Finding(verdict, "; ".join(parts) + ".")


def _small_alpha(evidence: Evidence) -> Finding:
    where = [place for place in PLACES if place[1] in _SMALLEST]
    margins = {
        place: ratio(evidence.regret(place, "cof"), evidence.regret(place, "pe-cs")) for place in PLACES
    }
    lower = [place for place in where if margins[place] > 1]
    small = [place for place in lower if margins[place] <= _SMALL]
    others = [place for place in PLACES if place not in where and margins[place] > 1]
    told = [f"{places([place])}: {times(margins[place])}" for place in where]
    measured = f"The regret of COF over that of PE-CS: {', '.join(told)}."
    if others:
        told = [f"{places([place])} ({times(margins[place])})" for place in others]
        measured += f" PE-CS is lower at {listed(told)} as well."
    if len(small) == len(where):
        return Finding(HOLDS, measured)
    return Finding(PARTLY if 2 * len(lower) >= len(where) else DOES_NOT_HOLD, measured)


def _flattens(evidence: Evidence) -> Finding:
    parts, good, of = [], 0, 0
    for place in _TIMES:
        told = []
        for policy in (*PRINCIPLED, "ucb-cs"):
            flat = float(np.mean(late_growth(evidence.result(place, policy)) < _FLAT))
            good += (flat < 1 - NEARLY_ALL) if policy == "ucb-cs" else (flat >= NEARLY_ALL)
            of += 1
            told.append(f"{title(policy)} {percent(flat)}")
        parts.append(f"{title(place[0])}: {', '.join(told)}")
    verdict = graded(good, of) if 2 * good >= of else DOES_NOT_HOLD
    return Finding(verdict, f"Runs that are flat in the end: {'; '.join(parts)}.")


def _correct(evidence: Evidence) -> Finding:
    parts, good = [], 0
    for policy in PRINCIPLED:
        results = {place: evidence.result(place, policy) for place in PLACES}
        late = {place: result.late_on_optimal for place, result in results.items()}
        settled = {place: result.settled_on_optimal for place, result in results.items()}
        told = []
        for what, shares in (("of late pulls", late), ("of runs settled", settled)):
            known = {place: share for place, share in shares.items() if share is not None}
            if known:
                told.append(_share_of(what, known))
        good += all(share >= CORRECT for share, _ in told)
        parts.append(f"{title(policy)} {', '.join(words for _, words in told)}")
    return Finding(graded(good, len(PRINCIPLED)), f"On a*: {'; '.join(parts)}.")


def _share_of(what: str, shares: dict[Place, float]) -> tuple[float, str]:
    """Return the mean share over places, and that in words with the places where it is too low."""
    share = float(np.mean(list(shares.values())))
    failed = [place for place in shares if shares[place] < CORRECT]
    where = f" (less than {percent(CORRECT)} at {places(failed)})" if failed else ""
    return share, f"{percent(share)} {what}{where}"


def _better_rule(rival: str) -> str:
    aside = "" if _COMPARED[rival] == PLACES else ", alpha 0.01 and 0.05 aside"
    return (
        f"A place is an instance with an alpha{aside}. Holds when the mean summed regret of COF is below "
        f"that of {title(rival)} at {percent(NEARLY_ALL)} of the places or more; partly when it is at more "
        "than half of them and the geometric mean of the ratios favours COF."
    )


_SPAN = f"from alpha {_LOOSE[0]:g} to {_LOOSE[-1]:g}"

CHECKS = (
    *(
        Check(
            f"cof-below-{rival}",
            f"{_TEXT}, Fig. 3 (b), (d)",
            f"COF has less regret than {title(rival)} overall{aside}.",
            _better_rule(rival),
            needed(_COMPARED[rival], "cof", rival),
            functools.partial(_better, rival),
        )
        for rival, aside in (("etc-cs", ""), ("pe-cs", ", the smallest alphas aside"))
    ),
    Check(
        "etc-cs-high",
        f"{_TEXT}, Fig. 3 (b), (d)",
        "ETC-CS has consistently high regret on both instances.",
        f"Two parts an instance: over all alphas its largest mean is at most {_FAR:g} times its smallest, "
        f"and it is above COF at {percent(NEARLY_ALL)} of the alphas or more. Holds with all four parts, "
        "partly with some.",
        needed(PLACES, "cof", "etc-cs"),
        _etc_high,
    ),
    Check(
        "pe-cs-plateau",
        f"{_TEXT}, Fig. 3 (b), (d)",
        "PE-CS stays on a high plateau while alpha grows.",
        f"On an instance: {_SPAN} its largest mean is at most {_NEAR:g} times its smallest, and at alpha "
        f"{_LOOSE[-1]:g} it is {_FAR:g} times that of COF or more. Holds on both instances, partly on one.",
        needed(PLACES, "cof", "pe-cs"),
        _plateau,
    ),
    Check(
        "cof-no-plateau",
        f"{_TEXT}, Fig. 3 (b), (d)",
        "COF has no such plateau.",
        f"Two parts an instance: {_SPAN} its mean falls by a factor of {_FAR:g} or more, and it is lower at "
        "each alpha than at the one before. Holds with all four parts, partly with some if one is a fall.",
        needed(PLACES, "cof"),
        _no_plateau,
    ),
    Check(
        "pe-cs-small-alpha",
        f"{_TEXT}, Fig. 3 (b), (d)",
        "At the smallest alphas PE-CS is better than COF by a small margin.",
        f"At alpha {listed([f'{alpha:g}' for alpha in _SMALLEST])}, on both instances: PE-CS has the lower "
        f"mean, and that of COF is at most {_SMALL:g} times as large. Holds at all of these places; partly "
        "when PE-CS is lower at half of them or more.",
        needed(PLACES, "cof", "pe-cs"),
        _small_alpha,
    ),
    Check(
        "regret-flattens",
        f"{_TEXT}, Fig. 3 (a), (c)",
        "At alpha 0.3 the regret of COF, PE-CS and ETC-CS flattens; that of UCB-CS does not.",
        f"A run is flat when its regret grows in the last fifth of the horizon at less than {percent(_FLAT)} "
        f"of its average rate. A policy flattens when {percent(NEARLY_ALL)} of its runs or more are flat, "
        f"and does not when fewer than {percent(1 - NEARLY_ALL)} are. Holds when this is so for all four on "
        "both instances, partly when it is for half of these eight or more.",
        needed(_TIMES, *PRINCIPLED, "ucb-cs"),
        _flattens,
    ),
    Check(
        "principled-correct",
        f"{_TEXT}, Fig. 3",
        "COF, PE-CS and ETC-CS find the optimal arm a* and stay on it.",
        f"Over all places, {percent(CORRECT)} or more of a policy's pulls in the last fifth of the horizon "
        f"go to a*, and {percent(CORRECT)} or more of its runs settle on it: they deem it optimal and keep "
        "to it. ETC-CS draws no conclusions, so only its pulls count. Holds for all three, partly for some.",
        needed(PLACES, *PRINCIPLED),
        _correct,
    ),
)
