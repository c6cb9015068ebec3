"""Worlds: problems in which feedback is sparse or late, costs are learned, and options move, come and go."""

from frugalbandits.lab.worlds.happenings import Arrival, Bills, Departure, Drift, Outage, Price
from frugalbandits.lab.worlds.presets import PRESETS, WORLD_POLICIES, named_world
from frugalbandits.lab.worlds.result import WorldResult
from frugalbandits.lab.worlds.world import World

__all__ = [
    "PRESETS",
    "WORLD_POLICIES",
    "Arrival",
    "Bills",
    "Departure",
    "Drift",
    "Outage",
    "Price",
    "World",
    "WorldResult",
    "named_world",
]
