"""LiteLLM's proxy from start to end: start it, ask with the OpenAI client, give feedback, stop it.

    python examples/proxy/traffic.py        # or: make example-proxy

Users like 60% of the answers of the small model, 93% of the middle one's and 97% of the large one's, and say
so by the id in the header of each answer.
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import openai

CONFIG = Path(__file__).with_name("config.yaml")
LIKED = {
    "answer of the small model": 0.6,
    "answer of the middle model": 0.93,
    "answer of the large model": 0.97,
}


@contextmanager
def proxy(key: str, patience: float = 120.0) -> Iterator[str]:
    """Run a proxy on a free port; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    # As the command `litellm --config ... --port ...` does.
    command = [sys.executable, "-c", "import sys; from litellm import run_server; sys.exit(run_server())"]
    where = ["--config", str(CONFIG), "--host", "127.0.0.1", "--port", str(port)]
    own = {"PROXY_KEY": key, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DATABASE_")}
    process = subprocess.Popen(
        [*command, *where], env={**clean, **own}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        end = time.monotonic() + patience
        while not _lives(url):
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"the proxy did not start; try: litellm --config {CONFIG}")
            time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def _lives(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health/liveliness").status_code == 200
    except httpx.TransportError:
        return False


def traffic(url: str, key: str, calls: int) -> dict[str, Any]:
    """Ask, say how good the answers were, and return the proxy's report."""
    dice, answers = random.Random(3), Counter[str]()
    messages: Any = [{"role": "user", "content": "What is 2 + 2?"}]
    with (
        openai.OpenAI(base_url=f"{url}/v1", api_key=key) as client,
        httpx.Client(base_url=url, headers={"authorization": f"Bearer {key}"}, timeout=30.0) as own,
    ):
        for number in range(calls):
            raw = client.chat.completions.with_raw_response.create(model="chat", messages=messages)
            text = raw.parse().choices[0].message.content or ""
            answers[text] += 1
            if number in (0, calls - 1):
                print(f"call {number + 1}: {text}\n    because {raw.headers['x-frugal-reason']}")
            told = {"id": raw.headers["x-frugal-decision"], "reward": float(dice.random() < LIKED[text])}
            own.post("/frugal/feedback", json=told).raise_for_status()
        end = time.monotonic() + 10.0
        while True:  # bills come after the answers
            found: dict[str, Any] = own.get("/frugal/report").json()["chat"]
            if sum(each["bills"] for each in found["options"]) >= calls or time.monotonic() > end:
                break
            time.sleep(0.1)
    print(", ".join(f"{number} times the {text}" for text, number in answers.most_common()))
    return found


def main() -> None:
    """Start, ask, report, stop."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--calls", type=int, default=300)
    told = parser.parse_args()
    key = f"sk-{secrets.token_hex(16)}"
    with proxy(key) as url:
        print(f"the proxy runs at {url}")
        report = traffic(url, key, told.calls)
    print(f"{report['answers']} answers, spent ${report['spent']:.5f}", end="; ")
    print(f"all to {report['baseline']} would have been ${report['instead']:.5f}")
    for each in report["options"]:
        liked = "not known" if each["quality"] is None else f"{each['quality']:.2f}"
        print(f"    {each['name']:<20} answered {each['answered']:>4}, liked {liked}")
    print("the proxy is stopped")


if __name__ == "__main__":
    main()
