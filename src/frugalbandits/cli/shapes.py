"""What `--json` prints: every command's document as plain values; docs/cli.md states each shape.

Numbers are those of the tables, at full precision. JSON has no word for what is infinite or not a number:
that is null.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from frugalbandits.cli.documents import document, plain
from frugalbandits.core.contract import Policy
from frugalbandits.core.quality import AtLeast, Quality, quality_to_dict
from frugalbandits.core.registry import policy_title
from frugalbandits.lab.advice import Advice, Expectation
from frugalbandits.lab.bounds import Overview
from frugalbandits.lab.bounds.side_by_side import FAMILIES, OBJECTIVES
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.promise import shown_checkpoints
from frugalbandits.lab.ratings import GenreRatings
from frugalbandits.lab.replay import Replay
from frugalbandits.lab.result import Result
from frugalbandits.lab.sweeps.cells import Outcome
from frugalbandits.lab.terminal import Cell, WorldCell
from frugalbandits.lab.text import role
from frugalbandits.lab.worlds.result import KINDS

__all__ = [
    "advice_shape",
    "bounds_shape",
    "cell_shape",
    "document",
    "genres_shape",
    "instance_shape",
    "listed_instance_shape",
    "outcome_shape",
    "policy_shape",
    "replay_shape",
    "world_shape",
]


def policy_shape(name: str, policy: Policy) -> dict[str, Any]:
    """Return a policy as `frugal policies` tells it."""
    settings = {field.name: getattr(policy, field.name) for field in dataclasses.fields(policy)}
    return {
        "name": name,
        "title": policy_title(name),
        "method": type(policy).title,
        "settings": settings,
        "any_bar": policy.any_bar,
    }


def listed_instance_shape(name: str, problem: Problem, source: str) -> dict[str, Any]:
    """Return an instance as the list of instances tells it."""
    return {
        "name": name,
        "source": source,
        **_bar(problem.quality),
        "arms": problem.arms,
        "optimal": problem.names[problem.optimal_arm],
    }


def instance_shape(name: str, problem: Problem, source: str) -> dict[str, Any]:
    """Return an instance with all its arms, from the cheapest to the most expensive."""
    return {
        "name": name,
        "source": source,
        **_bar(problem.quality),
        "threshold": problem.threshold,
        "attainable": problem.attainable,
        "optimal": problem.names[problem.optimal_arm],
        "best": problem.names[problem.best_arm],
        "arms": [
            {
                "name": problem.names[arm],
                "cost": problem.costs[arm],
                "mean": problem.means[arm],
                "feasible": problem.feasible[arm],
                "role": role(problem, arm),
            }
            for arm in problem.order.tolist()
        ],
    }


def cell_shape(cell: Cell) -> dict[str, Any]:
    """Return a simulated policy."""
    problem = cell.result.problem
    return {
        "instance": cell.instance,
        **_bar(problem.quality),
        "attainable": problem.attainable,
        "optimal": problem.names[problem.optimal_arm],
        "policy": cell.result.policy,
        "horizon": cell.result.horizon,
        "runs": cell.result.runs,
        "seed": cell.result.seed,
        **_regrets(cell.result),
        **_promise(cell.result),
        "promise": cell.result.promise,
        "average": _average(cell.result),
        "seconds": cell.seconds,
    }


def _promise(result: Result) -> dict[str, Any]:
    """Return how a policy kept the promise of the bar: at the horizon, and at the checkpoints of tables."""
    return {
        "held": float(result.held[-1]),
        "delivered_low": float(result.delivered_low[-1]),
        "held_at": [
            {
                "time": int(result.times[at]),
                "held": float(result.held[at]),
                "delivered_low": float(result.delivered_low[at]),
            }
            for at in shown_checkpoints(result.times)
        ],
        "late_good": result.late_good,
        "spend_over_oracle": float(result.spend_over_oracle[:, -1].mean()),
        "overspend": float(result.overspend[:, -1].mean()),
        "promise_regret": float(result.promise_regret[:, -1].mean()),
        "allowance": result.problem.allowance,
        "cost_range": result.problem.cost_range,
    }


def _average(result: Result) -> dict[str, Any]:
    """Return cost and quality of the pulls on average, beside the cheapest mix."""
    problem, mix = result.problem, result.problem.mix
    return {
        "cost": float(result.cost[:, -1].mean()),
        "quality": float(result.quality[:, -1].mean()),
        "worst_quality": float(result.quality[:, -1].min()),
        "mix_regret": float(result.mix_regret[:, -1].mean()),
        "mix": {
            "cheap": problem.names[mix.cheap],
            "dear": problem.names[mix.dear],
            "share": mix.share,
            "cost": mix.cost,
            "quality": mix.quality,
            "bar": mix.bar,
            "price": mix.price,
        },
    }


def world_shape(cell: WorldCell) -> dict[str, Any]:
    """Return a policy that was simulated in a world."""
    result = cell.result
    return {
        "instance": cell.instance,
        **_bar(result.problem.quality),
        "world": cell.world,
        "about": result.world.about,
        "worth": result.world.worth,
        "policy": result.policy,
        "horizon": result.horizon,
        "runs": result.runs,
        "seed": result.seed,
        **{f"{kind}_regret": result.summary(kind) for kind in KINDS},
        "judged_share": result.judged_share,
        "spend": float(result.spend[:, -1].mean()),
        "spend_on_best": float(result.spend_on_best[:, -1].mean()),
        "saving": result.saving,
        "alarms": len(result.alarms) / result.runs,
        "false_alarms": result.false_alarms,
        "happened": [
            {"time": each.time, "option": each.option, "what": each.what} for each in result.happened
        ],
        "notes": result.notes,
        "seconds": cell.seconds,
    }


def outcome_shape(outcome: Outcome) -> dict[str, Any]:
    """Return a cell of a sweep."""
    return {**plain(outcome.cell), **_regrets(outcome.result), "seconds": outcome.seconds}


def bounds_shape(name: str, shown: Overview, results: Sequence[Result]) -> dict[str, Any]:
    """Return the bounds of an instance and what policies did on it."""
    problem, upper, least = shown.problem, shown.upper, shown.least["bernoulli", "sum"]
    shared = shown.joint["bernoulli"]

    def against_least(regret: float) -> float | None:
        return regret / least.value if 0 < least.value < math.inf else None

    return {
        "instance": name,
        **_bar(problem.quality),
        "horizon": shown.horizon,
        "sigma": shown.sigma,
        "threshold": problem.threshold,
        "optimal": problem.names[problem.optimal_arm],
        "arms": [
            {
                "name": problem.names[arm],
                "role": shown.roles.label(arm),
                "cost_gap": problem.cost_gaps[arm],
                "quality_gap": problem.quality_gaps[arm],
                "lower_pulls": {family: shown.lower[family][arm] for family in FAMILIES},
                "least_regret_pulls": least.pulls[arm],
                "cof_at_most_pulls": None if upper is None else upper.pulls[arm],
                "mean_pulls": {result.policy: result.pulls[:, -1, arm].mean() for result in results},
            }
            for arm in problem.order.tolist()
        ],
        "least_regret": {
            family: {objective: shown.least[family, objective].value for objective in OBJECTIVES}
            for family in FAMILIES
        },
        "cof_at_most": None
        if upper is None
        else {
            "delta": upper.delta,
            "cost": upper.cost_regret,
            "quality": upper.quality_regret,
            "sum": upper.summed_regret,
            "against_least": against_least(upper.summed_regret),
        },
        "joint_bound": None
        if shared is None
        else {
            "arm": problem.names[shared.arm],
            "shared_by": [problem.names[arm] for arm in problem.order.tolist() if shared.weights[arm] > 0],
            "free": shared.free,
        },
        "too_early": least.too_early,
        "measured": [
            {
                "policy": result.policy,
                "runs": result.runs,
                "seed": result.seed,
                **_regrets(result),
                "against_least": against_least(result.summary().mean),
            }
            for result in results
        ],
    }


def advice_shape(advice: Advice) -> dict[str, Any]:
    """Return advice: what was asked, the verdict, what to do, and what each plan comes to."""
    case = advice.case
    return {
        **_bar(case.quality),
        "volume": case.volume,
        "days": case.days,
        "now": None if case.now is None else case.names[case.now],
        "held_against": case.names[case.anchor],
        "feedback": case.feedback,
        "judge_price": case.judge_price,
        "worth": case.worth,
        "runs": advice.runs,
        "seed": advice.trials[0].seed,
        "verdict": advice.verdict,
        "advised": {"policy": advice.policy, "feedback": advice.feedback, "session": advice.session},
        "options": advice.standings,
        "plans": [_plan_shape(row, case.volume) for row in advice.plans],
        "by_feedback": [_plan_shape(row, case.volume) for row in advice.by_feedback],
        "bars": [{**row._asdict(), "quality": quality_to_dict(row.quality)} for row in advice.bars],
    }


def _plan_shape(row: Expectation, volume: int) -> dict[str, Any]:
    judged = None if row.judged is None else row.judged * volume
    return {**row._asdict(), "judged_a_day": judged}


def genres_shape(found: GenreRatings, problem: Problem, above: float) -> list[dict[str, Any]]:
    """Return the genres of rating data, in the order of their names."""
    shares = found.shares(above)
    return [
        {
            "name": name,
            "ratings": found.totals[arm],
            "mean_rating": found.means[arm],
            "share_above": shares[arm],
            "cost": problem.costs[arm],
        }
        for arm, name in enumerate(found.names)
    ]


def _bar(quality: Quality) -> dict[str, Any]:
    alpha = None if isinstance(quality, AtLeast) else quality.alpha
    return {"quality": quality_to_dict(quality), "alpha": alpha}


def _regrets(result: Result) -> dict[str, Any]:
    """Return mean and percentiles of each regret, and how well they found the optimal arm."""
    return {
        "summed_regret": result.summary("summed"),
        "cost_regret": result.summary("cost"),
        "quality_regret": result.summary("quality"),
        "scaled_regret": result.summary("scaled"),
        "worth": result.problem.worth,
        "late_on_optimal": result.late_on_optimal,
        "settled_on_optimal": result.settled_on_optimal,
    }


def replay_shape(replay: Replay) -> dict[str, Any]:
    """Return a replay with all its lines."""
    problem = replay.problem
    return {
        "log": replay.source,
        "requests": replay.requests,
        "judged": replay.judged,
        "horizon": replay.horizon,
        **_bar(problem.quality),
        "identified": replay.identified,
        "identification": replay.identification or None,
        "estimator": replay.estimator,
        "method": replay.method,
        "assumes": replay.assumes,
        "covers": replay.covers,
        "effort": replay.effort,
        "looked": replay.looked,
        "bar": replay.bar,
        "against": replay.against,
        "options": [
            {
                "name": problem.names[arm],
                "rows": replay.rows[problem.names[arm]],
                "mean": problem.means[arm],
                "cost": problem.costs[arm],
                "feasible": problem.feasible[arm],
                "quality_bounds": (replay.quality_bounds or {}).get(problem.names[arm]),
            }
            for arm in problem.order.tolist()
        ],
        "lines": replay.lines,
        "changes": replay.changes,
        "warnings": replay.warnings,
    }
