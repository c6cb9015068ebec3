"""Lively traffic for a running service, to look at the dashboard with: the standard library is all it takes.

    frugal serve &
    python examples/demo_traffic.py http://127.0.0.1:8000 --seconds 600

Without an address it starts a service of its own, in memory, and ends it again. Four sessions ask for
decisions and tell later how good they were; on the way a price falls, an option is out for a while, another
one gets worse, and a new one comes in. One of the sessions looks at its queries: what kind they are, and how
hard.
"""

from __future__ import annotations

import argparse
import contextlib
import heapq
import json
import os
import random
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

TICK = 0.25  # seconds between two rounds


@dataclass
class Made:
    """A session of the demonstration, and how good its options really are."""

    name: str
    body: dict[str, Any]
    quality: dict[str, float]
    judged: float  # share of decisions whose reward is ever told
    delay: float  # seconds until it is, on average
    rate: int  # decisions a round
    kinds: dict[str, dict[str, float]] = field(default_factory=dict)  # how good they are on kinds of queries

    def asks(self, chance: random.Random) -> list[tuple[dict[str, Any], dict[str, float]]]:
        """Return what a round asks for, each with how good every option would be."""
        found = []
        for _ in range(max(1, round(self.rate * chance.uniform(0.5, 1.5)))):
            ask: dict[str, Any] = {"op": "ask", "session": self.name}
            quality = self.quality
            if self.kinds:
                kind, hard = chance.choice(list(self.kinds)), chance.random()
                ask["context"] = {"segment": kind, "features": [hard]}
                quality = {option: easy - 0.1 * hard for option, easy in self.kinds[kind].items()}
            found.append((ask, quality))
        return found


def sessions() -> list[Made]:
    """Return the sessions."""
    models = {"mini": 0.15, "small": 0.6, "medium": 2.5, "large": 10.0, "frontier": 18.0}
    truth = {"mini": 0.61, "small": 0.86, "medium": 0.9, "large": 0.94, "frontier": 0.93, "compact": 0.9}
    readers = {"rules": 0.02, "scanner": 0.3, "reader": 1.1}
    rankers = {"keywords": 1.0, "vectors": 2.0, "vectors + reranking": 6.5}
    found = {"rules": 0.66, "scanner": 0.84, "reader": 0.95}
    clicks = {"keywords": 0.31, "vectors": 0.39, "vectors + reranking": 0.41}
    clerks = {"mini": 0.15, "medium": 2.5, "frontier": 18.0}
    desk = {
        "costs": clerks,
        "quality": "relative-to:frontier:0.05",
        "context": {"segments": ["opening hours", "invoices", "legal"], "features": 1},
    }
    kinds = {
        "opening hours": {"mini": 0.96, "medium": 0.97, "frontier": 0.97},
        "invoices": {"mini": 0.5, "medium": 0.95, "frontier": 0.96},
        "legal": {"mini": 0.3, "medium": 0.6, "frontier": 0.95},
    }
    return [
        Made("support-answers", {"costs": models, "alpha": 0.1, "worth": 30.0}, truth, 0.7, 1.5, 12),
        Made("invoice-fields", {"costs": readers, "quality": "at-least:0.8"}, found, 0.35, 4.0, 6),
        Made("search-ranking", {"costs": rankers, "alpha": 0.1, "worth": 25.0}, clicks, 0.9, 0.6, 8),
        Made("help-desk", desk, {}, 0.8, 1.0, 10, kinds),
    ]


class Api:
    """The service, as far as it is needed here."""

    def __init__(self, address: str, token: str | None) -> None:
        self.address = address.rstrip("/")
        self._headers = {"content-type": "application/json"}
        if token:
            self._headers["authorization"] = f"Bearer {token}"

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Return what the service answers; what it refuses ends the program in its words."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, self._headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            with error:
                sys.exit(f"{method} {path}: {json.load(error)['detail']}")
        except urllib.error.URLError as error:
            sys.exit(f"cannot reach {self.address}: {error.reason}")
        return json.loads(text) if text else None


def run(api: Api, seconds: float, seed: int = 1) -> None:
    """Ask and tell for a while."""
    chance = random.Random(seed)
    made = sessions()
    for each in made:
        api.call("PUT", f"/v1/sessions/{each.name}", each.body)
    happens = story(api, made[0], made[-1], seconds)
    began = time.monotonic()
    waiting: list[tuple[float, str, float]] = []
    while (now := time.monotonic()) - began < seconds:
        while happens and now - began >= happens[0][0]:
            happens.pop(0)[1]()
        for each in made:
            asks = each.asks(chance)
            decided = api.call("POST", "/v1/batch", [ask for ask, _ in asks])
            for (_, quality), answer in zip(asks, decided, strict=True):
                decision = answer["body"]
                if chance.random() < each.judged:
                    reward = float(chance.random() < quality[decision["option"]])
                    due = now + chance.expovariate(1 / each.delay)
                    heapq.heappush(waiting, (due, decision["id"], reward))
        told: list[dict[str, Any]] = []
        while waiting and waiting[0][0] <= now and len(told) < 1_000:
            _, id_, reward = heapq.heappop(waiting)
            told.append({"op": "tell", "id": id_, "reward": reward})
        if told:
            api.call("POST", "/v1/batch", told)
        time.sleep(max(0.0, TICK - (time.monotonic() - now)))


def story(api: Api, made: Made, looking: Made, seconds: float) -> list[tuple[float, Any]]:
    """Return what happens to two sessions, and when: shares of the time that there is."""

    def change(option: str, session: Made = made, **body: Any) -> None:
        api.call("PATCH", f"/v1/sessions/{session.name}/options/{quote(option)}", body)

    def arrive() -> None:
        api.call("PUT", f"/v1/sessions/{made.name}/options/compact", {"cost": 0.4})

    return [
        (0.25 * seconds, lambda: change("medium", cost=1.2)),
        (0.40 * seconds, lambda: change("small", paused=True)),
        (0.50 * seconds, lambda: change("small", paused=False)),
        (0.55 * seconds, lambda: change("frontier", looking, cost=12.0)),
        (0.60 * seconds, lambda: made.quality.update(small=0.55)),
        (0.80 * seconds, arrive),
    ]


@contextlib.contextmanager
def service_of_its_own() -> Iterator[str]:
    """Start a service in memory; give its address."""
    command = [sys.executable, "-m", "frugalbandits.cli", "serve", "--store", "memory:", "--port", "0"]
    with subprocess.Popen([*command, "--log-level", "error"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            # frugal: listening on http://127.0.0.1:41567 (memory:, ...)
            yield process.stdout.readline().split(" ")[3]
        finally:
            process.terminate()


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description="Lively traffic, to look at the dashboard with.")
    parser.add_argument("address", nargs="?", help="of a running service; without it, one is started")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long it goes on (default: 3)")
    told = parser.parse_args()
    with contextlib.ExitStack() as stack:
        address = told.address or stack.enter_context(service_of_its_own())
        print(f"Look at {address}/sessions/support-answers, and at {address}/sessions/help-desk", flush=True)
        api = Api(address, os.environ.get("FRUGALBANDITS_TOKEN"))
        run(api, told.seconds)
        for each in api.call("GET", "/v1/sessions")["sessions"]:
            print(f"{each['name']}: {each['decisions']:,} decisions, spent {each['spent']:,.4g}")


if __name__ == "__main__":
    main()
