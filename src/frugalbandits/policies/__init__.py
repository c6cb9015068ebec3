"""The registry of policies. A new policy is one file here and one line below."""

from __future__ import annotations

from frugalbandits.errors import InputError, unknown_name
from frugalbandits.policies.base import Batch, Bounds, Policy, Setting
from frugalbandits.policies.cof import COF
from frugalbandits.policies.etc_cs import ETCCS
from frugalbandits.policies.glr_cof import GLRCOF
from frugalbandits.policies.pe_cs import PECS
from frugalbandits.policies.ts_cs import TSCS
from frugalbandits.policies.ucb_cs import UCBCS
from frugalbandits.policies.written import with_settings

__all__ = [
    "COF",
    "ETCCS",
    "GLRCOF",
    "PECS",
    "TSCS",
    "UCBCS",
    "Batch",
    "Bounds",
    "Policy",
    "Setting",
    "policies",
    "register",
    "resolve",
]

_REGISTRY: dict[str, Policy] = {}


def register(name: str, policy: Policy) -> None:
    """Make a policy available under a name, to `simulate`, `Session` and the command line.

    Examples
    --------
    >>> register("cof-strict", COF(delta=1e-12))
    >>> "cof-strict" in policies()
    True
    >>> del _REGISTRY["cof-strict"]
    """
    if not isinstance(policy, Policy):
        raise InputError(f"a policy must be an instance of Policy, but {name!r} is {policy!r}")
    if name in _REGISTRY:
        raise InputError(f"a policy called {name!r} is registered already")
    if not isinstance(name, str) or ":" in name:
        raise InputError(f"a policy's name is a string without a colon, but this is {name!r}")
    _REGISTRY[name] = policy


register("cof", COF())
register("cof-no-exclusive", COF(exclusive=False))
register("cof-no-combine", COF(combine=False))
register("cof-cost-biased", COF(sampling="cost-biased"))
register("glr-cof", GLRCOF())
register("pe-cs", PECS())
register("ucb-cs", UCBCS())
register("ts-cs", TSCS())
register("etc-cs", ETCCS())


def policies() -> tuple[str, ...]:
    """Return the registered names.

    Examples
    --------
    >>> policies()[:3]
    ('cof', 'cof-no-exclusive', 'cof-no-combine')
    """
    return tuple(_REGISTRY)


def resolve(policy: str | Policy) -> Policy:
    """Return the policy of a registered name, which settings may follow, or the policy itself.

    Examples
    --------
    >>> resolve("pe-cs")
    PECS(kappa=5)
    >>> resolve("glr-cof:tolerance=0.02,threshold=proven")
    GLRCOF(delta=None, tolerance=0.02, threshold='proven', goal='regret')
    """
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, str) and policy in _REGISTRY:
        return _REGISTRY[policy]
    if isinstance(policy, str):
        name, colon, settings = policy.partition(":")
        if colon and name in _REGISTRY:
            return with_settings(_REGISTRY[name], name, settings)
        raise unknown_name("policy", name, _REGISTRY)
    raise InputError(f"a policy is a registered name or a Policy, but this is {policy!r}")
