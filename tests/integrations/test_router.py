"""The plug-in with the real `litellm.Router`, in both ways: decisions, bills, failures, fallbacks."""

from __future__ import annotations

from collections import Counter

import litellm
import pytest

import frugalbandits as fb
from frugalbandits.integrations.litellm import FrugalRouter, text_of
from litellm_harness import LARGE, LIMITED, MESSAGES, OTHER, SMALL, TOO_LONG, deployment, good_if, until


def test_the_cheapest_that_is_good_enough_gets_the_calls(house):
    house.attached(judge=good_if("small", "large"))
    for _ in range(60):
        house.call()
    house.settled(60)
    assert house.arm(SMALL).pulls + house.arm(LARGE).pulls == 60
    assert house.option(SMALL).answered > 45
    assert house.frugal.explain().likely == SMALL or house.frugal.explain().decision == SMALL


def test_one_that_is_not_good_enough_loses_them(house):
    house.attached(judge=good_if("large"))
    for _ in range(60):
        house.call()
        house.frugal.flush()
    house.settled(60)
    assert house.option(LARGE).answered > 40


def test_the_first_guess_is_token_prices_times_expected_tokens_and_bills_are_learned(house):
    house.attached(expected_tokens=(2_000, 500))
    info = litellm.get_model_info(SMALL)
    guess = 2_000 * info["input_cost_per_token"] + 500 * info["output_cost_per_token"]
    assert house.arm(SMALL).cost == pytest.approx(guess)
    response = house.call()
    house.settled(1)
    bill = response._hidden_params["response_cost"]
    assert bill > 0
    report = house.frugal.report()
    assert report.spent == pytest.approx(bill)
    assert house.frugal.explain().spent == pytest.approx(bill)
    learned = {arm.name: arm.learned_cost for arm in house.frugal.explain().arms}
    assert min(learned[SMALL] / guess, learned[LARGE] / house.arm(LARGE).cost) < 1


def test_custom_prices_of_a_deployment_count(house):
    prices = {"input_cost_per_token": 0.001, "output_cost_per_token": 0.01}
    deployments = [
        house.deployment("openai/of-our-own", "small", **prices),
        house.deployment(LARGE, "large"),
    ]
    house.attached(house.router(deployments=deployments), expected_tokens=(10, 1))
    assert house.arm("openai/of-our-own").cost == pytest.approx(0.02)


def test_an_unknown_price_is_said_with_the_model_s_name(house):
    deployments = [house.deployment("openai/nobody-knows", "a"), house.deployment(LARGE, "b")]
    router = house.router(deployments=deployments)
    with pytest.raises(fb.InputError, match=r"no token prices of 'openai/nobody-knows': .*costs="):
        house.attached(router)
    frugal = house.attached(router, costs={"openai/nobody-knows": 0.5})
    assert house.arm("openai/nobody-knows").cost == 0.5
    for _ in range(4):
        house.call()
    house.settled(4)
    # LiteLLM says 0 for what it cannot price: that is no bill.
    assert frugal.explain().arms[-1].learned_cost == pytest.approx(0.5)


def test_bad_groups_are_said(house):
    router = house.router()
    with pytest.raises(fb.InputError, match="no model group is called 'chatt'"):
        FrugalRouter("chatt", alpha=0.1).attach(router)
    lonely = house.router(deployments=[house.deployment(SMALL, "a"), house.deployment(SMALL, "b")])
    with pytest.raises(fb.InputError, match="nothing to choose in the group"):
        house.attached(lonely)
    with pytest.raises(fb.InputError, match="no option is called 'huge'"):
        house.attached(router, baseline="huge")
    with pytest.raises(fb.InputError, match=r"costs has 'huge', but the group has no such option"):
        house.attached(router, costs={"huge": 1.0})
    with pytest.raises(fb.InputError, match="is not attached"):
        FrugalRouter(house.group, alpha=0.1).report()


def test_deployments_of_one_model_are_one_option_and_stay_balanced(house):
    deployments = [
        house.deployment(SMALL, "small", id="west"),
        house.deployment(SMALL, "small", id="east"),
        house.deployment(LARGE, "large"),
    ]
    house.attached(house.router(deployments=deployments))
    used = Counter(house.call()._hidden_params["model_id"] for _ in range(40))
    assert {"west", "east"} <= set(used)
    house.settled(40)
    assert len(house.frugal.explain().arms) == 2


def test_a_deployment_may_name_its_option(house):
    deployments = [
        house.deployment(SMALL, "a", info={"frugal_option": "cold"}, temperature=0.0),
        house.deployment(SMALL, "b", info={"frugal_option": "hot"}, temperature=1.0),
    ]
    house.attached(house.router(deployments=deployments))
    house.call()
    house.settled(1)
    assert {arm.name for arm in house.frugal.explain().arms} == {"cold", "hot"}


# Pitfalls 1 and 3: an option that is down.


def test_an_option_that_is_down_is_forgotten_and_left_out_and_learning_goes_on(house):
    house.attached(house.router(small=LIMITED))
    for _ in range(12):
        assert text_of(house.call()) == "large"
    house.settled(12)
    until(lambda: house.option(SMALL).failed >= 1)
    assert house.frugal.flush()
    small, large = house.arm(SMALL), house.arm(LARGE)
    assert (small.pulls, small.pending) == (0, 0)
    assert (large.pulls, large.pending) == (12, 0)


def test_a_failed_option_is_left_out_for_the_request_even_without_a_cooldown(house):
    # The error of a provider without a cooldown: LiteLLM itself would go on with any of them.
    router = house.router(small="litellm.InternalServerError", disable_cooldowns=True, num_retries=1)
    house.attached(router)
    for _ in range(12):
        assert text_of(house.call()) == "large"
    house.settled(12)
    assert house.option(SMALL).failed >= 1


def test_a_failure_may_count_as_zero(house):
    house.attached(house.router(small=LIMITED), failure="zero")
    for _ in range(6):
        house.call()
    house.settled(6)
    until(lambda: house.arm(SMALL).pulls >= 1)
    assert house.arm(SMALL).mean == 0.0
    assert house.arm(SMALL).pulls == house.option(SMALL).failed


def test_what_the_caller_did_wrong_is_nobodys_zero(house):
    house.attached(house.router(small=TOO_LONG, large=TOO_LONG), failure="zero")
    with pytest.raises(litellm.ContextWindowExceededError):
        house.call()
    until(lambda: house.frugal.report().counts.get("failures", 0) >= 1)
    assert house.frugal.flush()
    assert {(arm.pulls, arm.pending) for arm in house.frugal.explain().arms} == {(0, 0)}


# Pitfalls 2 and 4: retries and fallbacks.


def test_a_retry_that_succeeds_is_booked_once_to_the_one_that_answered(house):
    house.attached(house.router(small=LIMITED))
    house.call()
    house.settled(1)
    report = house.frugal.report()
    assert [each.answered for each in report.options] == [0, 1]
    assert report.counts.get("fallbacks", 0) == 0
    assert house.frugal.explain().arms[-1].pulls == 1


def test_a_fallback_in_another_group_is_an_observation_of_the_option_that_answered(house):
    # The fallback's model is an option of the group too, under another deployment.
    other = f"{house.group}-rescue"
    rescue = deployment(other, LARGE, "rescued")
    router = house.router(small=LIMITED, large=LIMITED, fallbacks=[other], others=[rescue], num_retries=0)
    house.attached(router)
    assert text_of(house.call()) == "rescued"
    house.settled(1)
    until(lambda: house.frugal.report().counts.get("failures", 0) >= 1)
    assert house.frugal.flush()
    assert house.frugal.report().counts["fallbacks"] == 1
    assert [each.answered for each in house.frugal.report().options] == [0, 1]
    assert house.arm(LARGE).pulls == 1 and house.arm(SMALL).pulls == 0
    assert house.arm(LARGE).pending == house.arm(SMALL).pending == 0


def test_a_fallback_to_a_stranger_is_booked_to_nobody_but_its_cost_is_told(house):
    other = f"{house.group}-rescue"
    rescue = deployment(other, OTHER, "rescued")
    router = house.router(small=LIMITED, large=LIMITED, fallbacks=[other], others=[rescue])
    house.attached(router)
    response = house.call()
    assert text_of(response) == "rescued"
    until(lambda: house.frugal.report().counts.get("fallbacks"))
    assert house.frugal.flush()
    report = house.frugal.report()
    assert report.elsewhere == pytest.approx(response._hidden_params["response_cost"])
    assert report.answers == 0
    assert all(arm.pulls == arm.pending == 0 for arm in house.frugal.explain().arms)
    with pytest.raises(fb.UnknownDecision, match="another group has answered"):
        house.frugal.decision_of(response)


def test_when_all_fail_the_caller_gets_litellms_error_and_nothing_waits(house):
    house.attached(house.router(small=LIMITED, large=LIMITED))
    with pytest.raises(litellm.RateLimitError):
        house.call()
    until(lambda: house.frugal.report().counts.get("failures", 0) >= 2)
    assert house.frugal.flush()
    assert all(arm.pulls == arm.pending == 0 for arm in house.frugal.explain().arms)


# Streams.


def test_a_stream_is_billed_at_its_end(house):
    house.attached()
    house.stream()
    house.settled(1)
    report = house.frugal.report()
    assert report.spent > 0
    assert sum(each.judged for each in report.options) == 1


def test_an_abandoned_stream_expires_with_the_time_to_live(house):
    house.attached(time_to_live=0.2)
    house.stream(parts=1)
    group = house.frugal._group
    assert len(group.ledger) == 1
    until(lambda: sum(arm.pending for arm in house.frugal.explain().arms) == 0)
    house.call()
    house.settled(1)
    assert house.frugal.report().counts["expired"] == 1
    assert sum(each.answered for each in house.frugal.report().options) == 1


def test_an_error_in_the_middle_of_a_stream_is_a_failure_and_counts_once(house):
    broken = "Exception: mock_streaming_error"
    house.attached(house.router(small=broken, large=broken, num_retries=0))
    with pytest.raises(Exception, match="mid-stream"):
        house.stream()
    until(lambda: house.frugal.report().counts.get("failures", 0) >= 1)
    assert house.frugal.flush()
    report = house.frugal.report()
    assert report.answers == 0
    assert report.counts["failures"] == sum(each.decided for each in report.options)
    assert all(arm.pulls == arm.pending == 0 for arm in house.frugal.explain().arms)


def test_feedback_comes_by_id(house):
    frugal = house.attached(judge=None)
    response = house.call()
    id_ = frugal.decision_of(response)
    frugal.tell(id_, 1.0)
    with pytest.raises(fb.ToldBefore):
        frugal.tell(id_, 0.0)
    with pytest.raises(fb.UnknownDecision, match="no answer was given out with the id"):
        frugal.tell(id_[:-1] + ("a" if id_[-1] != "a" else "b"), 1.0)
    house.settled(1)
    assert sum(arm.pulls for arm in frugal.explain().arms) == 1


def test_a_stream_has_an_id_too(house):
    frugal = house.attached(judge=None)
    frugal.tell(frugal.decision_of(house.stream()), 1.0)
    assert sum(arm.pulls for arm in frugal.explain().arms) == 1


# The caller's own dictionary, shared by all of its requests.


def test_metadata_that_requests_share_does_not_mix_them_up(async_house):
    house, metadata = async_house, {"task": "shared"}
    asked = []
    house.attached(judge=lambda request, response: asked.append((request.option, text_of(response))) or 1.0)

    async def many():
        import asyncio

        await asyncio.gather(
            *(
                house.bare.acompletion(model=house.group, messages=MESSAGES, metadata=metadata)
                for _ in range(30)
            )
        )

    house._loop.run(many())
    house.settled(30)
    assert len(asked) == 30
    assert set(asked) <= {(SMALL, "small"), (LARGE, "large")}
    assert all(arm.pending == 0 for arm in house.frugal.explain().arms)


# Health, context windows and orders stay LiteLLM's.


def test_a_prompt_too_long_for_the_choice_is_answered_by_another(house):
    deployments = [
        house.deployment(SMALL, "small", info={"max_input_tokens": 5}),
        house.deployment(LARGE, "large", info={"max_input_tokens": 100_000}),
    ]
    router = house.router(deployments=deployments, enable_pre_call_checks=True)
    house.attached(router)
    long = [{"role": "user", "content": "word " * 500}]
    for _ in range(5):
        assert text_of(house.call(messages=long)) == "large"
    house.settled(5)
    assert house.arm(LARGE).pulls == 5
    assert house.arm(SMALL).pulls == house.arm(SMALL).pending == 0


def test_orders_of_the_user_are_kept(house):
    deployments = [
        house.deployment(SMALL, "small", order=2),
        house.deployment(LARGE, "large", order=1),
        house.deployment(OTHER, "other", order=1),
    ]
    house.attached(house.router(deployments=deployments))
    assert {text_of(house.call()) for _ in range(12)} <= {"large", "other"}


def test_a_cooled_down_option_comes_back(house):
    house.attached(house.router(small=LIMITED, cooldown_time=0.3))
    for _ in range(3):
        house.call()
    before = house.option(SMALL).decided
    until(lambda: (house.call(), house.option(SMALL).decided > before)[1])
