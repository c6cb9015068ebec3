"""Advice before the first decision: spend, saving, quality, days until it knows, and when not to."""

from frugalbandits.lab.advice.advising import POLICIES, Advice, advise, advise_on
from frugalbandits.lab.advice.case import Case, case_of, feedback_words
from frugalbandits.lab.advice.expectations import Expectation, Spread
from frugalbandits.lab.advice.trial import Trial
from frugalbandits.lab.advice.verdict import Verdict

__all__ = [
    "POLICIES",
    "Advice",
    "Case",
    "Expectation",
    "Spread",
    "Trial",
    "Verdict",
    "advise",
    "advise_on",
    "case_of",
    "feedback_words",
]
