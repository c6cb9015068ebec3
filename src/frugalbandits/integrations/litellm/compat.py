"""The members of `litellm.Router` that we read, for both interfaces that supported releases have.

Up to LiteLLM 1.108 these are methods of the router. From 1.109 on they are behind ``router.registry()`` and
``router.register_plugin()``, and the old methods warn that they are deprecated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "add_strategy",
    "alias_target",
    "allowed_by_tags",
    "cooled_down",
    "deployments_of",
    "group_names",
    "model_info",
]

Deployment = Mapping[str, Any]


def _registry(router: Any) -> Any:
    """Return the registry of a router of LiteLLM 1.109 or later; None for an earlier one."""
    make = getattr(router, "registry", None)
    return make() if callable(make) else None


def _context(router: Any) -> Any:
    """Return what LiteLLM's own helpers take: the router, or from 1.109 on its routing context."""
    if _registry(router) is None:
        return router
    from litellm.router_api import RoutingContext

    return RoutingContext(router)


def deployments_of(router: Any, group: str) -> list[Deployment]:
    """Return the deployments of a model group; none where the router does not have the group."""
    registry = _registry(router)
    found = router.get_model_list(model_name=group) if registry is None else registry.deployments(group)
    return list(found or ())


def group_names(router: Any) -> list[str]:
    """Return the names of all model groups."""
    registry = _registry(router)
    return list(router.get_model_names() if registry is None else registry.names())


def alias_target(router: Any, name: str) -> str | None:
    """Return the model group that a name is an alias of, by ``model_group_alias``; None for other names."""
    registry = _registry(router)
    if registry is None:
        found = router.get_model_from_alias(model=name)
    else:
        found = registry.resolve(name, kind="alias")
    return found if isinstance(found, str) and found != name else None


def model_info(router: Any, deployment: str, model: Any) -> Mapping[str, Any]:
    """Return what LiteLLM knows of a deployment's model, its token prices for one."""
    registry = _registry(router)
    if registry is None:
        found = router.get_deployment_model_info(model_id=deployment, model_name=model)
    else:
        found = registry.deployment_model_info(deployment, model)
    return found or {}


def add_strategy(router: Any, strategy: Any) -> None:
    """Have a router pick deployments by a strategy of ours."""
    if hasattr(router, "register_plugin"):
        router.register_plugin(strategy)
    else:
        router.set_custom_routing_strategy(strategy)


def cooled_down(router: Any) -> set[str]:
    """Return the ids of deployments that LiteLLM leaves alone for a while after they failed."""
    from litellm.router_utils.cooldown_handlers import get_cooldown_deployments

    # The first parameter has another name in each interface; its place is the same.
    return set(get_cooldown_deployments(_context(router), parent_otel_span=None))


async def allowed_by_tags(
    router: Any, model: str, deployments: Sequence[Deployment], kwargs: Mapping[str, Any]
) -> list[Deployment]:
    """Return the deployments that the tags of a request allow, by LiteLLM's own filter.

    LiteLLM filters by tags after it has asked its callbacks. So the filter runs here too, before a decision,
    on a copy of the metadata, because it writes into them. It raises `ValueError` where no deployment fits.
    """
    from litellm.litellm_core_utils.core_helpers import get_metadata_variable_name_from_kwargs
    from litellm.router_strategy.tag_based_routing import get_deployments_for_tag

    name = get_metadata_variable_name_from_kwargs(dict(kwargs))
    copied = dict(kwargs)
    if isinstance(copied.get(name), Mapping):
        copied[name] = dict(copied[name])
    context = _context(router)
    more = {} if context is router else {"request_deployments": deployments_of(router, model)}
    found: Any = await get_deployments_for_tag(
        context, model, list(deployments), request_kwargs=copied, metadata_variable_name=name, **more
    )
    return list(found)
