"""Answers are booked to the option that gave them, or forgotten, and never to another."""

from __future__ import annotations

import asyncio

import litellm
import pytest
from litellm.caching.caching import Cache

import frugalbandits as fb
from frugalbandits.integrations.litellm import FrugalRouter, text_of
from litellm_harness import LARGE, MESSAGES, OTHER, SMALL, deployment, until


@pytest.fixture
def cache():
    litellm.cache = Cache(type="local")
    yield
    litellm.cache = None


def question(number):
    return [{"role": "user", "content": f"question {number}"}]


# LiteLLM's cache: its entries are of a model group, so they do not say which model wrote an answer.


def test_an_answer_of_the_cache_is_booked_to_no_option(house, cache):
    judged = []
    frugal = house.attached(
        judge=lambda request, response: (
            judged.append((request.option, text_of(response))) or (text_of(response) == "large")
        )
    )
    responses = []
    for number in range(60):
        responses.append(house.call(messages=question(number % 12), caching=True))
        until(lambda: len(frugal._group.ledger) == 0)
        assert frugal.flush()
    names = {SMALL: "small", LARGE: "large"}
    assert [each for each in judged if names[each[0]] != each[1]] == []
    report = frugal.report()
    assert report.counts["cached"] == 48
    assert report.answers == len(judged) == sum(each.judged for each in report.options) == 12
    assert sum(each.decided for each in report.options) == 12
    explained = frugal.explain()
    assert sum(arm.pulls for arm in explained.arms) == 12 and sum(arm.pending for arm in explained.arms) == 0
    paid = sum(each._hidden_params["response_cost"] for each in responses[:12])
    assert report.spent == pytest.approx(paid) == pytest.approx(explained.spent)
    # What is saved compares the twelve calls that were made.
    baseline = next(each for each in report.options if each.name == report.baseline)
    assert report.instead == pytest.approx(12 * baseline.cost)


def test_an_answer_of_the_cache_has_no_id(house, cache):
    frugal = house.attached(judge=None)
    for read in (house.call, house.stream):
        first, second = (read(messages=question(read.__name__), caching=True) for _ in range(2))
        assert frugal.decision_of(first)
        with pytest.raises(fb.UnknownDecision, match="from LiteLLM's cache"):
            frugal.decision_of(second)
        assert frugal.why(second)
    until(lambda: frugal.report().counts.get("cached") == 2)


def test_text_completions_of_the_cache_have_no_id_either(async_house, cache):
    house = async_house
    frugal = house.attached()
    for _ in range(3):
        response = house._loop.run(
            house.bare.atext_completion(model=house.group, prompt="say hello", caching=True)
        )
        until(lambda: len(frugal._group.ledger) == 0)
    assert frugal.flush()
    assert frugal.report().answers == 1 and frugal.report().counts["cached"] == 2
    with pytest.raises(fb.UnknownDecision, match="from LiteLLM's cache"):
        frugal.decision_of(response)


# Aliases of a group.


def test_calls_by_an_alias_are_decided_learned_and_have_an_id(house):
    alias = f"{house.group}-alias"
    frugal = house.attached(house.router(model_group_alias={alias: house.group}))
    responses = [house.call(group=alias) for _ in range(6)]
    house.settled(6)
    report = frugal.report()
    assert sum(each.decided for each in report.options) == report.answers == 6
    assert sum(arm.pulls for arm in frugal.explain().arms) == 6
    assert sum(arm.pending for arm in frugal.explain().arms) == 0
    assert frugal.decision_of(responses[-1]) and frugal.why(responses[-1])


def test_a_failure_by_an_alias_is_heard_of(house):
    alias = f"{house.group}-alias"
    router = house.router(small="litellm.RateLimitError", model_group_alias={alias: house.group})
    frugal = house.attached(router)
    assert text_of(house.call(group=alias)) == "large"
    house.settled(1)
    until(lambda: frugal.report().counts.get("failures", 0) >= 1)
    assert frugal.flush() and sum(arm.pending for arm in frugal.explain().arms) == 0


def test_a_group_may_be_named_by_its_alias(house):
    alias = {"model": house.group, "hidden": True}
    router = house.router(model_group_alias={f"{house.group}-alias": alias})
    frugal = FrugalRouter(f"{house.group}-alias", alpha=0.1, judge=lambda *_: 1.0).attach(router)
    house.frugal = frugal
    for group in (house.group, f"{house.group}-alias"):
        house.call(group=group)
    house.settled(2)
    assert sum(each.decided for each in frugal.report().options) == 2
    assert "attached" in repr(frugal) and "not attached" not in repr(frugal)
    frugal.close()
    assert "not attached" in repr(frugal)


# Fallbacks from one group to another, both of them decided for.


def test_a_fallback_between_two_groups_is_booked_in_the_one_that_answered(house):
    other = f"{house.group}-second"
    mine = [deployment(other, SMALL, "two-small"), deployment(other, LARGE, "two-large")]
    limited = "litellm.RateLimitError"
    router = house.router(small=limited, large=limited, fallbacks=[other], others=mine, num_retries=0)
    first = house.attached(router)
    second = FrugalRouter(other, alpha=0.1, judge=lambda *_: 1.0).attach(router)
    try:
        response = house.call()
        until(lambda: second.report().answers == 1)
        assert second.flush() and first.flush()
        assert sum(arm.pulls for arm in second.explain().arms) == 1
        assert sum(arm.pulls + arm.pending for arm in first.explain().arms) == 0
        assert second.decision_of(response)
        with pytest.raises(fb.UnknownDecision):
            first.decision_of(response)
    finally:
        second.close()


# Tags.


def tagged(house, **settings):
    return house.router(
        deployments=[
            house.deployment(SMALL, "small", tags=["free"]),
            house.deployment(LARGE, "large", tags=["paid"]),
            house.deployment(OTHER, "other", tags=["paid"]),
        ],
        enable_tag_filtering=True,
        **settings,
    )


def test_decisions_are_among_what_the_tags_of_a_request_allow(async_house):
    house = async_house
    frugal = house.attached(tagged(house))
    metadata = []
    for number in range(30):
        metadata.append({"tags": ["paid" if number % 3 else "free"]})
        house.call(metadata=metadata[-1])
    house.settled(30)
    report = frugal.report()
    assert "not followed" not in report.counts and "deciding failed" not in report.counts
    assert house.option(SMALL).decided == house.option(SMALL).answered == 10
    # LiteLLM's own note on the tags is its own.
    assert metadata[0]["tag_routing"]["request_tags"] == ["free"]


def test_tags_that_no_deployment_has_are_litellms_error_and_decide_nothing(async_house):
    house = async_house
    frugal = house.attached(tagged(house, num_retries=0))
    with pytest.raises(Exception, match="tag"):
        house.call(metadata={"tags": ["nobody"]})
    assert sum(each.decided for each in frugal.report().options) == 0
    assert frugal.explain().decisions == 0


# Other kinds of calls.


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("aanthropic_messages", {"messages": MESSAGES, "max_tokens": 20}),
        ("aresponses", {"input": "hello"}),
        ("atext_completion", {"prompt": "hello"}),
    ],
)
def test_other_kinds_of_calls_have_an_id_and_a_reason(async_house, method, arguments):
    house = async_house
    asked = []
    frugal = house.attached(
        judge=lambda request, response: asked.append((request.option, text_of(response))) or 1.0
    )
    response = house._loop.run(getattr(house.bare, method)(model=house.group, **arguments))
    assert frugal.why(response).startswith("openai/gpt-4o")
    assert frugal.decision_of(response)
    house.settled(1)
    assert [(option, bool(text)) for option, text in asked] == [(SMALL, True)]


def test_the_id_of_a_call_is_as_good_as_its_response(async_house):
    house = async_house
    frugal = house.attached(judge=None)

    async def read():
        stream = await house.bare.aanthropic_messages(
            model=house.group, messages=MESSAGES, max_tokens=20, stream=True, litellm_call_id="call-of-mine"
        )
        return stream if isinstance(stream, dict) else [part async for part in stream]

    house._loop.run(read())
    assert frugal.why("call-of-mine").startswith("openai/gpt-4o")
    frugal.tell(frugal.decision_of("call-of-mine"), 1.0)
    with pytest.raises(fb.UnknownDecision):
        frugal.why("call-of-nobody")


def test_images_are_decided_and_booked(async_house):
    house = async_house
    costs = {"openai/dall-e-2": 0.02, "openai/dall-e-3": 0.04}
    router = house.router(
        deployments=[house.deployment(name, "https://example.invalid/picture.png") for name in costs]
    )
    frugal = house.attached(router, costs=costs)
    asyncio.run_coroutine_threadsafe(
        router.aimage_generation(model=house.group, prompt="a cat"), house._loop.loop
    ).result(30)
    house.settled(1)
    assert sum(each.decided for each in frugal.report().options) == frugal.report().answers == 1
    assert sum(arm.pulls for arm in frugal.explain().arms) == 1
