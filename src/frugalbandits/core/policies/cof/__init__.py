"""COF, the paper's algorithm: `algorithm` has it line by line, the others what makes it fast and frugal."""

from frugalbandits.core.policies.cof.algorithm import COF, COFState

__all__ = ["COF", "COFState"]
