"""Many sessions in one server: all that was acknowledged is there after `kill -9`, in every session."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter

import httpx
import pytest

from frugalbandits.stores import open_store
from proof_harness import BODY, KILLS, Server, report
from store_harness import eventually

pytestmark = pytest.mark.slow

SOAK = KILLS >= 10
SESSIONS = 1_000 if SOAK else 40
ROUNDS = KILLS // 10 if SOAK else 1
CALLERS = 4


class Caller(threading.Thread):
    """Creates its share of the sessions, then asks and tells in all of them; keeps what was acknowledged."""

    def __init__(self, place: int, where: list[str], ending: threading.Event) -> None:
        super().__init__(daemon=True)
        self._place, self._where, self._ending = place, where, ending
        self._dice = random.Random(place)
        self._client: httpx.Client | None = None
        self.made: set[str] = set()
        self.sent: dict[str, tuple[str, float]] = {}  # by the metadata of the decision
        self.told: set[str] = set()
        self.troubles: Counter[str] = Counter()

    def run(self) -> None:
        try:
            self._work()
        finally:
            self._hang_up()

    def _work(self) -> None:
        for number in range(self._place, SESSIONS, CALLERS):
            self._until_done("PUT", f"/v1/sessions/many-{number}", BODY)
            self.made.add(f"many-{number}")
        turn = 0
        while not self._ending.is_set():
            turn += 1
            name, session = f"{self._place}.{turn}", f"many-{self._dice.randrange(SESSIONS)}"
            asked = self._call("POST", f"/v1/sessions/{session}/decisions", {"metadata": name})
            if asked is None or asked.status_code == 404:
                continue  # the server is down, or another caller has not made this session yet
            reward = self._dice.random()
            self.sent[name] = session, reward
            path = f"/v1/decisions/{asked.json()['id']}/feedback"
            if (answer := self._call("PUT", path, {"reward": reward})) is not None:
                assert answer.status_code in (200, 204), answer.text
                self.told.add(name)

    def _call(self, method: str, path: str, body: object) -> httpx.Response | None:
        """Return the answer, or None if the server was killed meanwhile: then nothing is known."""
        try:
            if self._client is None:
                self._client = httpx.Client(base_url=self._where[0], timeout=60)
            answer = self._client.request(method, path, json=body)
        except httpx.TransportError as error:
            self.troubles[type(error).__name__] += 1
            self._hang_up()
            time.sleep(0.05)
            return None
        if answer.status_code >= 500:
            self.troubles[str(answer.status_code)] += 1
            return None
        return answer

    def _hang_up(self) -> None:
        if self._client is not None:
            self._client.close()
        self._client = None

    def _until_done(self, method: str, path: str, body: object) -> None:
        while not self._ending.is_set():
            answer = self._call(method, path, body)
            if answer is not None:
                assert answer.status_code in (200, 201), answer.text
                return


def test_everything_acknowledged_is_there_in_each_of_many_sessions(store: str) -> None:
    dice, arguments = random.Random(7), ("--store", store, "--log-level", "warning")
    ending, server = threading.Event(), Server(*arguments)
    where = [server.url]
    callers = [Caller(place, where, ending) for place in range(CALLERS)]
    try:
        for caller in callers:
            caller.start()
        for _ in range(ROUNDS):
            for enough in (SESSIONS // 2, SESSIONS):  # while sessions are made, and while all are in use
                eventually(lambda enough=enough: sum(len(each.made) for each in callers) >= enough, 600)
                if enough == SESSIONS:
                    _more_is_told(callers)
                time.sleep(dice.uniform(0.0, 0.3))
                server.kill_all()
                server = Server(*arguments)
                where[0] = server.url
        _more_is_told(callers)
        ending.set()
        for caller in callers:
            caller.join(90)
        _reckon(server, store, callers)
    finally:
        ending.set()
        server.kill_all()


def _more_is_told(callers: list[Caller]) -> None:
    before = sum(len(each.told) for each in callers)
    eventually(lambda: sum(len(each.told) for each in callers) >= before + 40, 120)


def _reckon(server: Server, store: str, callers: list[Caller]) -> None:
    """Hold what callers were told against the log of every session, and against what the server shows."""
    sent = {name: each for caller in callers for name, each in caller.sent.items()}
    told = {name for caller in callers for name in caller.told}
    counted: Counter[str] = Counter()
    found: dict[str, tuple[str, float]] = {}
    with open_store(store) as opened:
        names = [name for name in opened.sessions() if name.startswith("many-")]
        assert {name for caller in callers for name in caller.made} <= set(names)
        for session, entries in opened.read_many(dict.fromkeys(names, 0), 100_000).items():
            assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
            for fact in (entry.fact for entry in entries if entry.fact.kind == "reward"):
                body = json.loads(fact.body)
                assert body["m"] not in found, "a decision was counted twice"
                found[body["m"]] = session, body["r"]
                counted[session] += 1
    assert not [name for name in told if found.get(name) != sent[name]], "acknowledged, and not in the log"
    assert not [name for name in found if sent.get(name) != found[name]], "in the log, and never sent"
    shown = server.client.get(f"/v1/sessions?limit={SESSIONS}", timeout=120).json()["sessions"]
    assert {each["name"]: each["told"] for each in shown} == {name: counted[name] for name in names}
    report(sessions=len(names), kills=2 * ROUNDS, sent=len(sent), acknowledged=len(told), in_log=len(found))
