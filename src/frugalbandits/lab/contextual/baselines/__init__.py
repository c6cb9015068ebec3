"""What others do, to compare with: rules of the literature, and policies that look at no query.

Each is known by name to `simulate` on a `ContextualProblem`. They are for simulations: no session runs them.
"""

from frugalbandits.core.contextual.contract import ContextualPolicy
from frugalbandits.core.contextual.registry import register_contextual
from frugalbandits.lab.contextual.baselines.batched import BatchedGLRCOF, BatchedMixCS, BatchedVOICS
from frugalbandits.lab.contextual.baselines.linucb import LinUCB
from frugalbandits.lab.contextual.baselines.squarecb import SquareCB
from frugalbandits.lab.contextual.baselines.thompson import LinearTSCS
from frugalbandits.lab.contextual.baselines.virtual_queue import VirtualQueue

__all__ = [
    "BASELINES",
    "BatchedGLRCOF",
    "BatchedMixCS",
    "BatchedVOICS",
    "LinUCB",
    "LinearTSCS",
    "SquareCB",
    "VirtualQueue",
]

_MADE: dict[str, tuple[ContextualPolicy, str]] = {
    "glr-cof": (BatchedGLRCOF(), "GLR-COF"),
    "glr-cof-segments": (BatchedGLRCOF(by_segment=True), "GLR-COF by segment"),
    "voi-cs": (BatchedVOICS(), "VOI-CS"),
    "voi-cs-segments": (BatchedVOICS(by_segment=True), "VOI-CS by segment"),
    "mix-cs": (BatchedMixCS(), "MIX-CS"),
    "ts-cs-linear": (LinearTSCS(), "per-query TS-CS"),
    "linucb": (LinUCB(), "LinUCB"),
    "virtual-queue": (VirtualQueue(), "virtual queue"),
    "squarecb": (SquareCB(), "SquareCB (Lagrangian)"),
}

for _name, (_policy, _title) in _MADE.items():
    register_contextual(_name, _policy, _title)

#: The names of the baselines.
BASELINES = tuple(_MADE)
