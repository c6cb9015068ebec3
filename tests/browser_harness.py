"""A service that runs and a Chromium that looks at it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

MISSING = (
    "the dashboard is tested with a real browser, and there is no {} on the PATH: "
    "apt-get install chromium chromium-driver"
)
# It finds nothing by itself and tells nobody: what it needs is given to it.
os.environ.update(SE_OFFLINE="true", SE_AVOID_STATS="true")


def found(*names):
    """Return where a program is; that it is missing is a failure, in words."""
    for name in names:
        if path := shutil.which(name):
            return path
    raise AssertionError(MISSING.format(" or ".join(names)))


class Server:
    """A service in a process of its own; `token` is sent along by `call`."""

    def __init__(self, store, port=0, token=None):
        command = [sys.executable, "-m", "frugalbandits.cli", "serve", "--store", store, "--port", str(port)]
        self.process = subprocess.Popen([*command, "--log-level", "error"], stdout=subprocess.PIPE, text=True)
        # frugal: listening on http://127.0.0.1:41567 (sqlite:///..., ...)
        line = self.process.stdout.readline()
        assert "listening on" in line, line
        self.address = line.split(" ")[3]
        self.port = int(self.address.rpartition(":")[2])
        self.token = token
        # A signal that came before it answers would be lost.
        until(self._answers, "an answer of the service")

    def _answers(self):
        try:
            with urllib.request.urlopen(f"{self.address}/healthz", timeout=5) as answer:
                return answer.status == 200
        except urllib.error.URLError:
            return False

    def call(self, method, path, body=None):
        headers = {"content-type": "application/json"}
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def traffic(self, session, count=20, reward=1.0):
        """Ask for decisions, and tell how good they were."""
        asked = self.call("POST", f"/v1/sessions/{session}/decisions", {"count": count})["decisions"]
        told = [{"op": "tell", "id": each["id"], "reward": reward} for each in asked]
        self.call("POST", "/v1/batch", told)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
            self.process.stdout.close()
            self.process.wait()


@contextlib.contextmanager
def chromium(folder):
    """Start a browser without a window."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = found("chromium", "chromium-browser", "google-chrome")
    for each in (
        "headless=new",
        "no-sandbox",
        "disable-gpu",
        "disable-dev-shm-usage",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
        "lang=en",
        "hide-scrollbars",
        f"user-data-dir={folder}",
    ):
        options.add_argument(f"--{each}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=found("chromedriver"), log_output=subprocess.DEVNULL)
    driver = webdriver.Chrome(options=options, service=service)
    try:
        yield driver
    finally:
        driver.quit()


def size(driver, width, height, scale=1):
    metrics = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def scheme(driver, name):
    features = [{"name": "prefers-color-scheme", "value": name}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def until(true, what, seconds=20.0):
    """Wait until something is so; return what it was."""
    from selenium.common.exceptions import WebDriverException

    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(WebDriverException):
            if value := true():
                return value
        assert time.monotonic() < end, f"{what} did not happen within {seconds:g} s"
        time.sleep(0.1)
