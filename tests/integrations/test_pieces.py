"""The parts by themselves: tickets, deployments as options, attempts, the thread behind the scenes."""

from __future__ import annotations

import asyncio
import gc
import threading

import litellm
import pytest
from hypothesis import given
from hypothesis import strategies as st
from litellm.utils import get_order_filtered_deployments

import frugalbandits as fb
from client_harness import Rude
from frugalbandits.integrations.litellm import text_of
from frugalbandits.integrations.litellm.backstage import Backstage
from frugalbandits.integrations.litellm.ledger import Attempt, Ledger
from frugalbandits.integrations.litellm.options import failed_before, id_of, in_turn, option_of, preferred
from frugalbandits.integrations.litellm.sessions import session_name
from frugalbandits.integrations.litellm.settling import blames_the_option
from frugalbandits.integrations.litellm.tickets import Signer, Ticket
from frugalbandits.stores.following import check_session_name
from litellm_harness import LARGE, LIMITED, MESSAGES, SMALL, deployment, until

# Tickets.

IDS = st.none() | st.integers(0, 2**60) | st.text(max_size=200)
TICKETS = st.builds(Ticket, st.text(), st.none() | st.text(), st.text(), IDS, st.text())


@given(TICKETS)
def test_a_ticket_comes_back_as_it_was_and_fits_into_a_header(ticket):
    text = Signer("key").write(ticket)
    assert Signer("key").read(text) == ticket
    assert text.isascii() and text.isprintable() and " " not in text


@given(TICKETS, st.data())
def test_a_ticket_that_was_changed_is_none(ticket, data):
    signer = Signer(None)
    text = signer.write(ticket)
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from("ABCabc019-_.").filter(lambda letter: letter != text[place]))
    with pytest.raises(fb.UnknownDecision):
        signer.read(text[:place] + other + text[place + 1 :])
    with pytest.raises(fb.UnknownDecision):
        Signer(None).read(text)


@pytest.mark.parametrize("text", [None, 3, "", ".", "a.b", "x" * 500, b"bytes"])
def test_what_is_no_ticket_is_said(text):
    with pytest.raises(fb.UnknownDecision, match="no answer was given out with the id"):
        Signer("key").read(text)


@given(st.text(min_size=1, max_size=300), st.lists(st.none() | st.text(max_size=300), unique=True))
def test_any_group_and_segment_has_a_name_of_its_own_that_stores_take(group, segments):
    names = [check_session_name(session_name(group, segment)) for segment in segments]
    assert len(set(names)) == len(segments)


# Deployments.

DEPLOYMENTS = st.lists(
    st.builds(
        lambda model, order, number: {
            "model_name": "chat",
            "litellm_params": {"model": model, **({} if order is None else {"order": order})},
            "model_info": {"id": f"d{number}"},
        },
        st.sampled_from(["a", "b", "c"]),
        st.none() | st.integers(1, 3),
        st.integers(0, 10**9),
    ),
    min_size=1,
    unique_by=id_of,
)


@given(DEPLOYMENTS, st.booleans())
def test_litellm_takes_the_chosen_option_or_what_it_would_have_taken(deployments, gone):
    """LiteLLM's own filter by order, after ours: the chosen ones; where they are gone, others that it has."""
    turn = in_turn(deployments, {})
    assert [id_of(each) for each in turn] == [
        id_of(each) for each in get_order_filtered_deployments(deployments)
    ]
    chosen = option_of(turn[0])
    shown = preferred(deployments, chosen, {})
    if gone:
        shown = [each for each in shown if option_of(each) != chosen]
        taken = get_order_filtered_deployments(shown)
        assert all(option_of(each) != chosen for each in taken)
        return
    taken = get_order_filtered_deployments(shown)
    wanted = [id_of(each) for each in turn if option_of(each) == chosen]
    assert sorted(map(id_of, taken)) == sorted(wanted)


@given(DEPLOYMENTS)
def test_without_orders_all_stay_behind_the_chosen(deployments):
    plain = [{**each, "litellm_params": {"model": each["litellm_params"]["model"]}} for each in deployments]
    shown = preferred(plain, option_of(plain[0]), {})
    assert sorted(map(id_of, shown)) == sorted(map(id_of, plain))
    assert all("order" not in each["litellm_params"] for each in plain)  # LiteLLM's own stay as they are


def test_what_has_failed_is_of_this_request_alone():
    tried = ({"deployment_id": "old"}, {"deployment_id": "one"}, {"deployment_id": "two"})
    metadata = {"previous_models": tried, "attempted_retries": 2}
    assert failed_before({"metadata": metadata}) == {"one", "two"}
    # The dictionary has come from an earlier request.
    assert failed_before({"metadata": {**metadata, "attempted_retries": 0}}) == frozenset()
    assert failed_before({"litellm_metadata": {**metadata, "attempted_retries": 1}}) == {"two"}
    assert failed_before({"_excluded_deployment_ids": ["x"], "_retry_skipped_deployment_ids": ("y",)}) == {
        "x",
        "y",
    }
    assert failed_before({"metadata": None}) == frozenset()


def test_whose_fault_an_error_is():
    limited = litellm.RateLimitError("slow", "openai", "m")
    wrong = litellm.BadRequestError("no", "m", "openai")
    assert blames_the_option(limited) and blames_the_option(litellm.Timeout("late", "m", "openai"))
    assert blames_the_option(ValueError("anything")) and not blames_the_option(wrong)


# Attempts.


def attempt(number, since=0.0):
    ticket = Ticket("chat", None, "a", number, str(number))
    return Attempt(f"t{number}", ticket, fb.Decision(number, "a", ""), None, since)


@given(st.lists(st.integers(0, 5)), st.permutations(range(6)))
def test_an_attempt_is_closed_once_whatever_comes_and_how_often(closings, order):
    ledger = Ledger(60.0, clock=lambda: 0.0)
    for number in order:
        ledger.open(attempt(number), f"call-{number}")
    found = [ledger.close(f"t{number}") for number in closings]
    told = [each.ticket.id for each in found if each is not None]
    assert sorted(told) == sorted(set(closings))
    assert len(ledger) == 6 - len(set(closings))
    assert all(ledger.of_call(f"call-{number}").ticket.id == number for number in order)


def test_attempts_expire_and_memory_is_bounded():
    now = [0.0]
    ledger = Ledger(10.0, clock=lambda: now[0])
    for number in range(20_000):
        now[0] = number / 100
        ledger.open(attempt(number, now[0]), f"call-{number}")
    assert len(ledger) <= 1_001 and len(ledger._calls) == 10_000
    assert ledger.close("t0") is None and ledger.of_call("call-0") is None and ledger.of_call(None) is None
    assert ledger.totals().counts["expired"] >= 18_999


# Behind the scenes.


def test_the_thread_behind_takes_so_many_jobs_and_no_more(monkeypatch):
    monkeypatch.setattr("frugalbandits.integrations.litellm.backstage.MOST", 3)
    behind, gate = Backstage(), threading.Event()

    async def wait():
        await behind.in_thread(gate.wait)

    taken = [behind.submit(wait) for _ in range(5)]
    assert taken == [True, True, True, False, False]
    assert not behind.flush(0.01)
    gate.set()
    assert behind.flush(10.0)
    behind.close()
    assert behind.submit(wait) and behind.flush(10.0)  # it begins again
    behind.close()


def test_a_request_does_not_wait_behind_judges():
    behind, gate = Backstage(), threading.Event()

    async def judge():
        await behind.in_thread(gate.wait)

    for _ in range(50):  # more than there are threads
        behind.submit(judge)
    assert asyncio.run(behind.in_front(sum, [1, 2])) == 3
    assert not behind.flush(0.01)
    gate.set()
    assert behind.flush(10.0)
    behind.close()


def test_a_job_that_breaks_is_logged_and_the_next_one_runs(caplog):
    behind, done = Backstage(), threading.Event()

    async def broken():
        raise ZeroDivisionError("no reason")

    async def fine():
        done.set()

    behind.submit(broken)
    behind.submit(fine)
    assert behind.flush(10.0) and done.is_set()
    until(lambda: "a job behind the scenes failed" in caplog.text)
    behind.close()


@pytest.mark.parametrize("inside", [False, True], ids=["plainly", "in a loop"])
def test_what_is_not_done_when_it_closes_is_dropped(inside):
    """Nothing is left behind that the interpreter would complain of later: warnings are errors here."""
    behind, busy, gate, done = Backstage(), threading.Event(), threading.Event(), []

    async def hold():
        busy.set()
        gate.wait(10.0)  # keeps the loop itself, so that none of the others begins before

    async def last():
        await asyncio.sleep(60.0)
        done.append(1)

    async def close():
        behind.close()

    behind.submit(hold)
    assert busy.wait(10.0)
    for _ in range(5):
        behind.submit(last)
    threading.Timer(0.2, gate.set).start()
    asyncio.run(close()) if inside else behind.close()
    assert behind.flush(10.0)
    gc.collect()
    assert not done


def test_the_event_loop_does_not_wait_for_a_service(async_house):
    """A service that takes the connection and never answers: the loop goes on while a thread waits."""
    with Rude("hangs") as rude:
        frugal = async_house.attached(service_url=rude.url)
        asked = []
        choose = frugal._group.choose
        frugal._group.choose = lambda *args: (asked.append(threading.get_ident()), choose(*args))[1]
        response = async_house.call()

        async def ident():
            return threading.get_ident()

        assert asked and asked[0] != async_house._loop.run(ident())
        # It went by the order of its own: what one would use without knowing better.
        assert text_of(response) == "large"
        rude.closing.set()
        frugal.close(timeout=0.1)


# More of LiteLLM.


def test_an_answer_from_the_cache_teaches_no_price(async_house):
    house = async_house
    litellm.cache = litellm.Cache(type="local")
    try:
        frugal = house.attached(house.router(cache_responses=True))
        one = [{"role": "user", "content": f"only once {house.group}"}]
        for _ in range(3):
            house.call(messages=one)
            until(lambda: len(frugal._group.ledger) == 0)
        house.settled(1)
        report = frugal.report()
        assert report.counts["cached"] == 2
        assert sum(each.bills for each in report.options) == report.answers == 1
    finally:
        litellm.cache = None


def test_a_stream_that_breaks_and_falls_back_is_booked_to_the_one_that_answered(async_house):
    house = async_house
    other, broken = f"{house.group}-rescue", "Exception: mock_streaming_error"
    rescue = deployment(other, LARGE, "rescued")
    house.attached(
        house.router(small=broken, large=broken, fallbacks=[other], others=[rescue], num_retries=0)
    )

    async def read():
        stream = await house.bare.acompletion(model=house.group, messages=MESSAGES, stream=True)
        return "".join([part.choices[0].delta.content or "" async for part in stream])

    assert house._loop.run(read()) == "rescued"
    until(lambda: house.frugal.report().counts.get("failures", 0) >= 1)
    house.settled(1)
    assert house.frugal.report().counts["fallbacks"] == 1
    assert house.arm(LARGE).pulls == 1 and house.arm(SMALL).pulls == 0
    assert house.arm(LARGE).pending == house.arm(SMALL).pending == 0


def test_threads_share_a_router(loop):
    from concurrent.futures import ThreadPoolExecutor

    from litellm_harness import House

    house = House("sync", loop)
    try:
        house.attached(house.router(large=LIMITED, cooldown_time=0.01))
        with ThreadPoolExecutor(8) as pool:
            texts = set(pool.map(lambda _: text_of(house.call()), range(60)))
        assert texts == {"small"}
        house.settled(60)
        until(lambda: len(house.frugal._group.ledger) == 0)
        assert house.frugal.flush()
        assert house.arm(SMALL).pulls == 60
        assert all(arm.pending == 0 for arm in house.frugal.explain().arms)
    finally:
        house.close()
