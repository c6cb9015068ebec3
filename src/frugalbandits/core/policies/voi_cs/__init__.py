"""VOI-CS, this package's policy for a world that moves: it asks what is worth knowing."""

from frugalbandits.core.policies.voi_cs.algorithm import VOICS, VOICSState

__all__ = ["VOICS", "VOICSState"]
