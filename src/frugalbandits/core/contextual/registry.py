"""Contextual policies by name."""

from __future__ import annotations

from frugalbandits.core.contextual.contract import ContextualPolicy
from frugalbandits.core.contextual.dual_cof import DualCOF
from frugalbandits.errors import InputError, unknown_name

__all__ = ["contextual_policies", "resolve_contextual"]

_REGISTRY: dict[str, ContextualPolicy] = {"dual-cof": DualCOF()}


def contextual_policies() -> tuple[str, ...]:
    """Return the names of policies that look at the query.

    Examples
    --------
    >>> contextual_policies()
    ('dual-cof',)
    """
    return tuple(_REGISTRY)


def resolve_contextual(policy: str | ContextualPolicy) -> ContextualPolicy:
    """Return the contextual policy of a name, or the policy itself."""
    if isinstance(policy, ContextualPolicy):
        return policy
    if isinstance(policy, str):
        if policy not in _REGISTRY:
            raise unknown_name("policy that looks at the query", policy, _REGISTRY)
        return _REGISTRY[policy]
    raise InputError(f"a policy is a name or a ContextualPolicy, but this is {policy!r}")
