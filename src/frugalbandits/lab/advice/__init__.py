"""Advice before the first decision: spend, saving, quality, days until it knows, and when not to."""

from frugalbandits.lab.advice.advising import Advice, advise
from frugalbandits.lab.advice.case import Case, feedback_words
from frugalbandits.lab.advice.outcome import Outcome, Spread
from frugalbandits.lab.advice.trial import Trial
from frugalbandits.lab.advice.verdict import Verdict

__all__ = ["Advice", "Case", "Outcome", "Spread", "Trial", "Verdict", "advise", "feedback_words"]
