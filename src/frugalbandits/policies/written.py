"""Policies with settings in one word, for the command line and configuration: ``glr-cof:tolerance=0.02``."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from frugalbandits.errors import InputError, unknown_name
from frugalbandits.policies.base import Policy

__all__ = ["with_settings"]


def with_settings(policy: Policy, name: str, settings: str) -> Policy:
    """Return a registered policy with other settings, written as ``setting=value,...``.

    Parameters
    ----------
    policy
        The policy that is registered.
    name
        The name that it is registered under.
    settings
        What differs.
    """
    text = f"{name}:{settings}"
    fields = {field.name: str(field.type) for field in dataclasses.fields(policy)}
    changes: dict[str, Any] = {}
    for part in settings.split(","):
        key, equals, value = (each.strip() for each in part.partition("="))
        if not equals:
            raise InputError(f"settings of a policy are written NAME:SETTING=VALUE,..., but this is {text!r}")
        if not fields:
            raise InputError(f"{name} has no settings, but {key!r} is given: {text!r}")
        if key not in fields:
            raise unknown_name(f"setting of {name}", key, fields)
        if key in changes:
            raise InputError(f"{key!r} stands twice in {text!r}")
        changes[key] = _value(fields[key], key, value, text)
    return dataclasses.replace(policy, **changes)


def _value(kind: str, key: str, value: str, text: str) -> object:
    words = re.findall(r"\w+", kind)
    if "bool" in words:
        if value.lower() not in ("true", "false"):
            raise InputError(f"{key} must be true or false, but in {text!r} it is {value!r}")
        return value.lower() == "true"
    if "None" in words and value.lower() == "none":
        return None
    if "int" in words or "float" in words:
        try:
            return int(value) if "int" in words else float(value)
        except ValueError:
            what = "a whole number" if "int" in words else "a number"
            raise InputError(f"{key} must be {what}, but in {text!r} it is {value!r}") from None
    return value
