"""LiteLLM's proxy as a real process, and several that share a real decision service."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import frugalbandits as fb
from client_harness import Server
from frugalbandits.integrations.litellm.proxy import judge_of, routers_of, settings_in
from litellm_harness import until
from proxy_harness import Proxy

PROCESSES = pytest.mark.slow  # a proxy takes ten seconds of a core to import


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("service")) as server:
        yield server


@pytest.fixture(scope="module")
def proxies(tmp_path_factory, service):
    folder = tmp_path_factory.mktemp("proxies")
    made = [Proxy(folder / name, service.url) for name in ("one", "two")]
    try:
        with ThreadPoolExecutor() as pool:
            yield list(pool.map(Proxy.wait, made))
    finally:
        for proxy in made:
            proxy.close()


@pytest.fixture
def proxy(proxies):
    return proxies[0]


def silent(**more):
    """The judge of the proxy says nothing of such a request: a thumb is waited for."""
    return {"extra_body": {"metadata": {"silent": True, **more}}}


def judged(proxy, group="chat"):
    return sum(each["judged"] for each in proxy.report(group)["options"])


@PROCESSES
def test_the_answer_has_an_id_and_the_judge_beside_the_configuration_is_asked(proxy):
    before = judged(proxy) if proxy.report() else 0
    text, id_ = proxy.ask()
    assert text in ("small", "large") and id_
    until(lambda: judged(proxy) == before + 1)
    assert proxy.report()["spent"] > 0


@PROCESSES
def test_feedback_by_id_behind_the_proxys_authentication(proxy):
    _, id_ = proxy.ask(**silent())
    refused = proxy.tell(id_, 1.0, headers={"authorization": "Bearer sk-wrong"})
    assert refused.status_code in (400, 401, 403)
    before = judged(proxy)
    assert proxy.tell(id_, 1.0).status_code == 204
    assert judged(proxy) == before + 1
    again = proxy.tell(id_, 0.0)
    assert again.status_code == 409 and "told before" in again.json()["detail"]
    assert proxy.tell("nonsense", 1.0).status_code == 404
    assert proxy.tell(id_, "good").status_code == 422


@PROCESSES
def test_a_group_may_look_at_the_request(proxy):
    _, id_ = proxy.ask("looking", extra_body={"metadata": {"task": "poems"}})
    assert proxy.tell(id_, 1.0).status_code == 204
    until(lambda: proxy.report("looking")["answers"] == 1)
    assert any("believes of all requests" in words for words in proxy.report("looking")["unknown"])
    text, id_ = proxy.ask("looking", extra_body={"metadata": {"task": "weather"}})
    assert text in ("small", "large") and id_ is None, "the function knows no weather, so LiteLLM chooses"
    assert proxy.report("looking")["counts"]["features failed"] >= 1
    assert "features failed: 'weather'" in proxy.log


@PROCESSES
def test_a_stream_has_the_header_before_its_end_and_is_billed_after_it(proxy):
    before = proxy.report() or {"answers": 0}
    body = {
        "model": "chat",
        "stream": True,
        "messages": [{"role": "user", "content": "hello"}],
        "metadata": {"silent": True},
    }
    with proxy.http.stream("POST", "/v1/chat/completions", json=body) as answer:
        id_ = answer.headers["x-frugal-decision"]
        assert answer.headers["x-frugal-reason"].startswith("openai/gpt-4o")
        lines = [line for line in answer.iter_lines() if line.startswith("data: {")]
    assert json.loads(lines[0].removeprefix("data: "))["choices"]
    until(lambda: proxy.report()["answers"] == before["answers"] + 1)
    assert proxy.tell(id_, 1.0).status_code == 204


@PROCESSES
def test_a_stream_that_the_client_leaves_breaks_nothing(proxy):
    body = {"model": "chat", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
    with proxy.http.stream("POST", "/v1/chat/completions", json=body) as answer:
        assert answer.headers["x-frugal-decision"]
    assert proxy.ask()[1]


@PROCESSES
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/messages", {"max_tokens": 20, "messages": [{"role": "user", "content": "hello"}]}),
        ("/v1/responses", {"input": "hello"}),
    ],
)
def test_other_routes_of_the_proxy_are_decided_for_too(proxy, path, body):
    before = (proxy.report() or {"answers": 0})["answers"]
    answer = proxy.http.post(path, json={"model": "chat", **body})
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-frugal-decision"]
    # At least: answers of the tests before may still be booked.
    until(lambda: proxy.report()["answers"] > before)


@PROCESSES
def test_an_alias_of_a_group_is_decided_for_and_learns(proxy):
    before = (proxy.report() or {"answers": 0})["answers"]
    text, id_ = proxy.ask("quick", **silent())
    assert text in ("small", "large") and proxy.tell(id_, 1.0).status_code == 204
    until(lambda: proxy.report()["answers"] == before + 1)


@PROCESSES
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_of_the_proxys_cache_has_no_id(proxy, stream):
    body = {
        "model": "chat",
        "stream": stream,
        "messages": [{"role": "user", "content": f"to be kept, {stream}"}],
        "cache": {"use-cache": True},
    }
    seen, before = [], proxy.report()["counts"].get("cached", 0)
    for _ in range(2):
        with proxy.http.stream("POST", "/v1/chat/completions", json=body) as answer:
            assert answer.status_code == 200, answer.read()
            seen.append("x-frugal-decision" in answer.headers)
            answer.read()
        until(lambda: len(seen) < 2 or proxy.report()["counts"].get("cached", 0) > before)
    assert seen == [True, False]


@PROCESSES
def test_a_conversation_keeps_its_option_through_the_proxy(proxy):
    first = {"extra_body": {"metadata": {"conversation": "c-1"}}}
    assert proxy.ask("talk", **first)[0] == "small"
    until(lambda: judged(proxy, "talk") == 1)
    until(lambda: [proxy.ask("talk")[0] for _ in range(3)] == ["large"] * 3)
    assert {proxy.ask("talk", **first)[0] for _ in range(3)} == {"small"}


@PROCESSES
def test_a_fallback_has_no_id_and_is_not_booked_to_the_option_that_failed(proxy):
    text, id_ = proxy.ask("broken")
    assert (text, id_) == ("rescued", None)
    until(lambda: proxy.report("broken")["elsewhere"] > 0)
    report = proxy.report("broken")
    assert report["answers"] == 0 and report["counts"]["fallbacks"] == 1
    until(lambda: proxy.report("broken")["counts"].get("failures", 0) >= 1)
    assert all(each["judged"] == 0 for each in report["options"])


@PROCESSES
def test_a_group_that_cannot_be_priced_is_left_to_litellm_and_said(proxy):
    for _ in range(3):
        assert proxy.ask("unpriced")[0] in ("strange", "known")
    assert proxy.report("unpriced") is None
    assert proxy.log.count("nothing is decided for the group 'unpriced'") == 1
    assert "no token prices of 'openai/nobody-knows'" in proxy.log


@PROCESSES
def test_a_module_that_is_executed_several_times_has_one_session(proxy):
    assert (proxy.folder / "executed").read_text().count("once") >= 2
    for _ in range(3):
        assert proxy.ask("own")[1]
    until(lambda: judged(proxy, "own") == 3)
    report = proxy.report("own")
    assert sum(each["decided"] for each in report["options"]) == report["answers"] == 3


@PROCESSES
def test_several_proxies_share_a_session_through_the_service(proxies, service):
    ids = [
        (other, proxy.ask("shared"))
        for proxy, other in zip(proxies, reversed(proxies), strict=True)
        for _ in range(4)
    ]
    with fb.Client(service.url) as client:
        session = client.session("shared")
        for other, (_, id_) in ids:
            # Feedback may come to any of them.
            assert other.tell(id_, 1.0).status_code == 204
            assert other.tell(id_, 1.0).status_code == 409
        until(lambda: session.explain().decisions == 8, 20.0)
        explained = session.explain()
        assert sum(arm.pulls for arm in explained.arms) == 8
        # Both have told their bills.
        until(lambda: 0 < session.explain().spent < 0.003, 20.0)


@PROCESSES
@pytest.mark.parametrize("group", ["watched", "kept"])
def test_several_proxies_share_a_session_that_looks_at_the_request(proxies, service, group):
    """In a service and in a store; in shadow mode the ids of some answers are of no decision."""
    more = {"extra_body": {"metadata": {"task": "poems"}}}
    ids = [
        (other, proxy.ask(group, **more)[1])
        for proxy, other in zip(proxies, reversed(proxies), strict=True)
        for _ in range(4)
    ]
    for other, id_ in ids:
        # Feedback may come to any of them.
        assert other.tell(id_, 1.0).status_code == 204
        assert other.tell(id_, 0.0).status_code == 409
    # A report is of all that share a store; with a service it is of one process.
    number = 8 if group == "kept" else 4
    for proxy in proxies:
        until(lambda proxy=proxy: proxy.report(group)["answers"] == number)
        report = proxy.report(group)
        assert judged(proxy, group) == number and report["spent"] > 0
        assert report["everywhere"] == (group == "kept")
        assert {"not followed", "feedback refused"} >= report["counts"].keys()
    if group == "watched":
        with fb.Client(service.url) as client:
            told = client.session(group).explain()
            assert (told.decisions, told.told) == (8, 8)
            assert [each.name for each in told.segments] == ["poems"]


@PROCESSES
def test_segments_are_sessions_of_their_own_in_the_service(proxies, service):
    for proxy in proxies:
        _, id_ = proxy.ask("shared", extra_body={"metadata": {"task": "poems"}})
        assert proxy.tell(id_, 1.0).status_code == 204
    with fb.Client(service.url) as client:
        assert "shared:poems" in {each.name for each in client.sessions()}
        until(lambda: client.session("shared:poems").explain().decisions == 2, 20.0)


@PROCESSES
def test_the_service_may_go_away(proxies, service):
    proxy = proxies[0]
    proxy.ask("shared")
    service.kill()
    try:
        begun = time.monotonic()
        text, id_ = proxy.ask("shared")
        assert text in ("small", "large") and id_
        assert time.monotonic() - begun < 20  # and not for ever
    finally:
        service.start()


# Settings, without a process.


def test_settings_in_a_file(tmp_path, monkeypatch):
    config = tmp_path / "config.yaml"
    config.write_text("frugal: {chat: {quality: 'at-least:0.8', token: os.environ/MY_TOKEN}}")
    monkeypatch.setenv("MY_TOKEN", "secret")
    (made,) = routers_of(settings_in(str(config)))
    assert made.settings.quality == fb.AtLeast(0.8) and made.settings.token == "secret"
    assert "secret" not in repr(made.settings)
    other = tmp_path / "frugal.toml"
    other.write_text('[frugal.chat]\nalpha = 0.2\njudge = ["valid-json", {length = {least = 1}}]\n')
    monkeypatch.setenv("FRUGALBANDITS_LITELLM", str(other))
    (made,) = routers_of(settings_in(str(config)))
    assert made.settings.quality == fb.RelativeToBest(0.2)
    assert len(made.settings.judge.judges) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model_list: []", "nothing says what to decide"),
        ("frugal: {chat: 3}", "must have keys and values"),
        ("frugal: {chat: {alpha: 0.1, qualty: 3}}", "a setting that there is not: .*qualty"),
        ("frugal: {chat: {alpha: 0.1, token: os.environ/NO_SUCH}}", "no NO_SUCH in the environment"),
        ("frugal: {chat: {alpha: 0.1, judge: valid-jsn}}", "did you mean 'valid-json'"),
        ("frugal: {chat: {alpha: 0.1, judge: nowhere.judge}}", "there is nothing at 'nowhere.judge'"),
        ("frugal: {chat: {alpha: 0.1, judge: {length: {lest: 1}}}}", "has other settings: .*lest"),
        ("frugal: {chat: {alpha: 0.1, judge: {length: {}, exact: {}}}}", "a judge is a name"),
        ("frugal: [", "cannot read the settings"),
        ("[]", "must have keys and values"),
    ],
)
def test_settings_that_cannot_be_are_said(tmp_path, text, message):
    config = tmp_path / "config.yaml"
    config.write_text(text)
    with pytest.raises(fb.InputError, match=message):
        routers_of(settings_in(str(config)), str(config))


def test_judges_by_name():
    judge = judge_of({"thumbs": {"hold": 5, "judge": {"sampled": {"judge": "valid-json", "per_day": 3}}}})
    assert judge.hold == 5 and judge.judge.per_day == 3
    assert judge_of(None) is None
