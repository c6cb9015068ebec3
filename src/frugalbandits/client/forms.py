"""Requests of the service, and what is made of its answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, NamedTuple, TypeVar, cast
from urllib.parse import quote

import numpy as np
from numpy.typing import ArrayLike

from frugalbandits.client.outbox import Op
from frugalbandits.client.wire import Request
from frugalbandits.core.contextual.context import Context, plain_context
from frugalbandits.core.contextual.explanation import ContextualExplanation, OptionReport, SegmentReport
from frugalbandits.core.contextual.session import ContextualSession
from frugalbandits.core.options import check_options
from frugalbandits.core.quality import Quality, quality_from_dict
from frugalbandits.core.session import ArmReport, Change, Changes, Decision, Explanation, Session
from frugalbandits.core.session.mixing import Mixture
from frugalbandits.core.session.waiting import duration
from frugalbandits.errors import InputError

__all__ = [
    "Listed",
    "ask",
    "batch",
    "change",
    "changes",
    "check_name",
    "check_order",
    "create",
    "explain",
    "listing",
    "new_session",
    "order_of",
    "probe",
    "query_of",
    "said",
]

T = TypeVar("T")

_PAGE = 1_000
_LONGEST_NAME = 1_000


class Listed(NamedTuple):
    """A session of the service in a few numbers.

    `told` counts rewards, and `waiting` decisions that have none yet. `best` is the option of the highest
    mean so far, and `likely` the cheapest one whose mean reaches the bar. `reached` is the mean quality of
    all decisions, by the rewards so far, and `threshold` the quality that is good enough.
    `trouble` says why a session does not work; where it cannot even be opened, the numbers are None.
    """

    name: str
    decisions: int | None
    told: int | None
    waiting: int | None
    options: int | None
    spent: float | None
    best: str | None
    likely: str | None
    trouble: str | None = None
    reached: float | None = None
    threshold: float | None = None


def check_name(name: object) -> str:
    """Return the name of a session that is one part of a path; which there can be, the service knows."""
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME or "/" in name:
        raise InputError(
            "the name of a session is a text without slashes, and not of any length, but it is "
            f"{repr(name)[:100]}"
        )
    return name


def check_order(fallback: object) -> list[str]:
    """Return names of options to fall back on, in order."""
    if isinstance(fallback, str) or not isinstance(fallback, Iterable):
        raise InputError(f"fallback must be a list of names of options, but it is {fallback!r}")
    order = list(fallback)
    if not order or not all(isinstance(each, str) and each for each in order):
        raise InputError(f"fallback must be names of options, one at least, but it is {order!r}")
    return order


def _part(name: str) -> str:
    """Write a name so that it is one part of a path; a name of dots would be a way to somewhere else."""
    return quote(name, safe="") if name.strip(".") else "%2E" * len(name)


def _of(session: str) -> str:
    return f"/v1/sessions/{_part(session)}"


# Sessions.


def new_session(
    costs: Mapping[str, float] | ArrayLike,
    alpha: float | None,
    policy: str | None,
    horizon: float | None,
    names: Iterable[str] | None,
    quality: Quality | str | None,
    over: Literal["each", "queries"] | None,
    worth: float | None,
    learn_costs: bool,
    memory: int | Literal["auto"] | None,
    time_to_live: float | timedelta | None,
    judge_price: float,
    context: Context | None,
    on_difference: Literal["refuse", "apply"],
) -> tuple[dict[str, Any], list[str]]:
    """Return what a new session is told, checked by the library itself, and its options, dearest first."""
    if policy is not None and not isinstance(policy, str):
        raise InputError(
            "a policy goes to the service by its name, with settings where wanted, such as "
            f"'glr-cof:tolerance=0.02', but this is {policy!r}"
        )
    if on_difference not in ("refuse", "apply"):
        raise InputError(f"on_difference must be 'refuse' or 'apply', but it is {on_difference!r}")
    names = None if names is None else list(names)
    if context is not None:
        memory = None if memory == "auto" else memory
        made: Session | ContextualSession = ContextualSession(
            costs,
            alpha,
            context,
            names=names,
            quality=quality,
            policy=policy or "dual-cof",
            memory=memory,
            time_to_live=time_to_live,
        )
    else:
        made = Session(
            costs,
            alpha,
            policy,
            horizon,
            names=names,
            quality=quality,
            over=over,
            worth=worth,
            learn_costs=learn_costs,
            memory=memory,
            time_to_live=time_to_live,
            judge_price=judge_price,
        )
    if isinstance(costs, Mapping):
        names, costs = list(costs), list(costs.values())
    checked, called = check_options(costs, names)
    prices: dict[str, float] = dict(zip(called, checked.tolist(), strict=True))
    body = {
        "costs": prices,
        "quality": str(made.quality),
        "policy": policy or made._label,  # it keeps the promise, so no service needs to know of that
        "horizon": None if horizon is None else float(horizon),
        "worth": None if worth is None else float(worth),
        "learn_costs": bool(learn_costs),
        "memory": int(memory) if isinstance(memory, int | np.integer) else memory,
        "time_to_live": duration(time_to_live),
        "judge_price": float(judge_price),
        "on_difference": on_difference,
        **({} if context is None else {"context": plain_context(context), "over": over}),
    }
    return body, sorted(prices, key=lambda name: -prices[name])


def order_of(order: list[str], fallback: Any, context: Context | None) -> Any:
    """Return the options to fall back on; where queries are looked at, there is no such plan."""
    if context is None:
        return order if fallback is None else fallback
    if fallback is not None:
        raise InputError(
            f"a session that looks at queries has no plan to fall back on, but fallback is {fallback!r}"
        )
    return None


def create(name: str, body: Mapping[str, Any]) -> Request[None]:
    """Return the request to make a session."""
    return Request("PUT", _of(name), _made, body)


def _made(answer: Any) -> None:
    _text(answer["name"])


def listing(after: str) -> Request[tuple[list[Listed], str | None]]:
    """Return the request for a page of the list of sessions."""
    return Request("GET", f"/v1/sessions?limit={_PAGE}&after={quote(after, safe='')}", _listed)


def _listed(answer: Any) -> tuple[list[Listed], str | None]:
    found = [Listed(**{name: each.get(name) for name in Listed._fields}) for each in answer["sessions"]]
    return found, None if answer["next"] is None else _text(answer["next"])


def explain(session: str) -> Request[tuple[Explanation | ContextualExplanation, list[str]]]:
    """Return the request for an explanation; with it comes the plan to fall back on, if there is one."""
    return Request("GET", _of(session), _explained)


def _explained(answer: Any) -> tuple[Explanation | ContextualExplanation, list[str]]:
    if "context" in answer:
        return _routes_explained(answer), []
    # A later release may say more than is known here.
    known = {field.name for field in dataclasses.fields(Explanation)}
    told = {name: value for name, value in answer.items() if name in known}
    told["quality"] = quality_from_dict(told["quality"])
    told["events"] = tuple(tuple(each) for each in told["events"])
    for name in ("arms", "retired"):
        told[name] = tuple(_known(ArmReport, each) for each in told[name])
    for name in ("helpful", "changed"):
        told[name] = tuple(told[name])
    if told.get("reached_interval") is not None:
        told["reached_interval"] = tuple(told["reached_interval"])
    if told.get("mix") is not None:
        told["mix"] = _known(Mixture, told["mix"])
    return Explanation(**told), _texts(answer.get("standby", []))


def _routes_explained(answer: Any) -> ContextualExplanation:
    told = {**answer, "quality": quality_from_dict(answer["quality"])}
    for name, kind in (("options", OptionReport), ("segments", SegmentReport)):
        told[name] = tuple(_known(kind, each) for each in answer[name])
    for name in ("bar_interval", "reached_interval"):
        told[name] = None if answer[name] is None else tuple(answer[name])
    return _known(ContextualExplanation, told)


def _known(kind: type[T], told: Any) -> T:
    """Return a value of a kind, without what is not known of it here."""
    known = {field.name for field in dataclasses.fields(cast(Any, kind))}
    return kind(**{name: value for name, value in told.items() if name in known})


def changes(session: str) -> Request[Changes]:
    """Return the request for what was changed or noticed."""
    return Request("GET", f"{_of(session)}/changes", _changes)


def _changes(answer: Any) -> Changes:
    rows = [
        Change(each["decision"], each["kind"], each["option"], each["words"]) for each in answer["changes"]
    ]
    return Changes(rows, int(answer["total"]))


def change(session: str, option: object, method: str, body: Any = None) -> Request[None]:
    """Return the request that changes an option."""
    if not isinstance(option, str) or not option:
        raise InputError(f"an option is called by its name, but this is {option!r}")
    return Request(method, f"{_of(session)}/options/{_part(option)}", _nothing, body)


def probe() -> Request[None]:
    """Return the request that finds out whether the service can answer."""
    return Request("GET", "/readyz", _ready)


def _ready(answer: Any) -> None:
    _text(answer["status"])


# Decisions.


def query_of(context: Any) -> Any:
    """Return a query as JSON can carry it; whether it is one, the service knows."""
    if isinstance(context, np.ndarray | np.generic):
        context = context.tolist()
    if isinstance(context, Mapping):
        return {str(name): query_of(value) for name, value in context.items()}
    if isinstance(context, tuple | list):
        return [query_of(each) for each in context]
    if isinstance(context, str | int) or (isinstance(context, float) and np.isfinite(context)):
        return context
    raise InputError(
        f"the context must be made of names, texts and numbers that are finite, but {context!r} is in it"
    )


def ask(session: str, body: Mapping[str, Any], metadata: Any) -> Request[tuple[list[Decision], list[str]]]:
    """Return the request for decisions; with them comes the plan to fall back on."""

    def decided(answer: Any) -> tuple[list[Decision], list[str]]:
        rows = answer["decisions"] if "count" in body else [answer]
        if len(rows) != body.get("count", 1):
            raise ValueError("as many were asked for")
        return [_decision(each, metadata) for each in rows], _texts(rows[-1].get("standby", []))

    told = {name: value for name, value in body.items() if value is not None}
    if metadata is not None:
        told["metadata"] = metadata
    return Request("POST", f"{_of(session)}/decisions", decided, told)


def _decision(told: Any, metadata: Any) -> Decision:
    expires = told["expires"]
    return Decision(
        id=_text(told["id"]),
        arm=_text(told["option"]),
        reason=_text(told["reason"]),
        metadata=metadata,
        wanted=bool(told["wanted"]),
        expires=None if expires is None else float(expires),
    )


# Feedback.


def said(op: Op) -> Request[None]:
    """Return the request that says one thing."""
    body = {name: value for name, value in op.items() if name not in ("op", "session")}
    if op["op"] == "observe":
        return Request("POST", f"{_of(op['session'])}/observations", _nothing, body)
    path = f"/v1/decisions/{_part(body.pop('id'))}"
    if op["op"] == "forget":
        return Request("DELETE", path if body.get("used", True) else f"{path}?used=false", _nothing)
    return Request("PUT", f"{path}/feedback", _nothing, body)


def batch(ops: Sequence[Op]) -> Request[list[tuple[int, Any]]]:
    """Return the request that says many things; the answer to each is a status and a document."""

    def results(answer: Any) -> list[tuple[int, Any]]:
        found = [(int(each["status"]), each.get("body")) for each in answer]
        if len(found) != len(ops):
            raise ValueError("as many were said")
        return found

    return Request("POST", "/v1/batch", results, list(ops))


def _nothing(_: Any) -> None:
    pass


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text should be here")
    return value


def _texts(values: Any) -> list[str]:
    return [_text(each) for each in values]
