"""What policies would have spent and reached on the requests of a log."""

from frugalbandits.lab.replay.replaying import DEFAULT_POLICIES, looks, replay
from frugalbandits.lab.replay.result import Estimate, Line, Looked, Replay

__all__ = ["DEFAULT_POLICIES", "Estimate", "Line", "Looked", "Replay", "looks", "replay"]
