"""The quality reached: decisions and rewards side by side, the interval, and what it is weighed by."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

import frugalbandits as fb
from frugalbandits.core.session.delivered_quality import quality_delivered

RUNS = 2_000


@pytest.mark.parametrize(
    ("options", "least"),
    [
        # Decisions, rewards and quality of each option; and the share of intervals that must cover the truth.
        ([(1_000, 1_000, 0.8)], 0.93),
        ([(1_000, 50, 0.8)], 0.93),
        ([(1_000, 200, 0.99)], 0.93),
        ([(900, 45, 0.8), (100, 5, 0.95)], 0.93),
        ([(500, 25, 0.5), (300, 15, 0.9), (200, 10, 0.99)], 0.93),
        ([(9_000, 450, 0.84), (900, 45, 0.7), (100, 5, 0.9)], 0.93),
        # Few rewards that are 0 or 1 take few values, so no interval can be exact.
        ([(1_000, 20, 0.95)], 0.90),
        ([(10, 10, 0.9), (10, 10, 0.8)], 0.90),
    ],
)
def test_the_interval_covers_the_quality_of_the_options_used(options, least):
    """Where 95% are covered, fewer than 93% of 2,000 have a probability of about 1e-4, once for each case."""
    rng = np.random.default_rng(19)
    everything = sum(decisions for decisions, _, _ in options)
    truth = sum(decisions * quality for decisions, _, quality in options) / everything
    sums = [rng.binomial(rewards, quality, RUNS) for _, rewards, quality in options]
    covered = 0
    for run in range(RUNS):
        found = quality_delivered(
            (decisions, rewards, float(drawn[run]))
            for (decisions, rewards, _), drawn in zip(options, sums, strict=True)
        )
        assert 0 <= found.low <= found.mean <= found.high <= 1
        covered += found.low <= truth <= found.high
    assert covered >= least * RUNS


def test_the_interval_covers_where_a_policy_chooses():
    """Which option is used depends on the rewards. 100 sessions; fewer than 87 of them covered: 6e-4."""
    quality = {"tiny": 0.6, "small": 0.8, "large": 0.9}
    covered = 0
    for seed in range(100):
        dice = random.Random(seed)
        session = fb.Session({"tiny": 0.2, "small": 1.0, "large": 3.0}, 0.1, "ucb-cs", horizon=300)
        for decision in session.ask(300) if seed == 0 else _in_turns(session, 300):
            if dice.random() < 0.5:
                session.tell(decision.id, float(dice.random() < quality[decision.option]))
        found = session.explain()
        truth = sum(arm.decisions * quality[arm.name] for arm in found.arms) / found.decisions
        covered += found.reached_interval[0] <= truth <= found.reached_interval[1]
    assert covered >= 87


def _in_turns(session, decisions):
    for _ in range(decisions // 10):
        yield from session.ask(10)


def test_options_are_weighed_by_decisions_not_by_rewards():
    """Every tenth answer of `small` is judged, all of `large`: a plain mean of rewards would be 0.85."""
    session = fb.Session({"small": 0.2, "large": 3.0}, 0.1, "glr-cof")
    small = session.ask(900, among=["small"])
    large = session.ask(100, among=["large"])
    session.tell_many((each.id, 0.75) for each in small[:90])
    session.tell_many((each.id, 0.95) for each in large)
    found = session.explain()
    assert found.reached == pytest.approx(0.9 * 0.75 + 0.1 * 0.95)
    low, high = found.reached_interval
    assert low < found.reached < high
    assert [(arm.decisions, arm.judged, arm.pending) for arm in found.arms] == [(900, 90, 810), (100, 100, 0)]
    interval = f"(95% interval {low:.4f} to {high:.4f})"
    said = f"Quality reached: 0.7700 over all decisions {interval}; the bar is 0.8550."
    assert said in str(found) and said in found._repr_html_()
    told = json.loads(json.dumps(found.to_dict()))
    assert told["reached"] == found.reached and told["reached_interval"] == [low, high]
    assert [arm["judged"] for arm in told["arms"]] == [90, 100]


def test_decisions_without_any_reward_may_be_anything():
    session = fb.Session({"small": 0.2, "large": 3.0}, 0.1, "glr-cof")
    assert session.explain().reached is None and session.explain().delivered is None
    for decision in session.ask(100, among=["small"]):
        session.tell(decision.id, 1.0)
    session.ask(100, among=["large"])
    found = session.explain()
    assert found.reached == 1.0
    assert found.reached_interval[0] < 0.5 and found.reached_interval[1] == 1.0


def test_observations_are_no_judged_decisions():
    session = fb.Session({"small": 0.2, "large": 3.0}, 0.1, "glr-cof")
    session.tell(session.ask(among=["small"]).id, 1.0)
    assert "observed" not in str(session.explain())
    session.observe("small", 0.0)
    arm = session.explain().arms[0]
    assert (arm.pulls, arm.observed, arm.judged, arm.decisions) == (2, 1, 1, 1)
    assert "decisions  judged  observed  pending" in str(session.explain())


def test_retired_options_and_what_was_before_a_change_still_count():
    session = fb.Session({"small": 0.2, "large": 3.0, "huge": 9.0}, 0.1, "glr-cof")
    for name, reward in (("small", 0.25), ("large", 1.0)):
        for decision in session.ask(50, among=[name]):
            session.tell(decision.id, reward)
    session.retire("small")
    assert session.explain().reached == pytest.approx(0.625)


def test_savings_are_against_the_reference():
    """`medium` is the best so far, but the bar names `large`: that is what would have been paid."""
    session = fb.Session({"small": 0.2, "medium": 1.0, "large": 3.0}, quality="relative-to:large:0.1")
    assert (session.explain().baseline, session.explain().saving) == ("large", 0.0)
    for name, reward in (("small", 0.5), ("medium", 1.0), ("large", 0.75)):
        for decision in session.ask(10, among=[name]):
            session.tell(decision.id, reward)
    found = session.explain()
    assert (found.best, found.baseline) == ("medium", "large")
    assert found.always_baseline == pytest.approx(90.0) and found.saving == pytest.approx(90.0 - 42.0)
    assert "always 'large', the reference, would have cost 90: saved 48 (53%)." in str(found)
    assert found.to_dict()["baseline"] == "large" and found.to_dict()["always_best"] == pytest.approx(30.0)


def test_a_hint_names_the_remedies_for_pending_decisions():
    quiet = fb.Session({"small": 0.2, "large": 3.0}, 0.1, "glr-cof", time_to_live=3_600)
    quiet.ask(1_500)
    assert quiet.explain().hint is None
    session = fb.Session({"small": 0.2, "large": 3.0}, 0.1, "glr-cof")
    decisions = session.ask(1_500)
    found = session.explain()
    assert "1,500 decisions are pending" in found.hint and found.hint in str(found)
    assert "forget" in found.hint and "time_to_live" in found.hint
    assert json.loads(json.dumps(found.to_dict()))["hint"] == found.hint
    for decision in decisions[:600]:
        session.forget(decision.id)
    assert session.explain().hint is None


def test_a_contextual_session_has_the_hint_too():
    session = fb.ContextualSession({"small": 0.2, "large": 3.0}, 0.1, fb.Segments(["chat"]))
    for _ in range(1_000):
        session.ask("chat")
    found = session.explain()
    assert found.hint in str(found) and "forget" in found.hint and "time_to_live" in found.hint
    assert "decisions  judged" in str(found)
