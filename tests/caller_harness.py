"""Callers that ask and tell while servers die, and that keep book of what was acknowledged."""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

SESSION = "shop"


class Cluster(Protocol):
    """Where servers are at present."""

    @property
    def urls(self) -> list[str]: ...


class Down(Exception):
    """No answer came, or one that says to try again."""


class Line:
    """A connection to a server that is kept while it holds."""

    def __init__(self, url: str) -> None:
        where = urlsplit(url)
        self._connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=15)

    def __call__(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        text = None if body is None else json.dumps(body)
        try:
            self._connection.request(method, path, text, {"Content-Type": "application/json"})
            answer = self._connection.getresponse()
            told = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Down(repr(error)) from None
        if answer.status == 503:
            assert answer.getheader("Retry-After") == "1", told
            assert json.loads(told)["detail"]
            raise Down("503")
        return answer.status, json.loads(told) if told else None

    def close(self) -> None:
        self._connection.close()


@dataclass
class Book:
    """What callers have sent, and what was acknowledged, by a name that each decision carries."""

    sent: dict[str, tuple[str, float]] = field(default_factory=dict)
    acknowledged: set[str] = field(default_factory=set)
    refused: Counter[str] = field(default_factory=Counter)
    wrong: list[Any] = field(default_factory=list)


class Callers:
    """Threads that ask and tell without end; what gets no answer is told again, or now and then given up."""

    def __init__(self, cluster: Cluster, seed: int, count: int = 6) -> None:
        self.book = Book()
        self._cluster = cluster
        self._ending = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(number, random.Random(1_000 * seed + number)))
            for number in range(count)
        ]

    def __enter__(self) -> Callers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()

    def _run(self, number: int, dice: random.Random) -> None:
        turn = 0
        lines: dict[str, Line] = {}

        def call(*request: Any) -> tuple[int, Any]:
            url = dice.choice(self._cluster.urls)
            line = lines.get(url) or lines.setdefault(url, Line(url))
            try:
                return line(*request)
            except Down as error:
                self.book.refused["503" if str(error) == "503" else "no answer"] += 1
                time.sleep(0.1)
                raise

        try:
            while not self._ending.is_set():
                turn += 1
                with contextlib.suppress(Down):
                    self._once(call, f"{number}-{turn}", dice)
        except Exception as error:
            self.book.wrong.append(error)
        finally:
            for line in lines.values():
                line.close()

    def _once(self, call: Any, name: str, dice: random.Random) -> None:
        """Ask for one or for several, and tell of each; several are told in a batch."""
        many = dice.choice((1, 1, 1, 5))
        asks = [{"op": "ask", "session": SESSION, "metadata": f"{name}.{each}"} for each in range(many)]
        if many == 1:
            status, decision = call("POST", f"/v1/sessions/{SESSION}/decisions", {"metadata": f"{name}.0"})
            decisions = [decision] if self._right(status == 201, decision) else []
        else:
            status, answers = call("POST", "/v1/batch", asks)
            decisions = [each["body"] for each in answers] if self._right(status == 200, answers) else []
        rewards = [dice.random() for _ in decisions]
        for each, (decision, reward) in enumerate(zip(decisions, rewards, strict=True)):
            self.book.sent[f"{name}.{each}"] = decision["option"], reward
        while decisions:
            with contextlib.suppress(Down):
                self._tell(call, name, decisions, rewards)
                return
            if dice.random() < 0.02:
                return  # a caller that has died

    def _tell(self, call: Any, name: str, decisions: list[Any], rewards: list[float]) -> None:
        if len(decisions) == 1:
            path = f"/v1/decisions/{decisions[0]['id']}/feedback"
            status, told = call("PUT", path, {"reward": rewards[0]})
            statuses = [status]
        else:
            items = [
                {"op": "tell", "id": decision["id"], "reward": reward}
                for decision, reward in zip(decisions, rewards, strict=True)
            ]
            _, told = call("POST", "/v1/batch", items)
            statuses = [each["status"] for each in told]
        for each, status in enumerate(statuses):
            if status == 204:
                self.book.acknowledged.add(f"{name}.{each}")
        if 503 in statuses:
            raise Down("503")
        self._right(set(statuses) == {204}, told)

    def _right(self, true: bool, what: Any) -> bool:
        if not true:
            self.book.wrong.append(what)
        return true
