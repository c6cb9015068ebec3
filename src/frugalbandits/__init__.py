"""frugalbandits: find the cheapest option that is good enough, while you are already spending.

Options have known costs and unknown quality. Name the share alpha of quality that you would give up,
and learn online the cheapest option whose mean quality is at least (1 - alpha) times the best one's:
the multi-armed bandit with cost subsidy.

>>> import frugalbandits as fb
>>> problem = fb.instance("goodreads", alpha=0.3)
>>> result = fb.simulate(problem, "cof", horizon=100_000, runs=4)
>>> result.found_optimal
1.0
"""

from frugalbandits import bounds
from frugalbandits._version import __version__
from frugalbandits.errors import InputError, StateFormatError
from frugalbandits.explain import ArmReport, Explanation
from frugalbandits.instances import (
    instance,
    instances,
    random_problem,
    random_problems,
    read_instance,
    write_instance,
)
from frugalbandits.policies import COF, ETCCS, GLRCOF, PECS, TSCS, UCBCS, Policy, policies, register
from frugalbandits.problem import Problem
from frugalbandits.quality import AtLeast, Quality, RelativeTo, RelativeToBest
from frugalbandits.result import Result
from frugalbandits.rewards import Bernoulli, BetaRewards, Empirical, RewardModel, TwoPoint
from frugalbandits.session import Decision, Session
from frugalbandits.simulate import simulate

__all__ = [
    "COF",
    "ETCCS",
    "GLRCOF",
    "PECS",
    "TSCS",
    "UCBCS",
    "ArmReport",
    "AtLeast",
    "Bernoulli",
    "BetaRewards",
    "Decision",
    "Empirical",
    "Explanation",
    "InputError",
    "Policy",
    "Problem",
    "Quality",
    "RelativeTo",
    "RelativeToBest",
    "Result",
    "RewardModel",
    "Session",
    "StateFormatError",
    "TwoPoint",
    "__version__",
    "bounds",
    "instance",
    "instances",
    "policies",
    "random_problem",
    "random_problems",
    "read_instance",
    "register",
    "simulate",
    "write_instance",
]
