"""The paper's bounds as numbers, for any problem.

Lower bounds on the pulls of every consistent policy, the least regret that they allow, and COF's upper
bounds. `docs/theory.md` states them in words, with the slips of the paper's text that the code corrects.
"""

from frugalbandits.lab.bounds.divergence import bernoulli_kl, d_inf, reverse_d_inf
from frugalbandits.lab.bounds.lower import Joint, best_arm_pulls, joint, joints, lower_pulls
from frugalbandits.lab.bounds.parts import Roles, roles
from frugalbandits.lab.bounds.programme import LeastRegret, least_regret
from frugalbandits.lab.bounds.side_by_side import Overview, overview
from frugalbandits.lab.bounds.upper import CofUpper, Rounds, cof_upper, rounds

__all__ = [
    "CofUpper",
    "Joint",
    "LeastRegret",
    "Overview",
    "Roles",
    "Rounds",
    "bernoulli_kl",
    "best_arm_pulls",
    "cof_upper",
    "d_inf",
    "joint",
    "joints",
    "least_regret",
    "lower_pulls",
    "overview",
    "reverse_d_inf",
    "roles",
    "rounds",
]
