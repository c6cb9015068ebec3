"""The examples that need LiteLLM run, at small sizes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from client_harness import Server

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def ran(*command, folder, timeout=120):
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_guide_runs(tmp_path):
    printed = ran(EXAMPLES / "llm_routing.py", "--calls", 100, folder=tmp_path)
    assert "chat: 100 answers, spent" in printed
    # Nobody answers while it is down, nor once it is retired; the new one is taken in.
    during = re.search(r"gpt-3.5-turbo-1106 is down: .*\n(.*)\n", printed)
    assert during is not None and "gpt-3.5-turbo-1106" not in during[1]
    after = re.search(r"without claude-v2: .*\n(.*)\n", printed)
    assert after is not None and "claude-v2" not in after[1]
    assert re.search(r"table/gpt-3.5-turbo-1106 +[1-9]", printed)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_guide_can_be_looked_at_in_the_dashboard(tmp_path):
    with Server(tmp_path) as service:
        ran(EXAMPLES / "llm_routing.py", "--calls", 50, "--dashboard", service.url, folder=tmp_path)
        session = httpx.get(f"{service.url}/v1/sessions/chat").json()
    assert "table/gpt-3.5-turbo-1106" in str(session)


@pytest.mark.slow
def test_the_benchmark_runs(tmp_path):
    command = ROOT / "benchmarks" / "litellm_routing.py", "--quick", "--table", "mbpp", "--only", "spend"
    printed = ran(*command, folder=tmp_path)
    for words in ("| ours", "| simple-shuffle", "| oracle", "At the asked quality:"):
        assert words in printed


@pytest.mark.slow
def test_the_proxy_of_the_example_starts_answers_learns_and_stops(tmp_path):
    printed = ran(EXAMPLES / "proxy" / "traffic.py", "--calls", 60, folder=tmp_path)
    assert "60 answers, spent $0.0" in printed and "the proxy is stopped" in printed
    answered = [int(number) for number in re.findall(r"answered +(\d+)", printed)]
    assert sum(answered) == 60
    assert re.search(r"gpt-4o-mini +answered +\d+, liked 0\.\d+", printed)
    assert "because openai/gpt-4" in printed
    address = re.search(r"runs at (\S+)", printed)
    with pytest.raises(httpx.TransportError):
        httpx.get(address[1])
