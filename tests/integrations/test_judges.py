"""Judges: functions of a user, checks, samples, thumbs that are revised, models, and what they cost."""

from __future__ import annotations

import asyncio
import json
import math
import threading
import warnings

import litellm
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.integrations.litellm import (
    All,
    ClippedReward,
    Exact,
    Length,
    LLMJudge,
    Matches,
    MatchesSchema,
    Request,
    Sampled,
    Thumbs,
    UnclearVerdict,
    ValidJSON,
    Verdict,
    text_of,
)
from frugalbandits.integrations.litellm.judges import clipped, verdict_of
from frugalbandits.integrations.litellm.transcript import conversation_text
from frugalbandits.stores import StoredSession, open_store
from litellm_harness import LARGE, SMALL, until

JUDGE = "openai/gpt-4.1-mini"


def request(wanted=True, **metadata):
    messages = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "What is 2 + 2?"}]
    return Request(messages, metadata, "chat", None, SMALL, "id", wanted)


# Functions of a user.


def test_a_coroutine_function_judges_and_sees_the_request(house):
    seen = []

    async def judge(request, response):
        await asyncio.sleep(0)
        seen.append((request, text_of(response)))
        return 0.25

    frugal = house.attached(judge=judge)
    response = house.call(metadata={"task": "sums"})
    house.settled(1)
    ((told, text),) = seen
    assert told.question == "What is 2 + 2?" and told.metadata["task"] == "sums"
    assert (told.group, told.segment, told.decision) == (house.group, None, frugal.decision_of(response))
    assert text == text_of(response)
    assert house.arm(told.option).mean == 0.25


def test_an_object_with_a_coroutine_as_its_call_judges(async_house):
    class Judge:
        async def __call__(self, request, response):
            return True

    async_house.attached(judge=Judge())
    async_house.call()
    async_house.settled(1)
    assert async_house.frugal.report().quality == 1.0


def test_judges_run_after_the_answer(house):
    gate = threading.Event()
    frugal = house.attached(judge=lambda request, response: gate.wait(20) and 1.0)
    for _ in range(3):
        house.call()  # none of them waits for the gate
    until(lambda: frugal.report().answers == 3)
    assert frugal.report().quality is None and not frugal.flush(0.05)
    gate.set()
    house.settled(3)
    assert frugal.report().quality == 1.0


def test_a_judge_that_breaks_is_counted_and_logged_with_the_decision(house, caplog):
    def judge(request, response):
        raise ZeroDivisionError("no reason")

    frugal = house.attached(judge=judge)
    responses = [house.call() for _ in range(3)]
    house.settled(3)
    assert frugal.report().counts["judge failed"] == 3
    ids = {frugal.decision_of(response) for response in responses}
    warned = [each.getMessage() for each in caplog.records if "judge failed" in each.getMessage()]
    assert len(warned) == 1 and any(id_ in warned[0] for id_ in ids)
    # Nothing more is to come for them.
    assert all(arm.pulls == arm.pending == 0 for arm in frugal.explain().arms)


@pytest.mark.parametrize("said", ["good", math.nan, [1.0], object()])
def test_what_is_no_judgement_is_an_error_of_the_judge(async_house, said):
    async_house.attached(judge=lambda request, response: said)
    async_house.call()
    async_house.settled(1)
    assert async_house.frugal.report().counts["judge failed"] == 1
    assert async_house.frugal.report().quality is None


def test_rewards_are_clipped_loudly_once(async_house):
    house = async_house
    frugal = house.attached(judge=lambda request, response: 7.0)
    with pytest.warns(ClippedReward, match=r"a reward of 7.0 lies outside \[0, 1\] and counts as 1"):
        house.call()
        house.settled(1)
    with warnings.catch_warnings(record=True) as more:
        house.call()
        house.settled(2)
    assert not [each for each in more if each.category is ClippedReward]
    assert frugal.report().counts["clipped"] == 2
    assert frugal.report().quality == 1.0


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_clipping_is_the_nearest_number(value):
    found = clipped(value)
    assert 0.0 <= found <= 1.0 and math.copysign(1.0, found) == 1.0
    assert found == value or abs(found - value) == min(abs(value), abs(value - 1.0))


def test_verdicts_of_all_forms():
    assert verdict_of(None) == Verdict(None) and verdict_of(True) == Verdict(1.0)
    assert verdict_of(Verdict(0.5, 0.1)) == Verdict(0.5, 0.1) and verdict_of(Verdict(None, 0.1)).cost == 0.1
    with pytest.raises(fb.InputError, match="what a judge says"):
        verdict_of("1")


# Checks.


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_valid_json_takes_all_json_and_a_fence_where_asked(value):
    text = json.dumps(value)
    assert ValidJSON()(None, text)
    assert ValidJSON(fenced=True)(None, f"```json\n{text}\n```")
    assert not ValidJSON()(None, f"```json\n{text}\n```")
    assert not ValidJSON()(None, text + " and more")


def test_checks():
    schema = MatchesSchema(
        {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    )
    assert schema(None, '{"age": 3}') and not schema(None, '{"age": "3"}') and not schema(None, "age")
    assert Exact("4")(request(), "4\n") and not Exact("4", plain=False)(request(), "4\n")
    assert Exact(key="right")(request(right="Four"), "four") and Exact(key="right")(request(), "four") is None
    assert Exact(lambda asked: asked.question)(request(), "what is 2 + 2?")
    assert Matches("^[0-9]+$")(None, "42") and not Matches("[0-9]", whole=True)(None, "42")
    assert Length(2, 3)(None, "ab") and not Length(2, 3)(None, "abcd") and Length(least=2)(None, "x" * 99)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MatchesSchema({"type": "nothing"}), "no JSON schema"),
        (lambda: Matches("("), "is no regular expression"),
        (lambda: Length(3, 2), "a length lies between"),
        (lambda: Exact(), "say what is expected"),
        (lambda: All([]), "one at least"),
        (lambda: Sampled("judge"), "must be a function"),
        (lambda: Sampled(print, share=0), r"share must lie in \(0, 1\]"),
        (lambda: Sampled(print, per_day=0), "per_day must be more than 0"),
        (lambda: Thumbs(hold=-1), "hold must be 0 seconds or more"),
        (lambda: LLMJudge(""), "name of a model"),
        (lambda: LLMJudge(JUDGE, prompt="Rate it: {answer}"), "lacks {conversation} or {question}"),
        (lambda: LLMJudge(JUDGE, reference={"modle": 1}), "must be a function or have a 'model'"),
        (lambda: LLMJudge("openai/no-judge").price, "no token prices of the judge 'openai/no-judge'"),
        (lambda: fb_router(judge=3), "judge must be a function"),
        (lambda: fb_router(failure="zeros"), "did you mean 'zero'"),
        (lambda: fb_router(judge=Thumbs(hold=50), time_to_live=50), "make time_to_live longer than hold"),
        (lambda: fb_router(alpha=None), "say what is good enough"),
        (lambda: fb_router(expected_tokens=5), "must be two numbers"),
        (lambda: fb_router(store="memory:", service_url="http://x"), "exclude each other"),
        (lambda: fb_router(costs={"a": -1}), "must be 0 or more"),
        (lambda: fb_router(pooled=-1), "pooled must be a whole number"),
        (lambda: fb_router(segment=3), "segment must be a key of the metadata or a function"),
    ],
)
def test_what_cannot_be_is_said(make, message):
    with pytest.raises(fb.InputError, match=message.replace("{", r"\{")):
        make()


def fb_router(**settings):
    from frugalbandits.integrations.litellm import FrugalRouter

    return FrugalRouter("chat", **{"alpha": 0.1, **settings})


def test_all_is_the_least_and_costs_add_up():
    async def slow(request, response):
        return Verdict(0.5, 0.2)

    def run(*judges):
        return asyncio.run(All(judges)(request(), "42"))

    assert run(Length(1), slow, lambda request, response: Verdict(0.9, 0.1)) == Verdict(
        0.5, pytest.approx(0.3)
    )
    assert run(Length(1), Matches("x")).reward == 0.0
    assert run(lambda request, response: None).reward is None


# Samples.


def test_a_sample_keeps_to_its_share_its_number_and_what_is_wanted():
    # Of 10,000 at a share of 0.1, more than 150 away from 1,000 happens once in a million.
    judge = Sampled(print, share=0.1, seed=1)
    assert abs(sum(judge.passes(request()) for _ in range(10_000)) - 1_000) < 150
    assert not judge.passes(request(wanted=False))
    assert Sampled(print, only_wanted=False).passes(request(wanted=False))


def test_a_sample_begins_anew_each_day():
    now = [86_400.0 * 3]
    judge = Sampled(print, per_day=2, clock=lambda: now[0])
    assert [judge.passes(request()) for _ in range(3)] == [True, True, False]
    now[0] += 86_399
    assert not judge.passes(request())
    now[0] += 1
    assert judge.passes(request())
    money = Sampled(print, budget=1.0, clock=lambda: now[0])
    for spent, passes in ((0.6, True), (0.6, True), (0.0, False)):
        assert money.passes(request()) == passes
        money.charge(spent)
    now[0] += 86_400
    assert money.passes(request())


def test_what_is_not_judged_waits_for_nothing(house):
    house.attached(judge=Sampled(lambda request, response: 1.0, per_day=2, only_wanted=False))
    for _ in range(5):
        house.call()
    house.settled(5)
    assert sum(each.judged for each in house.frugal.report().options) == 2
    assert sum(arm.pulls for arm in house.frugal.explain().arms) == 2
    assert all(arm.pending == 0 for arm in house.frugal.explain().arms)
    # All of them are paid for.
    assert sum(each.bills for each in house.frugal.report().options) == 5


# Thumbs.


def test_the_last_thumb_within_the_hold_counts(house):
    frugal = house.attached(judge=Thumbs(hold=0.3))
    id_ = frugal.decision_of(house.call())
    house.settled(1)
    frugal.tell(id_, 1.0)
    frugal.tell(id_, 0.0)
    assert sum(arm.pulls for arm in frugal.explain().arms) == 0
    until(lambda: sum(arm.pulls for arm in frugal.explain().arms) == 1)
    assert frugal.report().quality == 0.0 and frugal.report().counts["revised"] == 1
    with pytest.raises(fb.ToldBefore):
        frugal.tell(id_, 1.0)


def test_a_thumb_has_the_last_word_over_the_judge(house):
    frugal = house.attached(judge=Thumbs(hold=60, judge=ValidJSON()))
    thumbed, judged = house.call(), house.call()
    house.settled(2)
    frugal.tell(frugal.decision_of(thumbed), 1.0)
    assert frugal.report().quality is None
    frugal._group.judging.release_all()  # as `close` does
    assert frugal.report().quality == 0.5
    assert frugal.decision_of(judged) != frugal.decision_of(thumbed)


def test_what_is_held_is_told_when_the_router_closes(async_house, tmp_path):
    house = async_house
    store = f"sqlite:///{tmp_path}/decisions.db"
    frugal = house.attached(judge=Thumbs(hold=600), store=store)
    frugal.tell(frugal.decision_of(house.call()), 1.0)
    house.settled(1)
    frugal.close()
    with open_store(store) as opened:
        again = StoredSession.open(opened, house.group)
        assert sum(arm.pulls for arm in again.explain().arms) == 1
        again.close()


# Models as judges.


def test_a_model_scores_and_its_cost_is_spending(house):
    judge = LLMJudge(JUDGE, mock_response="8", api_key="none")
    frugal = house.attached(judge=judge)
    house.call()
    house.settled(1)
    report = frugal.report()
    assert report.quality == 0.8
    info = litellm.get_model_info(JUDGE)
    assert judge.price == pytest.approx(
        1_500 * info["input_cost_per_token"] + 10 * info["output_cost_per_token"]
    )
    assert frugal._group.sessions.of(None).session._terms.judge_price == judge.price
    assert report.judging > 0
    assert f"and {report.judging:,.6g} on judging" in str(report)


@pytest.fixture
def sent(monkeypatch):
    """What LiteLLM is asked; `reply` answers."""

    class Sent(list):
        reply = '{"score": 10}'

    sent = Sent()

    def completion(**parameters):
        sent.append(parameters)
        return {"choices": [{"message": {"content": sent.reply}}]}

    monkeypatch.setattr(litellm, "completion", completion)
    return sent


def test_a_model_is_asked_with_the_prompt_of_the_user(sent):
    sent.reply = "4"
    judge = LLMJudge(JUDGE, prompt="{question} -> {answer} of {scale}", scale=5)
    assert judge(request(), "four {question}") == Verdict(0.8, 0.0)
    assert sent[0]["messages"][0]["content"] == "What is 2 + 2? -> four {question} of 5"


def test_braces_in_an_answer_stay_what_they_are(sent):
    judge = LLMJudge(JUDGE, prompt="{question}|{answer}")
    assert judge(request(), "{question} {a} {x}").reward == 1.0
    assert sent[0]["messages"][0]["content"] == "What is 2 + 2?|{question} {a} {x}"


def test_a_verdict_is_asked_for_by_a_schema(sent):
    LLMJudge(JUDGE)(request(), "four")
    schema = sent[0]["response_format"]["json_schema"]["schema"]
    assert MatchesSchema(schema)(None, '{"score": 7}') and not MatchesSchema(schema)(None, '{"scor": 7}')
    assert sent[0]["drop_params"] is True
    sent.reply = '{"better": "TIE"}'
    LLMJudge(JUDGE, reference=lambda request: "other")(request(), "four")
    schema = sent[1]["response_format"]["json_schema"]["schema"]
    assert MatchesSchema(schema)(None, '{"better": "A"}') and not MatchesSchema(schema)(
        None, '{"better": "C"}'
    )
    LLMJudge(JUDGE, response_format={"type": "json_object"}, prompt="{question}{answer}")
    assert "{" not in sent[0]["messages"][0]["content"].replace('{"score"', "")


def test_a_model_sees_the_whole_conversation_with_tools(sent):
    call = {"id": "1", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}
    turns = [
        {"role": "system", "content": "Answer in French."},
        {"role": "user", "content": [{"type": "text", "text": "Look:"}, {"type": "image_url"}]},
        {"role": "assistant", "content": "Oui ?"},
        {"role": "user", "content": "The weather?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "rain"},
    ]
    LLMJudge(JUDGE)(Request(turns, {}, "chat"), "Il pleut.")
    asked = sent[0]["messages"][0]["content"]
    places = [
        asked.index(part)
        for part in (
            "[system]\nAnswer in French.",
            "[user]\nLook:\n(image_url)",
            "[assistant]\nOui ?",
            "[user]\nThe weather?",
            '[assistant]\n(calls the tool weather with {"city": "Paris"})',
            "[tool]\nrain",
            "<answer>\nIl pleut.\n</answer>",
        )
    ]
    assert places == sorted(places)


CALLS = [
    {
        "choices": [
            {"message": {"content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}}
        ]
    },
    {"choices": [{"message": {"content": "", "function_call": {"name": "f", "arguments": "{}"}}}]},
    {"output": [{"type": "function_call", "name": "f", "arguments": "{}"}]},
    {"content": [{"type": "tool_use", "name": "f", "input": {}}]},
]


@pytest.mark.parametrize("response", CALLS)
def test_a_tool_call_is_no_empty_answer(sent, response):
    LLMJudge(JUDGE)(request(), response)
    assert "<answer>\n(calls the tool f with {})\n</answer>" in sent[0]["messages"][0]["content"]


def test_an_empty_answer_is_said_to_be_empty(sent):
    LLMJudge(JUDGE)(request(), {"choices": [{"message": {"content": None}}]})
    assert "<answer>\n(nothing)\n</answer>" in sent[0]["messages"][0]["content"]


@pytest.mark.parametrize(
    ("said", "reward"),
    [
        ('{"score": 9}', 0.9),
        ('```json\n{"score": 2.5}\n```', 0.25),
        (" 9 ", 0.9),
        ("7/10", 0.7),
        ("0", 0.0),
        ("10", 1.0),
    ],
)
def test_replies_that_are_clear(sent, said, reward):
    sent.reply = said
    assert LLMJudge(JUDGE)(request(), "four").reward == pytest.approx(reward)


@pytest.mark.parametrize(
    "said",
    [
        "The 2 steps are right. 9",
        "9 out of 10",
        "7/5",
        "",
        "-3",
        "11",
        '{"score": 11}',
        '{"score": "9"}',
        '{"score": true}',
        '{"score": NaN}',
        '{"score": null}',
        '[{"score": 9}]',
        '{"score": 9} {"score": 1}',
        '{"better": "A"}',
    ],
)
def test_a_reply_that_is_not_clear_is_no_reward(sent, said):
    sent.reply = said
    with pytest.raises(UnclearVerdict, match="a score from 0 to 10, but said"):
        LLMJudge(JUDGE)(request(), "four")


@pytest.mark.parametrize(
    "said", ["A good answer is B", "A or B", "", '{"better": "C"}', '{"better": 1}', "TIED"]
)
def test_a_comparison_that_is_not_clear_is_no_reward(sent, said):
    sent.reply = said
    with pytest.raises(UnclearVerdict, match="A, B or TIE, but said"):
        LLMJudge(JUDGE, reference=lambda request: "other")(request(), "four")


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("aanthropic_messages", {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 9}),
        ("aresponses", {"input": "hi"}),
    ],
)
def test_a_system_prompt_beside_the_messages_is_seen_too(async_house, method, arguments):
    house, seen = async_house, []
    house.attached(judge=lambda request, response: seen.append(conversation_text(request.messages)))
    system = {"aanthropic_messages": "system", "aresponses": "instructions"}[method]
    call = getattr(house.bare, method)(model=house.group, **arguments, **{system: "Be brief."})
    house._loop.run(call)
    house.settled(1)
    assert seen == ["[system]\nBe brief.\n\n[user]\nhi"]


@pytest.mark.parametrize(("said", "better", "worse"), [("A", 1.0, 0.0), ("B", 0.0, 1.0), ("Tie.", 0.5, 0.5)])
def test_a_model_compares_whichever_stands_first(said, better, worse):
    judge = LLMJudge(JUDGE, reference=lambda request: "other", mock_response=said, api_key="none", seed=3)
    found = {judge(request(), "mine").reward for _ in range(30)}
    assert found == {better, worse}


def test_the_reference_may_be_a_model_that_is_paid_for():
    plain = LLMJudge(JUDGE, reference=lambda request: "other", mock_response="A", api_key="none")
    reference = {"model": LARGE, "mock_response": "other", "api_key": "none"}
    paid = LLMJudge(JUDGE, reference=reference, mock_response="A", api_key="none")
    assert paid(request(), "mine").cost > plain(request(), "mine").cost > 0
    assert paid.price > plain.price


def test_a_model_that_rambles_is_an_error_of_the_judge(async_house):
    async_house.attached(judge=LLMJudge(JUDGE, mock_response="The 2 steps are right. 9", api_key="none"))
    async_house.call()
    async_house.settled(1)
    report = async_house.frugal.report()
    assert report.counts["judge failed"] == 1 and report.quality is None
    assert report.judging > 0, "it was paid for all the same"
    assert all(arm.pulls == arm.pending == 0 for arm in async_house.frugal.explain().arms)
