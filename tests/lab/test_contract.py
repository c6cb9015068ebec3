"""Policies by name in the simulator, and against their references on the paper's instances."""

from __future__ import annotations

import numpy as np
import pytest

import frugalbandits as fb
from frugalbandits.core.registry import resolve
from harness import DETERMINISTIC, play, pull_from, reward_table
from reference import REFERENCES

SLOW = {"glr-cof": 2_000, "ucb-cs-restarts": 2_500, "voi-cs": 4_000, "ucb-cs-window": 6_000}


def test_settings_may_follow_a_name():
    assert resolve("glr-cof:tolerance=0.02") == fb.GLRCOF(tolerance=0.02)
    assert resolve("cof: delta=1e-6, combine=False") == fb.COF(delta=1e-6, combine=False)
    assert resolve("cof-no-combine:delta=none,exclusive=true") == fb.COF(combine=False)
    assert resolve("pe-cs:kappa=3") == fb.PECS(kappa=3)
    assert resolve("cof:sampling=cost-biased") == resolve("cof-cost-biased")
    told = [
        fb.simulate(fb.instance("nu1"), policy, 5_000, runs=3).pulls
        for policy in ("etc-cs:budget=0.1", fb.ETCCS(budget=0.1))
    ]
    assert np.array_equal(*told)
    session = fb.Session([1, 2], 0.1, "cof:delta=0.01")
    assert fb.Session.from_json(session.to_json()).to_json() == session.to_json()
    assert "cof:delta=0.01" in repr(session)


@pytest.mark.parametrize("name", DETERMINISTIC)
@pytest.mark.parametrize("instance", ["goodreads", "movielens", "nu1", "nu2", "cost-biased"])
def test_policy_equals_reference_on_the_papers_instances(name, instance):
    problem = fb.instance(instance)
    # Some references are slow: those of GLR-COF and VOI-CS find each minimum by bisection.
    horizon = SLOW.get(name, 20_000)
    table = reward_table(7, problem.means, horizon, "bernoulli")
    pulled, events = play(name, problem.costs, problem.alpha, horizon, pull_from(table))
    expected, expected_events = REFERENCES[name](pull_from(table), problem.costs, problem.alpha, horizon)
    assert events == expected_events
    assert pulled == expected
