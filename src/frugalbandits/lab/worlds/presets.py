"""Worlds by name, for the command line, tables and first looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frugalbandits.errors import unknown_name
from frugalbandits.lab.instances.catalogue import as_problem
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.worlds.happenings import Arrival, Bills, Outage, Price
from frugalbandits.lab.worlds.world import World

__all__ = ["PRESETS", "WORLD_POLICIES", "named_world"]

#: What is compared in worlds by default.
WORLD_POLICIES = (
    "voi-cs",
    "glr-cof",
    "glr-cof:sampling=first",
    "ts-cs",
    "ts-cs-discounted",
    "ucb-cs-window",
    "ucb-cs-restarts",
)

_DOWN = 0.2  # of the options, at each call
_LATE = 100  # decisions


def named_world(name: str, problem: Problem | str, seed: int = 0, **more: Any) -> World:
    """Return a problem in a world by name; `frugal simulate --world` takes the same names.

    Parameters
    ----------
    name
        - "still": nothing moves, all feedback is there at once;
        - "sparse": 10% of the decisions are judged, "rare": 2%, "wanted": those that the policy asks for;
        - "late": feedback comes 100 decisions late;
        - "bills": lognormal bills, and told costs that are off by up to a factor of 2;
        - "drift": three random options change, "drift-10": ten; "drift-worse": the option to use gets
          worse, twice; "drift-slow": all means move all the time; "drift-better": an option out of use
          becomes the one to use;
        - "outages": each option is down at 20% of the calls, and the one to use for a fifth of the run;
        - "market": the option to use arrives after a quarter of the run, and the dearest costs half from
          the middle on;
        - "all": sparse, late, bills, drift, outages and market at once.
    problem
        A problem, or the name of a built-in instance.
    seed
        Of what is drawn when the world is made.
    more
        Settings of `World` to take in place of the preset's.

    Examples
    --------
    >>> named_world("outages", "nu1")
    World(7 options, alpha=0.8, 20% down at each call, 1 outage)
    """
    if name not in PRESETS:
        raise unknown_name("world", name, PRESETS)
    known = as_problem(problem)
    return World(known, seed=seed, **{**PRESETS[name](known), **more})


def _outages(problem: Problem) -> dict[str, Any]:
    return {"outages": (_DOWN, Outage(problem.optimal_arm, 0.4, 0.6))}


def _market(problem: Problem) -> dict[str, Any]:
    dearest = int(problem.order[-1])
    middle = float(problem.costs[dearest] + problem.costs[problem.order[0]]) / 2
    price = Price(dearest, 0.5, float(problem.costs[dearest]) / 2 if problem.costs[dearest] > 0 else middle)
    fixed = problem.optimal_arm == problem.reference or problem.arms < 3
    return {"options": (price,) if fixed else (Arrival(problem.optimal_arm, 0.25), price)}


def _all(problem: Problem) -> dict[str, Any]:
    return {
        "feedback": 0.1,
        "delay": _LATE,
        "costs": Bills(),
        "drift": 3,
        **_outages(problem),
        **_market(problem),
    }


#: What each world by name is made of, for a problem.
PRESETS: dict[str, Callable[[Problem], dict[str, Any]]] = {
    "still": lambda problem: {},
    "sparse": lambda problem: {"feedback": 0.1},
    "rare": lambda problem: {"feedback": 0.02},
    "wanted": lambda problem: {"feedback": "wanted"},
    "late": lambda problem: {"delay": _LATE},
    "bills": lambda problem: {"costs": Bills()},
    "drift": lambda problem: {"drift": 3},
    "drift-10": lambda problem: {"drift": 10},
    "drift-worse": lambda problem: {"drift": "worse"},
    "drift-slow": lambda problem: {"drift": "slow"},
    "drift-better": lambda problem: {"drift": "better"},
    "outages": _outages,
    "market": _market,
    "all": _all,
}
