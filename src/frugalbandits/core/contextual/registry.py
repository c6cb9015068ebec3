"""Contextual policies by name, with titles: a new one is one module or package and one line here."""

from __future__ import annotations

from typing import NamedTuple

from frugalbandits.core.contextual.contract import ContextualPolicy
from frugalbandits.core.contextual.dual_cof import DualCOF
from frugalbandits.errors import InputError, unknown_name

__all__ = ["contextual_policies", "contextual_title", "register_contextual", "resolve_contextual"]


class _Entry(NamedTuple):
    policy: ContextualPolicy
    title: str


_REGISTRY: dict[str, _Entry] = {}


def register_contextual(name: str, policy: ContextualPolicy, title: str | None = None) -> None:
    """Make a contextual policy available under a name.

    Parameters
    ----------
    name
        A word without a colon.
    policy
        The policy with its settings.
    title
        What tables and figures call it; the name itself by default.
    """
    if not isinstance(policy, ContextualPolicy):
        raise InputError(f"a contextual policy must be a ContextualPolicy, but {name!r} is {policy!r}")
    if not isinstance(name, str) or ":" in name or not name.strip():
        raise InputError(f"a policy's name is a string without a colon, but this is {name!r}")
    if name in _REGISTRY:
        raise InputError(f"a contextual policy called {name!r} is registered already")
    _REGISTRY[name] = _Entry(policy, name if title is None else title)


register_contextual("dual-cof", DualCOF(), "DualCOF")


def contextual_policies() -> tuple[str, ...]:
    """Return the registered names; the baselines are there once the lab is in use."""
    return tuple(_REGISTRY)


def contextual_title(name: str) -> str:
    """Return what tables and figures call a contextual policy; a name that is not known stays as it is."""
    return _REGISTRY[name].title if name in _REGISTRY else name


def resolve_contextual(policy: str | ContextualPolicy) -> ContextualPolicy:
    """Return the contextual policy of a registered name, or the policy itself."""
    if isinstance(policy, ContextualPolicy):
        return policy
    if isinstance(policy, str):
        if policy not in _REGISTRY:
            raise unknown_name("contextual policy", policy, _REGISTRY)
        return _REGISTRY[policy].policy
    raise InputError(
        f"a contextual policy is a registered name or a ContextualPolicy, but this is {policy!r}"
    )
