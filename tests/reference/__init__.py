"""Plain, slow reference implementations of the policies, written from the papers only.

They share no code with the package and serve as the independent check of it. Every function has the form

    run(pull, costs, alpha, horizon, rng=None, **options) -> (pulled arms, events)

where `pull(arm)` gives the reward of the next pull of that arm, the pulled arms are a list of `horizon`
indices in the caller's order, and an event is (pulls done when it was noted, "infeasible" or "optimal", arm).
COF, GLR-COF, VOI-CS and MIX-CS have two more bars: `reference`, an arm in the caller's order that sets the
bar in place of the best one, and `level`, a fixed bar, in place of alpha; an event may then be "unreachable".
Rewards are in [0, 1], 0 <= alpha < 1. Within each policy, arms are known by their position in order of cost
(ties in the caller's order), so that "cheapest" is "first".
"""

from functools import partial

from . import (
    cof,
    cof_cost_biased,
    etc_cs,
    glr_cof,
    mix_cs,
    pe_cs,
    ts_cs,
    ts_cs_discounted,
    ucb_cs,
    ucb_cs_restarts,
    ucb_cs_window,
    voi_cs,
)
from .table import Table

REFERENCES = {
    "cof": cof.run,
    "cof-no-exclusive": partial(cof.run, exclusive=False),
    "cof-no-combine": partial(cof.run, combine=False),
    "cof-cost-biased": cof_cost_biased.run,
    "glr-cof": glr_cof.run,
    "voi-cs": voi_cs.run,
    "mix-cs": mix_cs.run,
    "pe-cs": pe_cs.run,
    "ucb-cs": ucb_cs.run,
    "ts-cs": ts_cs.run,
    "etc-cs": etc_cs.run,
    "ts-cs-discounted": ts_cs_discounted.run,
    "ucb-cs-window": ucb_cs_window.run,
    "ucb-cs-restarts": ucb_cs_restarts.run,
}

__all__ = ["REFERENCES", "Table"]
