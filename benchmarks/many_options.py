"""Section: how the time of one plan of the default policy grows with the number of options."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np

from effort import Effort
from frugalbandits.core.contract import Setting
from frugalbandits.core.jit import compile_for, machine_code
from frugalbandits.core.policies.voi_cs import VOICS
from frugalbandits.core.quality import AtLeast, Quality, RelativeToBest
from frugalbandits.core.tally import observe
from report import milliseconds, ratio, table

__all__ = ["section"]

OPTIONS = (20, 200, 1_000)
TIMED = 200  # plans at the end of a run
NEAR_LINEAR = 2.0

TEXT = """\
## Many options

Milliseconds of one compiled plan of VOI-CS with {sizes} options, in brackets as a multiple of the
first: the median of the last {timed} plans in {decisions:,} decisions, with all feedback told at once. Means
are uniform in 0.3 to 0.9 and prices in 0 to 1. Continuous rewards have Beta laws, so no two options have
equal sums. The last column is time per option, 1,000 options against 200: 1 is linear, 5 is quadratic. Goal:
at most {goal:g}.
"""

Rewards = Callable[[np.random.Generator, float, int], float]


def section(effort: Effort) -> str:
    rows, per_option = [], []
    for title, quality, rewards in _cases():
        seconds = [_plan_seconds(arms, quality, rewards, effort.planned) for arms in OPTIONS]
        per_option.append(seconds[2] / seconds[1] * OPTIONS[1] / OPTIONS[2])
        cells = [f"{milliseconds(each)} ({ratio(each / seconds[0])})" for each in seconds]
        rows.append([title, *cells, f"{per_option[-1]:.2f}"])
    text = TEXT.format(
        timed=TIMED,
        decisions=effort.planned,
        sizes=", ".join(f"{arms:,}" for arms in OPTIONS),
        goal=NEAR_LINEAR,
    )
    headers = ["rewards and bar", *(f"{arms:,} options" for arms in OPTIONS), "per option"]
    reached = "yes" if max(per_option) <= NEAR_LINEAR else "NO"
    return f"{text}\n{table(headers, rows)}\n\nNear-linear in every row: {reached}.\n"


def _cases() -> list[tuple[str, Quality, Rewards]]:
    best, level = RelativeToBest(0.1), AtLeast(0.8)
    return [
        ("0 or 1, 10% below the best", best, _bernoulli),
        ("continuous, 10% below the best", best, _continuous),
        ("0 or 1, at least 0.8", level, _bernoulli),
        ("continuous, at least 0.8", level, _continuous),
    ]


def _bernoulli(rng: np.random.Generator, mean: float, pulls: int) -> float:
    return float(rng.binomial(pulls, mean))


def _continuous(rng: np.random.Generator, mean: float, pulls: int) -> float:
    return float(rng.beta(4 * mean, 4 * (1 - mean), pulls).sum())


def _plan_seconds(arms: int, quality: Quality, rewards: Rewards, decisions: int) -> float:
    """Return the median time of the last plans of a run."""
    rng = np.random.default_rng(arms)
    means = rng.uniform(0.3, 0.9, arms)
    state = VOICS().start(Setting(np.sort(rng.uniform(0, 1, arms)), quality, None))
    plan = compile_for(machine_code(VOICS.plan), state, rng)
    taken: list[float] = []
    done = 0
    while done < decisions:
        began = time.perf_counter()
        batch = plan(state, rng)
        taken.append(time.perf_counter() - began)
        arm, pulls = int(batch.arms[0]), int(batch.repeats)
        observe(state, arm, pulls, rewards(rng, float(means[arm]), pulls))
        done += pulls
    return median(taken[-TIMED:])
