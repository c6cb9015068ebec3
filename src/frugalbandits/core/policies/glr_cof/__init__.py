"""GLR-COF, this package's policy: its episodes, the evidence that it weighs, and which arm it pulls."""

from frugalbandits.core.policies.glr_cof.algorithm import GLRCOF, GLRCOFState

__all__ = ["GLRCOF", "GLRCOFState"]
