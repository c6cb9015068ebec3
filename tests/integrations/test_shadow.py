"""Shadow mode, segments, stores, the report: what is known, and what is said not to be."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.integrations.litellm import text_of
from frugalbandits.integrations.litellm.report import _wilson, report_of
from frugalbandits.integrations.litellm.totals import OptionTally, Totals
from litellm_harness import LARGE, OTHER, SMALL, until

# Shadow mode.


def test_in_shadow_mode_calls_go_where_they_went_before(house):
    deployments = [
        house.deployment(SMALL, "small", weight=0),
        house.deployment(LARGE, "large", weight=1),
    ]
    frugal = house.attached(house.router(deployments=deployments), shadow=True)
    responses = [house.call() for _ in range(20)]
    assert {text_of(response) for response in responses} == {"large"}
    house.settled(20)
    report = frugal.report()
    said = Counter(frugal.why(response).partition(": ")[0] for response in responses)
    assert said == {each.name: each.decided for each in report.options if each.decided}
    with pytest.raises(fb.UnknownDecision, match="nothing was decided for this response"):
        frugal.why(None)
    decided = {each.name: each.decided for each in report.options}
    assert decided[SMALL] + decided[LARGE] == 20 and decided[SMALL] > 0
    # What it saw, it learned from; what it decided and was not followed is forgotten.
    assert house.arm(LARGE).pulls == 20 and house.arm(SMALL).pulls == house.arm(SMALL).pending == 0
    assert report.counts["not followed"] == decided[SMALL]


def test_the_report_of_a_shadow_says_what_would_be_saved_and_what_is_not_known(house):
    deployments = [house.deployment(SMALL, "small", weight=0), house.deployment(LARGE, "large", weight=1)]
    frugal = house.attached(house.router(deployments=deployments), shadow=True)
    for _ in range(10):
        house.call()
    house.settled(10)
    report = frugal.report()
    costs = {each.name: each.cost for each in report.options}
    wanted = sum(each.decided * costs[each.name] for each in report.options)
    assert report.instead == pytest.approx(wanted)
    assert report.saved == pytest.approx(report.spent - wanted)
    assert report.quality == 1.0 and report.instead_quality is None
    assert f"Never tried, so nothing is known of their quality: {SMALL!r}." in report.unknown
    text = str(report)
    assert f"{house.group} (shadow): 10 answers" in text and "Had the decisions been followed" in text
    assert json.loads(json.dumps(report.to_dict()))["answers"] == 10
    assert "<table" in report._repr_html_()


def test_a_shadow_of_shuffled_calls_knows_both(house):
    frugal = house.attached(shadow=True, judge=lambda request, response: 0.5)
    for _ in range(30):
        house.call()
    house.settled(30)
    report = frugal.report()
    assert {each.name for each in report.options if each.judged} == {SMALL, LARGE}
    assert report.instead_quality == pytest.approx(0.5)
    assert report.low < 0.5 < report.high


def test_the_live_report_compares_with_the_baseline(house):
    frugal = house.attached(baseline=LARGE)
    for _ in range(10):
        house.call()
    house.settled(10)
    report = frugal.report()
    assert report.baseline == LARGE and not report.shadow
    cost = next(each.cost for each in report.options if each.name == LARGE)
    assert report.instead == pytest.approx(10 * cost)
    assert report.saved == pytest.approx(report.instead - report.spent)
    assert f"Had all gone to {LARGE!r} (named in the settings), they would have cost" in str(report)


def test_the_report_before_the_first_call(house):
    frugal = house.attached()
    report = frugal.report()
    assert (report.answers, report.spent, report.quality) == (0, 0.0, None)
    assert str(report).startswith(f"{house.group}: 0 answers, spent 0.")


# The arithmetic of the report, against plain sums.

TALLIES = st.builds(
    lambda decided, bills, cost, judged, share: OptionTally(
        decided=decided,
        answered=max(bills, judged),
        bills=bills,
        spent=bills * cost,
        judged=judged,
        rewards=judged * share,
    ),
    st.integers(0, 50),
    st.integers(0, 50),
    st.floats(0.001, 10),
    st.integers(0, 50),
    st.floats(0, 1),
)


@given(st.tuples(TALLIES, TALLIES, TALLIES), st.booleans())
def test_reports_add_up(tallies, shadow):
    names = ("a", "b", "c")
    totals = Totals(dict(zip(names, tallies, strict=True)))
    report = report_of(
        "chat", shadow, None if shadow else "b", dict(zip(names, (1.0, 2.0, 3.0), strict=True)), totals
    )
    assert report.spent == pytest.approx(sum(each.spent for each in tallies))
    assert report.answers == sum(each.answered for each in tallies)
    for low, mean, high in (
        (report.low, report.quality, report.high),
        (report.instead_low, report.instead_quality, report.instead_high),
    ):
        assert 0.0 <= low <= high <= 1.0
        assert mean is None or low - 1e-9 <= mean <= high + 1e-9
    if not shadow:
        cost = tallies[1].spent / tallies[1].bills if tallies[1].bills else 2.0
        assert report.instead == pytest.approx(report.answers * cost)
    assert str(report)


def test_the_interval_of_quality_covers():
    """At 95%, 2,000 intervals of 40 rewards miss the mean 100 times; over 150 times once in a million."""
    rng = random.Random(5)
    missed = 0
    for _ in range(2_000):
        rewards = [
            rng.betavariate(2, 1) if rng.random() < 0.5 else float(rng.random() < 0.9) for _ in range(40)
        ]
        low, high = _wilson(sum(rewards) / 40, 40)
        missed += not low <= 0.5 * (2 / 3) + 0.5 * 0.9 <= high
    assert missed <= 150


# Segments.


def by_task(request, response):
    """The small model is good at sums, and at nothing else."""
    return float(text_of(response) == "large" or request.metadata["task"] == "sums")


def test_each_segment_has_a_session_of_its_own(house):
    frugal = house.attached(segment="task", judge=by_task)
    for _ in range(50):
        for task in ("sums", "poems"):
            house.call(metadata={"task": task})
        frugal.flush()
    house.settled(100)
    assert sorted(frugal.segments) == ["poems", "sums"]
    last = {
        task: Counter(text_of(house.call(metadata={"task": task})) for _ in range(10))
        for task in ("sums", "poems")
    }
    assert last["sums"]["small"] >= 8 and last["poems"]["large"] >= 8
    with pytest.raises(fb.InputError, match=r"no segment is called 'verse'\. Known: 'sums', 'poems'"):
        frugal.explain("verse")


def test_a_new_segment_starts_from_the_pool_with_a_bounded_weight(house):
    frugal = house.attached(
        segment="task", pooled=4, judge=lambda request, response: text_of(response) == "large"
    )
    for _ in range(40):
        house.call(metadata={"task": "old"})
        frugal.flush()
    house.settled(40)
    pool = {arm.name: (arm.pulls, arm.mean) for arm in frugal.explain().arms}
    assert sum(pulls for pulls, _ in pool.values()) == 40
    house.call(metadata={"task": "new"})
    house.settled(41)
    for arm in frugal.explain("new").arms:
        asked = arm.decisions
        assert arm.pulls == min(pool[arm.name][0], 4) + asked
    # The pool's knowledge counts from the first call on.
    assert text_of(house.call(metadata={"task": "third"})) == "large"


def test_too_many_segments_share_the_pool(house):
    frugal = house.attached(segment=lambda metadata: metadata.get("task"), most_segments=2)
    for task in ("a", "b", "c", "d", None):
        house.call(metadata={"task": task})
    house.settled(5)
    assert frugal.segments == ["a", "b"]
    assert frugal.explain().decisions == 3
    assert sum(arm.pulls for arm in frugal.explain().arms) == 5


def test_a_reader_that_breaks_leaves_the_call_alone(house):
    frugal = house.attached(segment=lambda metadata: metadata["nothing"])
    assert text_of(house.call()) in ("small", "large")
    until(lambda: frugal.report().counts.get("deciding failed") == 1)


# Stores, and options that come.


def test_a_stored_session_is_gone_on_with(house, tmp_path):
    store = f"sqlite:///{tmp_path}/decisions.db"
    frugal = house.attached(store=store, name="kept")
    for _ in range(5):
        house.call()
    house.settled(5)
    frugal.close()
    # The price list has changed since: what is stored goes on.
    again = house.attached(store=store, name="kept", expected_tokens=(5, 5))
    assert sum(arm.pulls for arm in again.explain().arms) == 5
    house.call()
    house.settled(1)
    assert sum(arm.pulls for arm in again.explain().arms) == 6


def test_after_a_restart_ids_are_known_and_new_models_are_taken_in(house, tmp_path):
    settings = {"store": f"sqlite:///{tmp_path}/decisions.db", "name": "kept", "judge": None}
    frugal = house.attached(**settings)
    id_ = frugal.decision_of(house.call())
    house.settled(1)
    frugal.close()
    models = {SMALL: "small", LARGE: "large", OTHER: "other"}
    router = house.router(deployments=[house.deployment(*each) for each in models.items()])
    again = house.attached(router, **settings)
    again.tell(id_, 1.0)
    with pytest.raises(fb.ToldBefore):
        again.tell(id_, 0.0)
    assert {arm.name for arm in again.explain().arms} == set(models)
    assert sum(arm.pulls for arm in again.explain().arms) == 1
    house.call()
    house.settled(1)
    assert not again.report().counts


def test_a_deployment_that_comes_later_is_a_new_option(house):
    frugal = house.attached()
    house.call()
    house.bare.add_deployment(_deployment(house.deployment(OTHER, "other")))
    house.call()
    house.settled(2)
    assert {arm.name for arm in frugal.explain().arms} == {SMALL, LARGE, OTHER}


def test_one_without_a_price_is_left_out_and_said_once(house):
    frugal = house.attached()
    house.bare.add_deployment(_deployment(house.deployment("openai/nobody-knows", "strange")))
    assert {text_of(house.call()) for _ in range(5)} <= {"small", "large"}
    house.settled(5)
    assert frugal.report().counts["pricing failed"] == 5
    assert len(frugal.explain().arms) == 2


def _deployment(given):
    from litellm.types.router import Deployment

    return Deployment(**given)


def _priced(house, price):
    """Deployments of two models, the dearer one at a price of ours."""
    small = house.deployment(SMALL, "small", id=f"{house.group}-small")
    large = house.deployment(
        LARGE, "large", id=f"{house.group}-large", input_cost_per_token=price, output_cost_per_token=price
    )
    return small, large


def test_a_price_that_is_written_anew_is_taken_in_and_old_bills_are_no_guide_any_more(house):
    small, large = _priced(house, 1e-3)
    house.attached(house.router(deployments=[small, large]))
    for _ in range(3):
        house.call()
    house.settled(3)
    assert house.arm(LARGE).cost == pytest.approx(1.3)
    house.bare.upsert_deployment(_deployment(_priced(house, 1e-9)[1]))
    house.call()
    until(lambda: house.arm(LARGE).cost == pytest.approx(1.3e-6))
    assert house.arm(SMALL).cost > house.arm(LARGE).cost
    house.settled(4)
    assert not house.frugal.report().counts.get("pricing")


def test_a_cost_that_was_given_by_hand_stays(house):
    house.attached(house.router(deployments=list(_priced(house, 1e-3))), costs={LARGE: 7.0})
    house.bare.upsert_deployment(_deployment(_priced(house, 1e-9)[1]))
    house.call()
    house.settled(1)
    assert house.arm(LARGE).cost == 7.0
