"""Where LiteLLM asks and tells: one callback for a process, and a routing strategy for synchronous calls.

LiteLLM takes callbacks by the exact names of their parameters, and only logs their errors. There is one
callback in a process, whoever asks for it first: modules beside a ``config.yaml`` are executed several times.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

from frugalbandits.errors import extra_needed
from frugalbandits.integrations.litellm.backstage import log
from frugalbandits.integrations.litellm.compat import alias_target, cooled_down, deployments_of
from frugalbandits.integrations.litellm.group import Group
from frugalbandits.integrations.litellm.options import (
    failed_before,
    id_of,
    metadata_of,
    option_of,
    stamp_of,
    stamped,
    was_cached,
)
from frugalbandits.integrations.litellm.settings import Settings
from frugalbandits.integrations.litellm.tickets import group_named_in

__all__ = ["GROUPS", "HEADER", "REASON", "Groups", "Strategy", "seam"]

#: The header of a proxy's answer that has the id to give feedback with.
HEADER = "x-frugal-decision"
#: The header that says what was decided, and why.
REASON = "x-frugal-reason"
_AGAIN = 60.0  # seconds until a group that could not be made is tried again


class Groups:
    """The groups of this process by name: the first to come with a name makes it, the others share it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._groups: dict[str, Group] = {}
        self._waiting: dict[str, Settings] = {}
        self._again: dict[str, float] = {}
        self._aliases: dict[str, str] = {}

    def first(self, settings: Settings, router: Any) -> Group:
        """Return the group of a name, made now if nobody has made it before.

        LiteLLM resolves an alias before it asks us, so the group of an alias is the one that it stands for.
        """
        named = settings.group
        target = alias_target(router, named)
        if target is not None:
            settings = replace(settings, group=target)
        with self._lock:
            if target is not None:
                self._aliases[named] = target
            found = self._groups.get(settings.group)
            if found is None:
                if not self._groups:
                    atexit.register(self._end)
                found = self._groups[settings.group] = Group(settings, router)
                self._waiting.pop(named, None)
                return found
            self._waiting.pop(named, None)
        differ = found.settings.differences(settings)
        if differ:
            log.warning(
                "the group %r goes on with the settings that it was made with; other ones were given for: %s",
                settings.group,
                ", ".join(differ),
            )
        found.router = router
        return found

    def announce(self, settings: Settings) -> None:
        """Take down settings of a group whose router is not there yet, as in a proxy that starts."""
        with self._lock:
            if settings.group not in self._groups:
                self._waiting.setdefault(settings.group, settings)

    def get(self, name: object) -> Group | None:
        """Return a group by its name or an alias of it, if it is there."""
        if not isinstance(name, str):
            return None
        found = self._groups.get(self._aliases.get(name, name))
        if found is not None:
            return found
        for group in self.all():
            if alias_target(group.router, name) == group.settings.group:
                return group
        return None

    def due(self, name: object) -> bool:
        """Tell whether a group was announced and is to be made now; after a failure that takes a while."""
        announced = self.announced(name)
        return announced is not None and time.monotonic() >= self._again.get(announced, 0.0)

    def announced(self, name: object) -> str | None:
        """Return under which name a group was announced: its own, or an alias of it."""
        if not self._waiting or not isinstance(name, str):
            return None
        if name in self._waiting:
            return name
        router = _proxy_router()
        found = [each for each in list(self._waiting) if router and alias_target(router, each) == name]
        return found[0] if found else None

    def make(self, name: str) -> Group | None:
        """Make a group that was announced, with the router of the proxy that runs here."""
        with self._lock:
            announced, router = self.announced(name), _proxy_router()
            if announced is None or router is None:
                return self.get(name)
            try:
                return self.first(self._waiting[announced], router)
            except Exception:
                log.exception(
                    "nothing is decided for the group %r; it is tried again in %g s", announced, _AGAIN
                )
                self._again[announced] = time.monotonic() + _AGAIN
                return None

    async def find(self, name: object) -> Group | None:
        """Return a group by its name, made now if it was announced and is due."""
        found = self.get(name)
        if found is None and self.due(name):
            found = await asyncio.to_thread(self.make, str(name))
        return found

    def all(self) -> list[Group]:
        """Return all groups that there are."""
        return list(self._groups.values())

    def _end(self) -> None:
        """Tell what is held when the program ends in good order."""
        for name in list(self._groups):
            group = self.drop(name)
            if group is not None:
                group.close()

    def drop(self, name: str) -> Group | None:
        """Take a group out."""
        with self._lock:
            self._waiting.pop(name, None)
            name = self._aliases.pop(name, name)
            if len(self._groups) <= 1:
                atexit.unregister(self._end)
            return self._groups.pop(name, None)


GROUPS = Groups()


def _proxy_router() -> Any:
    """Return the router of the proxy that runs in this process, if there is one."""
    from litellm.proxy import proxy_server

    return proxy_server.llm_router


@contextmanager
def _kept_out(kind: str, group: Group | None = None) -> Iterator[None]:
    """Keep errors of ours from a user's call."""
    try:
        yield
    except Exception as error:
        if group is None:
            log.exception("%s failed", kind)
        else:
            group.trouble.note(kind, error)


@cache
def seam() -> Any:
    """Return the one callback of this process, for ``litellm.callbacks``."""
    with extra_needed("frugalbandits.integrations.litellm", "litellm"):
        from litellm.integrations.custom_logger import CustomLogger

    # LiteLLM looks for some of these in the class itself, and not in its bases.
    class FrugalSeam(CustomLogger):
        async def async_filter_deployments(
            self,
            model: str,
            healthy_deployments: list[Any],
            messages: list[Any] | None,
            request_kwargs: dict[str, Any] | None = None,
            parent_otel_span: Any = None,
        ) -> list[Any]:
            with _kept_out("finding the group"):
                group = await GROUPS.find(model)
                if group is not None and request_kwargs is not None:
                    with _kept_out("deciding", group):
                        return await group.filtered(healthy_deployments, request_kwargs, messages)
            return healthy_deployments

        async def async_log_success_event(
            self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
        ) -> None:
            _succeeded(kwargs, response_obj)

        def log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
            _succeeded(kwargs, response_obj)

        async def async_log_failure_event(
            self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
        ) -> None:
            _failed(kwargs)

        def log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
            _failed(kwargs)

        async def async_post_call_response_headers_hook(
            self,
            data: dict[str, Any],
            user_api_key_dict: Any,
            response: Any,
            request_headers: dict[str, str] | None = None,
            litellm_call_info: dict[str, Any] | None = None,
        ) -> dict[str, str] | None:
            found: dict[str, str] = {}
            with _kept_out("the header"):
                found = _headers(data, litellm_call_info or {}, response)
            return found or None

        async def async_post_call_success_deployment_hook(
            self, request_data: dict[str, Any], response: Any, call_type: Any
        ) -> Any:
            # Answers of `anthropic_messages` are dictionaries, to which LiteLLM adds no id of the call.
            if isinstance(response, dict) and "litellm_call_id" in request_data:
                hidden = response.setdefault("_hidden_params", {})
                if isinstance(hidden, dict):
                    hidden["litellm_call_id"] = request_data["litellm_call_id"]
            return None

    return FrugalSeam()


def _group_of(kwargs: Mapping[str, Any]) -> Group | None:
    """Return the group that a callback is about: that of the request, also where another one has answered.

    The ticket of an attempt names it. What LiteLLM calls the group in the metadata may be an alias.
    """
    found = GROUPS.get(group_named_in(stamp_of(kwargs)))
    if found is not None:
        return found
    metadata = metadata_of(kwargs.get("litellm_params") or {})
    return GROUPS.get(metadata.get("model_group")) or GROUPS.get(metadata.get("original_model_group"))


def _succeeded(kwargs: Mapping[str, Any], response: Any) -> None:
    with _kept_out("finding the group"):
        group = _group_of(kwargs)
        if group is not None:
            with _kept_out("settling", group):
                group.settling.succeeded(kwargs, response)


def _failed(kwargs: Mapping[str, Any]) -> None:
    with _kept_out("finding the group"):
        group = _group_of(kwargs)
        if group is not None:
            with _kept_out("settling", group):
                group.settling.failed(kwargs)


def _headers(data: Mapping[str, Any], info: Mapping[str, Any], response: Any) -> dict[str, str]:
    """Return the headers of an answer; none where no decision led to it, as in an answer of the cache."""
    if was_cached(response):
        return {}
    call = data.get("litellm_call_id")
    attempts = [(attempt, group) for group in GROUPS.all() if (attempt := group.ledger.of_call(call))]
    # A fallback from one group to another has attempts in both: the newer one has led to the answer.
    for _, group in sorted(attempts, key=lambda each: each[0].since, reverse=True):
        told = {HEADER: group.ticket_of(call, info.get("model_id")), REASON: group.why(call)}
        plain = {name: value.encode("ascii", "replace").decode() for name, value in told.items() if value}
        if HEADER in plain:
            return plain
    return {}


class Strategy:
    """How a synchronous router picks a deployment: ours among what LiteLLM itself would pick from.

    LiteLLM skips the callback above in synchronous calls, and a routing strategy of one's own takes the place
    of all of its checks. So this one decides, and then has LiteLLM's own method pick with the other
    deployments excluded: health, cooldown, context windows and orders stay LiteLLM's.
    """

    def __init__(self, router: Any) -> None:
        self._router, self._kind = router, type(router)

    async def async_get_available_deployment(
        self,
        model: str,
        request_kwargs: dict[str, Any],
        messages: list[Any] | None = None,
        input: str | list[Any] | None = None,
        specific_deployment: bool | None = False,
    ) -> Any:
        """Leave it to LiteLLM, which asks the callback."""
        return await self._kind.async_get_available_deployment(
            self._router,
            model=model,
            request_kwargs=request_kwargs,
            messages=messages,
            input=input,
            specific_deployment=specific_deployment,
        )

    def get_available_deployment(
        self,
        model: str,
        messages: list[Any] | None = None,
        input: str | list[Any] | None = None,
        specific_deployment: bool | None = False,
        request_kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Return the deployment for a call."""
        call = {"messages": messages, "input": input, "specific_deployment": specific_deployment}
        group = GROUPS.get(alias_target(self._router, model) or model)
        if group is None or request_kwargs is None or specific_deployment:
            return self._own(model, call, request_kwargs)
        found = None
        with _kept_out("deciding", group):
            found = self._picked(group, model, call, request_kwargs)
        if found is None:
            return self._own(model, call, request_kwargs)
        for key in ("_excluded_deployment_ids", "_target_order", "_retry_skipped_deployment_ids"):
            request_kwargs.pop(key, None)  # as LiteLLM's own does
        return found

    def _own(self, model: str, call: Mapping[str, Any], kwargs: dict[str, Any] | None) -> Any:
        return self._kind.get_available_deployment(self._router, model=model, request_kwargs=kwargs, **call)

    def _picked(self, group: Group, model: str, call: Mapping[str, Any], kwargs: dict[str, Any]) -> Any:
        """Return the deployment that is decided for; None where LiteLLM has none of ours left."""
        from litellm.types.router import RouterRateLimitError

        deployments = deployments_of(self._router, group.settings.group)
        resting = cooled_down(self._router)
        there = [each for each in deployments if id_of(each) not in resting]
        among = group.open_to(there, kwargs) if there else []
        failed = failed_before(kwargs)
        asked = group.look(call["messages"] or call["input"], kwargs, metadata_of(kwargs)) if among else None
        while among and asked is not None:
            attempt = group.choose(kwargs, among, asked)
            option = attempt.ticket.option
            wanted = [id_of(each) for each in deployments if option_of(each) == option]
            others = {id_of(each) for each in deployments if option_of(each) != option}
            if set(wanted) - failed:
                others |= failed
            barred = failed if group.settings.shadow else others
            try:
                found = self._own(model, call, {**kwargs, "_excluded_deployment_ids": sorted(barred)})
            except RouterRateLimitError:
                # It is healthy by the list of those that rest, but LiteLLM has another reason against it.
                group.settling.withdrawn(attempt)
                among = [each for each in among if each != option]
                continue
            return stamped(found, attempt.text)
        return None
