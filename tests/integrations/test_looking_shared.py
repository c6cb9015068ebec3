"""Routers that look at the request, with their session in a store or at the service, and after a restart."""

from __future__ import annotations

import threading
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st
from litellm.types.router import Deployment

import frugalbandits as fb
from frugalbandits.integrations.litellm import FrugalRouter, text_of
from frugalbandits.integrations.litellm.looking import Asked, unpacked
from litellm_harness import LARGE, OTHER, SMALL, until
from looking_harness import again, ask, attached, options, saying


def hard_or_easy(request, response):
    """The small model can do what is easy, by the segment that the session has seen."""
    assert request.segment in ("easy", "hard")
    return float(text_of(response) == "large" or request.segment == "easy")


# What is seen and told


def test_it_learns_which_requests_need_the_large_model(async_house, place):
    """In 150 runs of the session alone, 77% of what is easy went to the small model, or more; 61% of the rest
    to the large one, or more.
    """
    house = async_house
    attached(house, place, judge=hard_or_easy, expected_tokens=(10, 20))
    for number in range(160):
        ask(house, ("easy", "hard")[number % 2])
        house.frugal.flush()
    house.settled(160)
    told, report = house.frugal.explain(), house.frugal.report()
    by_name = {each.name: each for each in told.segments}
    assert by_name["easy"].decisions == by_name["hard"].decisions == 80
    assert by_name["hard"].mostly == LARGE and by_name["easy"].mostly == SMALL
    assert told.decisions == told.told == 160 and told.pending == 0
    assert told.spent == pytest.approx(report.spent) and told.reached == pytest.approx(report.quality)
    assert any("believes of all requests" in words for words in report.unknown)
    assert not [kind for kind in report.counts if "failed" in kind]
    with place.somebody_else(house.group) as session:
        assert session.explain().told == 160


@pytest.mark.parametrize(
    "given",
    [
        {"context": fb.TextFeatures(8), "segment": None, "features": None},
        {"context": fb.Segments(), "features": None},
        {"context": fb.Features(2), "segment": None},
        {"context": fb.Segments() + fb.TextFeatures(8), "features": lambda query: query.text[::-1]},
    ],
)
def test_every_kind_of_context(house, place, given):
    attached(house, place, **given)
    for number in range(3):
        response = ask(house, f"kind {number}")
    house.settled(3)
    told = house.frugal.explain()
    assert (told.decisions, told.told) == (3, 3)
    assert len(told.segments) == (3 if "segment" not in given else 0)
    assert house.frugal.why(response)


def test_the_event_loop_never_waits_for_a_disk_or_a_network(async_house, place):
    house, seen = async_house, {}
    attached(house, place)
    session = house.frugal._group.sessions.of(None).session

    def watched(name):
        call = getattr(session, name)

        def watching(*args, **given):
            seen.setdefault(name, set()).add(threading.current_thread().name.rpartition("_")[0])
            return call(*args, **given)

        setattr(session, name, watching)

    tell = "draft_tell" if place.kind == "store" else "tell"
    for name in ("ask", tell, "add", "set_cost"):
        watched(name)
    house.bare.add_deployment(Deployment(**house.deployment(OTHER, "other")))
    for _ in range(8):
        ask(house)
    house.settled(8)
    front, behind = {"frugalbandits-ask"}, {"frugalbandits"}
    assert seen == {"ask": front, "add": front, tell: behind, "set_cost": behind}


def test_failures_are_forgotten_and_conversations_stay(house, place):
    attached(house, place, house.router(small="litellm.RateLimitError"), sticky="conversation", judge=None)
    assert text_of(ask(house)) == "large"
    until(lambda: house.frugal.explain().pending == 1)
    house.frugal.close()
    attached(house, place, sticky="conversation", judge=None)
    first = house.call(messages=saying("easy"), metadata={"task": "easy", "conversation": "c"})
    house.settled(1)
    id_ = house.frugal.decision_of(first)
    for more in ({"conversation": "c"}, {"frugal_after": id_}):
        for _ in range(4):
            answer = house.call(messages=saying("hard"), metadata={"task": "hard", **more})
            assert text_of(answer) == text_of(first) and "kept" in house.frugal.why(answer)


# After a restart


def test_late_feedback_after_a_restart_counts_once(house, place):
    frugal = attached(house, place, judge=None)
    ids = [frugal.decision_of(ask(house)) for _ in range(4)]
    house.settled(4)
    frugal = again(house, place, judge=None)
    assert frugal.explain().pending == 4
    for id_ in ids:
        frugal.tell(id_, 1.0)
        with pytest.raises(fb.ToldBefore):
            frugal.tell(id_, 0.0)
    assert (frugal.explain().told, frugal.explain().reached) == (4, 1.0)
    frugal = again(house, place, judge=None)
    with pytest.raises(fb.ToldBefore, match=r"told before, with the reward 1\.0"):
        frugal.tell(ids[0], 0.0)
    assert frugal.explain().told == 4 and frugal.report().counts["feedback refused"] == 1


def test_what_was_no_decision_is_told_of_after_a_restart_too(house, place):
    """In shadow mode others answer; their ids carry what was known of the request."""
    deployments = [house.deployment(SMALL, "small", weight=0), house.deployment(LARGE, "large", weight=1)]
    shadow = {"judge": None, "shadow": True}
    frugal = attached(house, place, house.router(deployments=deployments), **shadow)
    ids = [frugal.decision_of(ask(house)) for _ in range(12)]
    house.settled(12)
    guided = [id_ for id_ in ids if frugal._group.signer.read(id_).id is not None]
    frugal = again(house, place, house.router(deployments=deployments), **shadow)
    before = options(house)[LARGE].quality
    for id_ in ids:
        frugal.tell(id_, 1.0)
    told = options(house)[LARGE]
    assert told.told == len(guided) < 12 and told.quality > before
    frugal = again(house, place, house.router(deployments=deployments), **shadow)
    for id_ in ids:
        # Once is enough: a store says so, and a service takes the same again.
        with pytest.raises(fb.ToldBefore) if place.kind == "store" else nullcontext():
            frugal.tell(id_, 1.0)
    assert options(house)[LARGE].told == len(guided) and options(house)[LARGE].quality == told.quality


def test_a_restart_goes_on_with_the_session_s_beliefs_and_usual_costs(house, place):
    attached(house, place, expected_tokens=(1_000, 20))
    guess = options(house)[SMALL].cost
    for _ in range(12):
        ask(house)
    house.settled(12)
    usual, told = options(house)[SMALL].cost, house.frugal.explain()
    assert usual < guess / 5, "bills have put it right"
    frugal = again(house, place, expected_tokens=(1_000, 20), baseline=SMALL)
    assert frugal._group.sessions.costs[SMALL] == usual
    assert frugal.explain().options == told.options
    assert frugal.report().instead_quality == pytest.approx(options(house)[SMALL].quality)


# Options that come and go, and prices


def test_models_that_come_while_it_runs_and_while_it_does_not(house, place):
    attached(house, place)
    ask(house)
    house.bare.add_deployment(Deployment(**house.deployment(OTHER, "other")))
    ask(house)
    house.settled(2)
    assert set(options(house)) == {SMALL, LARGE, OTHER}
    late = "openai/gpt-4.1-mini"
    left = [house.deployment(LARGE, "large"), house.deployment(late, "late")]
    again(house, place, house.router(deployments=left))
    gone = options(house)[SMALL].decisions + options(house)[OTHER].decisions
    assert {text_of(ask(house)) for _ in range(6)} <= {"large", "late"}
    house.settled(6)
    assert set(options(house)) == {SMALL, LARGE, OTHER, late}
    assert options(house)[SMALL].decisions + options(house)[OTHER].decisions == gone
    assert house.frugal.explain().decisions == 8 and not house.frugal.report().counts


def test_what_is_retired_or_paused_in_the_session_is_left_out(house, place):
    attached(house, place)
    ask(house)
    house.settled(1)
    with place.somebody_else(house.group) as session:
        session.add(OTHER, 9.0)
        session.retire(SMALL)
    until(lambda: options(house)[SMALL].standing == "retired")
    assert {text_of(ask(house)) for _ in range(5)} == {"large"}
    house.settled(6)
    assert house.frugal.explain().decisions == 6 and not house.frugal.report().counts
    with place.somebody_else(house.group) as session:
        session.pause(LARGE)
    until(lambda: options(house)[LARGE].standing == "paused")
    assert text_of(ask(house)) in ("small", "large")  # LiteLLM's own choice
    house.settled(7)
    assert house.frugal.report().counts["deciding failed"] == 1


def test_a_price_that_is_written_anew_is_taken_in(house, place):
    def deployments(price):
        mine = {"id": f"{house.group}-large", "input_cost_per_token": price, "output_cost_per_token": price}
        return house.deployment(SMALL, "small"), house.deployment(LARGE, "large", **mine)

    attached(house, place, house.router(deployments=list(deployments(1e-3))), learn_costs=False)
    ask(house)
    assert options(house)[LARGE].cost == pytest.approx(1.3)
    house.bare.upsert_deployment(Deployment(**deployments(1e-9)[1]))
    ask(house)
    until(lambda: options(house)[LARGE].cost == pytest.approx(1.3e-6))
    house.settled(2)
    assert not house.frugal.report().counts.get("pricing failed")


# What travels with an id


CONTEXTS = st.tuples(
    st.none() | st.text(st.characters(codec="utf-8"), min_size=1, max_size=20),
    st.none() | st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40),
).filter(lambda pair: pair != (None, None))


@given(CONTEXTS)
def test_a_context_comes_back_as_it_was_to_seven_digits(pair):
    segment, floats = pair
    found = unpacked(Asked(segment, floats, 1.0).packed)
    if floats is None:
        assert found == segment
        return
    if segment is not None:
        assert found[0] == segment
        found = found[1]
    assert found == pytest.approx(floats, rel=1e-6, abs=1e-30)


def test_a_long_context_stays_out_of_headers_and_feedback_on_it_is_refused_in_words(house):
    wide = {"context": fb.Features(500), "features": lambda query: [1.0] * 500}
    frugal = house.attached(house.router(small="large"), judge=None, shadow=True, **wide)
    ids = []
    until(lambda: (ids.append(frugal.decision_of(house.call())), "not followed" in frugal.report().counts)[1])
    house.settled(len(ids))
    unguided = [id_ for id_ in ids if frugal._group.signer.read(id_).id is None]
    assert all(len(id_) < 2_000 for id_ in ids)
    with pytest.raises(fb.UnknownDecision, match="does not say what was known"):
        frugal.tell(unguided[0], 1.0)


def test_ids_of_an_earlier_release_are_read(house):
    frugal = house.attached(judge=None, context=fb.TextFeatures(8))
    id_ = frugal.decision_of(house.call())
    signer = frugal._group.signer
    old = signer.write(tuple(signer.read(id_))[:5])
    assert old != id_
    frugal.tell(old, 1.0)
    assert frugal.explain().told == 1


# What cannot be


def test_a_name_that_is_taken_by_another_kind_is_refused(async_house, place):
    house = async_house
    attached(house, place)
    house.frugal.close()
    with pytest.raises(fb.Conflict, match=f"{house.group}.*looks at .*quer|{house.group}.*looks at request"):
        house.attached(**place.settings)
    house.attached(**place.settings, name=f"{house.group}-plain")
    house.frugal.close()
    with pytest.raises(fb.Conflict, match=r"looks at no (query|request)"):
        attached(house, place, name=f"{house.group}-plain")


def test_another_context_is_refused_in_a_store_and_said_by_a_service(async_house, place, caplog):
    house = async_house
    attached(house, place)
    more = {"context": fb.Segments() + fb.Features(3), "features": lambda query: [1.0, 2.0, 3.0]}
    if place.kind == "store":
        house.frugal.close()
        running = set(threading.enumerate())
        with pytest.raises(fb.Conflict, match=r"looks at .*Features\(size=2\).*take another name"):
            attached(house, place, **more)
        assert set(threading.enumerate()) <= running, "what was opened in vain is closed"
        return
    again(house, place, **more)
    ask(house)
    house.settled(1)
    assert "deciding failed: the context must have 2 features, but it has 3" in caplog.text


class Alone(fb.DualCOF):
    count = None


@pytest.mark.parametrize("where", [{"store": "memory:"}, {"service_url": "http://x"}])
def test_a_policy_for_one_process_is_refused(where):
    with pytest.raises(fb.InputError, match=r"one process only, so leave (store|service_url) out"):
        FrugalRouter("chat", alpha=0.1, context=fb.TextFeatures(8), policy=Alone(), **where)
