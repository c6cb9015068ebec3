"""What counts as success: late pulls on a*, and runs that settled on it; unfinished exploration does not."""

from __future__ import annotations

import numpy as np
import pytest

import frugalbandits as fb
from frugalbandits.lab.result import Result

EVENT = np.dtype([("run", np.int64), ("time", np.int64), ("event", "U11"), ("arm", np.int64)])
# a2 is optimal.
PROBLEM = fb.Problem([0.2, 0.7, 0.8], [1, 2, 9], alpha=0.2)
EASY = fb.Problem([0.9, 0.1], [1, 2], alpha=0.1)
CHEAPEST = fb.Problem([0.8, 0.81, 0.82], [1, 2, 3], alpha=0.1)


def by_hand(late, events=(), policy="cof", early=(0, 0, 800), times=(400, 800, 1000)):
    """Runs that pulled the arms `early` until t = 800 and then `late`, a row of it for each run."""
    late = np.atleast_2d(late)
    pulls = np.zeros((len(late), len(times), 3), np.int64)
    for at, time in enumerate(times):
        pulls[:, at] = np.array(early) * min(time, 800) // 800 + (late if time > 800 else 0)
    return Result(
        PROBLEM,
        policy,
        0,
        np.array(times),
        pulls,
        np.array(list(events), EVENT),
        np.ones(len(late), np.int64),
    )


# The two cases in which unfinished exploration used to count as found.


def test_equal_pulls_of_all_arms_are_no_success():
    result = fb.simulate(CHEAPEST, "cof", 300, runs=10, checkpoints=10)
    assert result.problem.optimal_arm == 0
    assert (result.pulls[:, -1] == 100).all() and len(result.events) == 0
    assert (result.final_arm == -1).all()
    assert result.found_optimal == 0.0
    assert result.late_from == 240
    assert result.late_on_optimal == pytest.approx(1 / 3)
    assert (result.settled, result.settled_on_optimal) == (0.0, 0.0)
    assert "33.3% of late pulls on 'a1', 0 of 10 runs settled on it" in repr(result)


def test_a_candidate_that_is_still_compared_is_no_success():
    result = fb.simulate(fb.instance("routerbench-mbpp", alpha=0.05), "cof", 100_000, runs=50)
    assert result.settled == 0.0
    assert 0.4 < result.late_on_optimal < 0.6
    assert result.found_optimal == 0.0
    assert (result.final_arm == -1).all()


# Definitions


@pytest.mark.parametrize(
    ("checkpoints", "start"),
    [(5, 800), (10, 800), (1000, 800), (4, 750), (1, 0), ([799], 799), ([801], 0), ([1, 800, 801], 800)],
)
def test_late_is_the_last_fifth_or_more_by_the_checkpoints(checkpoints, start):
    result = fb.simulate(PROBLEM, "etc-cs", 1000, runs=3, checkpoints=checkpoints)
    whole = fb.simulate(PROBLEM, "etc-cs", 1000, runs=3, checkpoints=1000)
    assert result.late_from == start
    expected = whole.pulls[:, -1] - (whole.pulls[:, start - 1] if start else 0)
    assert (result.late_pulls == expected).all()
    assert result.late_share == pytest.approx(expected[:, 1] / (1000 - start))


def test_late_pulls_are_counted_run_by_run():
    result = by_hand([[0, 200, 0], [100, 50, 50]])
    assert result.late_share.tolist() == [1.0, 0.25]
    assert result.late_on_optimal == 0.625


@pytest.mark.parametrize(
    ("late", "arm"),
    [([0, 200, 0], 1), ([20, 180, 0], 1), ([21, 179, 0], -1), ([0, 0, 200], 2), ([67, 67, 66], -1)],
)
def test_a_run_ends_on_the_arm_that_has_nine_tenths_of_its_late_pulls(late, arm):
    result = by_hand(late)
    assert result.final_arm.tolist() == [arm]
    assert result.found_optimal == (1.0 if arm == 1 else 0.0)


def test_a_run_that_settled_ends_on_that_arm_however_late():
    result = by_hand(
        [[100, 100, 0], [100, 100, 0], [0, 200, 0]], [(0, 900, "optimal", 1), (1, 990, "optimal", 0)]
    )
    assert result.settled_arm.tolist() == [1, 0, -1]
    assert result.settled == pytest.approx(2 / 3)
    assert result.settled_on_optimal == pytest.approx(1 / 3)
    assert result.final_arm.tolist() == [1, 0, 1]
    assert result.found_optimal == pytest.approx(2 / 3)


def test_arms_that_are_ruled_out_are_no_conclusion_on_a_star():
    result = by_hand([[100, 100, 0]], [(0, 10, "infeasible", 1), (0, 20, "unreachable", 1)])
    assert result.settled_arm.tolist() == [-1]


def test_the_order_of_the_arms_does_not_matter():
    turned = fb.Problem(PROBLEM.means[::-1], PROBLEM.costs[::-1], alpha=0.2)
    one, other = (fb.simulate(each, "cof", 50_000, runs=4) for each in (PROBLEM, turned))
    assert one.late_on_optimal == other.late_on_optimal == 1.0
    assert one.settled_arm.tolist() == other.settled_arm.tolist() == [1] * 4
    assert one.settled_on_optimal == other.settled_on_optimal == 1.0


def test_the_best_arm_may_be_settled_on_where_no_arm_reaches_the_level():
    problem = fb.Problem([0.2, 0.5], [1, 2], quality=fb.AtLeast(0.9))
    result = fb.simulate(problem, "cof", 20_000, runs=3)
    assert (result.events["event"] == "unreachable").sum() == 3
    assert result.settled_on_optimal == 1.0


# Policies that never settle


@pytest.mark.parametrize("policy", fb.policies())
def test_every_policy_settles_where_that_is_easy_or_says_that_it_never_does(policy):
    result = fb.simulate(EASY, policy, 100_000, runs=2)
    if result.settles:
        assert result.settled == result.settled_on_optimal == 1.0
        assert "2 of 2 runs settled on it" in repr(result)
    else:
        assert result.settled is None and result.settled_on_optimal is None
        assert not len(result.events)
        assert "settled" not in repr(result)


@pytest.mark.parametrize(
    "policy", [fb.ETCCS(budget=0.3), fb.TSCS(), fb.UCBCS(), "etc-cs:budget=0.3", "ts-cs"]
)
def test_settings_do_not_make_a_policy_settle(policy):
    result = fb.simulate(PROBLEM, policy, 2_000, runs=2)
    assert result.settled is None and result.settled_on_optimal is None
    assert result.late_on_optimal > 0


@pytest.mark.parametrize("policy", [fb.COF(delta=1e-4), fb.PECS(), fb.GLRCOF(), "cof:delta=1e-4", "mine"])
def test_other_policies_do(policy):
    label = policy if isinstance(policy, str) else repr(policy)
    assert by_hand([0, 200, 0], policy=label).settled == 0.0
