"""LiteLLM: calls go to the cheapest model that is good enough, by its `Router` or its proxy.

What is needed comes with the extra ``litellm``.

>>> from frugalbandits.integrations.litellm import FrugalRouter, ValidJSON
>>> frugal = FrugalRouter("chat", quality="relative-to-best:0.05", judge=ValidJSON())

``frugal.attach(router)`` does the rest. See the page "Routing LLM calls" of the documentation.
"""

from frugalbandits.integrations.litellm.checks import All, Exact, Length, Matches, MatchesSchema, ValidJSON
from frugalbandits.integrations.litellm.judges import (
    ClippedReward,
    Query,
    Request,
    Sampled,
    Thumbs,
    UnclearVerdict,
    Verdict,
    text_of,
)
from frugalbandits.integrations.litellm.llm_judge import LLMJudge
from frugalbandits.integrations.litellm.report import OptionReport, Report
from frugalbandits.integrations.litellm.router import FrugalRouter

__all__ = [
    "All",
    "ClippedReward",
    "Exact",
    "FrugalRouter",
    "LLMJudge",
    "Length",
    "Matches",
    "MatchesSchema",
    "OptionReport",
    "Query",
    "Report",
    "Request",
    "Sampled",
    "Thumbs",
    "UnclearVerdict",
    "ValidJSON",
    "Verdict",
    "text_of",
]
