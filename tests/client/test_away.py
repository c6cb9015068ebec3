"""A service that is away: decisions go on by the last plan, and feedback waits and counts once."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import time

import pytest

import frugalbandits as fb
from client_harness import ANSWERS, COSTS, Clients, Rude, Server, free_port, until
from frugalbandits.service.access import add_token


@pytest.fixture
def nowhere():
    return f"http://127.0.0.1:{free_port()}"


@pytest.fixture
def shop(house, eager):
    """A session whose plan was seen, and of whose service the way can be cut."""
    client = house.client(timeout=2.0)
    session = client.create("shop", COSTS, alpha=0.1)
    session.tell(session.ask(among=["medium"]).id, 1.0)
    for option in ("small", "large"):
        session.observe(option, 0.0)
    session.ask()
    return client, session, house.way


def pulls(session):
    return {arm.name: arm.pulls for arm in session.explain().arms}


def test_it_answers_from_the_last_plan(shop):
    _, session, way = shop
    way.state = "down"
    decision = session.ask(metadata={"a": 1})
    assert decision.fallback and decision.option == "medium" and decision.metadata == {"a": 1}
    assert decision.id.startswith("local-")
    assert decision.reason == "fallback: the service cannot be reached; the last plan"
    assert [each.option for each in session.ask(3)] == ["medium"] * 3
    assert len({each.id for each in session.ask(3)}) == 3
    assert session.ask(exclude=["medium"]).option != "medium"
    assert session.ask(among=["large"]).option == "large"
    assert session.ask(among=["unheard of"]).option == "unheard of"
    with pytest.raises(fb.InputError, match="no option is left to choose from"):
        session.ask(exclude=list(COSTS))


def test_a_conversation_keeps_its_option(shop):
    _, session, way = shop
    far = session.ask(among=["large"])
    way.state = "down"
    assert session.ask(after=far).option == session.ask(after=far.id).option == "large"
    assert session.ask(after=far, exclude=["large"]).option == "medium"
    near = session.ask(among=["small"])
    assert session.ask(after=near).option == session.ask(after=near.id).option == "small"
    assert session.ask(after="A" * 80).option == "medium"  # of somebody else
    way.state = "up"
    until(lambda: not session.ask().fallback)
    assert session.ask(after=near).option == session.ask(after=near.id).option == "small"
    assert session.ask(after=near, exclude=["small"]).option != "small"
    session.pause("small")
    assert session.ask(after=near).option != "small"


def test_feedback_waits_and_counts_once(shop, caplog):
    client, session, way = shop
    before = pulls(session)
    far, forgotten = session.ask(2, among=["small"])
    way.state = "down"
    near, other = session.ask(2)
    session.tell(near.id, 1.0)
    session.tell(near.id, 1.0)
    session.tell(near.id, cost=0.9)
    session.tell(other.id, reward=0.5, cost=1.1)
    session.tell(far.id, 0.0)
    session.forget(forgotten.id)
    session.forget(other.id)  # nobody waits for it
    session.observe("large", 1.0)
    session.tell_many({session.ask().id: 1.0, session.ask().id: {"cost": 2.0}})
    assert client.undelivered == 10
    with pytest.raises(fb.ServiceUnavailable, match="cannot be reached: it is down"):
        session.explain()
    assert not client.flush(0.1)
    way.state = "up"
    assert client.flush(20)
    assert pulls(session) == {
        "small": before["small"] + 1,
        "medium": before["medium"] + 3,
        "large": before["large"] + 1,
    }
    assert (client.undelivered, client.dropped) == (0, 0)
    # What was made here can be told later, and again.
    session.tell(near.id, 1.0)
    with pytest.raises(fb.Conflict):
        session.tell(near.id, 0.0)
    assert pulls(session)["medium"] == before["medium"] + 3
    assert not session.ask().fallback


def test_it_is_delivered_by_itself(shop):
    client, session, way = shop
    way.state = "down"
    session.observe("large", 1.0)
    way.state = "up"
    until(lambda: client.undelivered == 0)
    until(lambda: not session.ask().fallback)


def test_an_answer_that_is_lost_counts_once(shop):
    client, session, way = shop
    before = pulls(session)
    decision = session.ask(among=["small"])
    way.state = "deaf"
    session.tell(decision.id, 1.0)
    session.observe("small", 1.0)
    assert session.ask().fallback
    way.state = "up"
    assert client.flush(20)
    assert pulls(session)["small"] == before["small"] + 2


def test_a_store_that_takes_nothing_leaves_decisions_to_the_service(shop):
    client, session, way = shop
    decision = session.ask()
    way.state = "storeless"
    session.tell(decision.id, 1.0)
    session.observe("small", 1.0)
    assert client.undelivered == 2
    assert not any(session.ask().fallback for _ in range(5))
    way.state = "up"
    assert client.flush(20)


def test_what_is_refused_for_good_is_dropped_and_said(shop, caplog):
    client, session, way = shop
    far = session.ask(among=["small"])
    session.tell(far.id, 1.0)
    before = pulls(session)
    way.state = "down"
    with caplog.at_level(logging.ERROR, "frugalbandits"):
        session.tell(far.id, 0.0)
        session.tell("A" * 80, 1.0)
        session.observe("x" * 300, 1.0)  # of a form that spoils a whole batch
        for _ in range(5):
            session.observe("small", 1.0)
        way.state = "up"
        assert client.flush(20)
    assert pulls(session)["small"] == before["small"] + 5
    assert client.dropped == 3
    said = [each.getMessage() for each in caplog.records if "refuses" in each.getMessage()]
    assert len(said) == 3 and "told before, with the reward 1.0" in said[0]


def test_what_does_not_fit_is_dropped_and_said(house, eager, caplog):
    client = house.client(queue=5)
    session = client.create("shop", COSTS, alpha=0.1)
    house.way.state = "down"
    with caplog.at_level(logging.ERROR, "frugalbandits"):
        for _ in range(12):
            session.observe("small", 1.0)
    assert (client.undelivered, client.dropped) == (5, 7)
    assert len([each for each in caplog.records if "is dropped" in each.getMessage()]) == 1
    house.way.state = "up"
    assert client.flush(20)
    assert pulls(session)["small"] == 5


def test_a_session_is_made_when_the_service_is_back(house, eager):
    client = house.client(timeout=0.3)
    house.way.state = "down"
    session = client.create("shop", COSTS, alpha=0.1)
    decision = session.ask()
    assert decision.option == "large"  # the dearest: safe for quality
    assert decision.reason.endswith("the order that was given")
    session.tell(decision.id, 1.0)
    assert client.undelivered == 2
    assert client.create("other", COSTS, alpha=0.1, fallback=["medium"]).ask().option == "medium"
    house.way.state = "up"
    assert client.flush(20)
    assert pulls(session)["large"] == 1
    assert {each.name for each in client.sessions()} == {"shop", "other"}


def test_without_any_plan_the_error_says_so(connect, nowhere):
    session = connect(nowhere, timeout=0.3).session("shop")
    with pytest.raises(fb.ServiceUnavailable, match=r"nothing to fall back on.*'shop'.*fallback=") as caught:
        session.ask()
    assert isinstance(caught.value, ConnectionError)
    assert session.ask(among=["a", "b"]).option == "a"


@pytest.mark.parametrize("mode", ["hangs", "drips", *ANSWERS])
def test_a_server_that_is_rude(connect, mode):
    with Rude(mode) as server:
        client = connect(server.url, timeout=0.5, token="frugal_secret")
        session = client.session("shop", fallback=["large", "small"])
        began = time.monotonic()
        first = session.ask()
        assert time.monotonic() - began < 5.0
        assert first.fallback and first.option == "large"
        session.tell(first.id, 1.0)
        began = time.monotonic()
        assert all(session.ask().fallback for _ in range(200))
        assert time.monotonic() - began < 5.0  # 200 time-outs would be 100 s
        with pytest.raises(fb.ServiceUnavailable) as caught:
            session.explain()
        assert "frugal_secret" not in str(caught.value)
        assert client.undelivered == 1
        client.close(timeout=0.2)


def test_a_redirect_is_not_followed(connect):
    with Rude("redirect") as server:
        session = connect(server.url, timeout=10.0, token="frugal_secret").session("shop")
        with pytest.raises(fb.ServiceUnavailable, match=r"redirect \(307\) to http://evil.example/"):
            session.explain()
        assert server.heard and all(
            b"/v1/sessions/shop" in each for each in server.heard if b"readyz" not in each
        )


def test_a_token_that_is_refused_keeps_feedback_waiting(house, eager, caplog):
    client = house.client()
    session = client.create("shop", COSTS, alpha=0.1)
    house.way.state = "down"
    session.observe("small", 1.0)
    add_token(house.store, "boss", "admin")
    house.app.state.service.access.refresh()
    house.way.state = "up"
    with caplog.at_level(logging.ERROR, "frugalbandits"):
        assert not client.flush(0.5)
    assert client.undelivered == 1 and client.dropped == 0
    assert any("refuses the token" in each.getMessage() for each in caplog.records)
    with pytest.raises(fb.NotAllowed):
        session.ask()


def test_feedback_outlives_the_program_in_a_spool(house, eager, tmp_path, caplog):
    spool = tmp_path / "spool.db"
    client = house.client(spool=spool)
    session = client.create("shop", COSTS, alpha=0.1)
    far = session.ask(among=["small"])
    house.way.state = "down"
    session.tell(far.id, 1.0)
    near = session.ask(among=["large"])
    session.tell(near.id, 1.0)
    # Nothing is closed: the program ends here, as it were.
    house.way.state = "up"
    other = house.client(spool=spool)
    again = other.session("shop")
    assert other.undelivered == 2
    assert other.flush(20)
    assert client.flush(20)  # it says the same again
    assert {name: count for name, count in pulls(again).items() if count} == {"small": 1, "large": 1}
    with sqlite3.connect(spool) as opened:
        assert opened.execute("SELECT count(*) FROM undelivered").fetchone() == (0,)
    opened.close()
    with caplog.at_level(logging.WARNING, "frugalbandits"):
        house.way.state = "down"
        again.observe("small", 1.0)
        other.close(timeout=0.05)
    assert any("1 pieces of feedback wait in the spool" in each.getMessage() for each in caplog.records)
    house.way.state = "up"
    last = house.client(spool=spool)
    assert last.flush(20) and pulls(last.session("shop"))["small"] == 2


def test_a_spool_is_of_one_service(tmp_path, nowhere, kind):
    clients = Clients(kind)
    try:
        first = clients(nowhere, timeout=0.2, spool=tmp_path / "spool.db")
        first.session("shop").observe("small", 1.0)
        assert first.undelivered == 1
        other = clients("http://127.0.0.1:1", timeout=0.2, spool=tmp_path / "spool.db")
        assert other.undelivered == 0
    finally:
        clients.close()


@pytest.mark.parametrize("content", [b"hello" * 1000, b"database"])
def test_a_file_that_is_no_spool(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    if content == b"database":
        path.unlink()
        with sqlite3.connect(path) as opened:
            opened.execute("CREATE TABLE mine (a)")
        opened.close()
    for made in (path, tmp_path / "no" / "folder"):
        with pytest.raises(fb.InputError, match="spool"):
            fb.Client("http://127.0.0.1:1", spool=made)


def test_what_is_not_delivered_is_said_at_the_end(nowhere, caplog):
    with caplog.at_level(logging.ERROR, "frugalbandits"), fb.Client(nowhere, timeout=0.2) as client:
        client.session("shop").observe("small", 1.0)
        client.close(timeout=0.1)
    assert any("1 pieces of feedback were not delivered" in each.getMessage() for each in caplog.records)


def test_a_child_makes_its_own_connections(tmp_path):
    with Server(tmp_path) as server, fb.Client(server.url) as client:
        session = client.create("shop", COSTS, alpha=0.1)
        session.ask()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                told = [session.ask().fallback for _ in range(20)]
                session.observe("small", 1.0)
                os.write(writing, json.dumps(told).encode())
            finally:
                os._exit(0)
        for _ in range(20):
            assert not session.ask().fallback
        os.waitpid(child, 0)
        os.close(writing)
        assert json.loads(os.read(reading, 10_000)) == [False] * 20
        os.close(reading)
        assert pulls(session)["small"] == 1
