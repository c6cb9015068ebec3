"""The page on routing runs, with servers of ours in place of those that it names."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from client_harness import Server
from frugalbandits.integrations.litellm.proxy import routers_of

PAGE = (Path(__file__).parents[2] / "docs" / "llm-routing.md").read_text(encoding="utf-8")
ANSWER = {
    "id": "x",
    "object": "chat.completion",
    "created": 0,
    "model": "x",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "4"}}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
}


class Compatible(BaseHTTPRequestHandler):
    """A model behind OpenAI's way of speaking."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps(ANSWER).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def model():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Compatible)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_code_of_the_page_runs(tmp_path, model):
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    end = "\nprint('pulls', [arm.pulls for arm in session.explain().arms])\n"
    with Server(tmp_path) as service:
        for named, ours in (("8001", model), ("8002", model), ("8000", service.url)):
            assert f"http://127.0.0.1:{named}" in code
            code = code.replace(f"http://127.0.0.1:{named}", ours)
        script = tmp_path / "page.py"
        script.write_text(code + end, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, script], capture_output=True, text=True, check=False, timeout=120
        )
    assert done.returncode == 0, done.stderr
    assert "chat: 3 answers, spent" in done.stdout
    assert "chat (shadow): 20 answers, spent" in done.stdout
    # The plain client and the flag have told one reward each.
    assert sum(json.loads(done.stdout.splitlines()[-1].removeprefix("pulls "))) == 2


def test_the_configuration_of_the_page_is_one():
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    config = yaml.safe_load(text)
    assert config["litellm_settings"]["callbacks"] == ["frugalbandits.integrations.litellm.proxy.frugal"]
    (made,) = routers_of(config["frugal"])
    assert made.settings.group == "chat" and made.settings.judge.hold == 600
