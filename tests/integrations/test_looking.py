"""Routers that look at the request, with the real `litellm.Router`; and what cannot go with that."""

from __future__ import annotations

import logging

import pytest

import frugalbandits as fb
from frugalbandits.integrations.litellm import FrugalRouter, Query, Sampled, text_of
from frugalbandits.integrations.litellm.looking import UNNAMED, asked_of, messages_in
from frugalbandits.integrations.litellm.pricing import TokenPrices
from frugalbandits.integrations.litellm.proxy import looked_at, routers_of
from litellm_harness import LARGE, LIMITED, MESSAGES, OTHER, SMALL, good_if, until


def saying(text):
    return [{"role": "user", "content": text}]


def hard_or_easy(request, response):
    """The small model can do what is easy."""
    return float(text_of(response) == "large" or "easy" in request.question)


def option(house, name):
    (found,) = (each for each in house.frugal.explain().options if each.name == name)
    return found


# What is seen


def test_segments_come_from_the_metadata_and_hard_ones_go_to_the_large_model(house):
    """In 150 runs of the session alone, easy ones went to the small model 76% of the time, or more."""
    house.attached(
        judge=hard_or_easy,
        quality="at-least:0.8",
        context=fb.Segments(["easy", "hard"]),
        segment="task",
        expected_tokens=(10, 20),
    )
    for number in range(160):
        kind = ("easy", "hard")[number % 2]
        house.call(messages=saying(kind), metadata={"task": kind})
        house.frugal.flush()
    house.settled(160)
    told = house.frugal.explain()
    by_name = {each.name: each for each in told.segments}
    assert by_name["easy"].decisions == by_name["hard"].decisions == 80
    assert by_name["hard"].mostly == LARGE and by_name["hard"].share > 0.5
    assert by_name["easy"].mostly == SMALL and by_name["easy"].share > 0.6
    assert told.spent == pytest.approx(house.frugal.report().spent)
    assert house.frugal.segments == []


def test_texts_are_the_last_message_of_the_user(house):
    """In 150 runs of the session alone, the shares of the small model differed by 60%, or more."""
    house.attached(
        judge=hard_or_easy, quality="at-least:0.8", context=fb.TextFeatures(8), expected_tokens=(10, 20)
    )
    small = [0, 0]
    for number in range(160):
        text = ("this one is easy", "prove this one, which is long and strange")[number % 2]
        answer = house.call(messages=[*saying("hello"), *saying(text)])
        small[number % 2] += text_of(answer) == "small"
        house.frugal.flush()
    house.settled(160)
    assert small[0] > small[1] + 0.4 * 80


def test_numbers_come_from_a_function_of_the_request(house):
    seen = []

    def features(query):
        seen.append(query)
        return [float(len(query.text)), float("easy" in query.text)]

    both = fb.Segments() + fb.Features(2)
    house.attached(context=both, segment=lambda metadata: metadata.get("task"), features=features)
    house.call(messages=saying("easy"), metadata={"task": "sums"})
    house.call(messages=saying("harder"))
    house.settled(2)
    assert [(query.text, query.segment, query.group) for query in seen] == [
        ("easy", "sums", house.group),
        ("harder", UNNAMED, house.group),
    ]
    assert [each.name for each in house.frugal.explain().segments] == ["sums", UNNAMED]
    assert "kept" not in house.frugal.why(house.call())


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (lambda query: 1 / 0, "features failed: division by zero"),
        (lambda query: [1.0], "features failed: the context must have 2 features"),
        (lambda query: [1.0, float("nan")], "features failed: features must be numbers"),
    ],
)
def test_a_function_that_fails_leaves_the_choice_to_litellm_and_says_so(house, caplog, features, words):
    house.attached(context=fb.Features(2), features=features)
    with caplog.at_level(logging.WARNING, "frugalbandits.litellm"):
        for _ in range(3):
            assert text_of(house.call()) in ("small", "large")
        house.settled(3)
    said = [record for record in caplog.records if "features failed" in record.message]
    assert len(said) == 1 and words in said[0].message
    report = house.frugal.report()
    assert report.counts["features failed"] >= 3 and report.answers == 3
    assert house.frugal.explain().decisions == 0


def test_what_a_request_is(house):
    frugal = FrugalRouter("chat", alpha=0.1, context=fb.TextFeatures(8))
    asked = asked_of(frugal.settings, saying("2 + 2"), {})
    assert asked.context.tolist() == fb.TextFeatures(8).numbers("2 + 2").tolist()
    parts = [{"type": "text", "text": "abcd" * 10}, {"type": "image_url", "image_url": {"url": "x"}}]
    query = Query([{"role": "system", "content": "x" * 40}, *saying(parts)], {}, "chat")
    assert query.text == "abcd" * 10 and query.tokens == 20
    assert messages_in(None, {"input": "an input"}) == ["an input"]
    assert Query(["an input"], {}, "chat").text == "an input"
    assert asked_of(frugal.settings, [], {}).tokens == 0


# What it costs


def test_long_prompts_cost_more_and_bills_put_guesses_right(house):
    house.attached(context=fb.TextFeatures(8), expected_tokens=(1_000, 20))
    guess = house.frugal._group.prices.guess
    assert guess(SMALL, 10_000) > 50 * guess(SMALL, 10) and guess(LARGE, 10_000) > guess(SMALL, 10_000)
    before = option(house, SMALL).cost
    for _ in range(30):
        house.call(messages=saying("short"))
    house.settled(30)
    # A short question costs far less than the thousand tokens that were expected.
    assert option(house, SMALL).cost < before / 5
    assert house.frugal.explain().spent == pytest.approx(house.frugal.report().spent)


def test_usual_costs_follow_the_bills():
    prices = TokenPrices((100, 10), learn=True)
    prices.put("a", 1.0, 0.0)
    prices.put("b", 0.0, 0.0, flat=7.0)
    assert prices.expected(["a", "b"], 40) == {"a": 40.0, "b": 7.0}
    assert prices.usual("a", 100.0) is None, "one request says little of the usual"
    for _ in range(9):
        prices.expected(["a", "b"], 60)
    assert prices.usual("a", 100.0) == pytest.approx(58.0)
    assert prices.usual("a", 60.0) is None, "near enough"
    for _ in range(995):
        prices.billed("a", 58, 116.0)
    assert prices.expected(["a"], 58)["a"] == pytest.approx(116, rel=0.01)
    prices.put("a", 1.0, 0.0)
    assert prices.expected(["a"], 58)["a"] == 58, "new prices begin afresh"
    fixed = TokenPrices((100, 10), learn=False)
    fixed.put("a", 1.0, 0.0)
    fixed.billed("a", 10, 1_000.0)
    assert fixed.expected(["a"], 10) == {"a": 10.0}


def test_costs_by_hand_are_what_a_call_costs(house):
    deployments = [house.deployment("openai/nobody-knows", "a"), house.deployment(LARGE, "large")]
    router = house.router(deployments=deployments)
    house.attached(router, context=fb.TextFeatures(8), costs={"openai/nobody-knows": 0.5})
    assert house.frugal._group.prices.expected(["openai/nobody-knows"], 99_999) == {
        "openai/nobody-knows": 0.5
    }
    for _ in range(3):
        house.call()
    house.settled(3)


# What happens on the way


def test_failures_are_forgotten_and_the_retry_is_among_the_others(house):
    house.attached(house.router(small=LIMITED), context=fb.TextFeatures(8))
    for _ in range(12):
        assert text_of(house.call()) == "large"
    house.settled(12)
    told = house.frugal.explain()
    assert option(house, SMALL).told == 0 and told.pending == 0
    assert option(house, LARGE).told == 12


def test_an_answer_of_another_group_s_deployment_teaches_what_the_model_can_do(house):
    """A fallback to a group that has a model of ours: no decision, but an observation with its context."""
    other = f"{house.group}-other"
    deployments = [
        house.deployment(SMALL, LIMITED),
        house.deployment(OTHER, LIMITED),
        house.deployment(LARGE, LIMITED),
    ]
    spare = {**house.deployment(LARGE, "large"), "model_name": other}
    router = house.router(deployments=deployments, fallbacks=[other], others=[spare], num_retries=0)
    house.attached(router, context=fb.TextFeatures(8))
    assert text_of(house.call()) == "large"
    house.settled(1)
    assert option(house, LARGE).told == 0 and house.option(LARGE).judged == 1
    state = house.frugal._group.sessions.of(None).session
    assert state._accounts[state._names.index(LARGE)].observed == 1


def test_a_conversation_stays_with_its_option(house):
    house.attached(context=fb.TextFeatures(8), sticky="conversation")
    first = text_of(house.call(metadata={"conversation": "c1"}))
    house.settled(1)
    for number in range(8):
        answer = house.call(metadata={"conversation": "c1"}, messages=saying(f"again {number}"))
        house.frugal.flush()
        assert text_of(answer) == first
        assert "kept" in house.frugal.why(answer)
    house.settled(9)


def test_shadow_mode_observes_and_says_what_is_believed(house):
    house.attached(judge=good_if("large"), context=fb.TextFeatures(8), shadow=True)
    for number in range(60):
        house.call(messages=saying(f"question {number}"))
    house.settled(60)
    report = house.frugal.report()
    until(lambda: sum(each.judged for each in house.frugal.report().options) == 60)
    assert report.shadow and report.answers == 60
    assert any("Options answer different requests" in words for words in report.unknown)
    told = {each.name: each.quality for each in house.frugal.explain().options}
    assert told[LARGE] > 0.7 > 0.3 > told[SMALL]
    assert "Had the decisions been followed" in str(report)


def test_the_report_compares_with_what_the_session_believes_of_all_requests(house):
    """The large model gets the hard requests, so its own mean is too low for what it would do on all."""
    house.attached(
        judge=Sampled(hard_or_easy, share=1.0),
        quality=f"relative-to:{LARGE}:0.02",
        context=fb.Segments(["easy", "hard"]),
        segment="task",
        baseline=LARGE,
    )
    for number in range(120):
        kind = ("easy", "hard")[number % 2]
        house.call(messages=saying(kind), metadata={"task": kind})
        house.frugal.flush()
    house.settled(120)
    report, told = house.frugal.report(), house.frugal.explain()
    (large,) = (each for each in told.options if each.name == LARGE)
    assert report.baseline == LARGE
    assert report.instead_quality == pytest.approx(large.quality)
    assert report.instead == pytest.approx(120 * large.always / told.decisions)
    assert str(report) and report._repr_html_()


def test_feedback_by_id_is_taken_once(house):
    house.attached(judge=None, context=fb.TextFeatures(8))
    response = house.call()
    house.settled(1)
    frugal = house.frugal
    frugal.tell(frugal.decision_of(response), 1.0)
    with pytest.raises(fb.ToldBefore):
        frugal.tell(frugal.decision_of(response), 0.0)
    assert frugal.explain().told == 1


# What cannot be


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"context": "text"}, "context must be Segments"),
        ({"features": len}, "features makes numbers for a context, but there is none"),
        ({"context": fb.Segments(["a"])}, "which key of the metadata is the segment"),
        ({"context": fb.TextFeatures(8), "segment": "task"}, "add Segments"),
        ({"context": fb.Segments(["a"]), "segment": "task", "features": len}, "add Features"),
        ({"context": fb.Features(2)}, "needs features=..., a function"),
        ({"context": fb.Features(2), "features": 3}, "features must be a plain function"),
        ({"context": fb.TextFeatures(8), "worth": 3.0}, "has no use for worth=3.0"),
        ({"context": fb.TextFeatures(8), "over": "each"}, "promises an average"),
        ({"context": fb.TextFeatures(8), "policy": "voi-cs"}, "no contextual policy is called 'voi-cs'"),
    ],
)
def test_what_does_not_go_together_is_said_in_one_line(given, words):
    with pytest.raises(fb.InputError, match=words) as refused:
        FrugalRouter("chat", alpha=0.1, **given)
    assert "\n" not in str(refused.value)


async def later(query):
    return [1.0]


def test_a_coroutine_is_no_function_to_decide_by():
    with pytest.raises(fb.InputError, match="plain function"):
        FrugalRouter("chat", alpha=0.1, context=fb.Features(1), features=later)
    hidden = FrugalRouter("chat", alpha=0.1, context=fb.Features(1), features=lambda query: later(query))
    with pytest.raises(fb.InputError, match="plain function"):
        asked_of(hidden.settings, MESSAGES, {})


# Settings in a file


def test_a_file_says_what_is_looked_at(tmp_path):
    (tmp_path / "mine.py").write_text("def numbers(query):\n    return [len(query.text)]\n")
    (made,) = routers_of(
        {
            "chat": {
                "alpha": 0.05,
                "context": {"segments": ["chat", "code"], "features": 1},
                "segment": "task",
                "features": "mine.numbers",
            }
        },
        str(tmp_path / "config.yaml"),
    )
    asked = asked_of(made.settings, saying("abc"), {"task": "code"})
    assert asked.context[0] == "code" and asked.context[1].tolist() == [3.0]
    assert looked_at("text") == fb.TextFeatures(32) and looked_at(None) is None
    assert looked_at({"segments": None}) == fb.Segments()


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"words": 3}, "no part of a context is called 'words'"),
        ({}, "a context has segments, text or features"),
        ({"features": None}, "the number of features must be"),
        ({"text": 32, "features": 2}, "segments go together with"),
        (7, "a context has segments, text or features"),
    ],
)
def test_bad_contexts_in_a_file_are_said(told, words):
    with pytest.raises(fb.InputError, match=words):
        looked_at(told)


# The average without looking


def test_over_queries_holds_the_average_by_a_mix(house):
    """The small model is right every other time: half and half is 0.75 of the time, and no more is wanted."""
    turns = iter(range(10_000))

    def judge(request, response):
        return float(text_of(response) == "large" or next(turns) % 2)

    house.attached(judge=judge, quality="at-least:0.75", over="queries")
    for _ in range(200):
        house.call()
        house.frugal.flush()
    house.settled(200)
    told = house.frugal.explain()
    assert told.mix is not None and "mix" in told.policy
    assert 40 < house.option(LARGE).answered < 160
    assert 0.68 < house.frugal.report().quality < 0.86
