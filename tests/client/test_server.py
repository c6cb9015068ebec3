"""A real server that is killed and started again: nobody gets an error, and all counts once."""

from __future__ import annotations

import threading
import time

import pytest

import frugalbandits as fb
from client_harness import COSTS, Server, until


def test_a_server_that_is_killed_and_comes_back(connect, tmp_path):
    with Server(tmp_path) as server:
        client = connect(server.url, timeout=5.0, spool=tmp_path / "spool.db")
        session = client.create("shop", COSTS, alpha=0.1)
        made, stop, trouble = [], threading.Event(), []

        def work():
            try:
                while not stop.is_set():
                    decision = session.ask()
                    made.append(decision)
                    session.tell(decision.id, reward=1.0)
                    time.sleep(0.002)
            except Exception as error:
                trouble.append(error)

        def more():
            count = len(made)
            until(lambda: trouble or len(made) > count + 20)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(2):
            more()
            server.kill()
            until(lambda: trouble or made[-1].fallback)
            more()
            server.start()
            # The next probe comes by itself, a second or a few after the first failure.
            until(lambda: trouble or not made[-1].fallback, seconds=60)
        stop.set()
        for thread in threads:
            thread.join()
        assert trouble == []
        assert client.flush(30)
        explanation = session.explain()
        fallen = [each for each in made if each.fallback]
        assert fallen and len(fallen) < len(made)
        assert {each.id.startswith("local-") for each in fallen} == {True}
        for arm in explanation.arms:
            assert arm.pulls == sum(each.option == arm.name for each in made)
        assert client.dropped == 0


def test_what_it_costs_while_the_service_is_away(connect, tmp_path):
    """One call waits, and no other does; the bounds are a hundred times what is measured."""
    with Server(tmp_path) as server:
        client = connect(server.url, timeout=5.0)
        session = client.create("shop", COSTS, alpha=0.1)
        session.ask()
        server.kill()
        began = time.monotonic()
        assert session.ask().fallback
        assert time.monotonic() - began < 4.0
        began = time.monotonic()
        for _ in range(200):
            session.tell(session.ask().id, 1.0)
        assert (time.monotonic() - began) / 200 < 0.05
        assert client.undelivered == 200
        server.start()
        assert client.flush(60)
        assert sum(arm.pulls for arm in session.explain().arms) == 200


def test_a_program_that_starts_before_its_service(connect, tmp_path):
    server = Server(tmp_path)
    client = connect(server.url, timeout=1.0)
    session = client.create("shop", COSTS, alpha=0.1)
    session.tell(session.ask().id, 1.0)
    with server:
        assert client.flush(60)
        until(lambda: not session.ask().fallback)
        assert sum(arm.pulls for arm in session.explain().arms) == 1


def test_threads_share_a_client(tmp_path):
    with Server(tmp_path) as server, fb.Client(server.url, timeout=20.0) as client:
        session = client.create("shop", COSTS, alpha=0.1)
        trouble = []

        def work():
            try:
                for _ in range(25):
                    session.tell(session.ask().id, 1.0)
            except Exception as error:
                trouble.append(error)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert trouble == []
        assert sum(arm.pulls for arm in session.explain().arms) == 200
        with pytest.raises(fb.UnknownDecision):
            session.tell("nobody", 1.0)
