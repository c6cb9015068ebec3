"""Both interfaces of LiteLLM's router: the one that is installed here, and the one from 1.109 on."""

from __future__ import annotations

import asyncio
import tomllib
import warnings
from pathlib import Path

import litellm
import pytest

from frugalbandits.integrations.litellm import compat
from litellm_harness import LARGE, SMALL, deployment

DEPLOYMENTS = [
    deployment("chat", SMALL, "small", id="one", tags=["free"]),
    deployment("chat", LARGE, "large", id="two", tags=["paid"]),
]


class Registry:
    """As `litellm.router_api.RouterRegistry` of 1.109 documents it."""

    def deployments(self, model_name=None, *, source="group", team_id=None):
        return DEPLOYMENTS if model_name in ("chat", "quick") else None

    def names(self, model_name=None, *, team_id=None, kind="all"):
        return ["chat", "quick"]

    def resolve(self, name, *, kind="group"):
        assert kind == "alias"
        return {"quick": "chat"}.get(name)

    def deployment_model_info(self, id, model_name, *, cached=False):
        return {"input_cost_per_token": 0.5} if id == "one" else None


class Newer:
    """A router with the entry points of 1.109, and none of the members that are deprecated there."""

    def __init__(self):
        self.plugins = []

    def registry(self):
        return Registry()

    def register_plugin(self, plugin):
        self.plugins.append(plugin)


@pytest.fixture(params=["installed", "newer"])
def router(request):
    if request.param == "newer":
        yield Newer()
        return
    made = litellm.Router(
        model_list=DEPLOYMENTS, model_group_alias={"quick": "chat"}, enable_tag_filtering=True
    )
    yield made
    made.discard()


def test_what_is_read_of_a_router(router):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [each["model_info"]["id"] for each in compat.deployments_of(router, "chat")] == ["one", "two"]
        assert compat.deployments_of(router, "nothing") == []
        assert {"chat", "quick"} <= set(compat.group_names(router))
        assert compat.alias_target(router, "quick") == "chat"
        assert compat.alias_target(router, "chat") is None
        assert compat.model_info(router, "one", SMALL)["input_cost_per_token"] > 0
        assert compat.model_info(router, "nobody", "nobody/knows-it").get("input_cost_per_token") is None


def test_a_strategy_is_added(router):
    class Strategy:
        def get_available_deployment(self, *args, **kwargs):
            return DEPLOYMENTS[1]

        async def async_get_available_deployment(self, *args, **kwargs):
            return DEPLOYMENTS[1]

    strategy = Strategy()
    compat.add_strategy(router, strategy)
    if isinstance(router, Newer):
        assert router.plugins == [strategy]
    else:
        assert router.get_available_deployment("chat") == DEPLOYMENTS[1]


def test_tags_and_cooldowns_of_the_release_that_is_installed():
    router = litellm.Router(model_list=DEPLOYMENTS, enable_tag_filtering=True)
    metadata = {"tags": ["paid"]}
    found = asyncio.run(compat.allowed_by_tags(router, "chat", DEPLOYMENTS, {"metadata": metadata}))
    assert [each["model_info"]["id"] for each in found] == ["two"]
    assert metadata == {"tags": ["paid"]}, "it is the caller's"
    with pytest.raises(ValueError, match="tag"):
        asyncio.run(compat.allowed_by_tags(router, "chat", DEPLOYMENTS, {"metadata": {"tags": ["no"]}}))
    assert compat.cooled_down(router) == set()
    router.discard()


def test_the_range_of_releases_has_an_end():
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    (wanted,) = tomllib.loads(text)["project"]["optional-dependencies"]["litellm"]
    assert ">=1.106" in wanted and "<1.110" in wanted
