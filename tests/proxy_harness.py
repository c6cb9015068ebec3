"""LiteLLM's proxy as a real process, with groups of every kind."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import httpx
import openai

from client_harness import free_port
from litellm_harness import LARGE, SMALL, until

KEY = "sk-of-this-test"
CONFIG = """
model_list:
{models}
  - model_name: rescue
    litellm_params: {{model: openai/gpt-4.1, api_key: none, mock_response: rescued}}
    model_info: {{id: rescue}}
router_settings:
  fallbacks: [{{"broken": ["rescue"]}}]
  model_group_alias: {{"quick": "chat"}}
litellm_settings:
  cache: true
  cache_params: {{type: local, mode: default_off}}
  callbacks: ["beside.callback", "frugalbandits.integrations.litellm.proxy.frugal"]
general_settings:
  master_key: {key}
frugal:
  chat:
    quality: relative-to-best:0.1
    judge: {{thumbs: {{judge: beside.judge}}}}
  talk:
    quality: relative-to-best:0.1
    sticky: conversation
    judge: beside.likes_large
  shared:
    quality: relative-to-best:0.1
    service_url: {service}
    ticket_key: of all proxies of a test
    segment: task
  looking:
    quality: relative-to-best:0.1
    context: {{segments: [poems, sums], features: 2}}
    segment: task
    features: beside.numbers
  watched:
    quality: relative-to-best:0.1
    service_url: {service}
    ticket_key: of all proxies of a test
    context: {{segments: [poems, sums], text: 8}}
    segment: task
  kept:
    quality: relative-to-best:0.1
    store: {store}
    context: {{features: 2}}
    features: beside.numbers
    shadow: true
  stored:
    quality: relative-to-best:0.1
    store: {store}
  broken:
    quality: relative-to-best:0.1
  unpriced:
    quality: relative-to-best:0.1
"""
# LiteLLM executes a module beside the configuration whenever it looks something up in it.
BESIDE = """
from pathlib import Path

from frugalbandits.integrations.litellm import FrugalRouter, text_of

with (Path(__file__).parent / "executed").open("a") as file:
    file.write("once more\\n")

callback = FrugalRouter("own", alpha=0.1, judge=lambda request, response: 1.0).callback


def judge(request, response):
    return None if request.metadata.get("requester_metadata", {}).get("silent") else 1.0


def likes_large(request, response):
    return text_of(response) == "large"


def numbers(query):
    return [len(query.text), {"poems": 1, "sums": 2, None: 3}[query.segment]]
"""
ANSWERS = {
    "chat": ("small", "large"),
    "shared": ("small", "large"),
    "talk": ("small", "large"),
    "own": ("small", "large"),
    "looking": ("small", "large"),
    "watched": ("small", "large"),
    "kept": ("small", "large"),
    "stored": ("small", "large"),
    "broken": ("litellm.RateLimitError", "litellm.RateLimitError"),
}


def models():
    lines = [
        f"  - {{model_name: {group}, "
        f"litellm_params: {{model: {model}, api_key: none, mock_response: {answer}}}, "
        f"model_info: {{id: {group}-{answer}-{number}}}}}"
        for group, answers in ANSWERS.items()
        for number, (model, answer) in enumerate(zip((SMALL, LARGE), answers, strict=True))
    ]
    strange = "{model: openai/nobody-knows, api_key: none, mock_response: strange}"
    known = f"{{model: {SMALL}, api_key: none, mock_response: known}}"
    lines += [f"  - {{model_name: unpriced, litellm_params: {each}}}" for each in (strange, known)]
    return "\n".join(lines)


class Proxy:
    """A process of LiteLLM's proxy."""

    def __init__(self, folder, service, workers=1):
        folder.mkdir()
        self.folder, self.port = folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        places = {"service": service, "store": f"sqlite:///{folder.parent}/kept.db"}
        (folder / "config.yaml").write_text(CONFIG.format(models=models(), key=KEY, **places))
        (folder / "beside.py").write_text(textwrap.dedent(BESIDE))
        self._log = (folder / "log").open("w")
        self.http = httpx.Client(base_url=self.url, headers={"authorization": f"Bearer {KEY}"}, timeout=30.0)
        self.openai = openai.OpenAI(base_url=f"{self.url}/v1", api_key=KEY, max_retries=0, timeout=30.0)
        self.start(workers)

    def start(self, workers=1):
        """Start the process, at its address."""
        command = [sys.executable, "-c", "import sys; from litellm import run_server; sys.exit(run_server())"]
        where = ["--config", str(self.folder / "config.yaml"), "--host", "127.0.0.1"]
        where += ["--port", str(self.port), "--num_workers", str(workers)]
        clean = {
            key: value for key, value in os.environ.items() if not key.startswith(("OPENAI_", "DATABASE_"))
        }
        self._process = subprocess.Popen([*command, *where], stdout=self._log, stderr=self._log, env=clean)

    @property
    def log(self):
        return (self.folder / "log").read_text()

    def wait(self):
        def up():
            assert self._process.poll() is None, self.log
            try:
                return self.http.get("/health/liveliness").status_code == 200
            except httpx.TransportError:
                return False

        until(up, 300.0)
        return self

    def ask(self, group="chat", **more):
        """Return the text of an answer and the id that came with it."""
        messages = [{"role": "user", "content": "hello"}]
        found = self.openai.chat.completions.with_raw_response.create(model=group, messages=messages, **more)
        return found.parse().choices[0].message.content, found.headers.get("x-frugal-decision")

    def tell(self, id_, reward, **more):
        return self.http.post("/frugal/feedback", json={"id": id_, "reward": reward}, **more)

    def report(self, group="chat"):
        return self.http.get("/frugal/report").json().get(group)

    def stop(self):
        """Stop the process and its workers."""
        self._process.terminate()
        self._process.wait(60)

    def close(self):
        self.http.close()
        self.openai.close()
        self.stop()
        self._log.close()
