"""These run where LiteLLM is installed: `make test` has an environment of its own for them."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest

if find_spec("litellm") is None:
    raise pytest.UsageError("these tests need LiteLLM, which is not installed here: make litellm runs them")

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # before LiteLLM is imported: no network

import litellm

from client_harness import Server
from litellm_harness import House, Loop
from looking_harness import Place

litellm.suppress_debug_info = True


def pytest_collection_modifyitems(items):
    # LiteLLM and what it stands on warn of their own affairs; ours stay errors.
    for item in items:
        for module in ("litellm", "pydantic", "importlib", "asyncio", "openai", "httpx", "fastapi"):
            item.add_marker(pytest.mark.filterwarnings(rf"ignore:::{module}.*"))


@pytest.fixture(scope="session")
def loop():
    return Loop()


@pytest.fixture(params=["async", "sync"])
def house(request, loop):
    made = House(request.param, loop)
    yield made
    made.close()


@pytest.fixture
def async_house(loop):
    made = House("async", loop)
    yield made
    made.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest.fixture(params=["store", "service"])
def place(request, tmp_path, server):
    return Place(request.param, tmp_path, server)
