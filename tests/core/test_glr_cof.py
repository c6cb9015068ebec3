"""GLR-COF: its two statistics against plain minimisation, its proven threshold, and its edges."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.likelihood import interval
from frugalbandits.core.policies.glr_cof.evidence import (
    Arm,
    evidence_against,
    evidence_for,
    penalty,
)
from frugalbandits.core.tally import observe
from harness import COSTS, cases, play, pull_from, run_in_turn, setting_of
from reference import REFERENCES
from reference.glr_cof import kl, proven_against


def records(pulls, means):
    """Return the records that the tests look at."""
    return [Arm(float(n), float(n), n * m, True) for n, m in zip(pulls, means, strict=True)]


def least(function, low, high):
    """Least value of a convex function on an interval: grids, each around the best point of the last one."""
    for _ in range(12):
        grid = np.linspace(low, high, 60)
        values = [function(y) for y in grid]
        at = int(np.argmin(values))
        low, high = grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]
    return min(values)


# The plain minimisation has no answer for means below 1e-12 or so; the any-tally test has them.
MEANS = st.one_of(st.floats(1e-12, 1), st.sampled_from([0.0, 1e-9, 0.5, 1 - 1e-9, 1.0]))
PULLS = st.one_of(st.integers(1, 20), st.integers(1, 10**7))
ALPHAS = st.one_of(st.just(0.0), st.floats(0, 0.99))


@given(
    pulls=st.tuples(PULLS, PULLS),
    means=st.tuples(MEANS, MEANS),
    alpha=ALPHAS,
    tolerance=st.one_of(st.just(0.0), st.floats(1e-6, 0.5)),
)
def test_evidence_for_the_candidate_is_the_least_divergence(pulls, means, alpha, tolerance):
    keep = 1 - alpha
    arms = records(pulls, means)
    m = [arm.total / arm.pulls for arm in arms]
    evidence_for(arms, 0, 1, keep, tolerance)

    def divergence(y):
        return pulls[0] * kl(m[0], min(max(keep * y - tolerance, 0), 1)) + pulls[1] * kl(m[1], y)

    if tolerance >= keep:
        expected = math.inf
    elif keep * m[1] - tolerance >= m[0]:
        expected = 0.0
    else:
        expected = least(divergence, max(m[1], tolerance / keep), min((m[0] + tolerance) / keep, 1.0))
    assert arms[1].evidence == pytest.approx(expected, rel=1e-6, abs=1e-6)


@given(data=st.data(), count=st.integers(2, 8), alpha=ALPHAS)
def test_evidence_against_the_candidate_is_the_least_joint_divergence(data, count, alpha):
    keep = 1 - alpha
    pulls = data.draw(st.lists(PULLS, min_size=count, max_size=count))
    arms = records(pulls, data.draw(st.lists(MEANS, min_size=count, max_size=count)))
    m = [arm.total / arm.pulls for arm in arms]

    def divergence(y):
        own = pulls[0] * kl(m[0], keep * y)
        return own + sum(pulls[k] * kl(m[k], y) for k in range(1, count) if m[k] > y)

    low, high = m[0] / keep, max(m[1:])
    expected = least(divergence, low, high) if low < high else 0.0
    assert evidence_against(arms, 0, keep, 0.0) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@given(pulls=PULLS, mean=MEANS, limit=st.floats(0.01, 50))
def test_interval_is_where_the_divergence_is_within_the_limit(pulls, mean, limit):
    low, high = interval(pulls, pulls * mean, limit)
    assert 0 <= low <= mean <= high <= 1
    for end in (low, high):
        # One float further may be a large step of the divergence near 0 and 1.
        assert pulls * kl(mean, end) <= limit * (1 + 1e-6) or end > 1 - 1e-15 or abs(end - mean) < 1e-12
    if low > 1e-9:
        assert pulls * kl(mean, low * (1 - 1e-6)) > limit * (1 - 1e-9)
    if high < 1 - 1e-9:
        assert pulls * kl(mean, high + (1 - high) * 1e-6) > limit * (1 - 1e-9)


@given(
    case=cases(horizons=(20, 1000)),
    delta=st.sampled_from([None, 0.01, 0.5, 0.9]),
    tolerance=st.sampled_from([0.0, 0.0, 0.05]),
    threshold=st.sampled_from(["practical", "proven", "proven"]),
    goal=st.sampled_from(["regret", "regret", "conclusion"]),
    sampling=st.sampled_from(["stakes", "stakes", "first"]),
)
def test_every_setting_equals_its_reference(case, delta, tolerance, threshold, goal, sampling):
    costs, alpha, horizon, table = case
    options = {"delta": delta, "tolerance": tolerance, "threshold": threshold, "goal": goal}
    options["sampling"] = sampling
    expected = REFERENCES["glr-cof"](pull_from(table), costs, alpha, horizon, **options)
    assert play(fb.GLRCOF(**options), costs, alpha, horizon, pull_from(table)) == expected


@given(data=st.data(), count=st.integers(2, 5), tolerance=st.sampled_from([0.0, 0.05, 1.0]))
def test_any_tally_has_a_plan_and_an_explanation(data, count, tolerance):
    policy = fb.GLRCOF(
        delta=data.draw(st.sampled_from([1e-9, 0.01, 0.9])),
        tolerance=tolerance,
        threshold=data.draw(st.sampled_from(["practical", "proven"])),
        goal=data.draw(st.sampled_from(["regret", "conclusion"])),
        sampling=data.draw(st.sampled_from(["stakes", "first"])),
    )
    state = policy.start(setting_of(np.arange(count, dtype=float), data.draw(ALPHAS), None))
    for arm in range(count):
        pulls = data.draw(st.integers(0, 10**9))
        observe(state, arm, pulls, pulls * data.draw(st.floats(0, 1)))
        state.tally.pending[arm] = data.draw(st.integers(0, 3))
    batch = policy.plan(state, None)
    again = policy.plan(state, None)
    assert batch.repeats >= 1
    assert again.arms.tolist() == batch.arms.tolist() and again.repeats == batch.repeats
    bounds = policy.bounds(state)
    assert (bounds.lower <= bounds.upper).all()
    assert bounds.evidence is not None and (np.isnan(bounds.evidence) | (bounds.evidence >= 0)).all()
    assert all(policy.reason(state, int(arm)) for arm in batch.arms)


def test_late_feedback_does_not_flood_an_option():
    """No feedback ever comes: the options are still asked for in balance."""
    session = fb.Session(COSTS, 0.1, "glr-cof", 10_000)
    asked = [session.ask().arm for _ in range(600)]
    assert min(asked.count(name) for name in COSTS) >= 5


def test_explanation_weighs_the_evidence():
    session = fb.Session(COSTS, 0.1, fb.GLRCOF(delta=1e-3, goal="conclusion"))
    run_in_turn(session, 40)
    explanation = session.explain()
    assert explanation.needed == pytest.approx(math.log(1000))
    assert "a conclusion takes evidence of 6.91" in str(explanation)
    lines = str(explanation).splitlines()
    assert "evidence" in lines[lines.index("") + 1].split()
    assert json.loads(json.dumps(explanation.to_dict()))["arms"][-1]["evidence"] >= 0
    run_in_turn(session, 30_000, seed=1)
    after = session.explain()
    assert after.decision == "small"
    large = after.arms[-1]
    assert large.status == "not needed" and large.evidence is not None
    assert large.evidence >= after.needed
    assert [arm.evidence for arm in after.arms[:2]] == [None, None]


def test_explanation_names_the_likely_option():
    session = fb.Session(COSTS, 0.1, "glr-cof", 100_000)
    first = session.ask()
    assert first.reason == "first look at every option" and session.explain().likely is None
    session.forget(first.id)
    run_in_turn(session, 3_000)
    explanation = session.explain()
    assert explanation.likely == "small" and explanation.decision is None
    small = explanation.arms[1]
    words = "Recommended: 'small' after 3,001 decisions: the cheapest option whose mean so far"
    assert (
        explanation.headline == f"{words} ({small.mean:.4f}) reaches the bar ({explanation.threshold:.4f})."
    )
    assert explanation.to_dict()["likely"] == "small"
    assert [arm.status for arm in explanation.arms] == ["candidate", "likely", "costs more"]
    reasons = {(decision.arm, decision.reason) for decision in (session.ask() for _ in range(2_000))}
    assert ("small", "likely: the cheapest option that looks good enough") in reasons


def test_other_policies_say_nothing_of_evidence():
    session = fb.Session(COSTS, 0.1, "cof", 1_000)
    run_in_turn(session, 100)
    assert "evidence" not in str(session.explain())
    assert "evidence" not in session.explain().to_dict()["arms"][0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delta": 0.0}, "delta must lie strictly between 0 and 1, but it is 0.0"),
        ({"delta": 1.0}, "delta must lie strictly between 0 and 1, but it is 1.0"),
        ({"tolerance": -0.1}, "tolerance must lie in \\[0, 1\\], but it is -0.1"),
        ({"tolerance": math.nan}, "tolerance must be finite, but it is nan"),
        ({"tolerance": "x"}, "tolerance must be a number, but it is 'x'"),
    ],
)
@pytest.mark.parametrize("policy", [fb.COF, fb.GLRCOF])
def test_bad_settings_are_named(policy, options, words):
    with pytest.raises(fb.InputError, match=words):
        policy(**options)


def test_bad_threshold_is_named():
    with pytest.raises(fb.InputError, match="'practical' or 'proven', but it is 'sure'"):
        fb.GLRCOF(threshold="sure")
    with pytest.raises(fb.InputError, match="'regret' or 'conclusion', but it is 'both'"):
        fb.GLRCOF(goal="both")
    with pytest.raises(fb.InputError, match="glr-cof needs a horizon or a delta"):
        fb.Session(COSTS, 0.1, "glr-cof:goal=conclusion")
    with pytest.raises(fb.InputError, match="glr-cof needs a horizon or a delta"):
        fb.Session(COSTS, policy="glr-cof", quality="at-least:0.7")


def test_without_a_horizon_the_pulls_are_the_same():
    ends = [run_in_turn(fb.Session(COSTS, 0.1, "glr-cof", horizon), 3_000) for horizon in (None, 10**12)]
    assert ends[0] == ends[1]
    session = fb.Session(COSTS, 0.1, "glr-cof")
    run_in_turn(session, 3_000)
    explanation = session.explain()
    assert explanation.needed is None and "conclusion" not in str(explanation)
    for arm in explanation.arms:
        assert 0 < arm.lcb < arm.mean < arm.ucb < 1


@given(data=st.data(), count=st.integers(2, 8), alpha=ALPHAS, alone=st.booleans())
def test_proven_evidence_is_of_the_arms_that_are_worth_what_they_pay(data, count, alpha, alone):
    pulls = data.draw(st.lists(st.integers(1, 3_000), min_size=count, max_size=count))
    arms = records(pulls, data.draw(st.lists(st.floats(0.02, 0.98), min_size=count, max_size=count)))
    m = [arm.total / arm.pulls for arm in arms]
    judges = [count - 1] if alone else list(range(count))
    for k, arm in enumerate(arms):
        arm.judge, arm.penalty = k in judges, penalty(pulls[k])
    expected = proven_against(pulls, m, 0, 1 - alpha, judges, alone)
    entry = 0.0 if alone else math.log(count)
    assert evidence_against(arms, 0, 1 - alpha, entry) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_an_arm_takes_part_as_soon_as_it_is_worth_what_it_pays():
    """The third arm's pulls grow through the point where its own term exceeds what it pays."""
    entering = 0
    for third in range(20, 120):
        pulls, m = [400, 300, third], [0.3, 0.8, 0.75]
        arms = records(pulls, m)
        for arm in arms:
            arm.penalty = penalty(arm.pulls)
        expected = proven_against(pulls, m, 0, 0.9, [0, 1, 2], False)
        assert evidence_against(arms, 0, 0.9, math.log(3)) == pytest.approx(expected, rel=1e-9)
        entering += bool(arms[2].active)
    assert 10 < entering < 90
