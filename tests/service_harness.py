"""Shared parts of the tests of the service: an application in this process, and a server in another."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
from prometheus_client.parser import text_string_to_metric_families

from frugalbandits.service import Settings, create_app
from frugalbandits.stores import Store, open_store

COSTS = {"small": 0.2, "large": 3.0}
BODY = {"costs": COSTS, "alpha": 0.1}


class Api:
    """An application and whoever calls it, in one loop; call it with a method, a path and a body."""

    def __init__(self, store: Store | None = None, settings: Settings | None = None) -> None:
        self.store = store or open_store("memory:")
        self.app = create_app(self.store, settings)
        self.service = self.app.state.service
        self._runner = asyncio.Runner()
        transport = httpx.ASGITransport(self.app)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://localhost")

    def __call__(
        self, method: str, path: str, body: Any = None, token: str | None = None, **more: Any
    ) -> httpx.Response:
        headers = {**({"Authorization": f"Bearer {token}"} if token else {}), **more.pop("headers", {})}
        if body is not None:
            more["json"] = body
        return self._runner.run(self._client.request(method, path, headers=headers, **more))

    def run(self, coroutine: Any) -> Any:
        return self._runner.run(coroutine)

    def session(self, name: str = "shop", token: str | None = None, **settings: Any) -> dict[str, Any]:
        made = self("PUT", f"/v1/sessions/{name}", {**BODY, **settings}, token)
        assert made.status_code in (200, 201), made.text
        return made.json()

    def ask(self, name: str = "shop", **body: Any) -> dict[str, Any]:
        made = self("POST", f"/v1/sessions/{name}/decisions", body)
        assert made.status_code == 201, made.text
        return made.json()

    def tell(self, id_: str, **body: Any) -> httpx.Response:
        return self("PUT", f"/v1/decisions/{quote(id_, safe='')}/feedback", body)

    def close(self) -> None:
        self._runner.run(self._client.aclose())
        self._runner.run(self.service.stop())
        self._runner.close()


def problem(answer: httpx.Response, status: int, *words: str) -> dict[str, Any]:
    """A problem document of a status that says some words."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert set(told) <= {"type", "title", "status", "detail", "instance", "errors"}
    assert told["status"] == status
    for word in words:
        assert word in told["detail"], told
    return told


class Served:
    """A real `frugal serve`, on a port that is free."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._errors = Path(self._folder.name, "errors")
        command = [sys.executable, "-m", "frugalbandits.cli", "serve", "--port", "0", *arguments]
        env = {**os.environ, **environment}
        with self._errors.open("w") as errors:
            # A session of its own, so that all of its processes can be killed at once.
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, env=env, start_new_session=True
            )
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline()
        if not self.line.startswith("frugal: listening on http://"):
            self.process.wait()
            self.process.stdout.close()
            told = self.log()
            self._folder.cleanup()
            raise AssertionError(told)
        self.url = self.line.split()[3]
        self.client = httpx.Client(base_url=self.url, timeout=60)

    def log(self) -> str:
        return self._errors.read_text()

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log().splitlines()]

    def stop(self, how: int = signal.SIGTERM) -> int:
        self.client.close()
        self.process.send_signal(how)
        try:
            code = self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = -9
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.stop()
        self.client.close()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._folder.cleanup()


def sqlite(folder: Path) -> str:
    return f"sqlite:///{folder / 'decisions.db'}"


def lines(kept: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in kept.getvalue().splitlines()]


LABELS = ("session", "option", "method", "route", "status")


def numbers(api: Api) -> dict[tuple[str, tuple[str, ...]], float]:
    answer = api("GET", "/metrics")
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain")
    families = text_string_to_metric_families(answer.text)
    return {
        (sample.name, tuple(sample.labels[label] for label in LABELS if label in sample.labels)): sample.value
        for family in families
        for sample in family.samples
    }
