"""The registry: policies by name, with titles, and with settings in one word: ``glr-cof:tolerance=0.02``.

A new policy is one module or package in `core.policies` and one line here. An installed package brings its
own by entry points of the group `frugalbandits.policies`, each of which names a policy with its settings, or
a class of policies. They are looked for when a name is not known or all are listed, and loaded one by one.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from frugalbandits.core.contract import Policy
from frugalbandits.core.policies.cof import COF
from frugalbandits.core.policies.etc_cs import ETCCS
from frugalbandits.core.policies.glr_cof import GLRCOF
from frugalbandits.core.policies.mix_cs import MixCS
from frugalbandits.core.policies.pe_cs import PECS
from frugalbandits.core.policies.ts_cs import TSCS
from frugalbandits.core.policies.ts_cs_discounted import DiscountedTSCS
from frugalbandits.core.policies.ucb_cs import UCBCS
from frugalbandits.core.policies.ucb_cs_restarts import RestartingUCBCS
from frugalbandits.core.policies.ucb_cs_window import WindowUCBCS
from frugalbandits.core.policies.voi_cs import VOICS
from frugalbandits.errors import InputError, unknown_name

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["GROUP", "policies", "policy_title", "register", "resolve"]

#: The group of entry points by which an installed package brings policies.
GROUP = "frugalbandits.policies"


class _Entry(NamedTuple):
    policy: Policy
    title: str


_REGISTRY: dict[str, _Entry] = {}


def register(name: str, policy: Policy, title: str | None = None) -> None:
    """Make a policy available under a name, to `simulate` and `Session` in this process.

    A package that is to bring a policy to every process, the command line included, declares an entry point
    of the group ``frugalbandits.policies``.

    Parameters
    ----------
    name
        A word without a colon.
    policy
        The policy with its settings.
    title
        What tables and figures call it; the name itself by default.

    Examples
    --------
    >>> register("cof-strict", COF(delta=1e-12), "COF (strict)")
    >>> "cof-strict" in policies()
    True
    >>> del _REGISTRY["cof-strict"]
    """
    if not isinstance(policy, Policy):
        raise InputError(f"a policy must be an instance of Policy, but {name!r} is {policy!r}")
    if not isinstance(name, str) or ":" in name or not name.strip():
        raise InputError(f"a policy's name is a string without a colon, but this is {name!r}")
    if name in _REGISTRY:
        raise InputError(f"a policy called {name!r} is registered already")
    _REGISTRY[name] = _Entry(policy, name if title is None else title)
    if "registered_as" not in vars(type(policy)):
        type(policy).registered_as = name


register("cof", COF(), "COF")
register("cof-no-exclusive", COF(exclusive=False), "COF (no exclusive)")
register("cof-no-combine", COF(combine=False), "COF (no combine)")
register("cof-cost-biased", COF(sampling="cost-biased"), "COF (cost-biased)")
register("glr-cof", GLRCOF(), "GLR-COF")
register("voi-cs", VOICS(), "VOI-CS")
register("mix-cs", MixCS(), "MIX-CS")
register("pe-cs", PECS(), "PE-CS")
register("ucb-cs", UCBCS(), "UCB-CS")
register("ts-cs", TSCS(), "TS-CS")
register("etc-cs", ETCCS(), "ETC-CS")
register("ts-cs-discounted", DiscountedTSCS(), "discounted TS-CS")
register("ucb-cs-window", WindowUCBCS(), "sliding-window UCB-CS")
register("ucb-cs-restarts", RestartingUCBCS(), "restarting kl-UCB-CS")


def policies(moving: bool | None = None, over: str | None = None) -> tuple[str, ...]:
    """Return the registered names.

    Parameters
    ----------
    moving
        True: only those of policies that are made for means that change; False: only the others.
    over
        Only those with this promise: that the option of "each" decision is good enough, or that the average
        over "queries" is. Regret against the optimal arm is a measure of the first one alone.

    Examples
    --------
    >>> policies()[:3]
    ('cof', 'cof-no-exclusive', 'cof-no-combine')
    >>> policies(moving=True)
    ('ts-cs-discounted', 'ucb-cs-window', 'ucb-cs-restarts')
    >>> policies(over="queries")
    ('mix-cs',)
    """
    _load_all()
    return tuple(
        name
        for name, (policy, _) in _REGISTRY.items()
        if moving in (None, policy.for_moving_means) and over in (None, policy.promise)
    )


def policy_title(name: str) -> str:
    """Return what tables and figures call a policy; a name that is not registered stays as it is.

    Examples
    --------
    >>> policy_title("pe-cs"), policy_title("glr-cof:tolerance=0.02,goal=conclusion"), policy_title("mine")
    ('PE-CS', 'GLR-COF (tolerance 0.02, goal conclusion)', 'mine')
    """
    known, colon, settings = name.partition(":")
    if known not in _REGISTRY:
        return name
    told = ", ".join(part.strip().replace("=", " ", 1) for part in settings.split(","))
    return f"{_REGISTRY[known].title} ({told})" if colon else _REGISTRY[known].title


def resolve(policy: str | Policy) -> Policy:
    """Return the policy of a registered name, which settings may follow, or the policy itself.

    Examples
    --------
    >>> resolve("pe-cs")
    PECS(kappa=5)
    >>> resolve("glr-cof:tolerance=0.02,threshold=proven")
    GLRCOF(delta=None, tolerance=0.02, threshold='proven', goal='regret', sampling='stakes')
    """
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, str):
        name, colon, settings = policy.partition(":")
        if name not in _REGISTRY and name in _entry_points():
            _load(_entry_points()[name])
        if name not in _REGISTRY:
            raise unknown_name("policy", name, (*_REGISTRY, *_entry_points()))
        known = _REGISTRY[name].policy
        return _with_settings(known, name, settings) if colon else known
    raise InputError(f"a policy is a registered name or a Policy, but this is {policy!r}")


@functools.cache
def _entry_points() -> dict[str, EntryPoint]:
    """Return the entry points of installed packages by name; a policy of ours keeps its name."""
    from importlib import metadata

    return {found.name: found for found in metadata.entry_points(group=GROUP) if found.name not in _REGISTRY}


def _load(found: EntryPoint) -> None:
    """Register the policy of an entry point, or raise an error that names it."""
    package = "" if found.dist is None else f" of the package {found.dist.name!r}"
    where = f"the policy {found.name!r}{package} ({found.value!r}, an entry point of the group {GROUP!r})"
    try:
        given = found.load()
        policy = given() if isinstance(given, type) else given
    except Exception as error:
        raise InputError(f"cannot load {where}: {type(error).__name__}: {error}") from error
    if not isinstance(policy, Policy):
        raise InputError(f"cannot load {where}: it is no Policy, but {policy!r}")
    # The module may have registered it by its name itself.
    if found.name not in _REGISTRY:
        register(found.name, policy)


@functools.cache
def _load_all() -> None:
    """Load what installed packages bring; a broken one is left out with a warning, and the others stay."""
    for found in _entry_points().values():
        if found.name not in _REGISTRY:
            try:
                _load(found)
            except InputError as error:
                warnings.warn(str(error), RuntimeWarning, stacklevel=3)


def _with_settings(policy: Policy, name: str, settings: str) -> Policy:
    """Return a registered policy with other settings, written as ``setting=value,...``."""
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
