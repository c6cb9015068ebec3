"""TS-CS, Thompson sampling, in stretches that equal drawing every posterior, in law."""

from frugalbandits.core.policies.ts_cs.algorithm import TSCS, TSCSState

__all__ = ["TSCS", "TSCSState"]
