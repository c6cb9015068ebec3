"""Decisions that look at the query: populations of queries, their oracles, simulation, baselines."""

from frugalbandits.core.contextual.registry import contextual_policies
from frugalbandits.lab.contextual.baselines import BASELINES
from frugalbandits.lab.contextual.files import read_routing, write_routing
from frugalbandits.lab.contextual.named import ROUTING_INSTANCES, routing_instance
from frugalbandits.lab.contextual.oracle import Oracle, Rule
from frugalbandits.lab.contextual.problem import ContextualProblem
from frugalbandits.lab.contextual.result import ContextualResult, RoutingSummary
from frugalbandits.lab.contextual.running import simulate_contextual
from frugalbandits.lab.contextual.synthetic import synthetic_routing

__all__ = [
    "BASELINES",
    "ROUTING_INSTANCES",
    "ContextualProblem",
    "ContextualResult",
    "Oracle",
    "RoutingSummary",
    "Rule",
    "contextual_policies",
    "read_routing",
    "routing_instance",
    "simulate_contextual",
    "synthetic_routing",
    "write_routing",
]
