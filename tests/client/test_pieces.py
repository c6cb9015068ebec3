"""The pieces of the client by themselves: what a reply means, when to try again, what is loaded when."""

from __future__ import annotations

import email.utils
import json
import time
from types import SimpleNamespace

import pytest

import frugalbandits as fb
from frugalbandits.client import plans
from frugalbandits.client.breaker import Breaker
from frugalbandits.client.wire import Lost, Reply, Request, answered
from process_harness import python

ASK = Request("GET", "/", lambda answer: answer["id"])
START = "urn:frugalbandits:problem:"


def problem(kind, detail="so it is"):
    return json.dumps({"type": f"{START}{kind}", "detail": detail}).encode()


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (404, "unknown-decision", fb.UnknownDecision),
        (404, "unknown-session", fb.UnknownSession),
        (404, "unknown-option", fb.InputError),
        (409, "conflict", fb.Conflict),
        (409, "told-before", fb.ToldBefore),
        (409, "of a later release", fb.InputError),
        (410, "expired", fb.Expired),
        (422, "input", fb.InputError),
        (401, "unauthorised", fb.NotAllowed),
        (403, "forbidden", fb.NotAllowed),
        (503, "store-unavailable", Lost),
        (429, "busy", Lost),
    ],
)
def test_a_problem_is_an_error_in_its_words(status, kind, error):
    with pytest.raises(error, match="so it is") as caught:
        answered(ASK, Reply(status, problem(kind)))
    assert type(caught.value) is error


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, b"<html>"),
        Reply(200, b"[]"),
        Reply(200, b"{}"),
        Reply(200, b"\xff"),
        Reply(200, b"[" * 100_000),
        Reply(204),
        Reply(302, location="http://elsewhere"),
        Reply(404, b"not ours"),
        Reply(407, b""),
        Reply(500, b"{}"),
        Reply(100),
    ],
)
def test_what_the_service_does_not_say_is_lost(reply):
    with pytest.raises(Lost) as caught:
        answered(ASK, reply)
    assert not caught.value.heard


@pytest.mark.parametrize(
    ("told", "low", "high"),
    [
        ("3", 3, 3),
        ("1e9", 30, 30),
        ("-5", 0, 0),
        ("nan", 0, 0),
        ("soon", 0, 0),
        (None, 0, 0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0, 0),
    ],
)
def test_how_long_to_leave_it_alone(told, low, high):
    with pytest.raises(Lost) as caught:
        answered(ASK, Reply(503, b"", retry_after=told))
    assert low <= caught.value.wait <= high


def test_a_date_until_which_to_leave_it_alone():
    test_how_long_to_leave_it_alone(email.utils.formatdate(time.time() + 25, usegmt=True), 5, 26)


def test_a_breaker_waits_longer_each_time_and_lets_one_try():
    hands = SimpleNamespace(now=0.0)
    breaker = Breaker(lambda: hands.now)
    waits = []
    for _ in range(8):
        breaker.failed()
        assert not breaker.failed()  # of those that were on their way
        waits.append(breaker.due)
        assert not breaker.enter()
        hands.now += breaker.due + 1e-6  # sums of floats may fall short
        assert breaker.due == 0 and not breaker.enter()  # until a probe is answered
    assert all(0.8 * 2**turn <= wait <= 1.2 * 2**turn for turn, wait in enumerate(waits[:5]))
    assert max(waits) <= 36
    breaker.probed()
    assert breaker.due is None and breaker.enter() and not breaker.enter()
    breaker.leave()
    assert breaker.enter()
    assert breaker.reached() and not breaker.reached()
    assert breaker.failed(at_least=20) and breaker.due == pytest.approx(20)


@pytest.mark.parametrize(
    "id_", ["local-", "local-x-y", f"local-{'A' * 32}-W10", f"local-{'a' * 32}-W10", "local-é"]
)
def test_ids_that_nobody_made(id_):
    with pytest.raises(fb.UnknownDecision):
        plans.read_local(id_)


def test_decisions_that_are_remembered_are_bounded(monkeypatch):
    monkeypatch.setattr(plans, "REMEMBERED", 3)
    found = plans.Plans()
    found.remember([fb.Decision(str(number), "a", "") for number in range(5)])
    assert [found.option_of(str(number)) for number in range(5)] == [None, None, "a", "a", "a"]


def test_it_is_loaded_when_it_is_first_used():
    loaded, _ = python(
        """
        import json, sys, frugalbandits as fb
        before = "httpx" in sys.modules
        fb.AsyncClient
        print(json.dumps([before, "httpx" in sys.modules, "frugalbandits.lab.simulation" in sys.modules]))
        """
    )
    assert loaded == [False, True, False]


@pytest.mark.parametrize(
    ("name", "missing", "extra"), [("Client", "httpx", "client"), ("bounds", "scipy", "lab")]
)
def test_each_wing_says_its_own_extra(name, missing, extra, monkeypatch):
    def nothing(_):
        raise ModuleNotFoundError("it is not there", name=f"{missing}.inner")

    monkeypatch.setattr(fb, "import_module", nothing)
    with pytest.raises(ModuleNotFoundError) as caught:
        fb.__getattr__(name)
    said = f"needs {missing}, which is not installed: pip install 'frugalbandits[{extra}]'"
    assert str(caught.value) == f"frugalbandits.{name} {said}"


def test_without_httpx_it_says_what_to_install():
    said, _ = python(
        """
        import json, sys
        sys.modules["httpx"] = None
        import frugalbandits as fb
        try:
            fb.Client
        except ModuleNotFoundError as error:
            print(json.dumps(str(error)))
        """
    )
    assert said == (
        "frugalbandits.Client needs httpx, which is not installed: pip install 'frugalbandits[client]'"
    )
