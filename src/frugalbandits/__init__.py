"""frugalbandits: find the cheapest option that is good enough, while you are already spending.

Options have known costs and unknown quality. Name the share alpha of quality that you would give up,
and learn online the cheapest option whose mean quality is at least (1 - alpha) times the best one's:
the multi-armed bandit with cost subsidy.

>>> import frugalbandits as fb
>>> session = fb.Session(costs={"small": 0.2, "large": 3.0}, alpha=0.1, horizon=1_000)
>>> decision = session.ask()
>>> session.tell(decision.id, reward=1.0)

Sessions need numpy alone. The names of the lab (`simulate`, `Problem`, `bounds`, ...) and of the client of
the decision service (`Client`, `AsyncClient`) are loaded when they are first used, and say what to install
where it is missing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from frugalbandits._version import __version__
from frugalbandits.core.contextual.context import Features, Segments, TextFeatures
from frugalbandits.core.contextual.contract import ContextualPolicy
from frugalbandits.core.contextual.dual_cof import DualCOF
from frugalbandits.core.contextual.explanation import ContextualExplanation
from frugalbandits.core.contextual.registry import register_contextual
from frugalbandits.core.contextual.session import ContextualSession
from frugalbandits.core.contract import Policy
from frugalbandits.core.planner import WarmUp, warm_up
from frugalbandits.core.policies.cof import COF
from frugalbandits.core.policies.etc_cs import ETCCS
from frugalbandits.core.policies.glr_cof import GLRCOF
from frugalbandits.core.policies.mix_cs import MixCS
from frugalbandits.core.policies.pe_cs import PECS
from frugalbandits.core.policies.ts_cs import TSCS
from frugalbandits.core.policies.ts_cs_discounted import DiscountedTSCS
from frugalbandits.core.policies.ucb_cs import UCBCS
from frugalbandits.core.policies.ucb_cs_restarts import RestartingUCBCS
from frugalbandits.core.policies.ucb_cs_window import WindowUCBCS
from frugalbandits.core.policies.voi_cs import VOICS
from frugalbandits.core.quality import AtLeast, Quality, RelativeTo, RelativeToBest
from frugalbandits.core.registry import policies, register
from frugalbandits.core.session import ArmReport, Change, Changes, Decision, Explanation, Session
from frugalbandits.errors import (
    Conflict,
    Expired,
    HorizonWarning,
    InputError,
    NotAllowed,
    ServiceUnavailable,
    StateFormatError,
    StoreUnavailable,
    ToldBefore,
    UnknownDecision,
    UnknownSession,
    extra_needed,
)

if TYPE_CHECKING:
    from frugalbandits.client import AsyncClient, Client
    from frugalbandits.lab import bounds
    from frugalbandits.lab.advice import Advice, advise
    from frugalbandits.lab.comparison import Comparison, compare
    from frugalbandits.lab.contextual import (
        ContextualProblem,
        ContextualResult,
        contextual_policies,
        read_routing,
        routing_instance,
        synthetic_routing,
        write_routing,
    )
    from frugalbandits.lab.instances import (
        instance,
        instances,
        random_problem,
        random_problems,
        read_instance,
        write_instance,
    )
    from frugalbandits.lab.problem import Problem
    from frugalbandits.lab.replay import Replay, replay
    from frugalbandits.lab.result import Result
    from frugalbandits.lab.rewards import Bernoulli, BetaRewards, Empirical, RewardModel, TwoPoint
    from frugalbandits.lab.simulation import simulate
    from frugalbandits.lab.worlds import (
        Arrival,
        Bills,
        Departure,
        Drift,
        Outage,
        Price,
        World,
        WorldResult,
        named_world,
    )

__all__ = [
    "COF",
    "ETCCS",
    "GLRCOF",
    "PECS",
    "TSCS",
    "UCBCS",
    "VOICS",
    "Advice",
    "ArmReport",
    "Arrival",
    "AsyncClient",
    "AtLeast",
    "Bernoulli",
    "BetaRewards",
    "Bills",
    "Change",
    "Changes",
    "Client",
    "Comparison",
    "Conflict",
    "ContextualExplanation",
    "ContextualPolicy",
    "ContextualProblem",
    "ContextualResult",
    "ContextualSession",
    "Decision",
    "Departure",
    "DiscountedTSCS",
    "Drift",
    "DualCOF",
    "Empirical",
    "Expired",
    "Explanation",
    "Features",
    "HorizonWarning",
    "InputError",
    "MixCS",
    "NotAllowed",
    "Outage",
    "Policy",
    "Price",
    "Problem",
    "Quality",
    "RelativeTo",
    "RelativeToBest",
    "Replay",
    "RestartingUCBCS",
    "Result",
    "RewardModel",
    "Segments",
    "ServiceUnavailable",
    "Session",
    "StateFormatError",
    "StoreUnavailable",
    "TextFeatures",
    "ToldBefore",
    "TwoPoint",
    "UnknownDecision",
    "UnknownSession",
    "WarmUp",
    "WindowUCBCS",
    "World",
    "WorldResult",
    "__version__",
    "advise",
    "bounds",
    "compare",
    "contextual_policies",
    "instance",
    "instances",
    "named_world",
    "policies",
    "random_problem",
    "random_problems",
    "read_instance",
    "read_routing",
    "register",
    "register_contextual",
    "replay",
    "routing_instance",
    "simulate",
    "synthetic_routing",
    "warm_up",
    "write_instance",
    "write_routing",
]

# Where the names of the wings live. A wing is called as the extra that brings what it needs.
_WINGS = {
    "Advice": "lab.advice",
    "Arrival": "lab.worlds",
    "AsyncClient": "client",
    "Bernoulli": "lab.rewards",
    "BetaRewards": "lab.rewards",
    "Bills": "lab.worlds",
    "Client": "client",
    "Comparison": "lab.comparison",
    "ContextualProblem": "lab.contextual",
    "ContextualResult": "lab.contextual",
    "Departure": "lab.worlds",
    "Drift": "lab.worlds",
    "Empirical": "lab.rewards",
    "Outage": "lab.worlds",
    "Price": "lab.worlds",
    "Problem": "lab.problem",
    "Replay": "lab.replay",
    "Result": "lab.result",
    "RewardModel": "lab.rewards",
    "TwoPoint": "lab.rewards",
    "World": "lab.worlds",
    "WorldResult": "lab.worlds",
    "advise": "lab.advice",
    "bounds": "lab",
    "compare": "lab.comparison",
    "contextual_policies": "lab.contextual",
    "instance": "lab.instances",
    "instances": "lab.instances",
    "named_world": "lab.worlds",
    "random_problem": "lab.instances",
    "random_problems": "lab.instances",
    "read_instance": "lab.instances",
    "read_routing": "lab.contextual",
    "replay": "lab.replay",
    "routing_instance": "lab.contextual",
    "simulate": "lab.simulation",
    "synthetic_routing": "lab.contextual",
    "write_instance": "lab.instances",
    "write_routing": "lab.contextual",
}


def __getattr__(name: str) -> Any:
    if name not in _WINGS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place, wing = f"{__name__}.{_WINGS[name]}", _WINGS[name].partition(".")[0]
    with extra_needed(f"{__name__}.{name}", wing):
        module = import_module(place)
        # What its package does not have by itself is a module of it.
        value = getattr(module, name) if hasattr(module, name) else import_module(f"{place}.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
