"""frugalbandits: find the cheapest option that is good enough, while you are already spending.

Options have known costs and unknown quality. Name the share alpha of quality that you would give up,
and learn online the cheapest option whose mean quality is at least (1 - alpha) times the best one's:
the multi-armed bandit with cost subsidy.

>>> import frugalbandits as fb
>>> session = fb.Session(costs={"small": 0.2, "large": 3.0}, alpha=0.1, horizon=1_000)
>>> decision = session.ask()
>>> session.tell(decision.id, reward=1.0)

Sessions need numpy alone. The names of the lab (`simulate`, `Problem`, `bounds`, ...) are loaded when they
are first used, and say what to install where it is missing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from frugalbandits._version import __version__
from frugalbandits.core.contract import Policy
from frugalbandits.core.planner import WarmUp, warm_up
from frugalbandits.core.policies.cof import COF
from frugalbandits.core.policies.etc_cs import ETCCS
from frugalbandits.core.policies.glr_cof import GLRCOF
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
    StateFormatError,
    StoreUnavailable,
    ToldBefore,
    UnknownDecision,
    UnknownSession,
    lab_needed,
)

if TYPE_CHECKING:
    from frugalbandits.lab import bounds
    from frugalbandits.lab.comparison import Comparison, compare
    from frugalbandits.lab.instances import (
        instance,
        instances,
        random_problem,
        random_problems,
        read_instance,
        write_instance,
    )
    from frugalbandits.lab.problem import Problem
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
    "ArmReport",
    "Arrival",
    "AtLeast",
    "Bernoulli",
    "BetaRewards",
    "Bills",
    "Change",
    "Changes",
    "Comparison",
    "Conflict",
    "Decision",
    "Departure",
    "DiscountedTSCS",
    "Drift",
    "Empirical",
    "Expired",
    "Explanation",
    "HorizonWarning",
    "InputError",
    "Outage",
    "Policy",
    "Price",
    "Problem",
    "Quality",
    "RelativeTo",
    "RelativeToBest",
    "RestartingUCBCS",
    "Result",
    "RewardModel",
    "Session",
    "StateFormatError",
    "StoreUnavailable",
    "ToldBefore",
    "TwoPoint",
    "UnknownDecision",
    "UnknownSession",
    "WarmUp",
    "WindowUCBCS",
    "World",
    "WorldResult",
    "__version__",
    "bounds",
    "compare",
    "instance",
    "instances",
    "named_world",
    "policies",
    "random_problem",
    "random_problems",
    "read_instance",
    "register",
    "simulate",
    "warm_up",
    "write_instance",
]

# Where the names of the lab live; "" stands for a module itself.
_LAB = {
    "Arrival": "worlds",
    "Bernoulli": "rewards",
    "BetaRewards": "rewards",
    "Bills": "worlds",
    "Drift": "worlds",
    "Comparison": "comparison",
    "Departure": "worlds",
    "Empirical": "rewards",
    "Outage": "worlds",
    "Price": "worlds",
    "Problem": "problem",
    "Result": "result",
    "RewardModel": "rewards",
    "TwoPoint": "rewards",
    "World": "worlds",
    "WorldResult": "worlds",
    "bounds": "",
    "compare": "comparison",
    "instance": "instances",
    "instances": "instances",
    "named_world": "worlds",
    "random_problem": "instances",
    "random_problems": "instances",
    "read_instance": "instances",
    "simulate": "simulation",
    "write_instance": "instances",
}


def __getattr__(name: str) -> Any:
    if name not in _LAB:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with lab_needed(f"{__name__}.{name}"):
        if _LAB[name]:
            value = getattr(import_module(f"{__name__}.lab.{_LAB[name]}"), name)
        else:
            value = import_module(f"{__name__}.lab.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
