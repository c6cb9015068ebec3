"""Every policy that knows every quality bar ends on the right arm, and no run stays below the bar.

The problems are drawn from seeds on which nothing was tuned. All means are 0.05 or more from the bar, and all
costs 0.05 or more of their range apart.
"""

from __future__ import annotations

import numpy as np
import pytest

import frugalbandits as fb
from frugalbandits.core.contract import EACH
from frugalbandits.core.registry import policies, resolve

ABLE = [name for name in policies() if resolve(name).any_bar]
BARS = ("best", "named", "level")
CLEAR = 0.05
SHORT = 0.03  # how far below the bar the last fifth of a run may be
RUNS = 10
# COF's tests are of Hoeffding's width, so a gap of 0.05 takes long; MIX-CS does not wait for a conclusion.
HORIZONS = {name: 20_000_000 if name.startswith("cof") else 100_000 for name in ABLE} | {"mix-cs": 20_000}


def drawn_bar(kind, arms, rng):
    """Return a bar of a kind for so many arms."""
    share = round(float(rng.uniform(0.05, 0.4)), 3)
    if kind == "best":
        return fb.RelativeToBest(share)
    if kind == "named":
        return fb.RelativeTo(f"a{rng.integers(arms) + 1}", share)
    return fb.AtLeast(round(float(rng.uniform(0.2, 0.95)), 3))


def clear_problems(kind, count=10, seed=190_101):
    """Return problems in which every arm is clearly above or below a bar of this kind."""
    rng = np.random.default_rng([seed, BARS.index(kind)])
    found = []
    while len(found) < count:
        arms = int(rng.integers(2, 6))
        means = rng.uniform(0.1, 0.97, arms).round(3)
        costs = np.sort(rng.lognormal(0.0, 1.0, arms)).round(3)
        problem = fb.Problem(means, costs, quality=drawn_bar(kind, arms, rng))
        apart = np.abs(means - problem.threshold)
        if not problem.attainable:  # the best arm itself is the bar then
            apart = np.delete(apart, problem.optimal_arm)
        if apart.min() >= CLEAR and np.diff(costs).min() >= CLEAR * (costs[-1] - costs[0]):
            found.append(problem)
    return found


def late_quality(result):
    """Return the mean quality of the last fifth of each run."""
    return result.late_pulls @ result.problem.means / (result.horizon - result.late_from)


@pytest.mark.parametrize("kind", BARS)
@pytest.mark.parametrize("name", ABLE)
def test_late_pulls_are_on_the_right_arm_and_reach_the_bar(name, kind):
    """The seed is fixed, so this cannot fail by chance.

    VOI-CS draws no conclusion and lets about one run in a thousand stay below a relative bar, one in four
    thousand below a level (100 other problems, 40 runs each). With another seed it would fail once in ten.
    MIX-CS has no right arm: it promises the average, so only that is held against the bar.
    """
    for problem in clear_problems(kind):
        result = fb.simulate(problem, name, HORIZONS[name], runs=RUNS, seed=19, checkpoints=5, progress=False)
        if resolve(name).promise == EACH:
            assert result.late_on_optimal >= 0.9, problem
        assert late_quality(result).min() >= problem.threshold - SHORT, problem


def test_a_level_that_the_cheap_arm_misses_is_not_settled_for():
    """The problem of the report: VOI-CS had 0.51 of its late pulls on the optimal arm."""
    problem = fb.Problem([0.7, 0.84, 0.9], [0.2, 1, 3], quality=fb.AtLeast(0.8))
    ours, other = (fb.simulate(problem, name, 20_000, runs=100, seed=0) for name in ("voi-cs", "glr-cof"))
    assert ours.late_on_optimal >= 0.99
    assert ours.summary("scaled").mean < 2 * other.summary("scaled").mean


@pytest.mark.parametrize("seed", range(4))
def test_a_session_leaves_an_option_below_its_level(seed):
    """The default policy without a horizon, and 35% of the feedback: the demonstration `invoice-fields`."""
    quality = {"rules": 0.66, "scanner": 0.84, "reader": 0.95}
    session = fb.Session({"rules": 0.02, "scanner": 0.3, "reader": 1.1}, quality="at-least:0.8")
    rng = np.random.default_rng(seed)
    used = dict.fromkeys(quality, 0)
    for step in range(5_000):
        decision = session.ask()
        used[decision.option] += step >= 4_000
        if rng.random() < 0.35:
            session.tell(decision.id, float(rng.random() < quality[decision.option]))
        else:
            session.forget(decision.id)
    assert used["rules"] < 100
