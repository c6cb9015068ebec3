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
from functools import cache
from typing import Any

from frugalbandits.errors import extra_needed
from frugalbandits.integrations.litellm.backstage import log
from frugalbandits.integrations.litellm.group import Group
from frugalbandits.integrations.litellm.options import failed_before, id_of, metadata_of, option_of, stamped
from frugalbandits.integrations.litellm.settings import Settings

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

    def first(self, settings: Settings, router: Any) -> Group:
        """Return the group of a name, made now if nobody has made it before."""
        with self._lock:
            found = self._groups.get(settings.group)
            if found is None:
                if not self._groups:
                    atexit.register(self._end)
                found = self._groups[settings.group] = Group(settings, router)
                self._waiting.pop(settings.group, None)
                return found
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
        """Return a group by its name, if it is there."""
        return self._groups.get(name) if isinstance(name, str) else None

    def due(self, name: object) -> bool:
        """Tell whether a group was announced and is to be made now; after a failure that takes a while."""
        return name in self._waiting and time.monotonic() >= self._again.get(str(name), 0.0)

    def make(self, name: str) -> Group | None:
        """Make a group that was announced, with the router of the proxy that runs here."""
        with self._lock:
            settings, router = self._waiting.get(name), _proxy_router()
            if settings is None or router is None:
                return self._groups.get(name)
            try:
                return self.first(settings, router)
            except Exception:
                log.exception("nothing is decided for the group %r; it is tried again in %g s", name, _AGAIN)
                self._again[name] = time.monotonic() + _AGAIN
                return None

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
                group = GROUPS.get(model)
                if group is None and GROUPS.due(model):
                    group = await asyncio.to_thread(GROUPS.make, model)
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
                found = _headers(data, litellm_call_info or {})
            return found or None

    return FrugalSeam()


def _group_of(kwargs: Mapping[str, Any]) -> Group | None:
    """Return the group that a callback is about: that of the request, also where another one has answered."""
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


def _headers(data: Mapping[str, Any], info: Mapping[str, Any]) -> dict[str, str]:
    group = GROUPS.get(metadata_of(data).get("model_group")) or GROUPS.get(data.get("model"))
    if group is None:
        return {}
    call = data.get("litellm_call_id")
    told = {HEADER: group.ticket_of(call, info.get("model_id")), REASON: group.why(call)}
    plain = {name: value.encode("ascii", "replace").decode() for name, value in told.items() if value}
    return plain if HEADER in plain else {}


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
        group = GROUPS.get(self._router.get_model_from_alias(model=model) or model)
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
        from litellm.router_utils.cooldown_handlers import get_cooldown_deployments
        from litellm.types.router import RouterRateLimitError

        deployments = self._router.get_model_list(model_name=group.settings.group) or []
        resting = set(get_cooldown_deployments(litellm_router_instance=self._router, parent_otel_span=None))
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
