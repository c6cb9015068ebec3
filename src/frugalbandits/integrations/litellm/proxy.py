"""LiteLLM's proxy: one line of its ``config.yaml`` lets it decide, and its clients give feedback.

The line is ``callbacks: ["frugalbandits.integrations.litellm.proxy.frugal"]`` under ``litellm_settings``.
What to decide stands in the section ``frugal`` of the same file, a group each with the settings of
`FrugalRouter`; or in a file of its own, YAML or TOML, that ``FRUGALBANDITS_LITELLM`` in the environment
names.

The proxy gets two routes behind its own authentication: ``POST /frugal/feedback`` and ``GET /frugal/report``.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from frugalbandits.core.contextual.context import Context, Features, Segments, TextFeatures
from frugalbandits.errors import (
    Expired,
    InputError,
    ServiceUnavailable,
    ToldBefore,
    UnknownDecision,
    extra_needed,
    unknown_name,
)
from frugalbandits.integrations.litellm.books import AWAY
from frugalbandits.integrations.litellm.checks import All, Exact, Length, Matches, MatchesSchema, ValidJSON
from frugalbandits.integrations.litellm.judges import Sampled, Thumbs
from frugalbandits.integrations.litellm.llm_judge import LLMJudge
from frugalbandits.integrations.litellm.router import FrugalRouter
from frugalbandits.integrations.litellm.seams import GROUPS, seam
from frugalbandits.integrations.litellm.tickets import group_named_in

__all__ = ["FEEDBACK", "REPORT", "judge_of", "looked_at", "routers_of", "settings_in"]

FEEDBACK, REPORT = "/frugal/feedback", "/frugal/report"
_FILE = "FRUGALBANDITS_LITELLM"
_SECTION = "frugal"
_SECRET = "os.environ/"  # as LiteLLM writes it
_JUDGES: dict[str, Any] = {
    "exact": Exact,
    "length": Length,
    "llm": LLMJudge,
    "matches": Matches,
    "matches-schema": MatchesSchema,
    "sampled": Sampled,
    "thumbs": Thumbs,
    "valid-json": ValidJSON,
}


def __getattr__(name: str) -> Any:
    if name == "frugal":
        return _frugal()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _frugal() -> Any:
    """Return the callback of the proxy that is starting, with its groups announced and its routes there."""
    with extra_needed("the callback of LiteLLM's proxy", "litellm"):
        from litellm.proxy import proxy_server
    _speak_up()
    config = proxy_server.user_config_file_path
    for router in routers_of(settings_in(config), config):
        GROUPS.announce(router.settings)
    _add_routes(proxy_server.app)
    return seam()


def _speak_up() -> None:
    """See to it that what we log is seen: the proxy sets up its own loggers and no others."""
    ours = logging.getLogger("frugalbandits")
    heard = [*logging.getLogger().handlers, *ours.handlers]
    if all(isinstance(handler, logging.NullHandler) for handler in heard):
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s - %(name)s:%(levelname)s: %(message)s"))
        ours.addHandler(handler)


def settings_in(config: str | None) -> Mapping[str, Any]:
    """Return the settings of all groups: from the file that the environment names, or from the proxy's own.

    Raises
    ------
    InputError
        If there are none.
    """
    named = os.environ.get(_FILE)
    found: Any
    if named:
        whole = _read(Path(named))
        found = whole.get(_SECTION, whole)
    else:
        found = {} if config is None else _read(Path(config)).get(_SECTION)
    if not isinstance(found, Mapping) or not found:
        raise InputError(
            f"nothing says what to decide: the section {_SECTION!r} of {named or config} should have the "
            "names of model groups, each with its settings, such as quality: relative-to-best:0.05"
        )
    return found


def _read(path: Path) -> Mapping[str, Any]:
    with extra_needed("a file of settings", "litellm"):
        import yaml
    try:
        text = path.read_text(encoding="utf-8")
        found = tomllib.loads(text) if path.suffix == ".toml" else yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise InputError(f"cannot read the settings in {str(path)!r}: {error}") from error
    if not isinstance(found, Mapping):
        raise InputError(f"the settings in {str(path)!r} must have keys and values, but they are {found!r}")
    return found


def routers_of(groups: Mapping[str, Any], config: str | None = None) -> list[FrugalRouter]:
    """Return what decides for each group, from settings as they stand in a file."""
    made = []
    for group, given in groups.items():
        settings = dict(given) if isinstance(given, Mapping) else None
        if settings is None:
            raise InputError(
                f"the settings of the group {group!r} must have keys and values, but are {given!r}"
            )
        settings = {key: _revealed(value) for key, value in settings.items()}
        if "judge" in settings:
            settings["judge"] = judge_of(settings["judge"], config)
        if "context" in settings:
            settings["context"] = looked_at(settings["context"])
        for reader in ("segment", "sticky", "features"):
            found = settings.get(reader)
            if isinstance(found, str) and "." in found:
                settings[reader] = _imported(found, config)
        try:
            made.append(FrugalRouter(group, **settings))
        except TypeError as error:
            raise InputError(f"the group {group!r} has a setting that there is not: {error}") from error
    return made


def looked_at(told: Any) -> Context | None:
    """Return what a session looks at, as settings tell of it: segments, a text, or so many features.

    Examples
    --------
    >>> looked_at({"segments": ["chat", "code"], "text": 32})
    Joined(segments=Segments(names=('chat', 'code'), most=200), features=TextFeatures(size=32))
    >>> looked_at({"features": 3})
    Features(size=3)
    """
    if told is None:
        return None
    kinds = {"segments": Segments, "text": TextFeatures, "features": Features}
    parts = {told: None} if isinstance(told, str) else told
    if not isinstance(parts, Mapping) or not parts:
        raise InputError(
            f"a context has segments, text or features, such as {{text: 32}}, but it is {told!r}"
        )
    made = []
    for key, value in parts.items():
        if key not in kinds:
            raise unknown_name("part of a context", str(key), kinds)
        made.append(kinds[key]() if value is None and key != "features" else kinds[key](value))
    found: Context = made[0]
    for other in made[1:]:
        found = found + other
    return found


def _revealed(value: Any) -> Any:
    """Return a value, or the one of the environment that it names."""
    if not isinstance(value, str) or not value.startswith(_SECRET):
        return value
    name = value.removeprefix(_SECRET)
    if name not in os.environ:
        raise InputError(f"{value} is asked for, but there is no {name} in the environment")
    return os.environ[name]


def judge_of(told: Any, config: str | None = None) -> Any:
    """Return the judge that settings tell of.

    It is a name ("valid-json"), a name with settings ({"length": {"least": 1}}), a list of which all must
    pass, or the path of a function of yours ("my_module.judge"), which may lie beside the ``config.yaml``.

    Examples
    --------
    >>> judge_of({"sampled": {"judge": "valid-json", "share": 0.1}}).share
    0.1
    """
    if told is None or callable(told):
        return told
    if isinstance(told, list):
        return All([judge_of(each, config) for each in told])
    if isinstance(told, str):
        return _imported(told, config) if "." in told else _built(told, {}, config)
    if isinstance(told, Mapping) and len(told) == 1:
        ((name, settings),) = told.items()
        return _built(str(name), settings or {}, config)
    raise InputError(
        f"a judge is a name, a name with settings, or the path of a function, but it is {told!r}"
    )


def _built(name: str, settings: Any, config: str | None) -> Any:
    if name not in _JUDGES:
        raise unknown_name("judge", name, _JUDGES)
    if not isinstance(settings, Mapping):
        raise InputError(
            f"the settings of the judge {name!r} must have keys and values, but are {settings!r}"
        )
    given = {str(key): _revealed(value) for key, value in settings.items()}
    if "judge" in given:
        given["judge"] = judge_of(given["judge"], config)
    try:
        return _JUDGES[name](**given)
    except TypeError as error:
        raise InputError(f"the judge {name!r} has other settings: {error}") from error


def _imported(path: str, config: str | None) -> Any:
    """Return what a path names, by LiteLLM's own rules."""
    with extra_needed("a function by its path", "litellm"):
        from litellm.proxy.types_utils.utils import get_instance_fn
    try:
        return get_instance_fn(path, config_file_path=config)
    except (ImportError, AttributeError) as error:
        raise InputError(f"there is nothing at {path!r}: {error}") from error


def _add_routes(app: Any) -> None:
    """Add feedback and report to the application of the proxy, behind its authentication."""
    from fastapi import Depends, HTTPException
    from litellm.proxy.auth.user_api_key_auth import user_api_key_auth
    from pydantic import BaseModel

    class Feedback(BaseModel):
        """How good an answer was, by the id in the header ``x-frugal-decision``."""

        id: str
        reward: float

    async def feedback(told: Feedback) -> None:
        """Say how good an answer was, from 0 to 1."""
        try:
            await _take(told.id, told.reward)
        except (Expired, ToldBefore, UnknownDecision, InputError, *AWAY) as error:
            raise HTTPException(_status(error), str(error)) from error

    async def report() -> dict[str, Any]:
        """Return what this worker's calls have cost and were worth, group by group."""
        # In a thread: what a session believes may be asked of a service.
        found = [await asyncio.to_thread(group.report) for group in GROUPS.all()]
        return {each.group: each.to_dict() for each in found}

    # FastAPI reads types by name from the module, where these are not.
    feedback.__annotations__["told"] = Feedback
    report.__annotations__["return"] = dict[str, Any]
    guarded = [Depends(user_api_key_auth)]
    before = len(app.router.routes)
    app.add_api_route(
        FEEDBACK, feedback, methods=["POST"], status_code=204, dependencies=guarded, tags=["frugal"]
    )
    app.add_api_route(REPORT, report, methods=["GET"], dependencies=guarded, tags=["frugal"])
    # The proxy's own last route may take everything.
    added = app.router.routes[before:]
    del app.router.routes[before:]
    app.router.routes[:0] = added


async def _take(id_: str, reward: float) -> None:
    """Take feedback for the group that an id names, which may not have had a call in this worker yet."""
    name = group_named_in(id_)
    group = await GROUPS.find(name)
    if group is None and GROUPS.announced(name):
        raise ServiceUnavailable(f"the group {name!r} could not be opened here; try again later")
    if group is None or group.signer.read(id_).group != group.settings.group:
        raise UnknownDecision("no answer was given out with this id")
    await group.judging.feedback(id_, reward)


def _status(error: Exception) -> int:
    """Return the status that says what an error is, as our own service does."""
    if isinstance(error, AWAY):
        return 503
    if isinstance(error, Expired):
        return 410
    if isinstance(error, ToldBefore):
        return 409
    return 404 if isinstance(error, UnknownDecision) else 422
