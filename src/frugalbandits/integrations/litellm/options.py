"""Deployments of LiteLLM as options: what they are called, which may be used in a request, how one is marked.

An option is a model: several deployments of the same model (regions, keys) are one option, and LiteLLM goes
on balancing the load between them. ``model_info: {frugal_option: ...}`` gives a deployment another name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = [
    "STAMP",
    "by_option",
    "failed_before",
    "hidden_params",
    "id_of",
    "in_turn",
    "metadata_of",
    "option_of",
    "preferred",
    "stamp_of",
    "stamped",
    "was_cached",
]

#: Where in a deployment's ``model_info`` the ticket of an attempt travels: LiteLLM hands that to every
#: callback of the attempt, whereas ``metadata`` is the caller's own dictionary, which several requests may
#: share.
STAMP = "frugal_decision"
_NAME = "frugal_option"

Deployment = Mapping[str, Any]


def option_of(deployment: Deployment) -> str:
    """Return the name of the option that a deployment belongs to."""
    named = (deployment.get("model_info") or {}).get(_NAME)
    return str(named or (deployment.get("litellm_params") or {}).get("model"))


def id_of(deployment: Deployment) -> str:
    """Return LiteLLM's id of a deployment."""
    return str((deployment.get("model_info") or {}).get("id"))


def by_option(deployments: Iterable[Deployment]) -> dict[str, list[Deployment]]:
    """Return deployments by the option that they belong to, in their order."""
    found: dict[str, list[Deployment]] = {}
    for deployment in deployments:
        found.setdefault(option_of(deployment), []).append(deployment)
    return found


def metadata_of(kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the metadata of a request; LiteLLM keeps it under one of two names, by route."""
    merged: dict[str, Any] = {}
    for key in ("litellm_metadata", "metadata"):
        found = kwargs.get(key)
        if isinstance(found, Mapping):
            merged.update(found)
    return merged


def failed_before(kwargs: Mapping[str, Any]) -> frozenset[str]:
    """Return the ids of deployments that have failed in this request.

    The caller's dictionary of metadata may still carry what an earlier request left in it, so what is noted
    there counts on a retry alone.
    """
    metadata = metadata_of(kwargs)
    found = {
        *(kwargs.get("_excluded_deployment_ids") or ()),
        *(kwargs.get("_retry_skipped_deployment_ids") or ()),
    }
    retries = metadata.get("attempted_retries")
    if isinstance(retries, int) and retries > 0:
        tried = [each for each in metadata.get("previous_models") or () if isinstance(each, Mapping)]
        found.update(each["deployment_id"] for each in tried[-retries:] if each.get("deployment_id"))
    return frozenset(map(str, found))


def _order(deployment: Deployment) -> int | None:
    """Return the place in line that a user has given a deployment."""
    order = (deployment.get("litellm_params") or {}).get("order")
    return order if order is not None else (deployment.get("model_info") or {}).get("order")


def in_turn(deployments: Sequence[Deployment], kwargs: Mapping[str, Any]) -> list[Deployment]:
    """Return the deployments whose turn it is: where users have given orders, those of the first."""
    orders = [order for each in deployments if (order := _order(each)) is not None]
    if not orders:
        return list(deployments)
    wanted = kwargs.get("_target_order")
    first = min(orders) if wanted is None else wanted
    return [each for each in deployments if _order(each) == first]


def preferred(deployments: Sequence[Deployment], option: str, kwargs: Mapping[str, Any]) -> list[Deployment]:
    """Return deployments so that LiteLLM takes those of an option, unless it has reasons against them.

    LiteLLM looks at context windows and tags after it has asked us, and then takes those of the lowest order.
    So the chosen ones go first in order and the others stay: a prompt that is too long for the chosen option
    is answered by another one, and does not fail.
    """
    turn = in_turn(deployments, kwargs)
    first = [each for each in turn if option_of(each) == option]
    names = {id_of(each) for each in turn}
    if any(_order(each) is not None for each in deployments):
        return [*first, *(each for each in deployments if id_of(each) not in names)]
    chosen = {id_of(each) for each in first}
    marked = [{**each, "litellm_params": {**each["litellm_params"], "order": 1}} for each in first]
    return [*marked, *(each for each in deployments if id_of(each) not in chosen)]


def stamped(deployment: Deployment, stamp: str) -> dict[str, Any]:
    """Return a copy of a deployment that carries the ticket of an attempt."""
    return {**deployment, "model_info": {**(deployment.get("model_info") or {}), STAMP: stamp}}


def stamp_of(kwargs: Mapping[str, Any]) -> str | None:
    """Return the ticket of the attempt that a callback of LiteLLM is about, if it has one."""
    info = (kwargs.get("litellm_params") or {}).get("model_info") or kwargs.get("model_info")
    found = info.get(STAMP) if isinstance(info, Mapping) else None
    return found if isinstance(found, str) else None


def hidden_params(response: Any) -> Mapping[str, Any]:
    """Return what LiteLLM notes on a response beside what the model said, whatever kind of object it is."""
    found = response.get("_hidden_params") if isinstance(response, Mapping) else None
    if found is None:
        found = getattr(response, "_hidden_params", None)
    if found is not None and hasattr(found, "model_dump"):  # of text completions
        found = found.model_dump()
    return found if isinstance(found, Mapping) else {}


def was_cached(response: Any) -> bool:
    """Tell whether LiteLLM took a response, or a part of it, from its cache.

    The cache has one entry for a model group, so it does not say which model has written the answer.
    """
    return hidden_params(response).get("cache_hit") is True
