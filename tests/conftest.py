"""Settings of the whole suite."""

from __future__ import annotations

import itertools
import os
import signal
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Examples are derived from the test itself: the same ones on every machine and in every run. How many there
# are is a matter of the profile and of nothing else: `make quick`, `make test` and `make soak` choose one.
for profile, examples in (("quick", 8), ("suite", 25), ("soak", 1_000)):
    settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
settings.load_profile(os.environ.get("FRUGALBANDITS_EXAMPLES", "suite"))


# Only what is named is loaded; see pyproject.toml. With numpy alone there is no service to ask.
pytest_plugins = ["schemathesis.pytest.plugin"] if find_spec("schemathesis") else []

# LiteLLM cannot share an environment with the lab: see the Makefile.
collect_ignore = [] if find_spec("litellm") else ["integrations", "litellm_harness.py", "proxy_harness.py"]


def pytest_configure() -> None:
    # In the background, under nohup and in some runners interrupts are ignored, and children inherit that.
    # Tests that interrupt themselves or a child would then wait for ever.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the longest tests first, so that the last minutes of a run keep all workers busy.

    With `--dist worksteal` each of two workers begins with one half of the list: files with long tests are
    dealt to the beginnings of both. Tests of a file stay together, so that its fixtures are made once.
    """
    long = [item for item in items if item.get_closest_marker("slow")]
    short = [item for item in items if not item.get_closest_marker("slow")]
    first: list[pytest.Item] = []
    second: list[pytest.Item] = []
    for _, file in itertools.groupby(long, key=lambda item: item.path):
        (first if len(first) <= len(second) else second).extend(file)
    half = len(items) // 2 - len(first)
    together = half < 0 or int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) < 2
    items[:] = [*long, *short] if together else [*first, *short[:half], *second, *short[half:]]


def pytest_report_header() -> str | None:
    if not collect_ignore:
        return None
    return "tests/integrations is left out, because LiteLLM is not installed here: make litellm runs it"


@pytest.fixture
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"):  # what rich obeys
        monkeypatch.delenv(name, raising=False)
    return tmp_path
