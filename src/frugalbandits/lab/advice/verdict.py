"""Whether it is worth it to learn, in words: each kind of no has its reason and its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from frugalbandits.lab.advice.case import Case
from frugalbandits.lab.advice.expectations import Expectation
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.text import counted, percent, readable, shown

__all__ = ["FEWEST", "LEAST_GAIN", "SURE", "Kind", "Verdict", "before_learning", "judged_by", "with_remedies"]

Kind = Literal[
    "worth it",
    "same price",
    "only one is good enough",
    "known already",
    "too little to gain",
    "too few decisions",
    "learning costs more",
    "misses your bar",
]
#: Knowing everything must gain this share of the spend, or there is too little to gain.
LEAST_GAIN = 0.05
#: Decisions an option that are the least to learn from.
FEWEST = 30
#: How likely an option must be the one to use for the answer to be known.
SURE = 0.95


class Verdict(NamedTuple):
    """Whether to learn, why, and what to do."""

    kind: Kind
    worth_it: bool
    words: str


def before_learning(case: Case, problems: Sequence[Problem], ideal: Expectation) -> Verdict | None:
    """Return the verdict where no simulation is needed for it; `ideal` is what knowing everything gains."""
    if case.costs.max() == case.costs.min():
        best = case.names[case.safe]
        price = readable(float(case.costs[0]))
        return _no(
            "same price", f"every option costs {price}, so there is nothing to save: use the best, {best}"
        )
    counts = np.bincount([problem.optimal_arm for problem in problems], minlength=len(case.names))
    likely = int(counts.argmax())
    chance = float(counts[likely]) / len(problems)
    name = case.names[likely]
    often = "" if chance == 1.0 else f" in {percent(chance)} of the cases"
    if chance >= SURE and likely == case.anchor:
        used = ", which you use now," if likely == case.now else ""
        cheaper = bool((case.costs < case.costs[likely]).any())
        why = "no cheaper option is good enough" if cheaper else "it is the cheapest of all"
        return _no("only one is good enough", f"{name}{used} is the one to use{often}: {why}. Go on with it")
    if chance >= SURE and not case.certain:
        words = f"what you told leaves little doubt: {name} is the one to use{often}. Use it at once"
        return _no("known already", f"{words}, and judge a sample of it to see that it stays so")
    whole = float(case.costs[case.anchor]) * case.horizon
    if ideal.gain < LEAST_GAIN * whole:
        held = case.names[case.anchor]
        return _no(
            "too little to gain",
            f"the options are too close: even if all were known at once, that would gain "
            f"{percent(max(ideal.gain, 0.0) / whole)} of the spend on always {held}",
        )
    return None


def judged_by(
    case: Case, learned: Expectation, ideal: Expectation, good: float, pays_after: float | None
) -> Verdict:
    """Return the verdict on what learning comes to.

    `good` is how likely what it is held against is good enough; it pays after `pays_after` days, if ever.
    """
    held = case.names[case.anchor]
    period = f"{counted(case.horizon, 'decision')} in {counted(case.days, 'day')}"
    knows = learned.knows or 0.0
    later = (
        f"it pays after about {counted(round(pays_after), 'day')}"
        if pays_after is not None
        else "ten times the period does not make up for it either"
    )
    if case.horizon < FEWEST * len(case.names):
        return _no(
            "too few decisions",
            f"{period} are too few to tell {counted(len(case.names), 'option')} apart: {FEWEST} an option "
            "are the least",
        )
    if knows < 0.5 and learned.gain < 0.5 * ideal.gain:
        return _no(
            "too few decisions",
            f"{period} are too few: {percent(knows)} of the runs know by then what to use, and "
            f"{percent(max(learned.gain / ideal.gain, 0.0))} of what there is to gain is gained; {later}",
        )
    if learned.gain <= 0:
        return _no(
            "learning costs more",
            f"learning costs more than it gains over always {held}, by {readable(-learned.gain)} with "
            f"{period}, where a unit of quality counts {readable(case.worth)}; {later}",
        )
    saved = (
        f"saves {percent(learned.saving)} of the spend on always {held}"
        if learned.saving >= 0.005
        else f"spends {percent(max(-learned.saving, 0.0))} more than always {held}, which is good enough in "
        f"{percent(good)} of the cases"
    )
    if learned.misses:
        return Verdict("misses your bar", False, f"misses your bar: it {saved}, but {_missed(learned)}")
    days = learned.days_to_know
    when = f"but only {percent(knows)} of the runs know within {counted(case.days, 'day')} what to use"
    if knows >= 0.5 and days is not None:
        when = f"and knows what to use after about {shown(days.middle)} days"
    return Verdict(
        "worth it",
        True,
        f"worth it: it {saved}, {when}; counting only what is good enough, it gains "
        f"{percent(learned.gain / ideal.gain)} of what knowing everything from the start would",
    )


def _missed(learned: Expectation) -> str:
    """Say by how much the bar is missed: by the mean quality, or by decisions below it."""
    quality, bar = (readable(round(value, 4)) for value in (learned.quality.middle, learned.bar))
    missing = readable(round(learned.missing, 4))
    if learned.quality.middle < learned.bar:
        short = readable(round(learned.bar - learned.quality.middle, 4))
        return f"quality would be {quality} where the bar is {bar}: {short} too low"
    return (
        f"decisions would lack {missing} of good enough on average, though the mean quality, {quality}, is "
        f"above the bar of {bar}"
    )


def with_remedies(verdict: Verdict, remedies: Sequence[str]) -> Verdict:
    """Return a verdict that the bar is missed with what would hold it, as simulated."""
    held = (
        f"what would hold it: {', or '.join(remedies)}"
        if remedies
        else "nothing that was tried would hold it: ask for less, or bring better options"
    )
    return verdict._replace(words=f"{verdict.words}; {held}")


def _no(kind: Kind, words: str) -> Verdict:
    return Verdict(kind, False, f"not worth it: {words}")
