"""Sessions that look at queries: nothing acknowledged is lost under `kill -9`, and all workers agree."""

from __future__ import annotations

import random
import threading
import time
from typing import Any

import httpx
import pytest

from proof_harness import COSTS, Cluster, Server, exports, fold_of, log_of, report
from store_harness import eventually

pytestmark = pytest.mark.slow

NAME = "routes"
WHERE = f"/v1/sessions/{NAME}"
BODY = {"costs": COSTS, "alpha": 0.05, "context": {"segments": ["easy", "hard"], "features": 3}}


class Caller(threading.Thread):
    """Asks and tells until it is to stop, and writes down what was acknowledged."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        super().__init__()
        self.cluster, self.dice = cluster, random.Random(seed)
        self.asked: dict[str, list[float]] = {}  # options and queries by what names them in the log
        self.told: dict[str, float] = {}
        self.wrong: list[str] = []
        self.ending = threading.Event()

    def run(self) -> None:
        while not self.ending.is_set():
            try:
                with httpx.Client(base_url=self.cluster.urls[0], timeout=10) as client:
                    self.go_on(client)
            except (httpx.TransportError, IndexError):
                time.sleep(0.05)  # whoever answered was killed

    def go_on(self, client: httpx.Client) -> None:
        dice = self.dice
        while not self.ending.is_set():
            name = f"{id(self)}-{dice.random()}"
            query = [dice.gauss(0, 1) for _ in range(3)]
            segment = dice.choice(["easy", "hard", "new"])
            body = {"context": {"segment": segment, "features": query}, "metadata": name}
            made = client.post(f"{WHERE}/decisions", json=body)
            if made.status_code != 201:
                self.refuse(made)
                continue
            self.asked[name] = query
            reward = round(dice.random(), 3)
            for _ in range(dice.randrange(3)):  # some never, some twice
                said = client.put(f"/v1/decisions/{made.json()['id']}/feedback", json={"reward": reward})
                if said.status_code == 204:
                    self.told[name] = reward
                else:
                    self.refuse(said)

    def refuse(self, answer: httpx.Response) -> None:
        if answer.status_code != 503:
            self.wrong.append(answer.text)


def all_agree(server: Server, workers: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Wait until every worker says what the log adds up to; return the log and that."""
    until = time.monotonic() + 30
    while True:
        log = log_of(server, NAME)
        fold, found = fold_of(log, NAME), exports(server, NAME)
        if len(found) == workers and all(each == fold for each in found):
            return log, fold
        assert time.monotonic() < until, f"{len(found)} workers do not agree with the log"
        time.sleep(0.2)


def test_kills_under_load(store: str) -> None:
    with Cluster(store, workers=2) as cluster:
        assert cluster.servers[0].client.put(WHERE, json=BODY).status_code == 201
        callers = [Caller(cluster, seed) for seed in range(3)]
        for caller in callers:
            caller.start()
        try:
            for turn in range(2):
                heard = sum(len(caller.told) for caller in callers)
                eventually(lambda heard=heard: sum(len(each.told) for each in callers) > heard + 25, 60)
                cluster.kill(random.Random(turn))
            heard = sum(len(caller.told) for caller in callers)
            eventually(lambda: sum(len(each.told) for each in callers) > heard + 10, 60)
        finally:
            for caller in callers:
                caller.ending.set()
            for caller in callers:
                caller.join()
        eventually(cluster.all_up, 30)
        log, fold = all_agree(cluster.servers[0], 2)
    assert not [word for caller in callers for word in caller.wrong]
    asked = {each["body"]["m"]: each for each in log if each["kind"] == "asked"}
    told = {each["key"][:-1]: each["body"]["r"] for each in log if each["kind"] == "reward"}
    for caller in callers:
        for name, query in caller.asked.items():
            assert asked[name]["body"]["x"] == query
        for name, reward in caller.told.items():
            assert told[asked[name]["key"][:-1]] == reward
    # Each counts once, acknowledged or not.
    assert fold["decisions"] == len(asked) == sum(row[0] for row in fold["accounts"])
    assert sum(row[1] for row in fold["accounts"]) == len(told)
    report(asked=len(asked), told=len(told), acknowledged=sum(len(caller.told) for caller in callers))
