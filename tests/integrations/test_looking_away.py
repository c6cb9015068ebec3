"""Routers that look at the request while their session cannot be reached, and after they were killed."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import frugalbandits as fb
from client_harness import Server
from frugalbandits.integrations.litellm import Thumbs, text_of
from frugalbandits.integrations.litellm.books import LookingBook
from frugalbandits.integrations.litellm.looking import Asked
from litellm_harness import LARGE, OTHER, SMALL, until
from looking_harness import Place, ask, attached


@pytest.mark.slow
def test_while_the_service_is_away_the_dearest_answers_and_that_is_told_later(async_house, tmp_path, caplog):
    house = async_house
    with Server(tmp_path) as server:
        attached(house, Place("service", tmp_path, server))
        ask(house)
        house.settled(1)
        server.kill()
        with caplog.at_level(logging.WARNING, "frugalbandits.litellm"):
            answers = [ask(house) for _ in range(5)]
        assert {text_of(answer) for answer in answers} == {"large"}
        assert all("the session cannot be reached" in house.frugal.why(answer) for answer in answers)
        said = [record for record in caplog.records if "dearest option" in record.message]
        assert len(said) == 1
        ledger = house.frugal._group.ledger
        until(lambda: ledger.sums.options[LARGE].judged >= 5)
        report = house.frugal.report()
        assert report.counts["decided without the session"] == 5 and report.counts["explaining failed"] == 1
        server.start()
        book = house.frugal._group.sessions.of(None)
        assert house.frugal._group.sessions._client.flush(20.0)
        book._again = 0.0
        ask(house)
        house.settled(7)
        told = house.frugal.explain()
    assert told.decisions == 2, "the others were no decisions"
    (large,) = (each for each in told.options if each.name == LARGE)
    assert told.told == 2 and large.quality > 0.6


@pytest.mark.slow
def test_a_service_that_is_away_when_a_router_starts(async_house, tmp_path):
    """A session that was there gets the new model then, and one that was not is made."""
    house, server = async_house, Server(tmp_path)
    place = Place("service", tmp_path, server)
    with server:
        attached(house, place)
        house.frugal.close()
    models = {SMALL: "small", LARGE: "large", OTHER: "other"}
    for name in (house.group, f"{house.group}-new"):
        router = house.router(deployments=[house.deployment(*each) for each in models.items()])
        attached(house, place, router, name=name)
        assert text_of(ask(house)) == "large", "the dearest for such a prompt"
        with server:
            group = house.frugal._group
            assert group.sessions._client.flush(20.0)
            group.sessions.of(None)._again = 0.0
            assert "cannot be reached" not in house.frugal.why(ask(house))
            house.settled(2)
            told = house.frugal.explain()
            assert {each.name for each in told.options} == set(models)
            assert told.decisions == 1 and not group.ledger.sums.counts["deciding failed"]
            house.frugal.close()


def test_a_session_that_is_away_is_left_alone_for_a_while():
    class Away:
        asked = 0

        def ask(self, **_):
            self.asked += 1
            raise fb.StoreUnavailable("the disk is full")

    session, now = Away(), [100.0]
    book = LookingBook(session, shared=True, clock=lambda: now[0])
    costs, asked = {"a": 1.0, "b": 3.0, "c": 2.0}, Asked("easy", None, 3.0)
    assert book.ask(["a", "c"], None, asked, costs).option == "c"
    earlier = fb.Session(costs, alpha=0.1).ask(among=["a"])
    kept = book.ask(["a", "b"], earlier, asked, costs)
    assert kept.option == "a" and "kept" in kept.reason and kept.fallback and kept.id is None
    assert book.ask(["b", "c"], earlier, asked, costs).option == "b"
    assert session.asked == 1
    now[0] += 5.0
    book.ask(["a"], None, asked, costs)
    assert session.asked == 2


# Killed


CHILD = """
    import os, sys

    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import litellm
    import frugalbandits as fb
    from frugalbandits.integrations.litellm import FrugalRouter
    from litellm_harness import LARGE, MESSAGES, SMALL, deployment

    router = litellm.Router([deployment("kept", SMALL, "small"), deployment("kept", LARGE, "large")])
    context = fb.Segments(["easy", "hard"]) + fb.TextFeatures(8)
    frugal = FrugalRouter("kept", "at-least:0.8", context=context, segment="task", store=sys.argv[1])
    frugal.attach(router)
    number = 0
    while True:
        task = ("easy", "hard")[number % 2]
        response = router.completion(model="kept", messages=MESSAGES, metadata={"task": task})
        id_ = frugal.decision_of(response)
        if number % 3 == 0:
            frugal.tell(id_, 1.0)
        print(number % 3, id_, flush=True)
        number += 1
"""


@pytest.mark.slow
def test_a_router_that_is_killed_goes_on_where_it_was(tmp_path, async_house):
    """kill -9 in the middle of a call: every id that was handed out is known, and what was told is told."""
    house, store = async_house, f"sqlite:///{tmp_path}/decisions.db"
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHILD), store],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    lines = [process.stdout.readline().split() for _ in range(20)]
    process.send_signal(signal.SIGKILL)
    lines += [line.split() for line in process.stdout.readlines()]
    process.wait(20)
    process.stdout.close()
    whole = [line for line in lines if len(line) == 2 and line[1].count(".") == 1]
    assert len(whole) >= 20
    house.group = "kept"
    context = fb.Segments(["easy", "hard"]) + fb.TextFeatures(8)
    frugal = house.attached(
        quality="at-least:0.8", judge=Thumbs(), context=context, segment="task", store=store
    )
    told = frugal.explain()
    before = sum(kind == "0" for kind, _ in whole)
    assert told.decisions >= len(whole) and before <= told.told <= before + 1
    for kind, id_ in whole:
        if kind == "1":
            frugal.tell(id_, 0.0)
        elif kind == "0":
            with pytest.raises(fb.ToldBefore):
                frugal.tell(id_, 0.0)
    now = frugal.explain()
    assert now.told == told.told + sum(kind == "1" for kind, _ in whole)
    assert now.pending == now.decisions - now.told
    house.call(metadata={"task": "easy"})
    house.settled(1)
    assert frugal.explain().decisions == now.decisions + 1
